//! Was the contender built for speed?

use std::cmp::Reverse;

use result::finding::Verdict;
use result::plan::TextFile;

use super::{Check, RowSeen, Scope, Word};

pub(super) const OPTIMISED_BUILD: Check = Check {
    id: "optimised-build",
    signal: "The words of the contender's build and run commands and of its environment, as its `contender.toml` has them. In the scripts beside its source: words that slow a program down, and the compilers that are called there.",
    threshold: "no debug build, sanitizer, profiler or interpreter asked for; C and C++ compilers with -O1 or more, rustc with -O or an opt-level, cargo and Zig with a release profile or mode, CMake and Meson with an optimised build type; in a script *suspect* instead of invalid; not checked where that is one of the project's own, or a script or Makefile that can't be seen tells it",
    why: "These builds are for finding mistakes, and 2 to 50 times slower. Many compilers don't optimise unless they are told to. That is the oldest mistake of benchmarks. In 2009 `optimize_for = SPEED` was missing, and the winner changed.",
    fix: "Build as the contender's documentation says for production: `cargo build --release`, `-O2`, `-DCMAKE_BUILD_TYPE=Release`, `-Doptimize=ReleaseFast`.",
    scope: Scope::Row(|compared| Some(look(compared))),
};

/// What is said of most that is slow.
const DOES_NOT_OPTIMISE: &str = "doesn't optimise";
/// Options that slow a program down, wherever they stand, and what is said of them.
const SLOW: [(&str, &str); 9] = [
    // Meson's `optimization` counts more than its build type.
    ("-O0 opt-level=0 optimization=0 gcflags=-N all=-N", DOES_NOT_OPTIMISE),
    ("-Og optimization=g", "optimises for debugging only"),
    ("-fsanitize=*", "is a sanitizer's"),
    ("-pg", "is a profiler's"),
    ("--coverage", "counts every line"),
    ("--debug", "is a debug build's"),
    ("-race", "is Go's race detector"),
    ("-Xint --jitless", "switches compiling off"),
    ("-Xdebug --inspect --inspect=* --inspect-brk* --inspect-wait*", "is a debugger's"),
];
/// Options that have a C compiler optimise.
const C_OPTIMISES: &str = "-O -O1 -O2 -O3 -Os -Oz -Ofast";

/// A tool that builds, and what has it optimise. Spaces part the words of a list.
struct Tool {
    programs: &'static str,
    /// It builds where one of these stands somewhere behind its name; always, if none is named.
    with: &'static str,
    /// It does something else where one of these stands right behind its name, or, if any is
    /// named, nothing does.
    unless: &'static str,
    /// Options with which it optimises, whatever else there is.
    fast: &'static str,
    /// Whether [`C_OPTIMISES`] are among them.
    takes_c: bool,
    /// Options with which it doesn't.
    slow: &'static str,
    /// Words of which only a file of the project's tells what they stand for.
    own: &'static str,
    /// The option that it would have to have; none where it optimises by itself.
    lacks: &'static str,
}

const TOOL: Tool = Tool {
    programs: "",
    with: "",
    unless: "",
    fast: "",
    takes_c: false,
    slow: "",
    own: "",
    lacks: "",
};

/// The first of these that builds counts. What all others do is taken to be well.
const TOOLS: [Tool; 8] = [
    Tool {
        programs: "cargo",
        with: "build b run r rustc",
        unless: "install",
        fast: "--release -r profile=release profile=bench",
        slow: "profile=dev profile=test",
        own: "profile=*",
        lacks: "--release",
        ..TOOL
    },
    Tool { programs: "rustc", unless: "-V -vV", fast: "-O opt-level=*", lacks: "-O", ..TOOL },
    Tool {
        programs: "zig",
        with: "build build-exe build-lib build-obj run",
        // It is a C compiler as well.
        unless: "cc c++",
        // Before Zig 0.11 it was -Drelease-fast.
        fast: "ReleaseFast ReleaseSafe ReleaseSmall --release release=fast release=safe \
               release=small -Drelease*",
        lacks: "-Doptimize=ReleaseFast",
        ..TOOL
    },
    Tool {
        programs: "cmake",
        unless: "--build --install -E -P",
        fast: "CMAKE_BUILD_TYPE=Release CMAKE_BUILD_TYPE=RelWithDebInfo \
               CMAKE_BUILD_TYPE=MinSizeRel",
        takes_c: true,
        slow: "CMAKE_BUILD_TYPE= CMAKE_BUILD_TYPE=None CMAKE_BUILD_TYPE=Debug",
        own: "CMAKE_BUILD_TYPE=* --preset*",
        lacks: "-DCMAKE_BUILD_TYPE",
        ..TOOL
    },
    Tool {
        programs: "meson",
        unless: "compile install test",
        fast: "buildtype=release buildtype=debugoptimized buildtype=minsize optimization=1 \
               optimization=2 optimization=3 optimization=s",
        takes_c: true,
        slow: "buildtype=debug buildtype=plain",
        own: "buildtype=*",
        lacks: "--buildtype",
        ..TOOL
    },
    Tool {
        programs: "cc gcc clang c++ g++ clang++",
        unless: "-v",
        takes_c: true,
        lacks: "-O2",
        ..TOOL
    },
    Tool { programs: "go", with: "build install run", slow: "-N", ..TOOL },
    Tool { programs: "make gmake", takes_c: true, own: "make", ..TOOL },
];

