//! The browser, as tests use it: without a window, with a profile of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::skipped::skipped;

const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// The title of a page, by which its scripts tell what they saw.
pub fn title(dom: &str) -> &str {
    dom.split("<title>").nth(1).and_then(|it| it.split("</title>").next()).unwrap_or(dom)
}

/// A file with this page.
pub fn written(name: &str, page: &str) -> PathBuf {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.html"));
    fs::write(&file, page).unwrap();
    file
}

/// The browser's program.
pub struct Browser(&'static str);

/// The browser that is here; without one, the test is skipped.
pub fn browser() -> Option<Browser> {
    let found = BROWSERS.into_iter().find(|name| {
        Command::new(name).arg("--version").output().is_ok_and(|it| it.status.success())
    });
    if found.is_none() {
        skipped(&format!("none of {BROWSERS:?} is installed"));
    }
    found.map(Browser)
}

impl Browser {
    /// Opens a page, and gives what became of it and what the browser logged.
    pub fn open(&self, file: &Path) -> Output {
        self.open_with(&[], file)
    }

    /// The same, where who looks prefers dark pages.
    pub fn open_in_the_dark(&self, file: &Path) -> Output {
        // Blink's mojom::PreferredColorScheme: 0 is dark.
        self.open_with(&["--blink-settings=preferredColorScheme=0"], file)
    }

    fn open_with(&self, more: &[&str], file: &Path) -> Output {
        let looks = ["--dump-dom", "--virtual-time-budget=5000", "--window-size=1500,900"];
        self.run(&[&looks, more].concat(), file)
    }

    /// Prints a page, and gives the PDF.
    pub fn print(&self, file: &Path) -> PathBuf {
        let pdf = file.with_extension("pdf");
        let to = format!("--print-to-pdf={}", pdf.display());
        self.run(&[&to, "--no-pdf-header-footer"], file);
        pdf
    }

    fn run(&self, arguments: &[&str], file: &Path) -> Output {
        let profile = tempfile::tempdir().unwrap();
        let output = Command::new(self.0)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"])
            .arg("--enable-logging=stderr")
            .args(arguments)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(file)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output
    }
}
