//! Was the contender built for speed?

use std::cmp::Reverse;

use result::finding::Verdict;
use result::plan::TextFile;

use super::{Check, Compared, Scope, Word};

pub(super) const OPTIMISED_BUILD: Check = Check {
    id: "optimised-build",
    signal: "The words of the contender's build and run commands and of its environment, as its `contender.toml` has them; words that slow a program down in the scripts beside its source, and the compilers that are called there.",
    threshold: "no debug build, sanitizer, profiler or interpreter asked for; C and C++ compilers with -O1 or more, rustc with -O or an opt-level, cargo and Zig with a release profile or mode, CMake and Meson with an optimised build type; in a script *suspect* instead of invalid; not checked where that is one of the project's own, or a script or Makefile that can't be seen tells it",
    why: "These builds are for finding mistakes, and 2 to 50 times slower; compilers that don't optimise unless told are the oldest mistake of benchmarks. In 2009 `optimize_for = SPEED` was missing, and the winner changed.",
    fix: "Build as the contender's documentation says for production: `cargo build --release`, `-O2`, `-DCMAKE_BUILD_TYPE=Release`, `-Doptimize=ReleaseFast`.",
    scope: Scope::Row(|compared| Some(look(compared))),
};

/// Words that slow a program down, wherever they stand. Those that end in `=` may
/// have a value.
const SLOW: [(&str, &str); 13] = [
    ("-O0", "doesn't optimise"),
    ("-Og", "optimises for debugging only"),
    ("-fsanitize=", "is a sanitizer's"),
    ("-pg", "is a profiler's"),
    ("--coverage", "counts every line"),
    ("--debug", "is a debug build's"),
    ("-race", "is Go's race detector"),
    ("-Xint", "switches compiling off"),
    ("-Xdebug", "is a debugger's"),
    ("--jitless", "switches compiling off"),
    ("--inspect=", "is a debugger's"),
    ("--inspect-brk=", "is a debugger's"),
    ("--inspect-wait=", "is a debugger's"),
];
/// What is said of all else that is slow.
const DOES_NOT_OPTIMISE: &str = "doesn't optimise";

/// What a shell sets around words, or behind them.
const OF_A_SHELL: [char; 3] = ['"', '\'', ';'];

fn look(compared: &Compared) -> Word {
    let contender = compared.contender;
    let Some(build) = &contender.build else {
        return Word::not_checked("How the contender was built is not known.");
    };
    let command = |texts: &[String]| {
        let words = words(texts);
        slow(&words).or_else(|| not_fast(&words))
    };
    let environment: Vec<String> =
        contender.environment.iter().map(|(_, value)| value.clone()).collect();
    let found = [
        command(build),
        command(&contender.run),
        slow(&words(&environment)),
        by_make(&words(build)),
        unseen(build, &contender.build_files),
    ];
    let in_scripts = contender.build_files.iter().filter_map(in_script);
    let mut found: Vec<Word> = found.into_iter().flatten().chain(in_scripts).collect();
    found.sort_by_key(|word| Reverse(word.verdict));
    let valid = || Word::valid("none", "Its commands ask for no slow build.");
    found.into_iter().next().unwrap_or_else(valid)
}

/// The words of a command, those of a shell's script among them.
fn words(texts: &[String]) -> Vec<&str> {
    let words = texts.iter().flat_map(|text| text.split_whitespace());
    words.map(|word| word.trim_matches(OF_A_SHELL)).collect()
}

fn is_slow(word: &str, what: &str) -> Word {
    Word::invalid(word, format!("`{word}` {what}."))
}

fn lacks(option: &str) -> Word {
    Word::invalid(format!("no {option}"), format!("The build lacks `{option}`."))
}

fn is_unknown(word: &str) -> Word {
    Word::not_checked(format!("Whether `{word}` optimises, the command doesn't tell."))
        .advise("Take a profile or build type of the tool's own, such as `--release`.")
}