fn look(compared: &RowSeen) -> Word {
    let contender = compared.contender;
    let Some(build) = &contender.build else {
        return Word::not_checked("How the contender was built is not known.");
    };
    let by_command = [build, &contender.run].map(|it| by_text(&it.join(" ")));
    let by_setting = contender.environment.iter().map(|(_, value)| slow(&words(value)));
    let by_script = contender.build_files.iter().filter(|it| is_script(it)).map(in_script);
    let unseen = unseen(build, &contender.build_files);
    worst(by_command.into_iter().chain(by_setting).chain([unseen]).chain(by_script))
        .unwrap_or_else(|| Word::valid("none", "Its commands ask for no slow build."))
}

/// The first of the worst.
fn worst(found: impl Iterator<Item = Option<Word>>) -> Option<Word> {
    found.flatten().min_by_key(|word| Reverse(word.verdict))
}

/// What speaks against a command, or a shell's script, if anything does.
fn by_text(text: &str) -> Option<Word> {
    let all = words(text);
    // What it is told may stand in a variable of another line.
    let c_optimises = first(&all, C_OPTIMISES).is_some();
    let commands = text.replace('\n', " && ").replace("; ", " && ");
    let by_tool = commands.split(" && ").map(|command| by_tool(&words(command), c_optimises));
    worst([slow(&all)].into_iter().chain(by_tool))
}

/// The words of a command, without a shell's quotes.
fn words(text: &str) -> Vec<String> {
    let words = text.split_whitespace().map(|it| it.replace(['"', '\''], ""));
    // CMake may be told what kind of setting it is.
    words.map(|it| it.trim_end_matches(';').replace(":STRING=", "=")).collect()
}

/// The first option that slows a program down.
fn slow(words: &[String]) -> Option<Word> {
    SLOW.iter().find_map(|(options, what)| Some(is_slow(first(words, options)?, what)))
}

fn is_slow(word: &str, what: &str) -> Word {
    Word::invalid(word, format!("`{word}` {what}."))
}

/// What speaks against a command by what its tool makes of it, if anything does.
fn by_tool(words: &[String], c_optimises: bool) -> Option<Word> {
    // It is only looked for, or asked for its version.
    if words.iter().any(|word| ["command", "which", "--version"].contains(&&**word)) {
        return None;
    }
    let tool = TOOLS.iter().find(|tool| tool.builds(words))?;
    // An option's value may be a word of its own.
    let pairs = words.windows(2).map(|pair| pair.join("="));
    let words: Vec<String> = words.iter().cloned().chain(pairs).collect();
    let has = |options: &str| first(&words, options);
    if has(tool.fast).is_some() || tool.takes_c && c_optimises {
        None
    } else if let Some(word) = has(tool.slow) {
        Some(is_slow(word, DOES_NOT_OPTIMISE))
    } else if let Some(word) = has(tool.own) {
        let says = format!("Whether `{word}` optimises stands in a file of the project.");
        let advice = "Say it in the command, such as `--release` or `make CFLAGS=-O2`.";
        Some(Word::not_checked(says).advise(advice))
    } else {
        let lacks = tool.lacks;
        let word = || Word::invalid(format!("no {lacks}"), format!("The build lacks `{lacks}`."));
        (!lacks.is_empty()).then(word)
    }
}

impl Tool {
    fn builds(&self, words: &[String]) -> bool {
        let is_in = |list: &str, word: &str| list.split_whitespace().any(|it| it == word);
        let is_called = |word: &str| {
            // A target may stand before the name, a version behind it: x86_64-linux-gnu-gcc-12.
            let name = word.trim_end_matches(|it: char| it.is_ascii_digit() || ".-".contains(it));
            let name = name.rsplit(['/', '-']).next().unwrap_or(name);
            is_in(self.programs, name) && !word.starts_with('-') && !word.contains('=')
        };
        words.iter().enumerate().filter(|(_, word)| is_called(word)).any(|(at, _)| {
            let behind = &words[at + 1..];
            let with = self.with.is_empty() || behind.iter().any(|it| is_in(self.with, it));
            let next = behind.first();
            with && (self.unless.is_empty() || next.is_some_and(|it| !is_in(self.unless, it)))
        })
    }
}

