//! The texts of a contender's files in which settings stand: those that it is built from,
//! since flags may stand in scripts, and its configuration.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use result::plan::TextFile;

use crate::study::contender::{BUILD, Contender, FILE};
use crate::study::digest;

/// Bytes of a text that are kept, so that a long one doesn't swell each report.
const BYTES_MAX: usize = 16 << 10;
/// Bytes of all texts of a build.
const BUILD_BYTES_MAX: usize = 64 << 10;
/// Files of configuration that are kept.
const FILES_MAX: usize = 8;

/// The text files among the sources of a contender that is built, scripts first, as far as
/// there is room for them. What a build made is none, and what is told elsewhere is left out.
pub fn of_build(contender: &Contender) -> Vec<TextFile> {
    if contender.file.build.is_empty() {
        return Vec::new();
    }
    let roots = roots(contender);
    let is_told = |name: &str| name == FILE || contender.file.files.iter().any(|it| it == name);
    let names = |root: &Path| digest::names(root, BUILD.as_ref()).unwrap_or_default();
    let found = roots.iter().flat_map(|(_, root)| {
        names(root).into_iter().filter_map(|name| within(&roots, &root.join(name)))
    });
    // Links may lead to the same.
    let found: BTreeMap<PathBuf, String> = found.filter(|(_, name)| !is_told(name)).collect();
    let (scripts, others): (Vec<_>, Vec<_>) = found.into_iter().partition(|(path, _)| {
        text_of(path, String::new()).is_some_and(|file| file.text.starts_with("#!"))
    });
    let mut room = BUILD_BYTES_MAX;
    let mut files = Vec::new();
    for file in scripts.into_iter().chain(others).filter_map(|(path, name)| text_of(&path, name)) {
        if let Some(left) = room.checked_sub(file.text.len()) {
            room = left;
            files.push(file);
        }
    }
    files
}

/// The text files among those that each trial has a copy of, as they are before their
/// placeholders are filled in.
pub fn of_configuration(contender: &Contender) -> Vec<TextFile> {
    let roots = roots(contender);
    let files = contender.file.files.iter().filter_map(|name| {
        let (path, name) = within(&roots, &contender.source.join(name))?;
        text_of(&path, name)
    });
    files.take(FILES_MAX).collect()
}

/// The folders that it is made from: each by the beginning of its files' names, and
/// where it really is.
fn roots(contender: &Contender) -> Vec<(String, PathBuf)> {
    let own = (String::new(), contender.source.clone());
    let others = contender.sources().map(|(name, folder)| (format!("{name}/"), folder));
    let all = [own].into_iter().chain(others);
    all.filter_map(|(name, folder)| Some((name, folder.canonicalize().ok()?))).collect()
}

/// Where a file of these folders really is, and its name; `None` if it is in none, or was
/// made by a build.
fn within(roots: &[(String, PathBuf)], path: &Path) -> Option<(PathBuf, String)> {
    let path = path.canonicalize().ok()?;
    let name = roots.iter().find_map(|(start, root)| {
        let name = path.strip_prefix(root).ok()?;
        (!name.starts_with(BUILD)).then(|| format!("{start}{}", name.display()))
    })?;
    Some((path, name))
}

