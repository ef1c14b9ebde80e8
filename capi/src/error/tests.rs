//! Errors, panics, and what is said of each status.

use super::*;
use std::ptr::null_mut;

#[test]
fn a_panic_becomes_a_status_and_a_message() {
    let mut error = null_mut();
    let status = guarded(&raw mut error, || panic!("the {} is odd", "number"));
    assert_eq!((status, nk_error_status(error)), (nk_status::NK_BUG, nk_status::NK_BUG));
    let failure = table::get(error).ok().expect("an error handle");
    assert_eq!(failure.0.message.to_str(), Ok("nearkin panicked: the number is odd"));
    assert_eq!(guarded(null_mut(), || panic!("no place for it")), nk_status::NK_BUG);
}

#[test]
fn every_kind_of_error_has_its_status_name_and_advice() {
    for (number, (status, name, advice)) in (0..).zip(STATUSES) {
        assert_eq!(status as i32, number);
        assert_eq!(of_status(number), (name, advice));
    }
    let missing =
        Failure::from(engine::Index::open("/none", engine::Options::default()).unwrap_err());
    assert_eq!(missing.0.status, nk_status::NK_NOT_FOUND);
    assert_eq!(of_status(19).0, c"unknown_status");
}
