//! Builds the page: one HTML file with its style, script and data.
//!
//! This module does not know what the data means. A content security policy allows only this style
//! and this script, by their SHA-256 hashes, and forbids loading anything. A test recomputes the
//! hashes.

use super::data::Data;
use crate::web;
use nearkin_kit::failure::Failure;

const TEMPLATE: &str = include_str!("page.html");
const OWN_STYLE: &str = include_str!("page.css");
const OWN_SCRIPT: [&str; 5] = [
    include_str!("charts.js"),
    include_str!("pair.js"),
    include_str!("clusters.js"),
    include_str!("removals.js"),
    include_str!("page.js"),
];
const STYLE_SHA256: &str = "ereDCvuiyrNZGRGg1Ap5FfcCmU1FjE4dMG36AxyAO8w=";
const SCRIPT_SHA256: &str = "jX09n69sJXLU42R6ji076D6QHGc0hxJrQqPhAcH3kTA=";

fn style() -> String {
    [web::STYLE, OWN_STYLE].concat()
}

fn script() -> String {
    let parts = [&[web::READ_DATA, web::BASE][..], &web::TEXTS, &OWN_SCRIPT];
    web::script(&parts.concat())
}

/// Builds the HTML page that shows the data.
pub(super) fn html(data: &Data) -> Result<String, Failure> {
    web::page(TEMPLATE, [(&style(), STYLE_SHA256), (&script(), SCRIPT_SHA256)], data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use sha2::{Digest as _, Sha256};

    fn sha256(text: &str) -> String {
        STANDARD.encode(Sha256::digest(text.as_bytes()))
    }

    #[test]
    fn the_policy_names_this_style_and_this_script() {
        let (style, script) = (sha256(&style()), sha256(&script()));
        assert_eq!([STYLE_SHA256, SCRIPT_SHA256], [style.as_str(), script.as_str()]);
        assert_eq!(sha256(""), "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    }

    #[test]
    fn the_template_has_each_place_once() {
        let (style, script) = (style(), script());
        for place in ["@STYLE_SHA256@", "@SCRIPT_SHA256@", "@STYLE@", "@SCRIPT@", "@DATA@"] {
            assert_eq!(TEMPLATE.matches(place).count(), 1, "{place}");
            assert!(!style.contains(place) && !script.contains(place), "{place}");
        }
        for text in [TEMPLATE, &style, &script] {
            assert!(text.is_ascii() && !text.contains("http://") && !text.contains("https://"));
        }
        assert!(!script.contains("innerHTML") && !script.contains("</"));
    }
}
