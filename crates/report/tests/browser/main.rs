//! The page in a real browser, where there is one.
//!
//! - this file: on a screen, with its script;
//! - [`scriptless`]: without scripts, on a desk, on a phone, and in the dark;
//! - [`printed`]: on paper;
//! - [`chromium`]: the browser.

mod chromium;
#[path = "../fixture/mod.rs"]
mod fixture;
mod printed;
mod scriptless;

use std::path::Path;

use chromium::{Browser, browser, title, written};
use result::Run;

/// Put into a copy of the page: opens all that opens, and names what sticks out
/// of the page, or of its own box and is cut there, and text in drawings that the drawing
/// or something around it cuts.
const MEASURE: &str = r#"<script>
addEventListener("load", () => {
  document.querySelectorAll("details").forEach(details => details.open = true);
  const width = document.documentElement.clientWidth;
  const hides = overflow => overflow === "hidden" || overflow === "clip";
  const cutsText = (element, text) => {
    const { overflowX, overflowY } = getComputedStyle(element);
    const box = element.getBoundingClientRect();
    return hides(overflowX) && (text.left < box.left - 1 || text.right > box.right + 1)
      || hides(overflowY) && (text.top < box.top - 1 || text.bottom > box.bottom + 1);
  };
  const isCut = element => {
    if (element instanceof SVGTextElement) {
      const text = element.getBoundingClientRect();
      let around = element.parentElement;
      while (around && !cutsText(around, text)) around = around.parentElement;
      return around !== null;
    }
    if (!(element instanceof HTMLElement) || ["SELECT", "INPUT"].includes(element.tagName)) return false;
    const { overflowX, overflowY } = getComputedStyle(element);
    return hides(overflowX) && element.scrollWidth > element.clientWidth + 1
      || hides(overflowY) && element.scrollHeight > element.clientHeight + 1;
  };
  const out = [...document.body.querySelectorAll("*")].filter(element => {
    const scrolls = element.parentElement.closest(".scroll");
    const box = element.getBoundingClientRect();
    const sticksOut = !scrolls && box.width > 0 && (box.right > width + 0.5 || box.left < -0.5);
    return sticksOut || isCut(element);
  });
  const name = element => `${element.tagName}.${element.getAttribute("class")} ${element.textContent.slice(0, 40)}`;
  const scroll = document.documentElement.scrollWidth;
  parent.postMessage(JSON.stringify({ width, scroll, out: out.map(name) }), "*");
});
</script>"#;

