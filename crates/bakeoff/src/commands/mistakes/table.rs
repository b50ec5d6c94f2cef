//! The table of mistakes, as people read it, and the exit code that goes with it.

use std::path::PathBuf;
use std::time::SystemTime;

use comfy_table::{Attribute, Cell, ContentArrangement, Table, presets};
use museum::figure::Figure;
use museum::verdict::{Alarm, Seen};
use report::text::visible;
use report::{Terminal, units};

/// What came of a mistake.
pub struct Entry {
    pub number: u32,
    pub name: String,
    pub title: String,
    pub came: Came,
}

/// How it came out.
pub enum Came {
    /// It was made and judged.
    Made {
        naive: Figure,
        truth: Figure,
        /// What was to catch it.
        by: String,
        seen: Seen,
        made_again: u32,
        folder: PathBuf,
    },
    /// It can't be made here, and why.
    NotShown(String),
}

/// 0 where all were caught, 1 where one was not, 3 where one could not be shown or
/// the machine was disturbed.
pub fn exit_code(entries: &[Entry]) -> u8 {
    let missed = |it: &Entry| match &it.came {
        Came::Made { seen, .. } => !seen.is_caught() && !seen.is_disturbed(),
        Came::NotShown(_) => false,
    };
    let not_shown = |it: &Entry| match &it.came {
        Came::Made { seen, .. } => seen.is_disturbed(),
        Came::NotShown(_) => true,
    };
    if entries.iter().any(missed) {
        super::FAILED
    } else if entries.iter().any(not_shown) {
        super::NOT_SHOWN
    } else {
        0
    }
}

/// The table, what has to be said of single mistakes, and the sum. `known` is how
/// many mistakes there are, asked for or not.
pub fn table(entries: &[Entry], known: usize, terminal: Terminal) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(terminal.columns)
        .set_header(["", "mistake", "naive figure", "true figure", "caught by", "verdict"]);
    if terminal.colour {
        table.enforce_styling()
    } else {
        table.force_no_tty()
    };
    let mut notes = Vec::new();
    for entry in entries {
        let [naive, truth, by, verdict] = cells(entry);
        let cell = Cell::new(verdict);
        let is_good = !matches!(&entry.came, Came::Made { seen, .. } if !seen.is_caught());
        table.add_row([
            Cell::new(entry.number),
            Cell::new(&entry.title),
            Cell::new(naive),
            Cell::new(truth),
            Cell::new(by),
            if is_good || !terminal.colour { cell } else { cell.add_attribute(Attribute::Bold) },
        ]);
        notes.extend(note(entry));
    }
    let lines = table.to_string();
    let mut text: String = lines.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    if !notes.is_empty() {
        text.push('\n');
    }
    for note in notes {
        text.push_str(&format!("{}\n", visible(&note)));
    }
    text.push_str(&format!("\n{}\n", sum(entries, known)));
    text
}

/// The same as a page in Markdown, with the machine and how long it took.
pub fn page(entries: &[Entry], known: usize, took: &str) -> String {
    let machine = lab::place::machine::describe();
    let date = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let date = date.split('T').next().unwrap_or_default();
    let head = format!(
        "# What the museum measured\n\nWritten by `bakeoff mistakes` (`make mistakes`) on {date}, \
         on {} processors of {}, {}, in {took}. Nothing here is typed. The stories are in \
         [mistakes.md](../mistakes.md).\n\n{}\n",
        machine.cpus.len(),
        machine.cpu,
        machine.kernel,
        sum(entries, known)
    );
    let mut page =
        head + "\n| | naive figure | true figure | caught by | verdict |\n|---|---|---|---|---|\n";
    for entry in entries {
        let cells = cells(entry).map(|cell| cell.replace('|', "\\|")).join(" | ");
        page.push_str(&format!("| {} {} | {cells} |\n", entry.number, entry.name));
    }
    let notes: Vec<String> = entries.iter().filter_map(note).collect();
    if !notes.is_empty() {
        page.push('\n');
    }
    notes.iter().for_each(|note| page.push_str(&format!("- {}\n", visible(note))));
    page
}

fn cells(entry: &Entry) -> [String; 4] {
    let dash = || "–".to_string();
    match &entry.came {
        Came::NotShown(_) => [dash(), dash(), dash(), "not shown".into()],
        Came::Made { naive, truth, by, seen, .. } => {
            let by = match &seen.caught {
                Ok(value) => format!("{by}: {}", visible(value)),
                Err(_) => format!("({by})"),
            };
            [figure(naive), figure(truth), by, word(seen).into()]
        }
    }
}

/// The verdict in a word or two.
pub fn word(seen: &Seen) -> &'static str {
    match (seen.caught.is_ok(), seen.alarms.is_empty()) {
        (true, true) if seen.is_disturbed() => "caught, disturbed",
        (true, true) => "caught",
        (false, true) => "not caught",
        (true, false) => "false alarm",
        (false, false) => "not caught, false alarm",
    }
}

fn figure(figure: &Figure) -> String {
    match figure {
        Figure::Rate(rate, unit) => format!("{} {}", units::count(*rate), visible(unit)),
        Figure::TimeUs(us) => format!("p99 {}", units::time(*us)),
        Figure::LongestUs(us) => format!("up to {}", units::time(*us)),
        Figure::Connections(count) => format!("{} connections", units::whole(*count as u64)),
        Figure::Winner(name, ratio) => format!("{name} wins by {:.1} %", (ratio - 1.0) * 100.0),
        Figure::Tie => "a tie".into(),
        Figure::None => "–".into(),
    }
}

