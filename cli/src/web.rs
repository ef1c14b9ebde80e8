//! What the pages of the report and of the server share: one look, one script for texts side by
//! side. Plain text of CSS and JavaScript.

/// The look of all pages.
pub(crate) const STYLE: &str = include_str!("web/style.css");
/// Elements, numbers, times, keys, the theme.
pub(crate) const BASE: &str = include_str!("web/base.js");
/// Two texts: jsdiff, which words differ, and how that is shown. Needs [`BASE`].
pub(crate) const TEXTS: [&str; 3] = [
    include_str!("web/vendor/jsdiff-8.0.4.min.js"),
    include_str!("web/words.js"),
    include_str!("web/beside.js"),
];

/// Scripts as one: in strict mode, and one function, so that nothing of it is global.
pub(crate) fn script(parts: &[&str]) -> String {
    ["(() => {\n\"use strict\";\n", &parts.concat(), "})();\n"].concat()
}
