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
#[path = "../fixture/skipped.rs"]
mod skipped;

use chromium::{Browser, browser, title, written};
use result::Run;
use result::outcome::Row;
use result::plan::Contender;
use serde_json::Value;

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
    // On a desk this table has to be seen whole.
    const isTimes = width >= 1400 && element.matches('.scroll[aria-label="Times and costs"]');
    return sticksOut || isCut(element) || isTimes && element.scrollWidth > element.clientWidth + 1;
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
        ("stores", fixture::stores()),
        ("quick", fixture::overloaded()),
        ("hostile", fixture::hostile()),
    ]
}

#[test]
fn nothing_sticks_out_of_a_phone_or_a_desk() {
    let Some(browser) = browser() else { return };
    let all =
        runs().into_iter().flat_map(|(name, run)| [(name, run.clone(), 400), (name, run, 1400)]);
    // What is too wide shows on a phone first, and this one takes a browser long.
    let largest = ("largest", fixture::largest(), 400);
    let all: Vec<_> = all.chain([largest]).collect();
    let views = all.iter().map(|(name, run, width)| {
        // Who writes names to be in the way gets a table that scrolls.
        let desk = if *name == "hostile" { "width > 9999" } else { "width >= 1400" };
        View { page: with_script(run, &MEASURE.replace("width >= 1400", desk)), width: *width }
    });
    let told = measured(&browser, "measured", &views.collect::<Vec<_>>());
    for ((name, _, width), told) in all.iter().zip(told) {
        let expected = format!(r#"{{"width":{width},"scroll":{width},"out":[]}}"#);
        assert_eq!(told, expected, "{name} at {width} pixels");
    }
}

/// A page as it is seen in so many pixels of width.
struct View {
    page: String,
    width: u32,
}

/// A run's page with a script of the test's own, which the page's own policy would forbid.
fn with_script(run: &Run, script: &str) -> String {
    let page = report::html(run).replacen("http-equiv", "data-was", 1);
    page.replace("</body>", &format!("{script}</body>"))
}

/// What the scripts of these pages tell, all of which are open at once: starting a browser is
/// most of what it costs. A window would not become as narrow as a phone.
fn measured(browser: &Browser, name: &str, views: &[View]) -> Vec<String> {
    const HEARS: &str = r#"<!doctype html><title></title><script>
const told = [];
addEventListener("message", event => {
  const frames = [...document.querySelectorAll("iframe")];
  told[frames.findIndex(it => it.contentWindow === event.source)] = event.data;
  document.title = JSON.stringify(told);
});
</script>"#;
    let frames = views.iter().enumerate().map(|(number, View { page, width })| {
        let page = written(&format!("{name}-{number}"), page);
        let page = page.display();
        format!(
            "<iframe src=\"file://{page}\" style=\"border: 0; width: {width}px; height: 900px\"></iframe>"
        )
    });
    let frames: String = frames.collect();
    let dom = browser.open(&written(&format!("{name}-frames"), &[HEARS, &frames].concat())).stdout;
    serde_json::from_str(title(&String::from_utf8_lossy(&dom))).expect("each page tells something")
}

/// Labels stand beyond the box of a plot's drawing, which must not cut them.
#[test]
fn text_that_a_drawing_cuts_is_found() {
    let Some(browser) = browser() else { return };
    let script = format!("<style>.plot svg {{ overflow: hidden }}</style>{MEASURE}");
    let cut = View { page: with_script(&fixture::quick(), &script), width: 400 };
    let out = measured(&browser, "cut", &[cut]).remove(0);
    assert!(out.contains("\"out\":[\"text."), "{out}");
}

/// Put into a copy of the page: tells how many strips of seconds there are, of how many the
/// rates are seen within, how many have marks of errors that are, and how many colours each
/// contender has in all charts of the page.
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
  const drawn = [
    ...[...document.querySelectorAll("svg.bar rect")].map(it => [it, "fill"]),
    ...[...document.querySelectorAll(".strip .rates, .lines path")].map(it => [it, "stroke"]),
  ];
  const colours = {};
  for (const [it, kind] of drawn) {
    const { contender, verdicts } = it.closest("[data-contender]").dataset;
    const colour = getComputedStyle(it)[kind];
    // Of hatched bars the pattern has it; what is invalid has none.
    if (verdicts === "valid" || verdicts === "not checked" && !colour.includes("hatching")) {
      (colours[contender] ??= new Set()).add(colour);
    }
  }
  const all = Object.values(colours).map(it => [...it]);
  const apart = new Set(all.flat()).size;
  parent.postMessage(JSON.stringify([strips.length, seen(".rates"), seen(".errors"), all.map(it => it.length), apart]), "*");
});
</script>"#;