/// What the table has no room for.
fn note(entry: &Entry) -> Option<String> {
    let told = match &entry.came {
        Came::NotShown(why) => format!("can't be made here: {why}"),
        Came::Made { seen, made_again, folder, .. } => {
            let mut told = Vec::new();
            if let Err(why) = &seen.caught {
                told.push(format!("not caught: {why}; see {}", folder.display()));
            }
            for alarm in &seen.alarms {
                let (check, word) = (&alarm.check, alarm.verdict.word());
                let (whose, value) = (&alarm.contender, &alarm.value);
                told.push(format!(
                    "false alarm: without the mistake, `{check}` calls {whose} {word}: {value}"
                ));
            }
            for Alarm { contender, check, value, .. } in &seen.disturbed {
                told.push(format!(
                    "disturbed: without the mistake, `{check}` speaks of the machine while \
                     {contender} was measured: {value}"
                ));
            }
            if let Some(check) = &seen.also {
                told.push(format!(
                    "`{check}` speaks on this machine without the mistake as well, and is right"
                ));
            }
            if *made_again > 0 {
                let runs = units::of((*made_again).into(), "run");
                told.push(format!("{runs} made again, because the machine was disturbed"));
            }
            if told.is_empty() {
                return None;
            }
            told.join("; ")
        }
    };
    Some(format!("{}. {}: {told}.", entry.number, entry.name))
}

fn sum(entries: &[Entry], known: usize) -> String {
    let count = |is: fn(&Came) -> bool| entries.iter().filter(|it| is(&it.came)).count();
    let caught = count(|it| matches!(it, Came::Made { seen, .. } if seen.is_caught()));
    let made = count(|it| matches!(it, Came::Made { .. }));
    let disturbed = count(|it| matches!(it, Came::Made { seen, .. } if seen.is_disturbed()));
    let not_shown = count(|it| matches!(it, Came::NotShown(_)));
    let mut parts = vec![format!("{caught} of {made} that were made are caught")];
    if disturbed > 0 {
        parts.push(format!("{disturbed} caught while the machine was disturbed"));
    }
    if not_shown > 0 {
        parts.push(format!("{not_shown} can't be made here"));
    }
    if entries.len() < known {
        parts.push(format!("{} of {known} are left out", known - entries.len()));
    }
    format!("{}.", parts.join("; "))
}

#[cfg(test)]
mod tests {
    use result::finding::Verdict;

    use super::*;

    fn entry(number: u32, title: &str, came: Came) -> Entry {
        Entry { number, name: format!("mistake-{number}"), title: title.into(), came }
    }

    fn made(seen: Seen) -> Came {
        Came::Made {
            naive: Figure::Rate(64_800.0, "requests/s".into()),
            truth: Figure::Rate(74_700.0, "requests/s".into()),
            by: "load-arrived".into(),
            seen,
            made_again: 0,
            folder: "runs/mistakes/m".into(),
        }
    }

    fn caught() -> Seen {
        Seen {
            caught: Ok("931 of 5000 accepted".into()),
            alarms: Vec::new(),
            disturbed: Vec::new(),
            also: None,
        }
    }

    fn alarm() -> Alarm {
        Alarm {
            contender: "go".into(),
            check: "steady".into(),
            verdict: Verdict::Suspect,
            value: "+23.4 %".into(),
        }
    }

    #[test]
    fn the_table_says_what_came_of_each_and_the_sum() {
        let entries = [
            entry(1, "A limit of 1,024 connections", made(caught())),
            entry(2, "One core", made(Seen { also: Some("shared-cores".into()), ..caught() })),
            entry(
                3,
                "A slow client",
                made(Seen { caught: Err("`a` says valid".into()), ..caught() }),
            ),
            entry(4, "No parsing", made(Seen { alarms: vec![alarm()], ..caught() })),
            entry(5, "A backlog", made(Seen { disturbed: vec![alarm()], ..caught() })),
            entry(7, "Compiling", Came::NotShown("netty: `mvn` is not installed".into())),
        ];
        insta::assert_snapshot!(table(&entries, 8, Terminal::default()));
    }

    #[test]
    fn the_page_has_a_row_a_mistake() {
        let entries = [entry(1, "t", made(caught())), entry(9, "t", Came::NotShown("no".into()))];
        let page = page(&entries, 2, "6 min");
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
        assert_eq!(
            rows,
            [
                "| 1 mistake-1 | 64.8k requests/s | 74.7k requests/s | load-arrived: 931 of 5000 \
                 accepted | caught |",
                "| 9 mistake-9 | – | – | – | not shown |",
            ]
        );
        assert!(page.contains("1 of 1 that were made are caught"), "{page}");
    }

    #[test]
    fn the_exit_code_is_0_only_if_all_were_caught_and_clean() {
        let code = |cames: Vec<Came>| {
            let entries: Vec<Entry> = cames.into_iter().map(|came| entry(1, "t", came)).collect();
            exit_code(&entries)
        };
        let not_caught = || made(Seen { caught: Err(String::new()), ..caught() });
        let unclean = || made(Seen { alarms: vec![alarm()], ..caught() });
        let not_shown = || Came::NotShown(String::new());
        let disturbed = || made(Seen { disturbed: vec![alarm()], ..caught() });
        assert_eq!(code(vec![made(caught())]), 0);
        assert_eq!(code(vec![made(caught()), not_caught()]), 1);
        assert_eq!(code(vec![made(caught()), unclean()]), 1);
        assert_eq!(code(vec![made(caught()), not_shown()]), 3);
        assert_eq!(code(vec![made(caught()), disturbed()]), 3);
        assert_eq!(code(vec![not_shown(), unclean()]), 1, "the worse counts");
    }
}
