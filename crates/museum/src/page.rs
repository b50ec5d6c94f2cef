//! The stories of all mistakes, as `docs/mistakes.md` has them.

use crate::mistake::{CaughtBy, Mistake};

/// Columns of a line, as far as words allow it.
const COLUMNS: usize = 80;

/// One mistake's section.
pub fn story(mistake: &Mistake) -> String {
    let file = &mistake.file;
    let caught = match file.set_up.expect.caught_by.get_ref() {
        CaughtBy::Check(id) => format!("Caught by [{id}](checks/{id}.md)."),
        CaughtBy::Tie => "Caught by the ranks: what is equal ties.".into(),
        CaughtBy::Withheld => "Caught before it is printed: the percentile is withheld.".into(),
        CaughtBy::Class => {
            "Caught by the [classes](durability.md): what survives less isn't ranked beside it."
                .into()
        }
        CaughtBy::Promise => "Caught by its word, [which it broke](durability.md).".into(),
    };
    let story = &file.story;
    let parts = [
        format!("**Done.** {}", story.done),
        format!("**The figure would have said.** {}", story.said),
        format!("**What gave it away.** {} {caught}", story.gave_away),
        format!("**Made by.** {}", file.made_by),
    ];
    let mut section = format!("## {}. {}\n\n`{}`\n", file.number, file.title, mistake.name);
    for part in parts {
        section.push('\n');
        section.push_str(&wrapped(&part));
        section.push('\n');
    }
    section
}

fn wrapped(text: &str) -> String {
    let mut lines = String::new();
    let mut column = 0;
    for word in text.split_whitespace() {
        let width = word.chars().count();
        if column > 0 && column + 1 + width > COLUMNS {
            lines.push('\n');
            column = 0;
        } else if column > 0 {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(word);
        column += width;
    }
    lines
}
