//! What the server says that it has: confirmations of messages, as MQTT's PUBACK. A message that
//! was confirmed and that somebody never heard is the worst that can be said of a broker.

use std::collections::VecDeque;

use crate::protocol::pushing::NUMBERS;

/// Messages of a robot that were handed over and aren't confirmed yet, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Unconfirmed {
    messages: VecDeque<HandedOver>,
    /// Messages that were given up, and whose confirmation may still come.
    given_up: u32,
}

/// A message that was handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HandedOver {
    /// Its sender's own number of it.
    pub sequence: u32,
    /// When it was due.
    pub intended: u64,
    /// When it was handed over.
    pub at: u64,
}

/// What a confirmation is of.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Confirmation {
    /// Of this message.
    Of(HandedOver),
    /// Of one that was given up.
    Late,
    /// Of one that nobody said, or of one that was confirmed before.
    OfNothing,
}

/// The number by which a wire knows a message.
pub(super) fn number(sequence: u32) -> u16 {
    (sequence % NUMBERS) as u16
}

impl Unconfirmed {
    /// Whether no message that waits for its confirmation has the number of this one.
    pub(super) fn has_number_for(&self, sequence: u32) -> bool {
        self.messages.front().is_none_or(|oldest| sequence - oldest.sequence < NUMBERS)
    }

    /// Whether some confirmation is awaited.
    pub(super) fn are_some(&self) -> bool {
        !self.messages.is_empty()
    }

    /// A message was handed over, after all those before it.
    pub(super) fn hand_over(&mut self, message: HandedOver) {
        self.messages.push_back(message);
    }

    /// The server confirmed the message of this number; without one, the oldest.
    pub(super) fn confirm(&mut self, number: Option<u16>) -> Confirmation {
        let place = match number {
            Some(number) => self.place(number),
            // It answers those first that were given up.
            None => (self.given_up == 0).then_some(0),
        };
        match place.and_then(|place| self.messages.remove(place)) {
            Some(message) => Confirmation::Of(message),
            None if self.given_up > 0 => {
                self.given_up -= 1;
                Confirmation::Late
            }
            None => Confirmation::OfNothing,
        }
    }

    /// Where the message of this number is.
    fn place(&self, number: u16) -> Option<usize> {
        let oldest = self.messages.front()?.sequence;
        let later = (u32::from(number) + NUMBERS - oldest % NUMBERS) % NUMBERS;
        self.messages.binary_search_by_key(&(oldest + later), |message| message.sequence).ok()
    }

    /// Gives up those that were handed over at a time for which this holds.
    pub(super) fn give_up(
        &mut self,
        is_over: impl Fn(u64) -> bool,
    ) -> impl Iterator<Item = HandedOver> {
        let old = self.messages.iter().take_while(|message| is_over(message.at)).count();
        self.given_up += old as u32;
        self.messages.drain(..old)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handed_over(sequences: impl IntoIterator<Item = u32>) -> Unconfirmed {
        let mut unconfirmed = Unconfirmed::default();
        for sequence in sequences {
            unconfirmed.hand_over(message(sequence));
        }
        unconfirmed
    }

    fn message(sequence: u32) -> HandedOver {
        HandedOver { sequence, intended: 10, at: sequence.into() }
    }

    #[test]
    fn a_confirmation_is_of_the_message_with_its_number() {
        // 65,533 was shed.
        let mut unconfirmed = handed_over([65_532, 65_534, 65_535, 65_536]);
        assert_eq!(unconfirmed.confirm(Some(0)), Confirmation::Of(message(65_535)));
        assert_eq!(unconfirmed.confirm(Some(65_534)), Confirmation::Of(message(65_534)));
        assert_eq!(unconfirmed.confirm(Some(65_534)), Confirmation::OfNothing, "a second time");
        assert_eq!(unconfirmed.confirm(Some(65_533)), Confirmation::OfNothing, "nobody said it");
        assert_eq!(unconfirmed.confirm(Some(1)), Confirmation::Of(message(65_536)));
        assert_eq!(unconfirmed.confirm(Some(65_532)), Confirmation::Of(message(65_532)));
        assert_eq!(unconfirmed.confirm(Some(65_532)), Confirmation::OfNothing);
    }

    #[test]
    fn without_a_number_it_is_of_the_oldest() {
        let mut unconfirmed = handed_over([3, 5]);
        assert_eq!(unconfirmed.confirm(None), Confirmation::Of(message(3)));
        assert_eq!(unconfirmed.confirm(None), Confirmation::Of(message(5)));
        assert_eq!(unconfirmed.confirm(None), Confirmation::OfNothing);
    }

    /// Else each answer of a server that was slow once is taken for another message's.
    #[test]
    fn what_was_given_up_is_confirmed_late_and_nothing_else() {
        let mut unconfirmed = handed_over([1, 2, 3]);
        let given_up: Vec<HandedOver> = unconfirmed.give_up(|at| at <= 2).collect();
        assert_eq!(given_up, [message(1), message(2)]);
        assert_eq!(unconfirmed.confirm(None), Confirmation::Late);
        assert_eq!(unconfirmed.confirm(None), Confirmation::Late);
        assert_eq!(unconfirmed.confirm(None), Confirmation::Of(message(3)));
        assert_eq!(unconfirmed.confirm(None), Confirmation::OfNothing);
        let mut unconfirmed = handed_over([1, 2]);
        unconfirmed.give_up(|at| at <= 1).for_each(drop);
        assert_eq!(unconfirmed.confirm(Some(2)), Confirmation::Of(message(2)));
        assert_eq!(unconfirmed.confirm(Some(1)), Confirmation::Late);
        assert_eq!(unconfirmed.confirm(Some(1)), Confirmation::OfNothing);
    }

    #[test]
    fn a_number_is_free_once_the_message_that_had_it_is_confirmed() {
        let mut unconfirmed = handed_over([7, 8]);
        assert!(unconfirmed.has_number_for(7 + NUMBERS - 1));
        assert!(!unconfirmed.has_number_for(7 + NUMBERS), "two messages would have one number");
        unconfirmed.confirm(Some(7));
        assert!(unconfirmed.has_number_for(7 + NUMBERS));
    }
}
