//! What engines in C share.

use std::ffi::{CStr, CString, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::slice;

use crate::error::{Error, Result};

/// A path as C takes it.
///
/// # Errors
/// If there is a zero byte in it.
pub fn path(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(Error::when(path.display()))
}

/// A text of C's.
///
/// # Safety
/// `text` is null, or ends with a zero byte and lives meanwhile.
pub unsafe fn text(text: *const c_char) -> String {
    match text.is_null() {
        true => "no reason was given".into(),
        // SAFETY: as above.
        false => unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned(),
    }
}

/// Bytes of C's.
///
/// # Safety
/// `begin` is null with a length of 0, or so many bytes lie there as long as `'b`.
pub unsafe fn bytes<'b>(begin: *const c_void, length: usize) -> &'b [u8] {
    match length {
        0 => &[],
        // SAFETY: as above.
        _ => unsafe { slice::from_raw_parts(begin.cast(), length) },
    }
}
