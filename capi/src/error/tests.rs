//! Errors, panics, and what is said of each status.

use super::*;
use std::ptr::null_mut;

#[test]
fn a_panic_becomes_a_status_and_a_message() {
    let mut error = null_mut();
    let status = guarded(&raw mut error, || panic!("the {} is odd", "number"));
    assert_eq!((status, nk_error_status(error)), (nk_status::NK_BUG, nk_status::NK_BUG));
    let failure = table::get(error).ok().expect("an error handle");
    assert_eq!(failure.message().to_str(), Ok("nearkin panicked: the number is odd"));
    assert_eq!(guarded(null_mut(), || panic!("no place for it")), nk_status::NK_BUG);
}