/// The first word that slows a program down.
fn slow(words: &[&str]) -> Option<Word> {
    let for_gos_compiler = words.iter().any(|word| word.contains("-gcflags"));
    words.iter().find_map(|word| {
        // What is set to a word has it: CFLAGS=-O0, -gcflags=all=-N.
        let parts: Vec<&str> = word.split('=').map(|it| it.trim_matches(OF_A_SHELL)).collect();
        let has = |slow: &str| match slow.strip_suffix('=') {
            Some(name) => parts.contains(&name),
            None => parts.last() == Some(&slow),
        };
        let listed = SLOW.iter().find(|(slow, _)| has(slow)).map(|(_, what)| *what);
        let of_rust = word.ends_with("opt-level=0");
        let of_go = for_gos_compiler && has("-N");
        let what = listed.or((of_rust || of_go).then_some(DOES_NOT_OPTIMISE))?;
        Some(is_slow(word, what))
    })
}

/// What speaks against a script, comments left out, if anything does. It may have a slow
/// word for another case, and a compiler's options in a variable, so that it is no more than
/// doubtful.
fn in_script(file: &TextFile) -> Option<Word> {
    if !is_script(file) {
        return None;
    }
    let text = file.text.replace("\\\n", " ");
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let lines = lines.map(|line| line.split_once(" #").map_or(line, |(code, _)| code));
    let lines: Vec<String> = lines.map(String::from).collect();
    let all = words(&lines);
    // One may stand in a variable of another line.
    let optimises_somewhere = has_c_optimisation(&all);
    let compiler = || {
        let mut lines = lines.iter().map(|line| words(std::slice::from_ref(line)));
        lines.find_map(|line| not_fast(&line).filter(|_| !optimises_somewhere && compiles(&line)))
    };
    let name = &file.name;
    match slow(&all).or_else(compiler) {
        Some(Word { value, says, verdict: Verdict::Invalid, .. }) => {
            Some(Word::suspect(format!("{value} in {name}"), format!("In {name}: {says}")))
        }
        Some(word) => Some(word),
        None => by_make(&all),
    }
}

fn is_script(file: &TextFile) -> bool {
    file.text.starts_with("#!")
}

/// Whether a line of a script does more than ask a tool for its version, or look for it.
fn compiles(line: &[&str]) -> bool {
    !line.iter().any(|word| ["--version", "command", "which", "-v"].contains(word))
}

/// What is said of a build by make, whose file isn't seen, unless it is told to optimise.
fn by_make(words: &[&str]) -> Option<Word> {
    let makes = !calls(words, |it| ["make", "gmake"].contains(&it)).is_empty();
    (makes && !has_c_optimisation(words)).then(|| {
        Word::not_checked("Whether the Makefile optimises, the command doesn't tell.")
            .advise("Say it in the command, such as `make CFLAGS=-O2`.")
    })
}

/// What is said of a build by a script, if that isn't there to be looked at as a whole.
fn unseen(build: &[String], files: &[TextFile]) -> Option<Word> {
    let shells = ["sh", "bash", "dash", "zsh"];
    let program = build.first()?;
    let script = match shells.contains(&program.rsplit('/').next().unwrap_or(program)) {
        true => build.get(1).filter(|it| !it.starts_with('-'))?,
        false => Some(program).filter(|it| it.starts_with(['.', '$']) && it.contains('/'))?,
    };
    let is_whole = files.iter().any(is_script) && !files.iter().any(|it| is_script(it) && it.cut);
    (!is_whole).then(|| {
        Word::not_checked(format!("What `{script}` does isn't seen, or not as a whole."))
            .advise("Let a script of the contender's own folder build it, of 16 KiB at most.")
    })
}

/// What speaks against a command by the tool that it calls first of these, if
/// anything does.
fn not_fast(words: &[&str]) -> Option<Word> {
    let has = |name: &str| !calls(words, |it| it == name).is_empty();
    if has("cargo") {
        cargo(words)
    } else if has("rustc") {
        let optimises = words.iter().any(|word| *word == "-O" || word.contains("opt-level="));
        (!optimises).then(|| lacks("-O"))
    } else if builds_with_zig(words) {
        let optimises = words.iter().any(|word| is_release_of_zig(word));
        (!optimises).then(|| lacks("-Doptimize=ReleaseFast"))
    } else if has("cmake") {
        cmake(words)
    } else if has("meson") {
        meson(words)
    } else {
        let compiles = !calls(words, is_c_compiler).is_empty();
        (compiles && !has_c_optimisation(words)).then(|| lacks("-O2"))
    }
}

