//! Checks that apply to every page in every state: contrast, accessible names, no horizontal
//! overflow.

use crate::devtools::Browser;
use serde_json::json;

/// Lists all visible text whose contrast is too low (WCAG 2.2, 1.4.3).
const CONTRASTS: &str = r#"(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
  const below = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = rgb(getComputedStyle(at).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255, 255];
  };
  const bad = [];
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
    if (!own || !node.getClientRects().length || node.disabled) continue;
    if (node.closest("script, style, .unseen, .skip")) continue;
    const style = getComputedStyle(node);
    const drawn = node.namespaceURI.includes("svg");
    const [one, other] = [light(rgb(drawn ? style.fill : style.color)), light(below(node))];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (contrast >= 4.5) continue;
    bad.push(`${node.tagName} ${node.textContent.slice(0, 30)}: ${contrast.toFixed(2)}`);
  }
  return bad;
})()"#;

/// Checks the page in its current state.
#[track_caller]
pub(crate) fn page(browser: &mut Browser) {
    assert_eq!(browser.value(CONTRASTS), json!([]), "contrast");
    let overflow = "document.documentElement.scrollWidth - innerWidth";
    assert!(browser.value(overflow).as_i64().unwrap() <= 0, "wider than the window");
    let ids = "(() => { const ids = [...document.querySelectorAll('[id]')].map((n) => n.id); \
               return ids.filter((id, at) => ids.indexOf(id) !== at); })()";
    assert_eq!(browser.value(ids), json!([]), "ids");
    assert_eq!(unnamed(browser), Vec::<String>::new(), "without a name for a screen reader");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// Focusable elements without an accessible name.
fn unnamed(browser: &mut Browser) -> Vec<String> {
    let tree = browser.call("Accessibility.getFullAXTree", &json!({}));
    let roles = "button link searchbox combobox slider table region navigation search heading \
                 textbox image group";
    let roles: Vec<_> = roles.split(' ').collect();
    let nodes = tree["nodes"].as_array().unwrap().iter();
    let with_role = nodes.filter(|node| {
        node["ignored"] != true && roles.contains(&node["role"]["value"].as_str().unwrap_or(""))
    });
    let nameless = with_role.filter(|node| node["name"]["value"].as_str().unwrap_or("").is_empty());
    // A `details` group takes its name from the `summary` inside it.
    let nameless = nameless.filter(|node| node["role"]["value"] != "group");
    nameless.map(std::string::ToString::to_string).collect()
}
