//! Commands as a shell reads them: for everybody who shows one that may be pasted.

use std::borrow::Cow;
use std::path::Path;

/// What bakeoff fills in when it starts a contender's command: a `$` and one of these,
/// as a whole word.
const PLACEHOLDERS: [&str; 6] = ["SOURCE", "BUILD", "DIR", "HOST", "PORT", "CORES"];

/// A contender's command, quoted where a POSIX shell needs it. Placeholders stand
/// outside of quotes: they stay readable, and a shell that has variables of these names
/// fills them in as bakeoff does.
pub fn command(words: &[String]) -> String {
    let words = words.iter().enumerate().map(|(at, text)| with_placeholders(text, at == 0));
    words.collect::<Vec<_>>().join(" ")
}

/// A word of a command, such as a path, quoted where a POSIX shell needs it.
pub fn word(text: &str) -> Cow<'_, str> {
    // Only a NUL can't be quoted, and no program can be started with one.
    shlex::try_quote(text).unwrap_or(Cow::Borrowed(text))
}

/// An option that takes a path, with a blank before it; nothing where it has that path
/// without being given.
pub fn path_option(option: &str, path: &Path, default: &str) -> String {
    if path == Path::new(default) {
        String::new()
    } else {
        format!(" {option} {}", word(&path.to_string_lossy()))
    }
}

fn with_placeholders(text: &str, is_program: bool) -> String {
    if text.is_empty() {
        return "''".into();
    }
    let mut out = String::with_capacity(text.len() + 2);
    let mut rest = 0;
    for (at, _) in text.match_indices('$') {
        let after = &text[at + 1..];
        let is_of_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
        let end = after.find(|char: char| !is_of_name(char)).unwrap_or(after.len());
        if PLACEHOLDERS.contains(&&after[..end]) {
            out.push_str(&literal(&text[rest..at], is_program));
            rest = at + 1 + end;
            out.push_str(&text[at..rest]);
        }
    }
    out.push_str(&literal(&text[rest..], is_program));
    out
}

/// What stands between placeholders.
fn literal(text: &str, is_program: bool) -> Cow<'_, str> {
    // A `=` sets a variable only before the program: most options would be quoted for it.
    let needs_none = if is_program { is_plain(text) } else { text.split('=').all(is_plain) };
    if needs_none { Cow::Borrowed(text) } else { word(text) }
}

/// Whether a shell reads it as it is.
fn is_plain(text: &str) -> bool {
    text.is_empty() || word(text) == text
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn shown(words: &[&str]) -> String {
        command(&words.iter().map(|word| word.to_string()).collect::<Vec<_>>())
    }

    #[test]
    fn what_needs_no_quotes_has_none() {
        let plain = "$BUILD/jdk/bin/java -XX:ActiveProcessorCount=$CORES -Dnodelay=true +S \
                     $CORES:$CORES -cp $BUILD/classes Server $HOST:$PORT";
        assert_eq!(shown(&plain.split(' ').collect::<Vec<_>>()), plain);
    }

    #[test]
    fn a_shell_reads_the_words_that_bakeoff_starts() {
        let words = [
            ("", ""),
            ("a b", "a b"),
            ("$BUILD/lib/*", "/build/lib/*"),
            ("-cp=$BUILD/a b:$BUILD/*", "-cp=/build/a b:/build/*"),
            ("$$PORT", "$4711"),
            ("$PORT$PORT", "47114711"),
            ("${PORT}", "${PORT}"),
            ("$PORTS", "$PORTS"),
            ("$", "$"),
            ("$(date) `date`", "$(date) `date`"),
            ("it's", "it's"),
            ("\"quoted\"", "\"quoted\""),
            ("back\\slash", "back\\slash"),
            ("a=~", "a=~"),
            ("{a,b} [a] # ! ^ ; & | < > ?", "{a,b} [a] # ! ^ ; & | < > ?"),
            ("a\nb", "a\nb"),
            ("é", "é"),
        ];
        let script = format!("printf '<%s>' {}", shown(&words.map(|(word, _)| word)));
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).env("BUILD", "/build").env("PORT", "4711");
        let read = String::from_utf8(shell.output().unwrap().stdout).unwrap();
        assert_eq!(read, words.map(|(_, filled)| format!("<{filled}>")).concat(), "{script}");
    }

    #[test]
    fn an_option_is_there_only_where_it_is_needed() {
        let option = |path: &str| path_option("--studies", Path::new(path), "studies");
        assert_eq!([option("studies"), option("studies/")], ["", ""]);
        assert_eq!(option("my studies"), " --studies 'my studies'");
    }

    #[test]
    fn a_program_is_not_taken_for_a_setting() {
        assert_eq!(shown(&["A=b", "C=d"]), "'A=b' C=d");
    }
}