/// What follows each call of a program.
fn calls<'a>(words: &'a [&'a str], is_it: impl Fn(&str) -> bool) -> Vec<&'a [&'a str]> {
    let is_call = |word: &str| {
        let is_program = !word.starts_with('-') && !word.contains('=');
        is_program && is_it(word.rsplit('/').next().unwrap_or(word))
    };
    let called = words.iter().enumerate().filter(|(_, word)| is_call(word));
    called.map(|(at, _)| &words[at + 1..]).collect()
}

/// The values of an option, whichever of its names it has, and whether they follow
/// it or an `=`.
fn values<'a>(words: &[&'a str], names: &[&str]) -> Vec<&'a str> {
    let mut values = Vec::new();
    for (at, &word) in words.iter().enumerate() {
        for &name in names {
            match word.strip_prefix(name) {
                Some("") => values.extend(words.get(at + 1).copied()),
                Some(rest) => {
                    let value = rest.strip_prefix('=');
                    values.extend(value.map(|it| it.trim_matches(OF_A_SHELL)));
                }
                None => {}
            }
        }
    }
    values
}

/// What speaks against the values of an option, if anything does.
fn not_fast_by(option: &str, values: &[&str], fast: &[&str], slow: &[&str]) -> Option<Word> {
    let is_in = |list: &[&str], value: &str| list.iter().any(|it| it.eq_ignore_ascii_case(value));
    if let Some(value) = values.iter().find(|value| is_in(slow, value)) {
        return Some(is_slow(&format!("{option}={value}"), DOES_NOT_OPTIMISE));
    }
    let unknown = values.iter().find(|value| !is_in(fast, value))?;
    Some(is_unknown(&format!("{option}={unknown}")))
}

fn cargo(words: &[&str]) -> Option<Word> {
    let profiles = values(words, &["--profile"]);
    // `cargo install` optimises unless told otherwise.
    let in_dev = ["build", "b", "run", "r", "rustc"];
    let builds = calls(words, |it| it == "cargo")
        .iter()
        .any(|call| subcommand_of_cargo(call).is_some_and(|it| in_dev.contains(&it)));
    let release = words.iter().any(|word| ["--release", "-r"].contains(word));
    not_fast_by("--profile", &profiles, &["release", "bench"], &["dev", "test"])
        .or_else(|| (builds && profiles.is_empty() && !release).then(|| lacks("--release")))
}

/// The first word of a call that is neither an option nor the value of one.
fn subcommand_of_cargo<'a>(call: &[&'a str]) -> Option<&'a str> {
    let mut words = call.iter();
    while let Some(&word) = words.next() {
        if ["-C", "-Z", "--color", "--config"].contains(&word) {
            words.next();
        } else if !word.starts_with(['-', '+']) {
            return Some(word);
        }
    }
    None
}

/// Whether it is Zig that builds; it also is a C compiler (`zig cc`).
fn builds_with_zig(words: &[&str]) -> bool {
    let calls = calls(words, |it| it == "zig");
    calls.iter().any(|call| call.first().is_some_and(|it| it.starts_with("build") || *it == "run"))
}

/// Whether this word asks Zig for something else than its default, which is `Debug`.
fn is_release_of_zig(word: &str) -> bool {
    let mode = ["-Doptimize=", "-O"].iter().find_map(|it| word.strip_prefix(*it));
    let modes = ["ReleaseFast", "ReleaseSafe", "ReleaseSmall"];
    let release = word.strip_prefix("--release=").is_some_and(|it| it != "off");
    // Before Zig 0.11 it was -Drelease-fast.
    let is_option = word == "--release" || word.starts_with("-Drelease");
    is_option || release || modes.contains(&mode.unwrap_or(word))
}

