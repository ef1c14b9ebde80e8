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
pub(crate) const READ_DATA: &str =
    "const data = JSON.parse(document.getElementById(\"data\").textContent);\n";

/// Joins scripts into one function in strict mode, so that nothing becomes global.
pub(crate) fn script(parts: &[&str]) -> String {
    ["(() => {\n\"use strict\";\n", &parts.concat(), "})();\n"].concat()
}

/// Builds a page of one HTML file from a template, its style and its script, each with its SHA-256
/// hash, and its data. The template's policy allows only these two, by their hashes.
pub(crate) fn page(
    template: &str,
    [style, script]: [(&str, &str); 2],
    data: &impl Serialize,
) -> Result<String, Failure> {
    let json = serde_json::to_string(data)
        .map_err(|error| Failure::new(format!("cannot create the page: {error}"), ""))?;
    // The data is inserted last, so that text in it that looks like a placeholder is not replaced.
    let mut page = template
        .replace("@STYLE_SHA256@", style.1)
        .replace("@SCRIPT_SHA256@", script.1)
        .replace("@STYLE@", style.0)
        .replace("@SCRIPT@", script.0);
    let place = page.find("@DATA@").unwrap_or(page.len());
    page.replace_range(place..(place + 6).min(page.len()), &harmless(&json));
    Ok(page)
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
