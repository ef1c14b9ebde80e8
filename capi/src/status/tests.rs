//! What is said of each status.

use super::*;

#[test]
fn every_kind_of_error_has_its_status_name_and_advice() {
    for (number, (status, kind)) in (1..).zip(KINDS) {
        assert_eq!(status as i32, number);
        assert_eq!(format!("{status:?}"), format!("NK_{}", kind.as_str().to_uppercase()));
        let (name, advice) = of_status(number);
        assert_eq!((name.to_str(), advice.to_str()), (Ok(kind.as_str()), Ok(kind.advice())));
    }
    assert_eq!(of_status(17).0, c"bad_handle");
    let missing =
        Failure::from(engine::Index::open("/none", engine::Options::default()).unwrap_err());
    assert_eq!(missing.status(), nk_status::NK_NOT_FOUND);
    assert_eq!(of_status(19).0, c"unknown_status");
}