fn cmake(words: &[&str]) -> Option<Word> {
    const TYPE: &str = "-DCMAKE_BUILD_TYPE";
    let typed = "-DCMAKE_BUILD_TYPE:STRING";
    let mut types = values(words, &[TYPE, typed, &TYPE[2..], &typed[2..]]);
    let by_flags = has_c_optimisation(words);
    types.retain(|it| !by_flags || !["", "None"].contains(it));
    let fast = ["Release", "RelWithDebInfo", "MinSizeRel"];
    if let Some(word) = not_fast_by(TYPE, &types, &fast, &["", "None", "Debug"]) {
        return Some(word);
    }
    if let Some(preset) = words.iter().find(|word| word.starts_with("--preset")) {
        return types.is_empty().then(|| is_unknown(preset));
    }
    let elsewise = ["--build", "--install", "--version", "-E", "-P"];
    let configures = calls(words, |it| it == "cmake")
        .iter()
        .any(|call| call.first().is_some_and(|it| !elsewise.contains(it)));
    (configures && types.is_empty() && !by_flags).then(|| lacks(TYPE))
}

fn meson(words: &[&str]) -> Option<Word> {
    // It is what a build type stands for, and counts more.
    let levels = values(words, &["--optimization", "-Doptimization", "optimization"]);
    if !levels.is_empty() {
        let (fast, slow) = (["1", "2", "3", "s"], ["0", "g", "plain"]);
        return not_fast_by("--optimization", &levels, &fast, &slow);
    }
    let mut types = values(words, &["--buildtype", "-Dbuildtype", "buildtype"]);
    let by_flags = has_c_optimisation(words);
    types.retain(|it| !by_flags || *it != "plain");
    let fast = ["release", "debugoptimized", "minsize"];
    let elsewise = ["compile", "install", "test", "--version"];
    let configures = calls(words, |it| it == "meson")
        .iter()
        .any(|call| call.first().is_some_and(|it| !elsewise.contains(it)));
    not_fast_by("--buildtype", &types, &fast, &["debug", "plain"])
        .or_else(|| (configures && types.is_empty() && !by_flags).then(|| lacks("--buildtype")))
}

/// Whether a program is a compiler that doesn't optimise unless told.
fn is_c_compiler(program: &str) -> bool {
    // A target may stand before the name, a version behind it: x86_64-linux-gnu-gcc-12.
    let name = program.trim_end_matches(|it: char| it.is_ascii_digit() || it == '.');
    let name = name.strip_suffix('-').unwrap_or(name).rsplit('-').next();
    name.is_some_and(|it| ["cc", "gcc", "clang", "c++", "g++", "clang++"].contains(&it))
}

/// Whether C compilers are told to optimise, by a word or by what one is set to.
fn has_c_optimisation(words: &[&str]) -> bool {
    let levels = ["-O", "-O1", "-O2", "-O3", "-Os", "-Oz", "-Ofast"];
    words
        .iter()
        .filter_map(|word| word.rsplit('=').next())
        .any(|set_to| levels.contains(&set_to.trim_matches(OF_A_SHELL)))
}