/// So much of a file's text as is kept; `None` if it holds something else, or is no regular
/// file.
fn text_of(path: &Path, name: String) -> Option<TextFile> {
    if !path.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(BYTES_MAX as u64 + 1).read_to_end(&mut bytes).ok()?;
    let cut = bytes.len() > BYTES_MAX;
    bytes.truncate(BYTES_MAX);
    if let Err(error) = str::from_utf8(&bytes)
        && cut
        && error.error_len().is_none()
    {
        // A character was cut.
        bytes.truncate(error.valid_up_to());
    }
    let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))?;
    Some(TextFile { name, text, cut })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// The files of a build with this command, in a study with these files.
    fn kept(build: &str, files: &[(&str, &[u8])]) -> Vec<TextFile> {
        kept_of(&format!("build = {build}"), files, of_build)
    }

    /// Those of a contender with this line in its file. It is in the folder `own`, and
    /// names `shared`.
    fn kept_of(
        line: &str,
        files: &[(&str, &[u8])],
        of: fn(&Contender) -> Vec<TextFile>,
    ) -> Vec<TextFile> {
        let study = tempfile::tempdir().unwrap();
        let write = |name: &str, content: &[u8]| {
            let path = study.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        };
        let head = "title = 't'\nlanguage = 'C'\ntier = 'idiomatic'\nrun = ['x']\n";
        let text = format!("{head}sources = ['../shared']\n{line}\n");
        write("own/contender.toml", text.as_bytes());
        write("shared/Greeting.java", b"class Greeting {}\n");
        for (name, content) in files {
            write(name, content);
        }
        symlink("/etc/passwd", study.path().join("own/link")).unwrap();
        of(&Contender::read(&study.path().join("own"), "own").unwrap())
    }

    fn names(files: &[TextFile]) -> Vec<&str> {
        files.iter().map(|file| &*file.name).collect()
    }

    #[test]
    fn all_texts_that_it_is_built_from_are_kept_scripts_first() {
        let script = "#!/bin/sh\n\"$(dirname \"$0\")/../shared/compile\" 17\n";
        let files: [(&str, &[u8]); 5] = [
            ("own/build.sh", script.as_bytes()),
            ("own/a.c", b"int main() {}\n"),
            ("own/more/flags", b"-O2"),
            ("own/nginx.conf", b"told as configuration\n"),
            ("shared/compile", b"#!/bin/sh\njavac *.java\n"),
        ];
        let kept = kept("['sh', 'build.sh']\nfiles = ['nginx.conf']", &files);
        let expected =
            ["build.sh", "../shared/compile", "a.c", "more/flags", "../shared/Greeting.java"];
        assert_eq!(names(&kept), expected);
        assert_eq!(kept[0].text, script);
        assert!(kept.iter().all(|file| !file.cut));
    }

    #[test]
    fn where_nothing_is_built_nothing_is_kept() {
        assert_eq!(kept("[]", &[("own/server.js", b"listen();\n")]), []);
    }

    #[test]
    fn what_is_no_text_or_no_source_is_left_out() {
        let files: [(&str, &[u8]); 4] = [
            ("own/program", b"\x7fELF\xff\xfe"),
            ("own/zeros", b"a\0b"),
            ("own/build/made.sh", b"#!/bin/sh\n"),
            ("other/build.sh", b"#!/bin/sh\n"),
        ];
        let kept = kept("['./program']", &files);
        assert_eq!(names(&kept), ["../shared/Greeting.java"]);
    }

    #[test]
    fn a_long_text_is_cut_between_characters_and_says_so() {
        let whole = "é".repeat(BYTES_MAX / 2);
        let long = format!("x{whole}");
        let files = [("own/a", whole.as_bytes()), ("own/b", long.as_bytes())];
        let kept = kept("['cat', 'a', 'b']", &files);
        assert_eq!((kept[0].text.len(), kept[0].cut), (BYTES_MAX, false));
        assert_eq!((kept[1].text.len(), kept[1].cut), (BYTES_MAX - 1, true));
        assert!(long.starts_with(&kept[1].text));
    }

    #[test]
    fn the_configuration_is_kept_as_its_author_wrote_it() {
        let text = "listen $HOST:$PORT;\nkeepalive_requests 1000000;\n";
        let long = "#".repeat(BYTES_MAX + 1);
        let files: [(&str, &[u8]); 4] = [
            ("own/nginx.conf", text.as_bytes()),
            ("own/long.conf", long.as_bytes()),
            ("own/zeros", b"a\0b"),
            ("own/unnamed.conf", b"x"),
        ];
        let line = "files = ['nginx.conf', 'long.conf', 'zeros', 'link']";
        let kept = kept_of(line, &files, of_configuration);
        assert_eq!(names(&kept), ["nginx.conf", "long.conf"]);
        assert_eq!((&*kept[0].text, kept[0].cut), (text, false));
        assert_eq!((kept[1].text.len(), kept[1].cut), (BYTES_MAX, true));
        assert_eq!(kept_of("build = ['cat', 'nginx.conf']", &files, of_configuration), []);
    }

    #[test]
    fn where_there_is_no_room_for_all_scripts_are_kept() {
        let long = "#".repeat(BYTES_MAX);
        let names_of = ["own/a", "own/b", "own/c", "own/d", "own/e"];
        let mut files: Vec<(&str, &[u8])> =
            names_of.iter().map(|name| (*name, long.as_bytes())).collect();
        files.push(("own/z.sh", b"#!/bin/sh\n"));
        let kept = kept("['./z.sh']", &files);
        assert_eq!(names(&kept), ["z.sh", "a", "b", "c", "../shared/Greeting.java"]);
        assert!(kept.iter().map(|file| file.text.len()).sum::<usize>() <= BUILD_BYTES_MAX);
    }
}
