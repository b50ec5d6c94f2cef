//! Lists that keep the order in which things were first met.

/// The element that fits, made first if there is none.
pub fn entry<T>(list: &mut Vec<T>, fits: impl Fn(&T) -> bool, make: impl FnOnce() -> T) -> &mut T {
    let at = list.iter().position(fits).unwrap_or_else(|| {
        list.push(make());
        list.len() - 1
    });
    &mut list[at]
}
