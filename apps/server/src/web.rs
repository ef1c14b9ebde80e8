//! CSS and JavaScript that the pages of the report and of the server share: one look, and one
//! script that shows two texts side by side.

use serde::Serialize;

use nearkin_kit::failure::Failure;

/// The style of all pages.
pub(crate) const STYLE: &str = include_str!("web/style.css");
/// JavaScript helpers: elements, numbers, times, keys, the theme.
pub(crate) const BASE: &str = include_str!("web/base.js");
/// JavaScript to compare two texts: jsdiff, word differences, and their display. Needs [`BASE`].
pub(crate) const TEXTS: [&str; 3] = [
    include_str!("web/vendor/jsdiff-8.0.4.min.js"),
    include_str!("web/words.js"),
    include_str!("web/beside.js"),
];

/// What the script of a page begins with: its data.
const READ_DATA: &str = "const data = JSON.parse(document.getElementById(\"data\").textContent);\n";

/// Joins scripts into one function in strict mode, so that nothing becomes global.
pub(crate) fn script(parts: &[&str]) -> String {
    ["(() => {\n\"use strict\";\n", &parts.concat(), "})();\n"].concat()
}

/// A kind of page that is one HTML file with its data. Its policy allows only its style and its
/// script, all parts together, by their SHA-256.
pub(crate) struct PageKind {
    /// HTML with a place for each part.
    pub(crate) template: &'static str,
    /// What follows the [`STYLE`] of all pages.
    pub(crate) style: &'static str,
    /// What follows [`BASE`] and [`TEXTS`].
    pub(crate) script: &'static [&'static str],
    pub(crate) style_sha256: &'static str,
    pub(crate) script_sha256: &'static str,
}

impl PageKind {
    fn style(&self) -> String {
        [STYLE, self.style].concat()
    }

    fn script(&self) -> String {
        script(&[&[READ_DATA, BASE][..], &TEXTS, self.script].concat())
    }

    /// Builds the HTML page that shows the data.
    pub(crate) fn html(&self, data: &impl Serialize) -> Result<String, Failure> {
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

    /// Panics unless the policy names this style and this script, each place is there once, and
    /// nothing is loaded from elsewhere.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        use base64::Engine as _;
        use base64::engine::general_purpose::STANDARD;
        use sha2::{Digest as _, Sha256};

        let sha256 = |text: &str| STANDARD.encode(Sha256::digest(text.as_bytes()));
        assert_eq!(sha256(""), "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
        let (style, script) = (self.style(), self.script());
        let named = [self.style_sha256, self.script_sha256];
        assert_eq!(named, [sha256(&style), sha256(&script)].each_ref().map(String::as_str));
        for place in ["@STYLE_SHA256@", "@SCRIPT_SHA256@", "@STYLE@", "@SCRIPT@", "@DATA@"] {
            assert_eq!(self.template.matches(place).count(), 1, "{place}");
            assert!(!style.contains(place) && !script.contains(place), "{place}");
        }
        for text in [self.template, &style, &script] {
            assert!(text.is_ascii() && !text.contains("http://") && !text.contains("https://"));
        }
        assert!(!script.contains("innerHTML") && !script.contains("</"));
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

    #[test]
    fn data_cannot_end_its_script() {
        let json = serde_json::to_string("</script><!-- \u{2028}&amp;").unwrap();
        let text = harmless(&json);
        assert!(text.is_ascii() && !text.contains(['<', '>', '&']), "{text}");
        let back: String = serde_json::from_str(&text).unwrap();
        assert_eq!(back, "</script><!-- \u{2028}&amp;");
    }
}
