//! The page without JavaScript: whole, and with nothing on it that needs scripts.

use scraper::{Html, Selector};
use serde_json::{Value, json};

use crate::chromium::{browser, title, written};
use crate::frame;

/// All that a reader is to see.
const PARTS: [&str; 4] = ["table", ":not(svg) > svg:not(.definitions)", "figure", ".finding"];

/// Opens all that opens in each frame, by a reader's clicks, and tells what can't be seen or read
/// then. Scripts of the frames' own are forbidden; this one stands outside.
const LOOK: &str = r#"<script>
const look = page => {
  const view = page.defaultView;
  const all = selector => [...page.querySelectorAll(selector)];
  all("details:not([open]) > summary").forEach(summary => summary.click());
  const name = element => `${element.tagName}.${element.getAttribute("class")} ${element.textContent.slice(0, 40)}`;
  const seen = element => {
    const box = element.getBoundingClientRect();
    const shown = element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    return shown && box.width > 0 && box.height > 0;
  };
  const texts = "h1, h2, h3, h4, p, li, caption, figcaption, th, td, dt, dd, pre, summary";
  const parts = PARTS;
  // The contrast of WCAG 2.
  const channels = colour => colour.match(/[\d.]+/g).map(Number);
  const luminance = colour => {
    const [r, g, b] = channels(colour).map(it => it / 255)
      .map(it => it <= 0.04045 ? it / 12.92 : ((it + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = element => {
    const colour = element && view.getComputedStyle(element).backgroundColor;
    return !element ? "rgb(255, 255, 255)" : channels(colour)[3] === 0 ? paper(element.parentElement) : colour;
  };
  const contrast = element => {
    const style = view.getComputedStyle(element);
    const ink = luminance(element.closest("svg") ? style.fill : style.color);
    const [light, dark] = [ink, luminance(paper(element))].sort((a, b) => b - a);
    return (light + 0.05) / (dark + 0.05);
  };
  // What hangs over a part of a chart when it is pointed at has the browser's own colours.
  const has_text = element => element.tagName !== "title" && [...element.childNodes].some(it => it.nodeType === 3 && it.data.trim());
  const root = page.documentElement;
  return {
    width: root.clientWidth,
    scroll: root.scrollWidth,
    dark: view.matchMedia("(prefers-color-scheme: dark)").matches,
    controls: all("form, button, input, select").map(name),
    counts: parts.map(part => all(part).length),
    unseen: all([texts, ...parts].join()).filter(it => !it.closest("defs") && !seen(it)).map(name),
    faint: all("body, body *").filter(it => has_text(it) && contrast(it) < 4.5).map(name),
  };
};
addEventListener("load", () => {
  const frames = [...document.querySelectorAll("iframe")];
  document.title = JSON.stringify(frames.map(frame => look(frame.contentDocument)));
});
</script>"#;

#[test]
fn without_scripts_all_is_seen_and_nothing_needs_them() {
    let Some(browser) = browser() else { return };
    let parts = serde_json::to_string(&PARTS).unwrap();
    let look = LOOK.replace("PARTS", &parts);
    let pages = crate::runs().map(|(name, run)| (name, report::html(&run)));
    for (dark, widths) in [(false, &[400][..]), (true, &[400, 1400])] {
        let views = || pages.iter().flat_map(|page| widths.iter().map(move |width| (page, width)));
        let frames = views().map(|((_, page), width)| {
            frame(page, (*width, 900)).replace("<iframe", "<iframe sandbox=\"allow-same-origin\"")
        });
        let outside = format!("<!doctype html><title></title>{look}{}", frames.collect::<String>());
        let file = written(&format!("scriptless-{dark}"), &outside);
        let opened = if dark { browser.open_in_the_dark(&file) } else { browser.open(&file) };
        let dom = String::from_utf8_lossy(&opened.stdout);
        let told: Vec<Value> = serde_json::from_str(title(&dom)).unwrap();
        for (((name, page), width), told) in views().zip(told) {
            let parsed = Html::parse_document(page);
            let counts = PARTS.map(|part| parsed.select(&Selector::parse(part).unwrap()).count());
            assert!(counts.iter().all(|count| *count > 0), "{name} lacks one of {PARTS:?}");
            let expected = json!({
                "width": width, "scroll": width, "dark": dark, "controls": [], "counts": counts,
                "unseen": [], "faint": [],
            });
            assert_eq!(told, expected, "{name} at {width} pixels, dark: {dark}");
        }
    }
}
