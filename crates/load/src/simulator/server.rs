//! What a made-up server makes of requests.

use rand::Rng;
use rand::rngs::SmallRng;

/// How likely a server is to do what: shares of 1.
#[derive(Debug, Clone, Copy)]
pub(super) struct Temper {
    /// How long it takes for an answer, in nanoseconds, mostly.
    pub delay_ns: u64,
    /// It takes a hundred times as long.
    pub slow: f64,
    /// It ends the connection, and answers nothing.
    pub cut: f64,
    /// It ends the connection within an answer.
    pub cut_within: f64,
    /// It resets the connection.
    pub reset: f64,
    /// It resets the connection within an answer.
    pub reset_within: f64,
    /// An answer comes in parts.
    pub parts: f64,
    /// It says that it closes the connection after an answer, and does.
    pub closes: f64,
    /// An answer has no length: it ends with the connection.
    pub endless: f64,
    /// It never answers.
    pub silent: f64,
    /// It answers with an error of its own.
    pub fails: f64,
    /// It speaks once more after an answer.
    pub speaks: f64,
    /// It ends a connection on which nothing is asked.
    pub tires: f64,
    /// A connection is refused.
    pub refuses: f64,
    /// A connection is never established.
    pub deaf: f64,
    /// A send takes its time.
    pub narrow: f64,
    /// A thread of the client is kept from running for 25 ms.
    pub away: f64,
    /// Of these requests it never answers the first.
    pub never: Option<u64>,
}

/// What a server does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deed {
    Answer,
    AnswerAndClose,
    AnswerAndSpeak,
    Fail,
    Cut,
    CutWithin,
    Reset,
    ResetWithin,
    Silence,
}

impl Temper {
    /// A server that answers each request at once.
    const CALM: Temper = Temper {
        delay_ns: 100_000,
        slow: 0.0,
        cut: 0.0,
        cut_within: 0.0,
        reset: 0.0,
        reset_within: 0.0,
        parts: 0.0,
        closes: 0.0,
        endless: 0.0,
        silent: 0.0,
        fails: 0.0,
        speaks: 0.0,
        tires: 0.0,
        refuses: 0.0,
        deaf: 0.0,
        narrow: 0.0,
        away: 0.0,
        never: None,
    };

    /// A server that answers every request, after a time of chance.
    pub(super) fn calm() -> Temper {
        Temper::CALM
    }

    /// A server that answers every request but one.
    pub(super) fn sound() -> Temper {
        Temper { delay_ns: 1_000_000, never: Some(40), ..Temper::CALM }
    }

    /// Any server: a third of them are calm, the others have a few bad habits.
    pub(super) fn random(by: &mut SmallRng) -> Temper {
        let mut temper = Temper { delay_ns: by.random_range(1_000..2_000_000), ..Temper::CALM };
        let habits = [
            &mut temper.slow,
            &mut temper.cut,
            &mut temper.cut_within,
            &mut temper.reset,
            &mut temper.reset_within,
            &mut temper.parts,
            &mut temper.closes,
            &mut temper.endless,
            &mut temper.silent,
            &mut temper.fails,
            &mut temper.speaks,
            &mut temper.tires,
            &mut temper.refuses,
            &mut temper.deaf,
            &mut temper.narrow,
            &mut temper.away,
        ];
        if by.random_bool(0.33) {
            return temper;
        }
        for habit in habits {
            if by.random_bool(0.25) {
                *habit = by.random_range(0.01..0.3);
            }
        }
        temper
    }

    /// Whether every answer is good, and each connection lasts.
    pub(super) fn is_calm(&self) -> bool {
        self.answers_all() && self.closes == 0.0 && self.endless == 0.0
    }

    /// Whether every request has its good answer.
    pub(super) fn answers_all(&self) -> bool {
        let habits = [
            self.cut,
            self.cut_within,
            self.reset,
            self.reset_within,
            self.silent,
            self.fails,
            self.speaks,
            self.tires,
            self.refuses,
            self.deaf,
        ];
        habits.iter().all(|habit| *habit == 0.0) && self.never.is_none()
    }

    /// What it does with a request.
    pub(super) fn deed(&self, by: &mut SmallRng) -> Deed {
        let habits = [
            (self.cut, Deed::Cut),
            (self.cut_within, Deed::CutWithin),
            (self.reset, Deed::Reset),
            (self.reset_within, Deed::ResetWithin),
            (self.closes, Deed::AnswerAndClose),
            (self.silent, Deed::Silence),
            (self.fails, Deed::Fail),
            (self.speaks, Deed::AnswerAndSpeak),
        ];
        let chosen = habits.into_iter().find(|(habit, _)| *habit > 0.0 && by.random_bool(*habit));
        chosen.map_or(Deed::Answer, |(_, deed)| deed)
    }

    /// How long it takes for it.
    pub(super) fn delay(&self, by: &mut SmallRng) -> u64 {
        let delay = by.random_range(0..=2 * self.delay_ns);
        if self.slow > 0.0 && by.random_bool(self.slow) { delay * 100 } else { delay }
    }
}

/// An answer, as a server writes it.
#[derive(Debug)]
pub(super) struct Written {
    pub bytes: Vec<u8>,
    /// Else it ends with the connection.
    has_length: bool,
    answered: Answered,
}

/// An answer that comes to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Answered {
    pub number: u64,
    pub is_good: bool,
    /// It lacks a part, which only who knows its body can tell.
    pub is_short: bool,
    /// Its connection is closed after it.
    pub closes: bool,
}

/// What bytes are of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// There is no answer yet, or none to any request.
    Within,
    /// They end this one.
    Last(Answered),
    /// If the connection ends behind them, this one has come.
    UntilClose(Answered),
}

impl Written {
    /// The answer to the request with this number.
    pub(super) fn new(number: u64, deed: Deed, has_length: bool, by: &mut SmallRng) -> Written {
        let body = format!("number {number}.");
        let is_good = deed != Deed::Fail;
        let status = if is_good { "200 OK" } else { "500 Internal Server Error" };
        // One without a length closes the connection, whether it says so or not.
        let says_so = deed == Deed::AnswerAndClose || !has_length && by.random_bool(0.5);
        let close = if says_so { "Connection: close\r\n" } else { "" };
        let length =
            if has_length { format!("Content-Length: {}\r\n", body.len()) } else { String::new() };
        let text = format!("HTTP/1.1 {status}\r\n{close}{length}\r\n{body}");
        let closes = deed == Deed::AnswerAndClose || !has_length;
        let answered = Answered { number, is_good, is_short: false, closes };
        Written { bytes: text.into_bytes(), has_length, answered }
    }

    /// What its bytes up to there are of it.
    pub(super) fn part(&self, end: usize) -> Part {
        let is_whole = end == self.bytes.len();
        let answered = self.answered;
        if self.has_length {
            return if is_whole { Part::Last(answered) } else { Part::Within };
        }
        let has_head = self.bytes[..end].windows(4).any(|four| four == b"\r\n\r\n");
        let (is_good, is_short) = (answered.is_good && is_whole, answered.is_good && !is_whole);
        let cut = Answered { is_good, is_short, ..answered };
        if has_head { Part::UntilClose(cut) } else { Part::Within }
    }
}

/// Takes the first whole request off these bytes; gives its number, which its path is, and how
/// many bytes it has.
pub(super) fn take_request(bytes: &mut Vec<u8>) -> Option<(u64, usize)> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let path = bytes.split(|byte| *byte == b' ').nth(1)?;
    let number = std::str::from_utf8(path.get(1..)?).ok()?.parse().ok()?;
    bytes.drain(..end);
    Some((number, end))
}
