//! Browser tests of the pages of `nearkin serve`.

use std::io::Read as _;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::checks;
use crate::devtools::Browser;
use crate::pages::Scratch;

const WINDOW: (u32, u32) = (1_200, 900);
const PHONE: (u32, u32) = (360, 740);

/// A running server, killed at the end of the test.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(scratch: &Scratch, arguments: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_nearkin"))
            .args(format!("serve {arguments} --listen 127.0.0.1:0 --json").split(' '))
            .current_dir(scratch.path("."))
            .env_remove("NEARKIN_TOKEN")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (mut line, mut byte) = (Vec::new(), [0]);
        while byte[0] != b'\n' && child.stdout.as_mut().unwrap().read(&mut byte).unwrap() == 1 {
            line.push(byte[0]);
        }
        let said: Value = serde_json::from_slice(&line).unwrap();
        Self { child, url: said["listening"].as_str().unwrap().to_owned() + "/" }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Adds two near-duplicates and one unrelated document to an index `i`. Their JSON lines are in
/// `all.jsonl`.
fn documents() -> Scratch {
    let scratch = Scratch::new();
    let words: Vec<_> = (0..60).map(|word| format!("word{word}")).collect();
    let text = words.join(" ");
    scratch.lines(
        "all.jsonl",
        &[
            json!({"id": "letters/one.txt", "text": text}),
            json!({"id": "letters/two.txt", "text": text.replace("word9 ", "changed ")}),
            json!({"id": "other", "text": "nothing of that kind is here"}),
        ],
    );
    scratch.run("add i --jsonl all.jsonl --threshold 0.5");
    scratch
}

/// Starts a search with the current field values.
#[track_caller]
fn find(browser: &mut Browser) {
    browser.value("document.getElementById('said').textContent = ''");
    browser.value("document.getElementById('go').click()");
    browser.wait_for("document.getElementById('said').textContent !== ''");
    browser.wait_for("!document.getElementById('go').disabled");
}

#[test]
fn a_person_searches_and_compares_two_texts() {
    let Some(mut browser) = Browser::start() else { return };
    let scratch = documents();
    let server = Server::start(&scratch, "i --texts --from all.jsonl");
    browser.visit(&server.url, WINDOW, "light");
    browser.wait_for("document.getElementById('title').textContent === 'i'");
    checks::page(&mut browser);
    // The second one is what `nearkin mirror` keeps for itself.
    let payload = json!({"operations": [
        {"set_payload": {"key": "letters/one.txt", "payload": "the first <b>note</b>"}},
        {"set_payload": {"key": "letters/two.txt", "payload": {"base64": "TktNMsAA"}}}]});
    browser.value(&format!(
        "fetch('/v1/batch', {{ method: 'POST', headers: {{ 'content-type': 'application/json' }}, \
         body: {} }}).then((answer) => answer.status)",
        json!(payload.to_string())
    ));
    // The search comes first on the page.
    let top = |browser: &mut Browser, id: &str| {
        let top = format!("document.getElementById('{id}').getBoundingClientRect().top");
        browser.value(&top).as_f64().unwrap()
    };
    assert!(top(&mut browser, "text") < top(&mut browser, "all"));
    let words: Vec<_> = (0..60).map(|word| format!("word{word}")).collect();
    let text = json!(words.join(" "));
    browser.value(&format!("document.getElementById('text').value = {text}"));
    find(&mut browser);
    assert_eq!(browser.count(".hits tbody tr"), 2);
    let hits = browser.shown(".hits tbody");
    assert!(hits.contains(">0.99") && hits.contains("the first <b>note</b>"), "{hits}");
    assert_eq!(browser.count(".hits b"), 0, "payloads are text");
    assert_eq!(browser.count(".hits .payload"), 1, "{hits}");
    assert!(!hits.contains("TktN") && !hits.contains("no text"), "{hits}");
    browser.value("document.querySelectorAll('.hits button')[1].click()");
    browser.wait_for("document.querySelector('#pair table') !== null");
    assert_eq!(browser.shown("#pair del").trim(), "word9");
    assert_eq!(browser.shown("#pair ins").trim(), "changed");
    let pair = browser.shown("#pair");
    assert!(pair.contains("What you searched for") && pair.contains("letters/two.txt"), "{pair}");
    checks::page(&mut browser);
    browser.resize(PHONE);
    checks::page(&mut browser);
    // A search by key: the server reads both texts.
    browser.value("document.getElementById('by-key').click()");
    browser.value("document.getElementById('key').value = 'letters/two.txt'");
    find(&mut browser);
    browser.value("document.querySelector('.hits button').click()");
    browser.wait_for("document.querySelector('#pair table') !== null");
    assert_eq!(browser.shown("#pair del").trim(), "changed");
    checks::page(&mut browser);
    browser.value("document.getElementById('key').value = 'nobody'");
    find(&mut browser);
    assert!(browser.shown("#said").contains("no document has the key"));
}