#[test]
fn strips_of_seconds_are_drawn_with_marks_where_errors_were() {
    let Some(browser) = browser() else { return };
    let page = with_script(&fixture::web(), STRIPS);
    let views = [400, 1400].map(|width| View { page: page.clone(), width });
    // Three contenders of one colour each, which differ.
    assert_eq!(measured(&browser, "strips", &views), ["[12,12,1,[1,1,1],3]"; 2]);
}

/// Beside two frames of each page, for a desk and a phone: which parts of the first screen lie
/// outside of it, what of them is cut off, how far the page is too wide, whether the chart has
/// bars, and the colours of the page.
const FIRST_SCREEN: &str = r#"<script>
addEventListener("load", () => {
  const parts = ["h1", "figure.lead", "p.verdicts"];
  const seen = frame => {
    const page = frame.contentDocument;
    const view = page.defaultView;
    const below = parts.filter(part => {
      const element = page.querySelector(part);
      return !element || element.getBoundingClientRect().bottom > frame.clientHeight;
    });
    const inside = parts.map(part => `${part}, ${part} *`).join();
    const cut = [...page.querySelectorAll(inside)].filter(it => {
      const isBox = it instanceof view.HTMLElement && it.clientWidth > 0;
      const box = it.getBoundingClientRect();
      const sticksOut = box.right > frame.clientWidth + 0.5 || box.left < -0.5;
      return isBox && (it.scrollWidth > it.clientWidth + 1 || sticksOut);
    }).map(it => `${it.tagName}.${it.className} ${it.textContent.slice(0, 40)}`);
    const wide = page.documentElement.scrollWidth - frame.clientWidth;
    const bars = page.querySelectorAll("figure.lead svg.bar rect, figure.lead .lines use").length > 0;
    return { below, cut, wide, bars };
  };
  const told = [];
  const frames = [...document.querySelectorAll("iframe")];
  for (let at = 0; at < frames.length; at += 2) {
    const page = frames[at].contentDocument;
    const style = page.defaultView.getComputedStyle(page.documentElement);
    const colours = ["--paper", "--ink", "--look0", "--rule"].map(name => style.getPropertyValue(name).trim());
    told.push({ seen: [frames[at], frames[at + 1]].map(seen), colours });
  }
  document.title = JSON.stringify(told);
});
</script>"#;

/// What [`FIRST_SCREEN`] tells of each of these pages.
fn first_screens(browser: &Browser, name: &str, pages: &[String], is_dark: bool) -> Vec<Value> {
    let frames =
        pages.iter().flat_map(|page| [(1400, 900), (400, 800)].map(|size| frame(page, size)));
    let frames: String = frames.collect();
    let outside = format!("<!doctype html><title></title>{FIRST_SCREEN}{frames}");
    let file = written(&format!("{name}-first-{is_dark}"), &outside);
    let opened = if is_dark { browser.open_in_the_dark(&file) } else { browser.open(&file) };
    serde_json::from_str(title(&String::from_utf8_lossy(&opened.stdout))).unwrap()
}

/// A page within another, whose scripts see into it.
fn frame(page: &str, (width, height): (u32, u32)) -> String {
    let page = page.replace('&', "&amp;").replace('"', "&quot;");
    format!(
        "<iframe srcdoc=\"{page}\" style=\"border: 0; width: {width}px; height: {height}px\"></iframe>"
    )
}

