//! Text from elsewhere, made safe to look at.

use std::borrow::Cow;

/// Longer than any sentence that is meant for people, in characters.
const CHARS_MAX: usize = 2_000;

/// Longer than any command that is meant to be pasted, in characters.
const COMMAND_CHARS_MAX: usize = 16_000;

/// Longer than any name that fits beside its figure, in characters.
const NAME_CHARS_MAX: usize = 60;

/// The text with everything that can't be seen written out as `\u{…}`, cut
/// where it is too long to be read.
///
/// A server under test chooses much of what a report shows. Control characters
/// would steer the terminal, and direction marks would let a text look like
/// another one.
pub fn visible(text: &str) -> Cow<'_, str> {
    visible_to(text, CHARS_MAX, |_| false)
}

/// The same for a name, which has less room.
pub fn visible_name(name: &str) -> Cow<'_, str> {
    visible_to(name, NAME_CHARS_MAX, |_| false)
}

/// The same for a command, which may be longer. Lines and tabs stay: in quotes they are
/// meant, and written out they would be something else to a shell.
pub fn visible_command(command: &str) -> Cow<'_, str> {
    visible_to(command, COMMAND_CHARS_MAX, is_layout)
}

/// A text of many lines with everything else that can't be seen written out as
/// `\u{…}`: lines and tabs stay, and it isn't cut.
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    visible_to(text, usize::MAX, is_layout)
}

fn visible_to(text: &str, chars_max: usize, stays: fn(char) -> bool) -> Cow<'_, str> {
    let end = text.char_indices().nth(chars_max).map_or(text.len(), |(at, _)| at);
    let is_escaped = |char: char| is_hidden(char) && !stays(char);
    if end == text.len() && !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(end + 16);
    for char in text[..end].chars() {
        if is_escaped(char) { out.extend(char.escape_default()) } else { out.push(char) }
    }
    if end < text.len() {
        out.push('…');
    }
    Cow::Owned(out)
}

fn is_layout(char: char) -> bool {
    matches!(char, '\n' | '\t')
}

/// JSON with everything that can't be seen written out as `\u…`, which a parser reads
/// as the same. By itself JSON escapes nothing above U+001F, though U+009B alone begins
/// a sequence that steers a terminal.
pub fn visible_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for char in json.chars() {
        // A line break stands between values: in a text it is escaped already.
        if char == '\n' || !is_hidden(char) {
            out.push(char);
        } else {
            let units = char.encode_utf16(&mut [0; 2]).to_vec();
            out.extend(units.into_iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    out
}

fn is_hidden(char: char) -> bool {
    char.is_control()
        || matches!(char,
            '\u{ad}'                      // soft hyphen
            | '\u{61c}'                   // Arabic letter mark
            | '\u{200b}'..='\u{200f}'     // no width, marks of direction
            | '\u{2028}'..='\u{202e}'     // line separators, embeddings of direction
            | '\u{2060}'..='\u{206f}'     // joiners, isolates of direction
            | '\u{feff}'                  // byte order mark
            | '\u{fff9}'..='\u{fffb}'     // annotations
            | '\u{fdd0}'..='\u{fdef}'     // characters that are none
            | '\u{fffe}' | '\u{ffff}'
            | '\u{e0000}'..='\u{e007f}') // tags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_do_not_reach_the_terminal() {
        assert_eq!(visible("\u{1b}[2Jgone\r\n"), "\\u{1b}[2Jgone\\r\\n");
    }

    #[test]
    fn marks_of_direction_are_written_out() {
        assert_eq!(visible("a\u{202e}b"), "a\\u{202e}b");
    }

    #[test]
    fn plain_text_of_any_language_stays_as_it_is() {
        assert!(matches!(visible("Zürich 東京 ≥ µs"), Cow::Borrowed(_)));
    }

    #[test]
    fn lines_and_tabs_of_a_script_stay_and_nothing_hides_in_it() {
        let script = "all:\n\tcc\r\n\u{202e}\u{1b}[2J\n";
        assert_eq!(visible_lines(script), "all:\n\tcc\\r\n\\u{202e}\\u{1b}[2J\n");
        assert_eq!(visible_lines(&"é\n".repeat(5_000)).len(), 15_000);
    }

    #[test]
    fn a_command_keeps_its_lines_and_is_cut_at_last() {
        let command = "sh -c '\n\tcc a.c\u{1b}[2J\n'";
        assert_eq!(visible_command(command), "sh -c '\n\tcc a.c\\u{1b}[2J\n'");
        let cut = visible_command(&"é".repeat(20_000)).chars().count();
        assert_eq!(cut, COMMAND_CHARS_MAX + 1);
    }

    #[test]
    fn json_stays_the_same_document_and_has_nothing_hidden() {
        let text = "\u{1b}[2J\u{7f}\u{9b}31m\u{202e}\u{e0041}Zürich\n";
        let json = serde_json::to_string_pretty(&[text]).unwrap();
        let shown = visible_json(&json);
        assert_eq!(shown, "[\n  \"\\u001b[2J\\u007f\\u009b31m\\u202e\\udb40\\udc41Zürich\\n\"\n]");
        assert_eq!(serde_json::from_str::<Vec<String>>(&shown).unwrap(), [text]);
    }

    #[test]
    fn a_text_without_end_is_cut_between_characters() {
        let cut = visible(&"é".repeat(5_000)).into_owned();
        assert_eq!(cut.chars().count(), CHARS_MAX + 1);
        assert!(cut.ends_with("é…"));
    }
}
