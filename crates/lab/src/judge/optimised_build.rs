//! Was the contender built for speed?

use super::{Check, Compared, Scope, Word};

pub(super) const OPTIMISED_BUILD: Check = Check {
    id: "optimised-build",
    signal: "The words of the contender's build and run commands and of its environment, as its `contender.toml` has them. What a script or a build file called by them does isn't seen.",
    threshold: "no debug build, sanitizer, profiler or interpreter asked for; C and C++ compilers with -O1 or more, cargo with a release profile, CMake and Meson with an optimised build type",
    why: "These builds are for finding mistakes, and 2 to 50 times slower; compilers that don't optimise unless told are the oldest mistake of benchmarks. In 2009 `optimize_for = SPEED` was missing, and the winner changed.",
    fix: "Build as the contender's documentation says for production: `cargo build --release`, `-O2`, `-DCMAKE_BUILD_TYPE=Release`.",
    scope: Scope::Row(look),
};

/// Words that slow a program down, wherever they stand.
const SLOW: [(&str, &str); 14] = [
    ("-O0", "doesn't optimise"),
    ("-Og", "optimises for debugging only"),
    ("-fsanitize=", "is a sanitizer's"),
    ("-pg", "is a profiler's"),
    ("--coverage", "counts every line"),
    ("--debug", "is a debug build's"),
    ("-gcflags=-N", "doesn't optimise"),
    ("-gcflags=all=-N", "doesn't optimise"),
    ("-race", "is Go's race detector"),
    ("-Xint", "switches compiling off"),
    ("-Xdebug", "is a debugger's"),
    ("--jitless", "switches compiling off"),
    ("--inspect", "is a debugger's"),
    ("-DCMAKE_BUILD_TYPE=Debug", "is a debug build's"),
];

/// Compilers that don't optimise unless told.
const C_COMPILERS: [&str; 6] = ["cc", "gcc", "clang", "c++", "g++", "clang++"];

fn look(compared: &Compared) -> Word {
    let contender = compared.contender;
    let Some(build) = &contender.build else {
        return Word::not_checked("How the contender was built is not known.");
    };
    let environment = contender.environment.iter().flat_map(|(_, value)| value.split_whitespace());
    let words: Vec<&str> = build
        .iter()
        .chain(&contender.run)
        .flat_map(|word| word.split_whitespace())
        .chain(environment)
        .collect();
    if let Some((word, what)) = words.iter().find_map(|word| slow(word)) {
        return Word::invalid(word, format!("`{word}` {what}."));
    }
    let build: Vec<&str> = build.iter().flat_map(|word| word.split_whitespace()).collect();
    match missing(&build) {
        Some(what) => Word::invalid(format!("no {what}"), format!("The build lacks `{what}`.")),
        None => Word::valid("none", "Its commands ask for no slow build."),
    }
}

fn slow(word: &str) -> Option<(&str, &'static str)> {
    SLOW.iter().find_map(|(slow, what)| {
        // Those that end in `=` take a value.
        let is_it = if slow.ends_with('=') { word.starts_with(slow) } else { word == *slow };
        is_it.then_some((word, *what))
    })
}

/// The option that a build lacks, without which its tool doesn't optimise.
fn missing(build: &[&str]) -> Option<&'static str> {
    let has = |is: &dyn Fn(&str) -> bool| build.iter().any(|word| is(word));
    let calls =
        |names: &[&str]| has(&|word| names.contains(&word.rsplit('/').next().unwrap_or(word)));
    if calls(&["cargo"]) && has(&|word| word == "build") {
        let release =
            has(&|word| word == "--release" || word == "-r" || word.starts_with("--profile"));
        return (!release).then_some("--release");
    }
    if calls(&["rustc"]) {
        let optimises = has(&|word| word == "-O" || word.contains("opt-level="));
        return (!optimises).then_some("-O");
    }
    if calls(&["cmake"]) && has(&|word| word == "-S" || word == "-B" || word == ".") {
        return (!has(&|word| word.starts_with("-DCMAKE_BUILD_TYPE=")))
            .then_some("-DCMAKE_BUILD_TYPE");
    }
    if calls(&["meson"]) {
        return (!has(&|word| word.contains("buildtype"))).then_some("--buildtype");
    }
    if calls(&C_COMPILERS) {
        let optimises =
            |word: &str| matches!(word, "-O" | "-O1" | "-O2" | "-O3" | "-Os" | "-Ofast");
        return (!has(&optimises)).then_some("-O2");
    }
    None
}

#[cfg(test)]
mod tests {
    use result::finding::{Finding, Verdict};

    use super::super::tests::field;
    use super::*;

    fn built_by(build: &str, run: &str) -> Finding {
        let mut field = field();
        let words =
            |line: &str| line.split(' ').filter(|it| !it.is_empty()).map(String::from).collect();
        field.contenders[0].build = Some(words(build));
        field.contenders[0].run = words(run);
        field.word(&OPTIMISED_BUILD, "a")
    }

    #[test]
    fn a_build_that_is_not_for_speed_makes_the_figures_invalid() {
        for (build, run, value) in [
            ("cargo build", "hello", "no --release"),
            ("g++ -o hello hello.cpp", "hello", "no -O2"),
            ("sh -c cc$IFS-x", "hello -O0", "-O0"),
            ("/usr/bin/cc -O2 -fsanitize=address hello.c", "hello", "-fsanitize=address"),
            ("cmake -S . -B build", "hello", "no -DCMAKE_BUILD_TYPE"),
            ("cmake -S . -B build -DCMAKE_BUILD_TYPE=Debug", "hello", "-DCMAKE_BUILD_TYPE=Debug"),
            ("go build -race .", "hello", "-race"),
            ("go build -gcflags=all=-N .", "hello", "-gcflags=all=-N"),
            ("javac Hello.java", "java -Xint Hello", "-Xint"),
        ] {
            let word = built_by(build, run);
            assert_eq!((word.verdict, &*word.value), (Verdict::Invalid, value), "{build}");
        }
    }

    #[test]
    fn a_build_for_speed_is_let_pass() {
        for build in [
            "",
            "cargo build --locked --release",
            "cargo install thing",
            "g++ -O2 -o hello hello.cpp",
            "go build -o hello .",
            "mvn -q package",
            "erlc -Werror hello.erl",
            "cmake -S . -B build -DCMAKE_BUILD_TYPE=Release",
            "sh build.sh",
        ] {
            let word = built_by(build, "hello --inspector=off");
            assert_eq!(word.verdict, Verdict::Valid, "{build}: {word:?}");
        }
    }

    #[test]
    fn an_unknown_build_is_not_checked() {
        let mut field = field();
        field.contenders[0].build = None;
        assert_eq!(field.word(&OPTIMISED_BUILD, "a").verdict, Verdict::NotChecked);
    }
}
