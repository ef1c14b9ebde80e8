//! Drives headless Chromium over a pipe with its DevTools protocol, without a library.
//!
//! This module knows the protocol, not the pages. Messages are JSON followed by a zero byte, on
//! file descriptors 3 (to Chromium) and 4 (from it); a shell connects them.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// Timeout of every step, generous for slow machines.
const PATIENCE: Duration = Duration::from_secs(60);

/// Names of the browser's program, unless `NEARKIN_CHROMIUM` gives one.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// A browser with one page open.
pub(crate) struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    session: String,
    number: u64,
    /// All events received so far: exceptions, console messages, requests.
    events: Vec<Value>,
    /// The server's address, if the page came from a server.
    server: Option<String>,
    _profile: tempfile::TempDir,
}

/// Finds the browser's program.
fn program() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("NEARKIN_CHROMIUM") {
        return Some(PathBuf::from(path));
    }
    let folders = std::env::var_os("PATH")?;
    let folders: Vec<_> = std::env::split_paths(&folders).collect();
    let paths = NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    // Some packages install a stub that only explains how to get the browser.
    let runs = |path: &PathBuf| {
        let said = Command::new(path).arg("--version").stdin(Stdio::null()).output();
        path.is_file() && said.is_ok_and(|said| said.status.success())
    };
    paths.into_iter().find(runs)
}

impl Browser {
    /// Starts a browser. If none is installed, returns `None`, and says so on stderr directly, so
    /// that the test harness cannot hide the message.
    pub(crate) fn start() -> Option<Self> {
        let Some(program) = program() else {
            let what = "SKIPPED: no Chromium on this machine (NEARKIN_CHROMIUM names one), so that \
                        no page was looked at";
            let _ = writeln!(std::io::stderr(), "\n{what}\n");
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        // The sandbox is off: containers often forbid it, and the browser only opens files made by
        // the tests.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 >/dev/null 2>&1"])
            .arg(program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"])
            .arg("--disable-dev-shm-usage")
            .args(["--no-first-run", "--disable-background-networking", "--hide-scrollbars"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let to = child.stdin.take().unwrap();
        let mut reader = BufReader::new(child.stdout.take().unwrap());
        let (sender, from) = mpsc::channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while reader.read_until(0, &mut message).is_ok_and(|length| length > 0) {
                message.pop();
                if sender.send(serde_json::from_slice(&message).unwrap()).is_err() {
                    break;
                }
                message.clear();
            }
        });
        let (session, number, events) = (String::new(), 0, Vec::new());
        let mut browser =
            Self { child, to, from, session, number, events, server: None, _profile: profile };
        let target = browser.call("Target.createTarget", &json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let attached = browser.call("Target.attachToTarget", &attach);
        attached["sessionId"].as_str().unwrap().clone_into(&mut browser.session);
        for domain in ["Page", "Runtime", "Log", "Network", "Accessibility"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        Some(browser)
    }

    /// Calls a method of the protocol and waits for its result.
    #[track_caller]
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Value {
        self.number += 1;
        let mut message = json!({"id": self.number, "method": method, "params": params});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let mut answer = self.from.recv_timeout(PATIENCE).expect(method);
            if answer["id"] == self.number {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].take();
            }
            self.events.push(answer);
        }
    }

    /// Evaluates JavaScript and awaits the result.
    #[track_caller]
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut answer = self.call("Runtime.evaluate", &params);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].take()
    }

    /// Evaluates JavaScript to text.
    #[track_caller]
    pub(crate) fn text(&mut self, expression: &str) -> String {
        let value = self.value(expression);
        value.as_str().unwrap_or_else(|| panic!("{expression}: {value}")).to_owned()
    }

    /// The visible text of an element.
    #[track_caller]
    pub(crate) fn shown(&mut self, selector: &str) -> String {
        self.text(&format!("document.querySelector({}).innerText", json!(selector)))
    }

