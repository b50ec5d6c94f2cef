//! The texts of a contender's files in which settings stand: those that its build is told to
//! use, since where the command is a script, flags stand in that, and its configuration.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use result::plan::TextFile;

use crate::study::contender::{BUILD, Contender, Placeholders};

/// Bytes of a text that are kept, so that a long one doesn't swell each report.
const BYTES_MAX: usize = 16 << 10;
/// Files of a kind that are kept: scripts may call others, and those again.
const FILES_MAX: usize = 8;

/// The text files among a contender's sources that its build's command names, and the
/// scripts there that these call. What a build made is none.
pub fn of_build(contender: &Contender) -> Vec<TextFile> {
    let roots = roots(contender);
    let placeholders = Placeholders {
        source: contender.source.clone(),
        build: contender.build_folder(),
        ..Placeholders::default()
    };
    let words = placeholders.fill_all(&contender.file.build);
    // It is run in the contender's folder.
    let named = words.iter().map(|word| (contender.source.join(word), false));
    let mut left: VecDeque<(PathBuf, bool)> = named.collect();
    let (mut seen, mut files) = (Vec::new(), Vec::new());
    while let Some((path, has_to_be_script)) = left.pop_front()
        && files.len() < FILES_MAX
    {
        let Some((path, name)) = within(&roots, &path) else { continue };
        let Some(text) = text_of(&path) else { continue };
        let is_script = text.starts_with("#!");
        if seen.contains(&path) || has_to_be_script && !is_script {
            continue;
        }
        let file = bounded(name, text);
        if let Some(folder) = path.parent().filter(|_| is_script) {
            left.extend(called(&file.text).map(|called| (folder.join(called), true)));
        }
        seen.push(path);
        files.push(file);
    }
    files
}

/// The text files among those that each trial has a copy of, as they are before their
/// placeholders are filled in.
pub fn of_configuration(contender: &Contender) -> Vec<TextFile> {
    let roots = roots(contender);
    let files = contender.file.files.iter().filter_map(|name| {
        let (path, name) = within(&roots, &contender.source.join(name))?;
        Some(bounded(name, text_of(&path)?))
    });
    files.take(FILES_MAX).collect()
}

/// A file with so much of its text as is kept.
fn bounded(name: String, mut text: String) -> TextFile {
    let cut = text.len() > BYTES_MAX;
    if cut {
        let end = (0..=BYTES_MAX).rev().find(|&at| text.is_char_boundary(at));
        text.truncate(end.unwrap_or_default());
    }
    TextFile { name, text, cut }
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

/// The text of a file; `None` if it holds something else, or is no regular file.
fn text_of(path: &Path) -> Option<String> {
    if !path.is_file() {
        return None;
    }
    fs::read_to_string(path).ok().filter(|text| !text.contains('\0'))
}

/// The paths in a script as they are from its own folder, if that is what it puts before
/// them, as in `"$here/../jvm/compile"`.
fn called(script: &str) -> impl Iterator<Item = &str> {
    let words = script.split(|c: char| c.is_whitespace() || "\"'`;&|<>()=".contains(c));
    words.filter_map(|word| {
        let path = match word.starts_with('$') {
            true => word.split_once('/')?.1,
            false => word.trim_start_matches('/'),
        };
        (word.contains('/') && !path.is_empty()).then_some(path)
    })
}

#[cfg(test)]
mod tests {
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
    fn what_the_command_names_is_kept_with_the_scripts_that_it_calls() {
        let script = "#!/bin/sh\nhere=$(dirname \"$0\")\n\"$here/../shared/compile\" 17\n\
            . $here/flags && cat $here/notes\n\"$(dirname \"$0\")/more.sh\"\n";
        let files: [(&str, &[u8]); 6] = [
            ("own/build.sh", script.as_bytes()),
            ("own/server.c", b"int main() {}\n"),
            ("own/more.sh", b"#!/bin/sh\n"),
            ("own/notes", b"not a script\n"),
            ("own/unnamed.sh", b"#!/bin/sh\n"),
            // Scripts that call each other have an end.
            ("shared/compile", b"#!/bin/sh\njavac \"$here\"/*.java; ../own/build.sh\n"),
        ];
        let build = "['sh', '$SOURCE/build.sh', 'server.c', '-o', '$BUILD/x', '.', 'build.sh']";
        let kept = kept(build, &files);
        assert_eq!(names(&kept), ["build.sh", "server.c", "../shared/compile", "more.sh"]);
        assert_eq!(kept[0].text, script);
        assert!(kept.iter().all(|file| !file.cut));
    }

    #[test]
    fn what_is_no_text_or_no_source_is_left_out() {
        let files: [(&str, &[u8]); 4] = [
            ("own/program", b"\x7fELF\xff\xfe"),
            ("own/zeros", b"a\0b"),
            ("own/build/made.sh", b"#!/bin/sh\n"),
            ("other/build.sh", b"#!/bin/sh\n"),
        ];
        let build = "['$SOURCE/program', 'zeros', '$BUILD/made.sh', 'link', '/etc/passwd']";
        assert_eq!(names(&kept(build, &files)), [""; 0]);
        let by_script: [(&str, &[u8]); 2] =
            [("own/b", b"#!/bin/sh\n../other/build.sh\n"), ("other/build.sh", b"#!/bin/sh\n")];
        assert_eq!(names(&kept("['./b']", &by_script)), ["b"], "no source of the contender");
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
        let line = "files = ['nginx.conf', 'long.conf', 'zeros', 'link', 'gone']";
        let kept = kept_of(line, &files, of_configuration);
        assert_eq!(names(&kept), ["nginx.conf", "long.conf"]);
        assert_eq!((&*kept[0].text, kept[0].cut), (text, false));
        assert_eq!((kept[1].text.len(), kept[1].cut), (BYTES_MAX, true));
        assert_eq!(kept_of("build = ['cat', 'nginx.conf']", &files, of_configuration), []);
    }

    #[test]
    fn scripts_without_end_are_kept_in_part() {
        let words: Vec<String> = (0..100).map(|number| format!("'{number}.sh'")).collect();
        let files: Vec<(String, &[u8])> =
            (0..100).map(|number| (format!("own/{number}.sh"), &b"#!/bin/sh\n"[..])).collect();
        let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (&**name, *text)).collect();
        let kept = kept(&format!("[{}]", words.join(", ")), &files);
        assert_eq!(kept.len(), FILES_MAX);
    }
}
