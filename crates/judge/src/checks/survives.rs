//! Is it known what the store survives?

use result::finding::{Finding, Verdict};

use super::check::{Check, Scope, Word};

pub(super) const SURVIVES: Check = Check {
    id: "survives",
    signal: "The class of a store that was cut off: what it survives at least, and at most.",
    threshold: "both are the same",
    why: "A store that syncs every write and one that never does differ tenfold in throughput. Both survive their own crash. What tells them apart is a rung that couldn't be checked, so the one may be ranked before the other for what it leaves out.",
    fix: "Run it where all rungs can be checked (docs/durability.md: `machine` and `power` need root, loop devices, `mkfs.ext4` and FUSE). Which rung wasn't, and why, stands in the list of what stores survive.",
    scope: Scope::Row(|row| {
        let classes = row.classes?;
        Some(match classes.known() {
            Some(class) => Word::valid(class.survives(), "What it survives was tried."),
            None => Word::suspect(
                classes.survives(),
                "A rung that tells was not checked, so it isn't known which stores survive the same.",
            ),
        })
    }),
};

/// Whether a finding says that it isn't known of which class a store is.
pub(crate) fn is_of_no_class(finding: &Finding) -> bool {
    finding.check == SURVIVES.id && finding.verdict >= Verdict::Suspect
}

#[cfg(test)]
mod tests {
    use result::durability::{Class, Classes};

    use super::super::sound::field;
    use super::*;

    #[test]
    fn a_class_with_two_ends_casts_doubt_and_who_was_never_cut_off_has_none() {
        let word = |least, most| {
            let mut field = field();
            field.classes = Some(Classes { least, most });
            field.word(&SURVIVES, "a")
        };
        assert_eq!(word(Some(Class::Power), Class::Power).verdict, Verdict::Valid);
        let doubt = word(Some(Class::Process), Class::Power);
        assert_eq!(doubt.verdict, Verdict::Suspect);
        assert_eq!(doubt.value, "its own crash, and perhaps a power cut");
        assert!(is_of_no_class(&doubt));
        assert_eq!(word(None, Class::Power).verdict, Verdict::Suspect);
        assert!(field().word_if_any(&SURVIVES, "a").is_none());
    }
}
