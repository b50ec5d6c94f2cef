//! How many lines of code a contender has.
//!
//! They are those of the files of its folder and of its sources whose names end as those of a
//! language's programs do, without what lies in a folder `build` or `tests`. A line counts unless it
//! is blank, or has nothing but a comment. Where a comment begins behind code, its next lines count.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use super::contender::{BUILD, Contender};
use super::digest;

/// The folder of tests that lie beside a program.
const TESTS: &str = "tests";

/// How comments are written in some languages.
struct Comments {
    /// How the names of their files end.
    endings: &'static str,
    /// What begins a comment that ends with its line.
    line: &'static str,
    /// What begins and ends one that may have several lines.
    block: Option<(&'static str, &'static str)>,
}

const LANGUAGES: [Comments; 4] = [
    Comments {
        endings: "c cc cpp cs cxx go h hh hpp java js kt mjs rs scala swift ts zig",
        line: "//",
        block: Some(("/*", "*/")),
    },
    Comments { endings: "ex exs pl py rb sh", line: "#", block: None },
    Comments { endings: "erl hrl", line: "%", block: None },
    Comments { endings: "hs lua", line: "--", block: None },
];

/// The lines of code of a contender; `None` where it has no code, as somebody else's server that is
/// only started, or its folders can't be read.
pub(super) fn of(contender: &Contender) -> Option<u64> {
    let mut lines = 0;
    for folder in contender.folders() {
        for name in digest::names(&folder, BUILD.as_ref()).ok()? {
            let is_test = name.components().any(|part| part.as_os_str() == TESTS);
            if let Some(comments) = Comments::of(&name).filter(|_| !is_test) {
                let text = fs::read(folder.join(&name)).ok()?;
                lines += comments.code(&String::from_utf8_lossy(&text));
            }
        }
    }
    (lines > 0).then_some(lines)
}

impl Comments {
    /// Those of the language that a file is written in; `None` where it is in none that is known.
    fn of(name: &Path) -> Option<&'static Comments> {
        let ending = name.extension().and_then(OsStr::to_str)?;
        LANGUAGES.iter().find(|it| it.endings.split(' ').any(|known| known == ending))
    }

    /// The lines of code in a text.
    fn code(&self, text: &str) -> u64 {
        let mut in_block = false;
        text.lines().filter(|line| self.is_code(line, &mut in_block)).count() as u64
    }

    fn is_code(&self, line: &str, in_block: &mut bool) -> bool {
        let mut rest = line.trim();
        loop {
            if let (true, Some((_, end))) = (*in_block, self.block) {
                let Some((_, behind)) = rest.split_once(end) else { return false };
                (*in_block, rest) = (false, behind.trim_start());
            }
            if rest.is_empty() || rest.starts_with(self.line) {
                return false;
            }
            match self.block.and_then(|(begin, _)| rest.strip_prefix(begin)) {
                Some(within) => (*in_block, rest) = (true, within),
                None => return true,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(name: &str, text: &str) -> u64 {
        Comments::of(Path::new(name)).unwrap().code(text)
    }

    #[test]
    fn blank_lines_and_comments_are_no_code() {
        let text = "// a comment\n\nint a; // behind code\n  /* one\n * two\n */ int b;\n/* c */\n";
        assert_eq!(code("x.c", text), 2);
        assert_eq!(code("x.py", "#!/usr/bin/python3\nimport os  # why\n\t\n  # no\n"), 1);
        assert_eq!(code("x.erl", "%% why\n-module(x).\nf() -> ok.\n"), 2);
        assert_eq!(code("x.rs", "/* a */ /* b */ fn f() {}\n/**/\n"), 1);
        for other in ["contender.toml", "README.md", "Cargo.lock", "noend"] {
            assert!(Comments::of(Path::new(other)).is_none(), "{other} is no program");
        }
    }

    #[test]
    fn what_was_built_or_tests_it_is_none_of_a_contenders_code() {
        let folder = tempfile::tempdir().unwrap();
        let file = "title = 't'\nlanguage = 'C'\ntier = 'idiomatic'\nrun = ['x']";
        let contender = Contender {
            name: "a".into(),
            source: folder.path().into(),
            file: toml::from_str(file).unwrap(),
            only: Default::default(),
        };
        for (name, text) in [
            ("a.c", "int a;\nint b;\n"),
            ("src/b.c", "int c;\n"),
            ("build/made.c", "int d;\n"),
            ("tests/try.c", "int e;\n"),
            ("contender.toml", "title = 1\n"),
        ] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        assert_eq!(of(&contender), Some(3));
        for name in ["a.c", "src/b.c"] {
            fs::remove_file(folder.path().join(name)).unwrap();
        }
        assert_eq!(of(&contender), None, "whose code lies elsewhere has lines that nobody counted");
    }
}