    #[track_caller]
    pub(crate) fn count(&mut self, selector: &str) -> u64 {
        let count = format!("document.querySelectorAll({}).length", json!(selector));
        self.value(&count).as_u64().unwrap()
    }

    /// Waits until an expression is true.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, expression: &str) {
        for _ in 0..600 {
            if self.value(expression) == true {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("never: {expression}");
    }

    /// Opens a file with this window size and preferred colour scheme.
    #[track_caller]
    pub(crate) fn open(&mut self, path: &Path, size: (u32, u32), theme: &str) {
        self.visit(&format!("file://{}", path.display()), size, theme);
    }

    /// Opens a report, and its first cluster.
    #[track_caller]
    pub(crate) fn open_cluster(&mut self, path: &Path, size: (u32, u32), theme: &str) {
        self.open(path, size, theme);
        self.value("document.querySelector('button.row').click()");
    }

    /// Opens an address; requests to its own server are allowed.
    #[track_caller]
    pub(crate) fn visit(&mut self, url: &str, size: (u32, u32), theme: &str) {
        self.events.clear();
        let server = url.split('/').take(3).collect::<Vec<_>>().join("/");
        self.server = url.starts_with("http").then_some(server + "/");
        let scheme = json!([{"name": "prefers-color-scheme", "value": theme}]);
        self.call("Emulation.setEmulatedMedia", &json!({"features": scheme}));
        self.resize(size);
        self.call("Page.navigate", &json!({"url": url}));
        let loaded = "document.readyState === 'complete' && location.protocol !== 'about:'";
        self.wait_for(&format!("{loaded} && location.href.startsWith({})", json!(url)));
    }

    pub(crate) fn resize(&mut self, (width, height): (u32, u32)) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1,
            "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", &size);
    }

    /// Sets whether the device is touched, as a phone.
    pub(crate) fn touch(&mut self, touched: bool) {
        let touch = json!({"enabled": touched, "maxTouchPoints": 5});
        self.call("Emulation.setTouchEmulationEnabled", &touch);
    }

    /// Presses a key; it goes to the focused element.
    pub(crate) fn press(&mut self, key: &str) {
        let text = match key {
            "Enter" => "\r",
            key if key.len() == 1 => key,
            _ => "",
        };
        let code = match key {
            "Enter" => 13,
            "Escape" => 27,
            "Tab" => 9,
            "Home" => 36,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            _ => 0,
        };
        for kind in ["keyDown", "keyUp"] {
            let event =
                json!({"type": kind, "key": key, "windowsVirtualKeyCode": code, "text": text});
            self.call("Input.dispatchKeyEvent", &event);
        }
    }

    /// Types a word.
    pub(crate) fn write(&mut self, word: &str) {
        word.chars().for_each(|letter| self.press(&letter.to_string()));
    }

    /// Lists what the page did although no page may do it: errors, console messages, requests to
    /// other hosts.
    pub(crate) fn complaints(&mut self) -> Vec<String> {
        // A round trip to the browser: when its answer arrives, all earlier events have arrived,
        // too.
        self.value("1");
        let complaint = |event: &Value| {
            let params = &event["params"];
            match event["method"].as_str().unwrap_or_default() {
                "Runtime.exceptionThrown" => Some(params["exceptionDetails"].to_string()),
                "Runtime.consoleAPICalled" => Some(params["args"].to_string()),
                "Log.entryAdded" => Some(params["entry"].to_string()),
                "Network.requestWillBeSent" if params["type"] != "Document" => {
                    let url = params["request"]["url"].as_str().unwrap();
                    let own = self.server.as_ref().is_some_and(|server| url.starts_with(server));
                    (!own && !url.starts_with("data:")).then(|| url.to_owned())
                }
                _ => None,
            }
        };
        self.events.iter().filter_map(complaint).collect()
    }

    /// A screenshot of the window as PNG.
    pub(crate) fn picture(&mut self) -> Vec<u8> {
        let shot = self.call("Page.captureScreenshot", &json!({"format": "png"}));
        STANDARD.decode(shot["data"].as_str().unwrap()).unwrap()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The process may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