/// Drops a file on the page.
fn drop_file(browser: &mut Browser, name: &str, content: &str) {
    browser.value(&format!(
        "(() => {{ const dataTransfer = new DataTransfer(); \
         dataTransfer.items.add(new File([{}], {})); \
         document.getElementById('text').dispatchEvent(new DragEvent('drop', \
         {{ dataTransfer, bubbles: true, cancelable: true }})); }})()",
        json!(content),
        json!(name)
    ));
}

#[test]
fn a_dropped_file_is_read_by_the_server() {
    let Some(mut browser) = Browser::start() else { return };
    let scratch = documents();
    let server = Server::start(&scratch, "i --texts --from all.jsonl");
    browser.visit(&server.url, PHONE, "light");
    browser.wait_for("document.querySelectorAll('#all tbody tr').length === 3");
    let words: Vec<_> = (0..60).map(|word| format!("word{word}")).collect();
    drop_file(&mut browser, "letter.rtf", &format!("{{\\rtf1\\ansi {}}}", words.join(" ")));
    browser.wait_for("document.querySelectorAll('.hits tbody tr').length === 2");
    assert!(browser.text("document.getElementById('text').value").starts_with("word0 word1"));
    assert!(browser.shown("#said").starts_with("2 documents similar to it by 0.5 or more"));
    checks::page(&mut browser);
    for (name, content, said) in [
        ("a.pdf", "%PDF-1.4 and no more", "cannot read \"a.pdf\": unparsable"),
        ("photo.jpg", "\u{0}\u{1}", "cannot read \"photo.jpg\": binary"),
        ("blank.txt", "  ", "nothing to compare"),
    ] {
        drop_file(&mut browser, name, content);
        browser.wait_for(&format!("document.getElementById('said').innerText.includes('{said}')"));
    }
}

#[test]
fn hits_are_links_and_any_two_documents_are_compared() {
    let Some(mut browser) = Browser::start() else { return };
    let scratch = documents();
    let server = Server::start(&scratch, "i --texts --from all.jsonl");
    browser.visit(&server.url, WINDOW, "dark");
    browser.wait_for("document.querySelectorAll('#all tbody tr').length === 3");
    // The list: a part of the name in any case, then a link by the keyboard.
    browser.value("document.getElementById('contains').focus()");
    browser.write("TWO");
    browser.wait_for("document.querySelectorAll('#all tbody tr').length === 1");
    browser.press("Tab");
    browser.press("Enter");
    browser.wait_for("document.querySelectorAll('.hits tbody tr').length === 1");
    assert!(browser.shown(".hits tbody").contains("letters/one.txt"));
    browser.value("document.querySelector('.hits a').click()");
    browser.wait_for("document.querySelector('.hits a')?.innerText === 'letters/two.txt'");
    assert_eq!(browser.text("document.getElementById('key').value"), "letters/one.txt");
    browser.value("history.back()");
    browser.wait_for("document.querySelector('.hits a')?.innerText === 'letters/one.txt'");
    browser.value("document.querySelector('#matches p a').click()");
    browser.wait_for("location.pathname === '/report' && !!document.querySelector('#pair h4')");
    assert_eq!(browser.shown("#cluster-title"), "letters/one.txt");
    browser.value("history.back()");
    browser.wait_for("document.querySelectorAll('#all tbody tr').length === 3");
    // Names are completed.
    browser.value("document.getElementById('one').focus()");
    browser.write("one");
    let names = "[...document.getElementById('one').list.options].map((name) => name.value).join()";
    browser.wait_for(&format!("{names} === 'letters/one.txt'"));
    browser.value("document.getElementById('one').value = 'letters/one.txt'");
    browser.value("document.getElementById('other').value = 'letters/two.txt'");
    browser.value("document.getElementById('other').focus()");
    browser.press("Enter");
    browser.wait_for("document.querySelector('#pair table') !== null");
    assert_eq!(browser.shown("#pair ins").trim(), "changed");
    checks::page(&mut browser);
    browser.resize(PHONE);
    checks::page(&mut browser);
}

