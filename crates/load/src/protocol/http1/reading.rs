//! One answer, in any pieces: interim ones are passed over, and of the answer proper the
//! head is read, and the body handed on as it comes.

use super::body::{Body, Taken};
use super::head::{Head, Heads};
use crate::outcome::fault::show;

/// The most interim answers (1xx) before one answer: many more than any server
/// has a use for, and few enough that a flood of them ends.
const INTERIM_MAX: u8 = 100;

/// An answer that came in part.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Reading {
    /// The bytes of an unfinished head.
    pub(super) head: Vec<u8>,
    /// The body under way, after its head.
    body: Option<(Head, Body)>,
    /// Interim answers that came before it.
    interim: u8,
}

/// How far an answer has come.
#[derive(Debug)]
pub(crate) enum ReadSoFar {
    /// It isn't whole; all bytes were used.
    More {
        /// So many bytes are still to come, at least.
        missing: u64,
    },
    /// It is whole.
    Whole {
        /// Its head, whose bytes the heads remember.
        head: Head,
        /// Bytes used; those after them belong to the next answer.
        used: usize,
    },
}

impl Reading {
    /// Takes bytes of an answer, and hands its body on piece by piece, since chunks have
    /// frames between.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    pub(crate) fn take(
        &mut self,
        heads: &mut Heads,
        to_head_method: bool,
        bytes: &[u8],
        mut piece_of_body: impl FnMut(&[u8]),
    ) -> Result<ReadSoFar, String> {
        let mut used = 0;
        let (head, mut body) = match self.body.take() {
            Some(under_way) => under_way,
            None => loop {
                let Some((head, length)) = heads.take(&mut self.head, &bytes[used..])? else {
                    return Ok(ReadSoFar::More { missing: 1 });
                };
                used += length;
                if !head.is_interim() {
                    break (head, Body::of(&head, to_head_method));
                }
                self.interim += 1;
                if self.interim > INTERIM_MAX {
                    return Err(format!("more than {INTERIM_MAX} interim answers"));
                }
            },
        };
        loop {
            let Taken { framed, piece, whole } = body.take(&bytes[used..])?;
            let start = used + framed;
            used = start + piece;
            if piece > 0 {
                piece_of_body(&bytes[start..used]);
            }
            if whole {
                self.interim = 0;
                return Ok(ReadSoFar::Whole { head, used });
            }
            if used == bytes.len() {
                let missing = body.missing_bytes();
                self.body = Some((head, body));
                return Ok(ReadSoFar::More { missing });
            }
        }
    }

    /// The server ended its side: the head of the answer that ends so.
    ///
    /// # Errors
    /// What is missing, for people.
    pub(crate) fn end(&mut self) -> Result<Head, String> {
        Err(match self.body.take() {
            Some((head, body)) => match body.missing() {
                None => return Ok(head),
                Some(missing) => format!("closed within the body, {missing} missing"),
            },
            None if !self.head.is_empty() => {
                format!("closed within the head, after \"{}\"", show(&self.head))
            }
            None if self.interim > 0 => "closed after an interim answer".into(),
            None => "closed without an answer".into(),
        })
    }

    /// What is missing of it, for people, if the connection stays open and nothing comes.
    pub(crate) fn lacks(&self) -> String {
        match &self.body {
            Some((head, body)) => body.lacks(head),
            None if !self.head.is_empty() => {
                format!("its head has no end: \"{}\"", show(&self.head))
            }
            None => "an interim answer came, and no other behind it".into(),
        }
    }

    /// The head of the answer whose body is under way.
    pub(super) fn head_under_way(&self) -> Option<Head> {
        self.body.as_ref().map(|(head, _)| *head)
    }

    /// Whether nothing of it has come.
    pub(crate) fn has_nothing(&self) -> bool {
        *self == Reading::default()
    }
}