/// Else a stranger has to scroll for who won.
#[test]
fn sentence_chart_and_verdicts_are_on_the_first_screen() {
    let Some(browser) = browser() else { return };
    let largest = ("largest", fixture::largest());
    let whole = serde_json::json!({ "below": [], "cut": [], "wide": 0, "bars": true });
    let (names, pages): (Vec<_>, Vec<_>) =
        runs().into_iter().chain([largest]).map(|(name, run)| (name, report::html(&run))).unzip();
    let [light, dark] = [false, true].map(|it| first_screens(&browser, "all", &pages, it));
    for ((name, light), dark) in names.iter().zip(&light).zip(&dark) {
        for (told, looks) in [(light, "light"), (dark, "dark")] {
            assert_eq!(told["seen"], serde_json::json!([whole, whole]), "{name}, {looks}");
        }
        let [light, dark] = [light, dark].map(|it| it["colours"].as_array().unwrap());
        for (light, dark) in light.iter().zip(dark) {
            assert!(light != "" && light != dark, "{name}: {light} in the light and the dark");
        }
    }
}

/// A test of the first screen that finds nothing would pass any page.
#[test]
fn what_spoils_the_first_screen_is_found() {
    let Some(browser) = browser() else { return };
    let style = "<style>h1 { margin-top: 900px; white-space: nowrap; width: 2000px }\
                 p.verdicts { width: 9px; overflow: hidden; white-space: nowrap }\
                 :root { --ink: red !important }</style></head>";
    let page = report::html(&fixture::web()).replacen("</head>", style, 1);
    let pages = [page];
    let [light, dark] =
        [false, true].map(|is_dark| first_screens(&browser, "spoiled", &pages, is_dark).remove(0));
    assert_eq!(light["colours"][1], dark["colours"][1], "the dark is not told from the light");
    for seen in light["seen"].as_array().unwrap() {
        assert_eq!(seen["below"].as_array().unwrap().len(), 3, "{seen}");
        let cut = seen["cut"].to_string();
        assert!(cut.contains("H1.") && cut.contains("P.verdicts"), "{cut}");
        assert!(seen["wide"].as_i64().unwrap() > 500, "{seen}");
    }
}

/// Tells of each page within this one its title, whether its own script ran, and whether it has
/// filters.
const RAN: &str = r#"<script>
addEventListener("load", () => {
  const pages = [...document.querySelectorAll("iframe")].map(it => it.contentDocument);
  const told = page => [page.title, page.querySelector(".controls") !== null, page.querySelector("select") !== null];
  document.title = JSON.stringify(pages.map(told));
});
</script>"#;

#[test]
fn the_console_stays_silent() {
    let Some(browser) = browser() else { return };
    let pages = runs().map(|(name, run)| (name, report::html(&run)));
    let loud = "<!doctype html><script>console.error('of the test')</script>";
    let frames = pages.iter().map(|(_, page)| frame(page, (1400, 900)));
    let frames: String = frames.chain([frame(loud, (100, 100))]).collect();
    let outside = format!("<!doctype html><title></title>{RAN}{frames}");
    let opened = browser.open(&written("console", &outside));
    let log = String::from_utf8_lossy(&opened.stderr);
    let said: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
    // Else nothing would be heard.
    let is_the_tests = said.len() == 1 && said[0].contains("of the test");
    assert!(is_the_tests, "the console said {said:#?}");
    let told: Vec<(String, bool, bool)> =
        serde_json::from_str(title(&String::from_utf8_lossy(&opened.stdout))).unwrap();
    for ((name, _), (title, ran, filters)) in pages.iter().zip(told) {
        assert!(!title.starts_with("owned"), "{name}: a server's script ran");
        assert!(ran, "{name}: the page's own script didn't run");
        assert!(!filters, "{name}: filters for rows that are seen at once");
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
    let dom = browser.open(&written("web-used", &with_script(&crowded(), USE))).stdout;
    insta::assert_snapshot!(title(&String::from_utf8_lossy(&dom)));
}

/// More contenders than are seen at once: four more as Erlang.
fn crowded() -> Run {
    let mut run = fixture::published();
    let known = run.contenders.iter().find(|it| it.name == "erlang").unwrap().clone();
    for name in ["e1", "e2", "e3", "e4"] {
        run.contenders.push(Contender { name: name.into(), title: name.into(), ..known.clone() });
        for outcome in &mut run.outcomes {
            let row = outcome.rows.iter().find(|row| row.contender == "erlang").unwrap().clone();
            outcome.rows.push(Row { contender: name.into(), ..row });
        }
    }
    run
}