#[test]
fn figures_for_operators_have_a_page_of_their_own() {
    let Some(mut browser) = Browser::start() else { return };
    let scratch = documents();
    let server = Server::start(&scratch, "i");
    for (size, theme) in [(WINDOW, "light"), (PHONE, "dark")] {
        browser.visit(&(server.url.clone() + "status"), size, theme);
        browser.wait_for("document.getElementById('documents').innerText === '3'");
        checks::page(&mut browser);
    }
}

#[test]
fn without_texts_no_button_and_the_system_theme() {
    let Some(mut browser) = Browser::start() else { return };
    let scratch = documents();
    let server = Server::start(&scratch, "i");
    browser.visit(&server.url, PHONE, "dark");
    browser.wait_for("document.getElementById('title').textContent === 'i'");
    browser.value("document.getElementById('by-key').click()");
    browser.value("document.getElementById('key').value = 'letters/one.txt'");
    find(&mut browser);
    assert_eq!(browser.count(".hits tbody tr"), 1);
    assert_eq!(browser.count(".hits button"), 0);
    checks::page(&mut browser);
    // The server's report has the same style as its start page.
    let look = "(() => { const { backgroundColor, color, fontFamily } = \
                getComputedStyle(document.body); \
                return [backgroundColor, color, fontFamily, \
                getComputedStyle(document.querySelector('a')).color].join('|'); })()";
    let page = browser.text(look);
    browser.visit(&(server.url.clone() + "report"), PHONE, "dark");
    assert_eq!(browser.text(look), page);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn the_api_is_a_page_to_read() {
    let Some(mut browser) = Browser::start() else { return };
    let scratch = documents();
    let server = Server::start(&scratch, "i");
    for (size, theme) in [(WINDOW, "light"), (PHONE, "dark")] {
        browser.visit(&(server.url.clone() + "api"), size, theme);
        browser.wait_for("document.querySelectorAll('#types .route').length > 0");
        checks::page(&mut browser);
    }
    let routes = browser.shown("#routes");
    for route in ["POST /v1/query", "PUT /v1/documents/{key}", "GET /v1/texts/{key}", "GET /health"]
    {
        assert!(routes.contains(route), "{routes}");
    }
    assert!(browser.shown("#type-Query").contains("max_candidates"));
    let dead = "[...document.querySelectorAll('main a')].map((link) => link.hash) \
                .filter((hash) => !document.getElementById(hash.slice(1)))";
    assert_eq!(browser.value(dead), json!([]));
}

/// Saves screenshots for the documentation to the folder in `NEARKIN_PICTURES`.
#[test]
fn pictures_of_the_page() {
    let Some(folder) = std::env::var_os("NEARKIN_PICTURES").filter(|folder| !folder.is_empty())
    else {
        return;
    };
    let Some(mut browser) = Browser::start() else { return };
    let scratch = Scratch::new();
    scratch.manuals();
    let server = Server::start(&scratch, "manuals.nearkin --texts");
    for (name, window, theme) in [
        ("serve.png", (1_280, 1_000), "light"),
        ("serve-dark.png", (1_280, 1_000), "dark"),
        ("serve-narrow.png", (390, 844), "light"),
        ("serve-narrow-dark.png", (390, 844), "dark"),
    ] {
        browser.visit(&server.url, window, theme);
        browser.wait_for("document.querySelectorAll('#all tbody tr').length > 3");
        let text = std::fs::read_to_string(scratch.path("manuals/3.11/about.rst")).unwrap();
        drop_file(&mut browser, "about.rst", &text);
        browser.wait_for("document.querySelectorAll('.hits tbody tr').length > 1");
        browser.value("document.querySelectorAll('.hits button')[1].click()");
        browser.wait_for("document.querySelector('#pair table') !== null");
        browser.value("scrollTo({top: 0, behavior: 'instant'})");
        std::fs::write(std::path::Path::new(&folder).join(name), browser.picture()).unwrap();
    }
}
