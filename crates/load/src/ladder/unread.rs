//! A protocol that reads nothing: whatever comes is an answer.

use std::sync::Arc;

use crate::outcome::AnswerKind;
use crate::protocol::{Fed, Protocol, foreign};
use crate::work::Asked;

/// Asks the same each time, and takes what comes for a good answer.
#[derive(Clone)]
pub(super) struct Unread {
    request: Arc<[u8]>,
    keep_alive: bool,
}

impl Unread {
    pub(super) fn new(request: &[u8], keep_alive: bool) -> Unread {
        Unread { request: request.into(), keep_alive }
    }

    fn answer(&self, used: usize) -> Fed {
        let kind = AnswerKind { status: 200, class: 0 };
        Fed::Answer { used, kind, fault: None, reusable: self.keep_alive }
    }
}

impl Protocol for Unread {
    type Connection = Option<Box<u8>>;

    fn of_thread(&self, _thread: usize) -> Unread {
        self.clone()
    }

    #[inline(always)]
    fn fixed(&self, _number: u64) -> Option<&[u8]> {
        Some(&self.request)
    }

    fn ask(&mut self, _number: u64, _room: &mut Vec<u8>) {}

    fn is_repeatable(&self, _number: u64) -> bool {
        true
    }

    fn rendered_bytes_max(&self) -> usize {
        0
    }

    fn request_bytes_max(&self) -> usize {
        self.request.len()
    }

    fn is_under_way(_connection: &Self::Connection) -> bool {
        false
    }

    #[inline(always)]
    fn feed(&mut self, _connection: &mut Self::Connection, bytes: &[u8], _of: Asked) -> Fed {
        self.answer(bytes.len())
    }

    fn lacks(&self, _connection: &Self::Connection) -> Option<String> {
        None
    }

    fn spoken(&self) -> &'static str {
        foreign::HTTP
    }

    fn end(&mut self, _connection: &mut Self::Connection, _of: Asked) -> Fed {
        self.answer(0)
    }

    fn classes(&self) -> Vec<String> {
        Vec::new()
    }

    fn class(&self, _number: u64) -> u16 {
        0
    }
}