/// The runs whose pages are looked at on a screen.
fn runs() -> [(&'static str, Run); 4] {
    [
        ("web", fixture::published()),
        ("lighter", fixture::lighter()),
        ("quick", fixture::overloaded()),
        ("hostile", fixture::hostile()),
    ]
}

#[test]
fn nothing_sticks_out_of_a_phone_or_a_desk() {
    let Some(browser) = browser() else { return };
    let widths: &[u32] = &[400, 1400];
    let all = runs().into_iter().map(|(name, run)| (name, run, widths));
    // What is too wide shows on a phone first, and this one takes a browser long.
    let phone: &[u32] = &[400];
    let largest = ("largest", fixture::largest(), phone);
    for (name, run, widths) in all.chain([largest]) {
        for &width in widths {
            assert_eq!(
                measured(&browser, name, &run, width, MEASURE),
                format!(r#"{{"width":{width},"scroll":{width},"out":[]}}"#),
                "{name} at {width} pixels"
            );
        }
    }
}

/// What this script tells of a run's page that is as wide as asked.
fn measured(browser: &Browser, name: &str, run: &Run, width: u32, script: &str) -> String {
    let page = report::html(run)
        .replacen("http-equiv", "data-was", 1)
        .replace("</body>", &format!("{script}</body>"));
    let page = written(&format!("{name}-{width}"), &page);
    let frame = written(&format!("{name}-{width}-frame"), &frame(&page, width));
    let dom = browser.open(&frame).stdout;
    title(&String::from_utf8_lossy(&dom)).to_string()
}

/// Labels stand beyond the box of a plot's drawing, which must not cut them.
#[test]
fn text_that_a_drawing_cuts_is_found() {
    let Some(browser) = browser() else { return };
    let script = format!("<style>.plot svg {{ overflow: hidden }}</style>{MEASURE}");
    let out = measured(&browser, "cut", &fixture::quick(), 400, &script);
    assert!(out.contains("\"out\":[\"text."), "{out}");
}

/// Put into a copy of the page: tells how many strips of seconds there are, of how many the
/// rates are seen within, and how many have marks of errors that are.
const STRIPS: &str = r#"<script>
addEventListener("load", () => {
  document.querySelectorAll("details").forEach(details => details.open = true);
  const strips = [...document.querySelectorAll(".strip")];
  const seen = selector => strips.filter(strip => {
    const path = strip.querySelector(selector);
    if (!path) return false;
    const [around, box] = [strip, path].map(it => it.getBoundingClientRect());
    const { stroke, strokeWidth } = getComputedStyle(path);
    return stroke !== "none" && parseFloat(strokeWidth) > 0 && path.getTotalLength() > 0
      && box.width > 0 && box.left >= around.left - 1 && box.right <= around.right + 1
      && box.top >= around.top - 1 && box.bottom <= around.bottom + 1;
  }).length;
  parent.postMessage(JSON.stringify([strips.length, seen(".rates"), seen(".errors")]), "*");
});
</script>"#;

#[test]
fn strips_of_seconds_are_drawn_with_marks_where_errors_were() {
    let Some(browser) = browser() else { return };
    for width in [400, 1400] {
        let told = measured(&browser, "strips", &fixture::web(), width, STRIPS);
        assert_eq!(told, "[12,12,1]", "at {width} pixels");
    }
}

/// Put into a copy of the page: where the sentence, the chart and the verdicts end, the names
/// of those that lie outside of so many pixels, and whether the chart has bars.
const FIRST_SCREEN: &str = r#"<script>
addEventListener("load", () => {
  const parts = ["h1", "figure.lead", "p.verdicts"];
  const below = parts.filter(part => {
    const element = document.querySelector(part);
    return !element || element.getBoundingClientRect().bottom > HEIGHT;
  });
  const bars = document.querySelectorAll("figure.lead svg.bar rect").length > 0;
  parent.postMessage(JSON.stringify({ below, bars }), "*");
});
</script>"#;

/// Else a stranger has to scroll for who won.
#[test]
fn sentence_chart_and_verdicts_are_on_the_first_screen() {
    let Some(browser) = browser() else { return };
    let largest = ("largest", fixture::largest());
    for (name, run) in runs().into_iter().chain([largest]) {
        for (width, height) in [(1400, "900"), (400, "800")] {
            let name = format!("{name}-first");
            let script = FIRST_SCREEN.replace("HEIGHT", height);
            let told = measured(&browser, &name, &run, width, &script);
            assert_eq!(told, r#"{"below":[],"bars":true}"#, "{name} at {width} pixels");
        }
    }
}

#[test]
fn the_console_stays_silent() {
    let Some(browser) = browser() else { return };
    let loud = written("loud", "<!doctype html><title></title><script>console.error('!')</script>");
    let heard = browser.open(&loud).stderr;
    assert!(String::from_utf8_lossy(&heard).contains("CONSOLE"), "nothing would be heard");
    for (name, run) in runs() {
        let file = written(&format!("{name}-console"), &report::html(&run));
        let opened = browser.open(&file);
        let log = String::from_utf8_lossy(&opened.stderr);
        let said: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
        assert!(said.is_empty(), "{name}: the console said {said:#?}");
        let dom = String::from_utf8_lossy(&opened.stdout);
        assert!(!dom.contains("<title>owned"), "{name}: a server's script ran");
        assert!(dom.contains("class=\"controls\""), "{name}: the page's own script didn't run");
    }
}

/// Put into a copy of the page: uses what the page's script adds, and tells what is
/// seen then.
const USE: &str = r#"<script>
addEventListener("load", () => {
  const table = document.querySelector("table.sortable");
  const seen = () => [...table.tBodies[0].rows].filter(row => !row.hidden).map(row => row.cells[0].textContent);
  const says = {};
  const sort = table.tHead.rows[0].cells[1].querySelector("button");
  sort.click();
  says.down = seen();
  sort.click();
  says.up = seen();
  const [contender, tier, verdict] = document.querySelectorAll(".controls select");
  const choose = (select, value) => {
    select.value = value;
    select.dispatchEvent(new Event("change", { bubbles: true }));
  };
  choose(verdict, "invalid");
  says.invalid = seen();
  choose(verdict, "all");
  choose(tier, "tuned");
  says.tuned = seen();
  choose(tier, "all");
  choose(contender, "go");
  const shown = selector => [...document.querySelectorAll(selector)].filter(it => it.getClientRects().length > 0);
  const text = it => it.textContent.trim().slice(0, 40);
  says.lines = shown("section .plot path").length;
  says.marks = shown("section .plot use").length;
  says.keys = [...new Set(shown(".key li").map(text))];
  says.limits = [...new Set(shown(".limits li").map(text))];
  says.then = shown('#then-and-now ~ div caption strong').map(text);
  choose(contender, "all");
  says.all_lines = shown("section .plot path").length;
  says.all_then = shown('#then-and-now ~ div caption strong').map(text);
  const ratios = document.querySelector(".controls input");
  ratios.click();
  says.ratios = [...table.tBodies[0].rows].map(row => row.cells[1].textContent);
  ratios.click();
  says.rates = [...table.tBodies[0].rows].map(row => row.cells[1].textContent);
  document.title = JSON.stringify(says, null, 1);
});
</script>"#;

#[test]
fn a_script_sorts_filters_and_shows_ratios() {
    let Some(browser) = browser() else { return };
    let page = report::html(&fixture::published())
        .replacen("http-equiv", "data-was", 1)
        .replace("</body>", &format!("{USE}</body>"));
    let dom = browser.open(&written("web-used", &page)).stdout;
    insta::assert_snapshot!(title(&String::from_utf8_lossy(&dom)));
}

/// A page that shows another as wide as asked. A window would not become as
/// narrow as a phone.
fn frame(page: &Path, width: u32) -> String {
    let page = page.display();
    format!(
        r#"<!doctype html><title></title>
<script>addEventListener("message", event => document.title = event.data)</script>
<iframe src="file://{page}" style="border: 0; width: {width}px; height: 900px"></iframe>"#
    )
}