#[cfg(test)]
mod tests {
    use result::finding::Finding;

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
        for (build, value) in [
            ("cargo build", "no --release"),
            ("cargo +nightly -C hello build", "no --release"),
            ("cargo build --profile dev", "--profile=dev"),
            ("cargo build --profile=test", "--profile=test"),
            ("rustc hello.rs", "no -O"),
            ("rustc -C opt-level=0 hello.rs", "opt-level=0"),
            ("rustc -Copt-level=0 hello.rs", "-Copt-level=0"),
            ("g++ -o hello hello.cpp", "no -O2"),
            ("g++-12 -o hello hello.cpp", "no -O2"),
            ("clang-15 -o hello hello.c", "no -O2"),
            ("x86_64-linux-gnu-gcc -o hello hello.c", "no -O2"),
            ("/usr/bin/aarch64-linux-gnu-g++-12.2 hello.cpp", "no -O2"),
            ("/usr/bin/cc -O2 -fsanitize=address hello.c", "-fsanitize=address"),
            ("make CFLAGS=-O0", "CFLAGS=-O0"),
            ("cmake -S . -B build", "no -DCMAKE_BUILD_TYPE"),
            ("cmake ..", "no -DCMAKE_BUILD_TYPE"),
            ("cmake -S . -B build -DCMAKE_BUILD_TYPE=", "-DCMAKE_BUILD_TYPE="),
            ("cmake -S . -B build -DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_BUILD_TYPE=Debug"),
            ("cmake -D CMAKE_BUILD_TYPE:STRING=debug .", "-DCMAKE_BUILD_TYPE=debug"),
            ("meson setup build", "no --buildtype"),
            ("meson setup --buildtype=debug build", "--buildtype=debug"),
            ("meson setup --buildtype plain build", "--buildtype=plain"),
            ("meson setup -D buildtype=release -Doptimization=0 build", "--optimization=0"),
            ("go build -race .", "-race"),
            ("go build -gcflags=all=-N .", "-gcflags=all=-N"),
            ("go build -gcflags \"all=-N -l\" .", "all=-N"),
            ("go build -gcflags='-l -N' .", "-N"),
            ("zig build --prefix out", "no -Doptimize=ReleaseFast"),
            ("zig build -Doptimize=Debug", "no -Doptimize=ReleaseFast"),
            ("zig build --release=off", "no -Doptimize=ReleaseFast"),
            ("zig build-exe hello.zig", "no -Doptimize=ReleaseFast"),
            ("zig cc -o hello hello.c", "no -O2"),
        ] {
            let word = built_by(build, "hello");
            assert_eq!((word.verdict, &*word.value), (Verdict::Invalid, value), "{build}");
        }
    }

    #[test]
    fn a_command_that_runs_slowly_or_builds_makes_the_figures_invalid() {
        for (run, value) in [
            ("hello -O0", "-O0"),
            ("java -Xint Hello", "-Xint"),
            ("node --inspect server.js", "--inspect"),
            ("node --inspect=127.0.0.1:9229 server.js", "--inspect=127.0.0.1:9229"),
            ("node --inspect-brk server.js", "--inspect-brk"),
            ("cargo run", "no --release"),
            ("cargo run --quiet -- --port 80", "no --release"),
            ("zig build run", "no -Doptimize=ReleaseFast"),
        ] {
            let word = built_by("cargo fetch", run);
            assert_eq!((word.verdict, &*word.value), (Verdict::Invalid, value), "{run}");
        }
    }

    #[test]
    fn a_build_for_speed_is_let_pass() {
        for build in [
            "",
            "cargo build --locked --release",
            "cargo build --profile release",
            "cargo install thing",
            "rustc -O hello.rs",
            "rustc -C opt-level=3 hello.rs",
            "g++ -O2 -o hello hello.cpp",
            "x86_64-linux-gnu-gcc-12 -O3 -o hello hello.c",
            "make CFLAGS=-O2",
            "sh -c 'make CXXFLAGS=\"-g -O3\" -j2'",
            "go build -o hello .",
            "go build -gcflags=-m .",
            "mvn -q package",
            "erlc -Werror hello.erl",
            "cmake -S . -B build -DCMAKE_BUILD_TYPE=Release",
            "cmake -S . -B build -DCMAKE_BUILD_TYPE= -DCMAKE_CXX_FLAGS=\"-O2 -g\"",
            "sh -c 'cmake . -DCMAKE_BUILD_TYPE=\"RelWithDebInfo\"; cmake --build .'",
            "cmake --build build",
            "meson setup --buildtype=release build",
            "meson setup -Dbuildtype=debug -Doptimization=3 build",
            "meson compile -C build",
            "zig build -Doptimize=ReleaseFast --prefix out",
            "zig build --release=safe",
            "zig build-exe -OReleaseSmall hello.zig",
        ] {
            let word = built_by(build, "hello --inspector=off");
            assert_eq!(word.verdict, Verdict::Valid, "{build}: {word:?}");
        }
        let word = built_by("", "cargo run --release");
        assert_eq!(word.verdict, Verdict::Valid, "{word:?}");
    }

    #[test]
    fn what_only_a_file_explains_is_not_checked() {
        for (build, named) in [
            ("cargo build --profile fat", "`--profile=fat`"),
            ("cmake -S . -B build -DCMAKE_BUILD_TYPE=Fuzzing", "`-DCMAKE_BUILD_TYPE=Fuzzing`"),
            ("cmake --preset fast", "`--preset`"),
            ("meson setup --buildtype=custom build", "`--buildtype=custom`"),
            ("make CC=/usr/bin/gcc", "Makefile"),
            ("sh -c 'cd server && gmake'", "Makefile"),
            ("sh build.sh", "`build.sh`"),
            ("$SOURCE/../shared/build.sh out", "`$SOURCE/../shared/build.sh`"),
        ] {
            let word = built_by(build, "hello");
            assert_eq!(word.verdict, Verdict::NotChecked, "{build}: {word:?}");
            assert!(word.says.contains(named), "{build}: {}", word.says);
        }
        let worse = built_by("cargo build --profile fat", "hello -O0");
        assert_eq!(worse.verdict, Verdict::Invalid, "what is known counts: {worse:?}");
    }

    #[test]
    fn a_word_in_a_script_of_the_build_casts_doubt() {
        let with = |text: &str| {
            let mut field = field();
            let file = TextFile { name: "build.sh".into(), text: text.into(), cut: false };
            field.contenders[0].build_files = vec![file];
            field.word(&OPTIMISED_BUILD, "a")
        };
        let word = with("#!/bin/sh\nexec go build -race .\n");
        assert_eq!((word.verdict, &*word.value), (Verdict::Suspect, "-race in build.sh"));
        assert_eq!(word.says, "In build.sh: `-race` is Go's race detector.");
        for text in ["#!/bin/sh\n# -race is slow\ngo build . # no -race\n", "int O; // -O0 -pg"] {
            assert_eq!(with(text).verdict, Verdict::Valid, "{text}");
        }
    }

    #[test]
    fn a_compiler_in_a_script_is_looked_at_as_one_in_the_command() {
        let with = |text: &str, cut: bool| {
            let mut field = field();
            let file = TextFile { name: "build.sh".into(), text: text.into(), cut };
            field.contenders[0].build_files = vec![file];
            field.contenders[0].build = Some(vec!["./build.sh".into()]);
            field.word(&OPTIMISED_BUILD, "a")
        };
        let word = with("#!/bin/sh\ngcc -o x \\\n    x.c\n", false);
        assert_eq!((word.verdict, &*word.value), (Verdict::Suspect, "no -O2 in build.sh"));
        assert_eq!(with("#!/bin/sh\ncargo build\n", false).verdict, Verdict::Suspect);
        assert_eq!(with("#!/bin/sh\ncd src; make\n", false).verdict, Verdict::NotChecked);
        for text in [
            "#!/bin/sh\ngcc -o x \\\n    -O2 x.c\n",
            "#!/bin/sh\nflags='-g -O2'\ngcc $flags -o x x.c\nmake\n",
            "#!/bin/sh\ngcc --version\ncommand -v cc\ngo build .\n",
        ] {
            assert_eq!(with(text, false).verdict, Verdict::Valid, "{text}");
            assert_eq!(with(text, true).verdict, Verdict::NotChecked, "the rest isn't seen");
        }
    }

    #[test]
    fn a_setting_in_the_environment_is_seen() {
        let mut field = field();
        field.contenders[0].environment = vec![("NODE_OPTIONS".into(), "--inspect=0".into())];
        let word = field.word(&OPTIMISED_BUILD, "a");
        assert_eq!((word.verdict, &*word.value), (Verdict::Invalid, "--inspect=0"));
        field.contenders[0].environment = vec![("CC".into(), "gcc".into())];
        assert_eq!(field.word(&OPTIMISED_BUILD, "a").verdict, Verdict::Valid, "nothing is built");
    }

    #[test]
    fn an_unknown_build_is_not_checked() {
        let mut field = field();
        field.contenders[0].build = None;
        assert_eq!(field.word(&OPTIMISED_BUILD, "a").verdict, Verdict::NotChecked);
    }
}
