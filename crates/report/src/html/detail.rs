//! How much a page has room for.

/// How much of the detail of a large run the page has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// No checks beside figures at all, nor what servers said last, nor first figures of
    /// comparisons that were made again: what is against figures stands above all loads, and
    /// names a few of them.
    Bare,
    /// No second by second either.
    Less,
    /// Of checks that found nothing, or couldn't look, only how many; what others are
    /// held against is said above all loads only.
    Brief,
    /// All.
    All,
}

impl Detail {
    /// What the reader is told of what is left out.
    pub fn leaves_out(self) -> Option<&'static str> {
        match self {
            Detail::All => None,
            Detail::Brief => Some("what the checks saw that found nothing"),
            Detail::Less => {
                Some("what checks measured that found nothing, and the strips of seconds")
            }
            Detail::Bare => Some(
                "the checks beside each figure, most of the figures that a finding is of, \
                 what servers said last, the strips of seconds, and the figures of comparisons \
                 that were made again",
            ),
        }
    }
}
