//! Do the contenders send answers of the same size?

use histogram::median;

use super::check::{Check, RowSeen, Scope, Word};

/// Bytes that a body may differ by: the digits of a random number.
const BODY_APART_MAX: f64 = 32.0;
/// Bytes that a whole answer may differ by: a header line or two.
const WHOLE_APART_MAX: f64 = 128.0;

pub(super) const ANSWERS_ALIKE: Check = Check {
    id: "answers-alike",
    signal: "Bytes of a right answer, of its body and of all of it. They are compared with the median of the others that keep the same contract.",
    threshold: "the body within 32 bytes, the whole within 128 bytes",
    why: "A server that sends less has less to make and to copy. Ways to write a random number differ by up to 32 bytes. 128 bytes are a header line or two, less than a packet's own overhead. Headers that all contenders leave out alike are a matter of the contract.",
    fix: "Bring the contender's body to the others' length, and its headers to those that the contract names.",
    scope: Scope::Row(|compared| {
        let kind = compared.kind;
        let sends_bodies = kind.is_asked() && !kind.keeps_data() && !kind.passes_on();
        sends_bodies.then(|| look(compared))?
    }),
};

fn look(compared: &RowSeen) -> Option<Word> {
    let contract = &compared.contender.lighter_contract;
    let others = compared.others().filter(|it| it.lighter_contract == *contract);
    let was_measured = |name: &str| compared.of(name).any(|trial| trial.evidence.work.is_some());
    let others: Vec<&str> = others.map(|it| &*it.name).filter(|name| was_measured(name)).collect();
    let Some((body, whole)) = size(compared, &compared.contender.name) else {
        return Some(Word::not_checked("The size of an answer is not known."));
    };
    if others.is_empty() {
        return None;
    }
    let sizes = others.iter().filter_map(|name| size(compared, name));
    let (bodies, wholes): (Vec<f64>, Vec<f64>) = sizes.unzip();
    let Some((bodies, wholes)) = median(&bodies).zip(median(&wholes)) else {
        return Some(Word::not_checked("The size of the others' answers is not known."));
    };
    let value =
        format!("{body:.0} of {whole:.0} bytes are body; the others' {bodies:.0} of {wholes:.0}");
    Some(if (body - bodies).abs() > BODY_APART_MAX {
        Word::suspect(value, "Its body is of another length than that of the others.")
    } else if (whole - wholes).abs() > WHOLE_APART_MAX {
        Word::suspect(value, "Its headers are much shorter or longer than those of the others.")
    } else {
        Word::valid(value, "Its answers are as long as those of the others.")
    })
}

/// The bytes of a contender's body and of its whole answer, over its trials.
fn size(compared: &RowSeen, name: &str) -> Option<(f64, f64)> {
    let sizes = compared.of(name).filter_map(|trial| trial.evidence.answer);
    let (bodies, wholes): (Vec<f64>, Vec<f64>) =
        sizes.map(|it| (it.body_bytes as f64, (it.head_bytes + it.body_bytes) as f64)).unzip();
    median(&bodies).zip(median(&wholes))
}

#[cfg(test)]
mod tests {
    use result::evidence::AnswerSize;
    use result::finding::Verdict;

    use super::super::sound::{Field, field};
    use super::*;

    fn size(head_bytes: u64, body_bytes: u64) -> AnswerSize {
        AnswerSize { head_bytes, body_bytes, whole_bytes: Some(head_bytes + body_bytes) }
    }

    fn with(head_bytes: u64, body_bytes: u64) -> Verdict {
        let mut field = field();
        field.each("a", |evidence| evidence.answer = Some(size(head_bytes, body_bytes)));
        field.word(&ANSWERS_ALIKE, "a").verdict
    }

    #[test]
    fn a_shorter_body_or_missing_headers_cast_doubt() {
        assert_eq!(with(150, 50), Verdict::Valid);
        assert_eq!(with(150, 20), Verdict::Valid);
        assert_eq!(with(150, 12), Verdict::Suspect, "38 bytes of body less than the others'");
        assert_eq!(with(20, 50), Verdict::Suspect, "headers of 130 bytes left out");
        assert_eq!(with(400, 50), Verdict::Suspect);
    }

    #[test]
    fn of_two_each_is_held_against_the_other_and_not_against_what_lies_between() {
        let with = |body_bytes: u64| {
            let mut field = field();
            field.contenders.truncate(2);
            field.each("a", |evidence| {
                evidence.answer = Some(size(150, body_bytes));
            });
            ["a", "b"].map(|name| field.word(&ANSWERS_ALIKE, name).verdict)
        };
        assert_eq!(with(90), [Verdict::Suspect; 2], "40 bytes apart");
        assert_eq!(with(80), [Verdict::Valid; 2]);
    }

    #[test]
    fn another_contract_has_other_answers() {
        let mut field = field();
        field.contenders[0].lighter_contract = Some("static".into());
        field.each("a", |evidence| {
            evidence.answer = Some(size(150, 5));
        });
        assert_eq!(field.word_if_any(&ANSWERS_ALIKE, "a"), None);
    }

    #[test]
    fn an_unknown_size_is_not_checked() {
        let mut field: Field = field();
        field.each("a", |evidence| evidence.answer = None);
        assert_eq!(field.word(&ANSWERS_ALIKE, "a").verdict, Verdict::NotChecked);
        assert_eq!(field.word(&ANSWERS_ALIKE, "b").verdict, Verdict::Valid, "c's is known");
        field.each("c", |evidence| evidence.answer = None);
        assert_eq!(field.word(&ANSWERS_ALIKE, "b").verdict, Verdict::NotChecked);
    }
}
