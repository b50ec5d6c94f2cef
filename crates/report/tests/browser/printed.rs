//! The page on paper: all of it, and nothing cut.

use std::process::Command;

use result::Run;
use scraper::{ElementRef, Html, Node, Selector};

use crate::chromium::{Browser, browser, written};
use crate::fixture;
use crate::skipped::skipped;

/// Letters on a sheet below which it is as good as empty; the last one may be.
const SHEET_LETTERS_MIN: usize = 300;

/// What is read as one: titles, sentences, findings, rows of tables and of charts.
const TEXTS: &str =
    "h1, h2, h3, h4, p, li, tr, caption, figcaption, .who, .value, .badge, dt, dd, pre, svg text";

/// Words that are in the page, and no part of what it shows.
const UNSEEN: [&str; 6] = ["head", "script", "style", "title", "desc", "defs"];

/// Put into a copy of the page: marks that have to come in pairs on a sheet. At the
/// edges of charts and rows, and at each title and what follows it.
const MARK: &str = r#"<style>.marked { position: relative; } .mark { position: absolute; left: 0; font-size: 1px; }</style>
<script>
addEventListener("load", () => {
  const all = selector => [...document.querySelectorAll(selector)];
  let pairs = 0;
  const mark = (element, edge) => {
    const mark = document.createElement("span");
    mark.className = "mark";
    mark.style[edge] = 0;
    mark.textContent = `(${pairs})`;
    element.classList.add("marked");
    element.append(mark);
  };
  const wholes = all("figure:not(:has(details)), .row, .plot, tr > :first-child");
  const titles = all("h2, h3, h4, figcaption");
  const followers = all("h3, h4, p, li, dt, pre, figcaption, summary, .row, tr > :first-child");
  for (const whole of wholes) {
    pairs += 1;
    mark(whole, "top");
    mark(whole, "bottom");
  }
  for (const title of titles) {
    pairs += 1;
    mark(title, "top");
    const follows = it => title.compareDocumentPosition(it) & Node.DOCUMENT_POSITION_FOLLOWING;
    mark(followers.find(it => follows(it) && !title.contains(it)), "top");
  }
});
</script>"#;

fn runs() -> [(&'static str, Run); 3] {
    // Which takes more lines than there is room for on a screen.
    let mut long = fixture::web();
    for contender in &mut long.contenders {
        contender.title.push_str(", a server with a name that takes many a line wherever it is");
    }
    [("web", fixture::published()), ("quick", fixture::overloaded()), ("long", long)]
}

#[test]
fn paper_has_all_that_the_page_has_and_what_is_closed_there_also_without_scripts() {
    let Some(browser) = browser() else { return };
    for (name, run) in runs() {
        let page = report::html(&run);
        let forbidden = page.replacen("script-src 'sha256-", "script-src 'none' 'sha256-was-", 1);
        assert_ne!(page, forbidden, "{name}: scripts aren't forbidden");
        let Some(sheets) = printed(&browser, &format!("{name}-printed"), &forbidden) else {
            return;
        };

        let page = Html::parse_document(&page);
        let texts = Selector::parse(TEXTS).unwrap();
        let on_page = letters(&text(page.root_element()));
        let on_paper = letters(&sheets.concat());
        let mut missing: Vec<String> = page
            .select(&texts)
            .map(|element| letters(&text(element)))
            .filter(|text| !text.is_empty())
            .filter(|text| on_paper.matches(text).count() < on_page.matches(text).count())
            .collect();
        missing.dedup();
        assert!(missing.is_empty(), "{name}: the paper lacks {missing:#?}");

        let (_, full) = sheets.split_last().unwrap();
        for (number, sheet) in (1..).zip(full) {
            let found = letters(sheet).chars().count();
            assert!(found >= SHEET_LETTERS_MIN, "{name}: sheet {number} is as good as empty");
        }
    }
}

#[test]
fn no_sheet_ends_within_a_chart_or_a_row_or_after_a_title() {
    let Some(browser) = browser() else { return };
    for (name, run) in runs() {
        let page = report::html(&run)
            .replacen("http-equiv", "data-was", 1)
            .replace("</body>", &format!("{MARK}</body>"));
        let Some(sheets) = printed(&browser, &format!("{name}-marked"), &page) else { return };
        let mut pairs = 0;
        let mut cut = Vec::new();
        for pair in 1.. {
            let mark = format!("({pair})");
            match sheets.iter().map(|sheet| sheet.matches(&mark).count()).max() {
                Some(2) => pairs += 1,
                Some(0) | None => break,
                Some(_) => cut.push(pair),
            }
        }
        assert!(cut.is_empty(), "{name}: pairs {cut:?} are on two sheets");
        assert!(pairs > 50, "{name}: only {pairs} pairs of marks were printed");
    }
}

/// The text of each sheet, in the order in which the browser draws it, which is the
/// page's own; `None` without the program that reads it.
fn printed(browser: &Browser, name: &str, page: &str) -> Option<Vec<String>> {
    let pdf = browser.print(&written(name, page));
    let read = |options: &[&str]| {
        let read = Command::new("pdftotext").args(options).arg(&pdf).arg("-").output().ok()?;
        assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
        Some(String::from_utf8(read.stdout).unwrap())
    };
    let Some(text) = read(&["-raw"]) else {
        skipped("pdftotext is not installed");
        return None;
    };
    nothing_passes_the_edge(name, &read(&["-bbox"])?);
    // Each sheet ends with a form feed.
    Some(text.trim_end_matches('\x0c').split('\x0c').map(Into::into).collect())
}

/// Of words beyond it pdftotext says nothing; a word on it was cut.
fn nothing_passes_the_edge(name: &str, boxes: &str) {
    let boxes = Html::parse_document(boxes);
    let of = |element: ElementRef, key: &str| -> f64 {
        element.value().attr(key).expect(key).parse().unwrap()
    };
    for sheet in boxes.select(&Selector::parse("page").unwrap()) {
        for word in sheet.select(&Selector::parse("word").unwrap()) {
            let inside = of(word, "xmin") >= 0.0 && of(word, "xmax") <= of(sheet, "width");
            assert!(inside, "{name}: cut at the paper's edge: {}", text(word));
        }
    }
}

/// What is seen of an element.
fn text(element: ElementRef) -> String {
    let mut text = String::new();
    for node in element.descendants() {
        let Node::Text(words) = node.value() else { continue };
        let unseen = node.ancestors().any(|it| {
            it.value().as_element().is_some_and(|element| UNSEEN.contains(&element.name()))
        });
        if !unseen {
            text.push_str(words);
        }
    }
    text
}

/// Letters and digits: where lines break, and which space is how wide, is the
/// printer's affair.
fn letters(text: &str) -> String {
    text.chars().filter(|it| it.is_alphanumeric()).collect()
}