/// The first word that is one of these options.
fn first<'a>(words: &'a [String], options: &str) -> Option<&'a str> {
    let is_one = |word: &&String| options.split_whitespace().any(|it| fits(word, it));
    words.iter().find(is_one).map(String::as_str)
}

/// Whether a word is this option, or sets something to it (`CFLAGS=-O2`). One that doesn't
/// begin with a dash may have anything before it (`-DCMAKE_BUILD_TYPE=debug`), in whatever case.
/// `*` stands for any rest.
fn fits(word: &str, option: &str) -> bool {
    let (start, rest) = (option.trim_end_matches('*'), option.ends_with('*'));
    if !option.starts_with('-') {
        let (word, start) = (word.to_ascii_lowercase(), start.to_ascii_lowercase());
        return if rest { word.contains(&start) } else { word.ends_with(&start) };
    }
    let values = word.match_indices('=').map(|(at, _)| &word[at + 1..]);
    values.chain([word]).any(|it| if rest { it.starts_with(start) } else { it == start })
}

/// What speaks against a script, comments left out, if anything does. It may have a slow
/// word for another case, and a compiler's options in a variable, so that it is no more than
/// doubtful.
fn in_script(file: &TextFile) -> Option<Word> {
    let text = file.text.replace("\\\n", " ");
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let lines = lines.map(|line| line.split_once(" #").map_or(line, |(code, _)| code));
    let name = &file.name;
    match by_text(&lines.collect::<Vec<_>>().join("\n"))? {
        Word { value, says, verdict: Verdict::Invalid, .. } => {
            Some(Word::suspect(format!("{value} in {name}"), format!("In {name}: {says}")))
        }
        word => Some(word),
    }
}

fn is_script(file: &TextFile) -> bool {
    file.text.starts_with("#!")
}

/// What is said of a build by a script, if that isn't there to be looked at as a whole.
fn unseen(build: &[String], files: &[TextFile]) -> Option<Word> {
    let shells = ["sh", "bash", "dash", "zsh"];
    let program = build.first()?;
    let script = if shells.contains(&program.rsplit('/').next().unwrap_or(program)) {
        build.get(1).filter(|it| !it.starts_with('-'))?
    } else {
        Some(program).filter(|it| it.starts_with(['.', '$']) && it.contains('/'))?
    };
    let is_whole = files.iter().any(is_script) && !files.iter().any(|it| is_script(it) && it.cut);
    (!is_whole).then(|| {
        Word::not_checked(format!("`{script}` couldn't be read, or not all of it."))
            .advise("Let a script of the contender's own folder build it, of 16 KiB at most.")
    })
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
            ("cmake -D CMAKE_BUILD_TYPE:STRING=debug .", "CMAKE_BUILD_TYPE=debug"),
            ("meson setup build", "no --buildtype"),
            ("meson setup --buildtype=debug build", "--buildtype=debug"),
            ("meson setup --buildtype plain build", "--buildtype=plain"),
            ("meson setup -D buildtype=release -Doptimization=0 build", "-Doptimization=0"),
            ("go build -race .", "-race"),
            ("go build -gcflags=all=-N .", "-gcflags=all=-N"),
            ("go build -gcflags \"all=-N -l\" .", "all=-N"),
            ("go build -gcflags='-l -N' .", "-N"),
            ("zig build --prefix out", "no -Doptimize=ReleaseFast"),
            ("zig build -Doptimize=Debug", "no -Doptimize=ReleaseFast"),
            ("zig build --release=off", "no -Doptimize=ReleaseFast"),
            ("zig build-exe hello.zig", "no -Doptimize=ReleaseFast"),
            ("zig cc -o hello hello.c", "no -O2"),
            ("cargo build --release && g++ -o hello hello.cpp", "no -O2"),
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
            "mix release",
            "javac -d out Hello.java",
            "sh -c 'cargo fetch && npm run build'",
            "protoc --cpp_out=. hello.proto && g++ -O2 -o hello hello.cpp hello.pb.cc",
            "apt-get install -y cmake",
            "cmake -S . -B build -DCMAKE_BUILD_TYPE=Release",
            "cmake -S . -B build -DCMAKE_BUILD_TYPE= -DCMAKE_CXX_FLAGS=\"-O2 -g\"",
            "sh -c 'cmake . -DCMAKE_BUILD_TYPE=\"RelWithDebInfo\"; cmake --build .'",
            "cmake --build build",
            "cmake \"-DPARTS=a;b\" -DCMAKE_BUILD_TYPE=Release .",
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
            ("make CC=/usr/bin/gcc", "`make`"),
            ("sh -c 'cd server && gmake'", "`gmake`"),
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
