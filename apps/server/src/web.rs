//! CSS and JavaScript that the pages of the report and of the server share: one look, and one
//! script that shows two texts side by side.

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

/// Joins scripts into one function in strict mode, so that nothing becomes global.
pub(crate) fn script(parts: &[&str]) -> String {
    ["(() => {\n\"use strict\";\n", &parts.concat(), "})();\n"].concat()
}
