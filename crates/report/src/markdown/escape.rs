//! Text from elsewhere, so that Markdown shows it and does nothing else with it.

use crate::text::visible;

/// Characters that mean something to Markdown within a line, or to a cell of a
/// table. The rest of the ASCII punctuation is left alone, to stay readable.
const SPECIAL: &str = "\\`*_{}[]<>|~&$";

/// The text as text: no emphasis, link, HTML, cell or code; nor what GitHub makes
/// of plain text, as mentions of people, links to issues and to addresses.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let text = visible(text);
    let mut chars = text.chars().peekable();
    let mut at_start = true;
    while let Some(char) = chars.next() {
        match char {
            special if SPECIAL.contains(special) => out.extend(['\\', special]),
            // An empty comment parts them from the name, which a backslash does not:
            // people and issues are looked for after Markdown is done.
            '@' | '#' => out.extend([&*char.to_string(), "<!-- -->"]),
            // No address without its scheme or its `www.`.
            ':' if chars.peek() == Some(&'/') => out.push_str("\\:"),
            '.' if out.to_ascii_lowercase().ends_with("www") => out.push_str("\\."),
            // A list, a heading or a rule, where a line begins with it.
            '-' | '+' | '=' if at_start => out.extend(['\\', char]),
            other => out.push(other),
        }
        at_start = false;
    }
    out
}

/// A sentence, with what stands between backticks as code.
pub fn prose(text: &str) -> String {
    let text = visible(text);
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return plain(&text);
    }
    let mark = |(at, part): (usize, &&str)| match at % 2 {
        1 if part.is_empty() => String::new(),
        1 => format!("`{part}`"),
        _ => plain(part),
    };
    parts.iter().enumerate().map(mark).collect()
}

/// A line as a block of code, whatever is in it.
pub fn code_block(line: &str) -> String {
    let line = visible(line);
    let longest = line.split(|char| char != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{line}\n{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_markdown_would_interpret_is_shown() {
        insta::assert_snapshot!(
            plain("a|b `c` <img src=x> [d](e) *f* ~~g~~ &lt; \\"),
            @r"a\|b \`c\` \<img src=x\> \[d\](e) \*f\* \~\~g\~\~ \&lt; \\"
        );
        assert_eq!(plain("- a"), "\\- a", "a text became a list");
        assert_eq!(plain("a\n| b"), "a\\\\n\\| b", "a line break ended the row");
    }

    #[test]
    fn nobody_is_called_and_nothing_is_linked() {
        assert_eq!(plain("@admin fixes #1"), "@<!-- -->admin fixes #<!-- -->1");
        assert_eq!(plain("http://evil www.evil"), "http\\://evil www\\.evil");
    }

    #[test]
    fn code_in_a_sentence_stays_code() {
        assert_eq!(prose("Run `a <b>` @now."), "Run `a <b>` @<!-- -->now.");
        assert_eq!(prose("one ` alone"), "one \\` alone");
        assert_eq!(prose("``"), "", "two backticks would open what never ends");
    }

    #[test]
    fn a_block_of_code_ends_where_it_should() {
        assert_eq!(code_block("a ```` b"), "`````\na ```` b\n`````");
        assert_eq!(code_block("a\n```"), "````\na\\n```\n````");
    }

    #[test]
    fn readable_text_stays_as_it_is() {
        for text in ["nginx 1.22.1, 95 % (a–b)", "2026-11-21T08:30:00Z", "C++"] {
            assert_eq!(plain(text), text);
        }
    }
}
