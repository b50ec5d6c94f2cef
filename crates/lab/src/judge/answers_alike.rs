//! Do the contenders send answers of the same size?

use super::{Check, Compared, Scope, Word};
use crate::statistics::median;

/// Bytes that a body may differ by: the digits of a random number.
const BODY_APART_MAX: f64 = 32.0;
/// Bytes that a whole answer may differ by: a header line or two.
const WHOLE_APART_MAX: f64 = 128.0;

pub(super) const ANSWERS_ALIKE: Check = Check {
    id: "answers-alike",
    signal: "Bytes of a right answer, its body and all of it, against the median of the contenders that keep the same contract.",
    threshold: "the body within 32 bytes, the whole within 128 bytes",
    why: "Who sends less has less to make and to copy. 32 bytes are what ways to write a random number differ by; 128 bytes are a header line or two, less than a packet's own overhead. Headers that all leave out in the same measure are the contract's matter.",
    fix: "Bring the contender's body to the others' length, and its headers to those that the contract names.",
    scope: Scope::Row(look),
};

fn look(compared: &Compared) -> Word {
    let alike: Vec<&str> = compared
        .contenders
        .iter()
        .filter(|it| it.lighter_contract == compared.contender.lighter_contract)
        .map(|it| &*it.name)
        .collect();
    let sizes = |of: fn(u64, u64) -> u64| -> Option<(f64, f64)> {
        let size = |name: &str| {
            let all = compared.of(name).filter_map(|trial| trial.evidence.answer);
            median(&all.map(|it| of(it.head_bytes, it.body_bytes) as f64).collect::<Vec<_>>())
        };
        let all: Vec<f64> = alike.iter().filter_map(|name| size(name)).collect();
        size(&compared.contender.name).zip(median(&all))
    };
    let Some(((body, bodies), (whole, wholes))) =
        sizes(|_, body| body).zip(sizes(|head, body| head + body))
    else {
        return Word::not_checked("The size of an answer is not known.");
    };
    let value =
        format!("{body:.0} of {whole:.0} bytes are body; median {bodies:.0} of {wholes:.0}");
    if (body - bodies).abs() > BODY_APART_MAX {
        Word::suspect(value, "Its body is of another length than that of the others.")
    } else if (whole - wholes).abs() > WHOLE_APART_MAX {
        Word::suspect(value, "Its headers are much shorter or longer than those of the others.")
    } else {
        Word::valid(value, "Its answers are as long as those of the others.")
    }
}

#[cfg(test)]
mod tests {
    use result::evidence::AnswerSize;
    use result::finding::Verdict;

    use super::super::tests::{Field, field};
    use super::*;

    fn with(head_bytes: u64, body_bytes: u64) -> Verdict {
        let mut field = field();
        field.each("a", |evidence| evidence.answer = Some(AnswerSize { head_bytes, body_bytes }));
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
    fn another_contract_has_other_answers() {
        let mut field = field();
        field.contenders[0].lighter_contract = Some("static".into());
        field.each("a", |evidence| {
            evidence.answer = Some(AnswerSize { head_bytes: 150, body_bytes: 5 });
        });
        assert_eq!(field.word(&ANSWERS_ALIKE, "a").verdict, Verdict::Valid);
    }

    #[test]
    fn an_unknown_size_is_not_checked() {
        let mut field: Field = field();
        field.each("a", |evidence| evidence.answer = None);
        assert_eq!(field.word(&ANSWERS_ALIKE, "a").verdict, Verdict::NotChecked);
    }
}
