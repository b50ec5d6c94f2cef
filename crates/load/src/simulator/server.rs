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
    /// An answer comes in parts.
    pub parts: f64,
    /// It says that it closes the connection after an answer, and does.
    pub closes: f64,
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
        parts: 0.0,
        closes: 0.0,
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
            &mut temper.parts,
            &mut temper.closes,
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
        let habits = [
            self.cut,
            self.cut_within,
            self.reset,
            self.closes,
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

/// The bytes of the answer to the request with this number.
pub(super) fn answer(number: u64, deed: Deed) -> Vec<u8> {
    let body = format!("number {number}.");
    let status = if deed == Deed::Fail { "500 Internal Server Error" } else { "200 OK" };
    let close = if deed == Deed::AnswerAndClose { "Connection: close\r\n" } else { "" };
    let length = body.len();
    format!("HTTP/1.1 {status}\r\n{close}Content-Length: {length}\r\n\r\n{body}").into_bytes()
}

/// Takes the first whole request off these bytes; gives its number, which its path is.
pub(super) fn take_request(bytes: &mut Vec<u8>) -> Option<u64> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let path = bytes.split(|byte| *byte == b' ').nth(1)?;
    let number = std::str::from_utf8(path.get(1..)?).ok()?.parse().ok();
    bytes.drain(..end);
    number
}
