//! Builds the page: one HTML file with its style, script and data.
//!
//! This module does not know what the data means. A content security policy allows only this style
//! and this script, by their SHA-256 hashes, and forbids loading anything. A test recomputes the
//! hashes.

use serde::Serialize;

use crate::web;
use nearkin_kit::failure::Failure;

/// A kind of page. A policy names its style and its script, all parts together, by their SHA-256.
pub(super) struct Kind {
    template: &'static str,
    style: &'static str,
    script: &'static [&'static str],
    style_sha256: &'static str,
    script_sha256: &'static str,
}

/// Clusters of similar documents.
pub(super) const CLUSTERS: Kind = Kind {
    template: include_str!("page.html"),
    style: include_str!("page.css"),
    script: &[
        include_str!("charts.js"),
        include_str!("pair.js"),
        include_str!("clusters.js"),
        include_str!("removals.js"),
        include_str!("page.js"),
    ],
    style_sha256: "ereDCvuiyrNZGRGg1Ap5FfcCmU1FjE4dMG36AxyAO8w=",
    script_sha256: "jX09n69sJXLU42R6ji076D6QHGc0hxJrQqPhAcH3kTA=",
};

/// Texts that share passages.
pub(super) const COPIED: Kind = Kind {
    template: include_str!("copied.html"),
    style: include_str!("copied.css"),
    script: &[include_str!("passages.js"), include_str!("copied.js")],
    style_sha256: "+9Fl/VBZ/KzsSphj0K+QUOdyhqGFZ9aOHP8ratL83ZM=",
    script_sha256: "i/a+HsvXExCt3/2WaovnqgcEIPrUU9vPR6hbjN43uc8=",
};

const READ_DATA: &str = "const data = JSON.parse(document.getElementById(\"data\").textContent);\n";

impl Kind {
    fn style(&self) -> String {
        [web::STYLE, self.style].concat()
    }

    fn script(&self) -> String {
        let parts = [&[READ_DATA, web::BASE][..], &web::TEXTS, self.script];
        web::script(&parts.concat())
    }

    /// Builds the HTML page that shows the data.
    pub(super) fn html(&self, data: &impl Serialize) -> Result<String, Failure> {
        let json = serde_json::to_string(data)
            .map_err(|error| Failure::new(format!("cannot create the page: {error}"), ""))?;
        // The data is inserted last, so that text in it that looks like a placeholder is not
        // replaced.
        let mut page = self
            .template
            .replace("@STYLE_SHA256@", self.style_sha256)
            .replace("@SCRIPT_SHA256@", self.script_sha256)
            .replace("@STYLE@", &self.style())
            .replace("@SCRIPT@", &self.script());
        let place = page.find("@DATA@").unwrap_or(page.len());
        page.replace_range(place..(place + 6).min(page.len()), &harmless(&json));
        Ok(page)
    }
}

/// Makes JSON safe inside HTML. Escapes the characters that could end the script or start a
/// comment, and the two characters that are line ends in JavaScript but not in JSON.
fn harmless(json: &str) -> String {
    let mut text = String::with_capacity(json.len() + json.len() / 64);
    for character in json.chars() {
        match character {
            '<' => text.push_str("\\u003c"),
            '>' => text.push_str("\\u003e"),
            '&' => text.push_str("\\u0026"),
            '\u{2028}' => text.push_str("\\u2028"),
            '\u{2029}' => text.push_str("\\u2029"),
            // The characters escaped above occur only inside JSON strings, so escaping them is
            // always valid.
            other => text.push(other),
        }
    }
    text
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
        for kind in [CLUSTERS, COPIED] {
            let (style, script) = (sha256(&kind.style()), sha256(&kind.script()));
            let named = [kind.style_sha256, kind.script_sha256];
            assert_eq!(named, [style.as_str(), script.as_str()]);
        }
        assert_eq!(sha256(""), "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    }

    #[test]
    fn the_template_has_each_place_once() {
        for kind in [CLUSTERS, COPIED] {
            let (style, script) = (kind.style(), kind.script());
            for place in ["@STYLE_SHA256@", "@SCRIPT_SHA256@", "@STYLE@", "@SCRIPT@", "@DATA@"] {
                assert_eq!(kind.template.matches(place).count(), 1, "{place}");
                assert!(!style.contains(place) && !script.contains(place), "{place}");
            }
            for text in [kind.template, &style, &script] {
                let is_plain = !text.contains("http://") && !text.contains("https://");
                assert!(text.is_ascii() && is_plain);
            }
            assert!(!script.contains("innerHTML") && !script.contains("</"));
        }
    }

    #[test]
    fn data_cannot_end_its_script() {
        let json = serde_json::to_string("</script><!-- \u{2028}&amp;").unwrap();
        let text = harmless(&json);
        assert!(text.is_ascii() && !text.contains(['<', '>', '&']), "{text}");
        let back: String = serde_json::from_str(&text).unwrap();
        assert_eq!(back, "</script><!-- \u{2028}&amp;");
    }
}
