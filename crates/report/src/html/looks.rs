//! Colours: a contender has one, the same in every chart of a page.

use result::Run;

/// As many colours as all kinds of colour vision tell apart. A page of more contenders has
/// some of them twice: names stand beside every bar, and lines have marks and dashes as well.
pub const LOOKS: usize = 7;

/// The names of the colours in the style.
pub const CLASSES: [&str; LOOKS] = ["look0", "look1", "look2", "look3", "look4", "look5", "look6"];

/// The place of a contender among those of the run, which its colour goes by.
pub fn place(run: &Run, contender: &str) -> usize {
    run.contenders.iter().position(|it| it.name == contender).unwrap_or(0)
}

/// The name of a contender's colour in the style.
pub fn class(run: &Run, contender: &str) -> &'static str {
    CLASSES[place(run, contender) % LOOKS]
}
