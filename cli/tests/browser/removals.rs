//! Browser tests of the list of documents to remove, and of the links to files.

use std::fs;

use serde_json::json;

use crate::checks;
use crate::devtools::Browser;
use crate::pages::Scratch;
use crate::report::{WINDOW, lines_of, saved};

/// Files in the folder `docs`, each with the same text but for its last words.
fn files(names: &[&str]) -> Scratch {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("docs")).unwrap();
    let text = lines_of(20).join("\n");
    for (at, name) in names.iter().enumerate() {
        fs::write(scratch.path("docs").join(name), format!("{text}\nthe end {at}")).unwrap();
    }
    scratch.run("add i docs");
    scratch
}

const LIST: &str = "document.getElementById('removals-list').value";
const BOXES: &str = "[...document.querySelectorAll('#members input')]";

#[test]
fn a_list_of_removals_keeps_one_document_of_each_cluster() {
    let Some(mut browser) = Browser::start() else { return };
    let scratch = files(&["a.txt", "b.txt", "c.txt", "line\nend.txt"]);
    scratch.run("report i --out r.html");
    browser.open(&scratch.path("r.html"), WINDOW, "light");
    assert_eq!(browser.value("document.getElementById('removals').hidden"), true);
    browser.value("document.querySelector('button.row').click()");
    // The key with a line end cannot be in a list of lines.
    let disabled = format!("{BOXES}.map((box) => box.disabled)");
    assert_eq!(browser.value(&disabled), json!([false, false, false, true]));
    browser.value(&format!("{BOXES}.slice(0, 3).forEach((box) => box.click())"));
    assert_eq!(browser.text(LIST), "docs/a.txt\ndocs/b.txt\ndocs/c.txt\n");
    browser.value("document.querySelector('.marking').lastChild.click()");
    assert_eq!(browser.value("document.getElementById('removals').hidden"), true);
    // Even a script that presses every box leaves one document.
    browser.value(&format!(
        "{BOXES}.forEach((box) => {{ box.disabled = false; box.checked = false; box.click(); }})"
    ));
    assert_eq!(browser.text(LIST), "docs/a.txt\ndocs/b.txt\ndocs/c.txt\n");
    browser.value("document.querySelector('.marking').firstChild.click()");
    assert_eq!(browser.text(LIST), "docs/b.txt\ndocs/c.txt\n", "the left one stays");
    assert_eq!(browser.shown("#removals-count"), "2 documents of 1 cluster to remove");
    assert_eq!(browser.shown("small[data-marked]"), "2 to remove");
    browser.value("document.querySelector('#removals details').open = true");
    checks::page(&mut browser);
    // The list is copied and saved as it is shown, and the command takes it.
    browser.value(
        "navigator.clipboard.writeText = (text) => { window.copied = text; \
         return Promise.resolve(); }; document.getElementById('copy').click()",
    );
    browser.wait_for("document.getElementById('removals-count').innerText === '2 lines copied'");
    assert_eq!(browser.text("window.copied"), "docs/b.txt\ndocs/c.txt\n");
    let list = saved(&mut browser, "save");
    assert_eq!(list, "docs/b.txt\ndocs/c.txt\n");
    fs::write(scratch.path("removals.txt"), list).unwrap();
    let command = browser.shown("#removals code");
    assert_eq!(command, "nearkin remove INDEX --from removals.txt --if-similar 0.7");
    scratch.run(&command.replace("INDEX", "i").replacen("nearkin ", "", 1));
    browser.value("document.getElementById('clear').click()");
    assert_eq!(browser.value("document.getElementById('removals').hidden"), true);
    assert_eq!(browser.value(&format!("{BOXES}.some((box) => box.checked)")), false);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_pair_of_which_one_cannot_be_listed_keeps_that_one() {
    let Some(mut browser) = Browser::start() else { return };
    let scratch = files(&["a.txt", "\u{202e}b.txt"]);
    scratch.run("report i --out r.html --no-texts");
    browser.open_cluster(&scratch.path("r.html"), WINDOW, "dark");
    browser.value(&format!("{BOXES}.forEach((box) => {{ box.disabled = false; box.click(); }})"));
    assert_eq!(browser.text(LIST), "docs/a.txt\n");
    checks::page(&mut browser);
}

#[test]
fn a_file_is_opened_from_a_page_that_lies_beside_it() {
    let Some(mut browser) = Browser::start() else { return };
    let scratch = files(&["a #1?%41.txt", "b.txt", "back\\slash.txt"]);
    let links = "[...document.querySelectorAll('#members a')].map((link) => link.href)";
    fs::create_dir_all(scratch.path("pages/of may")).unwrap();
    for page in ["r.html", "pages/r.html"] {
        scratch.run(&format!("report i --out {page}"));
        browser.open_cluster(&scratch.path(page), WINDOW, "light");
        checks::page(&mut browser);
        let base = format!("file://{}", fs::canonicalize(scratch.path("docs")).unwrap().display());
        let links = browser.value(links);
        assert_eq!(links, json!([format!("{base}/a%20%231%3F%2541.txt"), format!("{base}/b.txt")]));
        browser.visit(links[0].as_str().unwrap(), WINDOW, "light");
        assert!(browser.text("document.body.innerText").ends_with("the end 0"));
    }
    // A page elsewhere would have to name folders that no key names.
    let elsewhere = Scratch::new();
    let out = elsewhere.path("r.html");
    scratch.run(&format!("report i --out {}", out.display()));
    assert!(!fs::read_to_string(&out).unwrap().contains(scratch.path("").to_str().unwrap()));
    browser.open_cluster(&out, WINDOW, "light");
    assert_eq!(browser.value(links), json!([]));
}

#[test]
fn no_key_leads_to_another_host_or_scheme() {
    let Some(mut browser) = Browser::start() else { return };
    let scratch = files(&["a.txt", "b.txt"]);
    scratch.run("report i --out r.html");
    // The page gets hostile keys, as if files of these names were there.
    let page = fs::read_to_string(scratch.path("r.html")).unwrap();
    let hostile = ["//host/share/x", "javascript:alert(1)", "https://host/x", "\\\\host\\x"];
    for key in hostile {
        let key = json!(key).to_string();
        let page = page.replace("\"docs/a.txt\"", &key);
        fs::write(scratch.path("h.html"), page).unwrap();
        browser.open_cluster(&scratch.path("h.html"), WINDOW, "light");
        let link = "document.querySelector('#members a')";
        let parts = format!("(() => {{ const to = {link}; return [to.protocol, to.host]; }})()");
        assert_eq!(browser.value(&parts), json!(["file:", ""]), "{key}");
    }
}
