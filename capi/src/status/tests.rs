//! What is said of each status.

use super::*;

#[test]
fn every_kind_of_error_has_its_status_name_and_advice() {
    for (number, (status, name, advice)) in (0..).zip(STATUSES) {
        assert_eq!(status as i32, number);
        assert_eq!(of_status(number), (name, advice));
    }
    let missing =
        Failure::from(engine::Index::open("/none", engine::Options::default()).unwrap_err());
    assert_eq!(missing.status(), nk_status::NK_NOT_FOUND);
    assert_eq!(of_status(19).0, c"unknown_status");
}
