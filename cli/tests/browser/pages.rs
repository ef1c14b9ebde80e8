//! Sample reports for the browser tests, made by the real tool.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};

/// A scratch folder in which commands run; deleted at the end of the test.
pub(crate) struct Scratch {
    dir: tempfile::TempDir,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes objects as JSON lines.
    pub(crate) fn lines(&self, name: &str, lines: &[Value]) {
        let lines: Vec<_> = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(self.path(name), lines.concat()).unwrap();
    }

    /// Runs `nearkin`; arguments are split at blanks.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &str) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nearkin"));
        command.args(arguments.split(' ')).current_dir(self.dir.path()).stdin(Stdio::null());
        // Its trash, too, is in the scratch folder.
        command.env("XDG_DATA_HOME", self.dir.path().join("data"));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Creates files from a committed corpus, two versions of a manual, each last changed on a day
    /// of its own, and their index `manuals.nearkin`.
    pub(crate) fn manuals(&self) {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/pydocs.jsonl");
        for (at, line) in fs::read_to_string(data).unwrap().lines().enumerate() {
            let document: Value = serde_json::from_str(line).unwrap();
            let path = self.path("manuals").join(document["id"].as_str().unwrap());
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, document["text"].as_str().unwrap()).unwrap();
            let day = 19_400 + (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) % 550;
            let changed = UNIX_EPOCH + Duration::from_secs(86_400 * day + 36_000);
            fs::File::options().write(true).open(&path).unwrap().set_modified(changed).unwrap();
        }
        self.run("mirror manuals.nearkin manuals");
    }

    /// Creates `report.html` from the committed corpora, added with times spread over a year and a
    /// half.
    pub(crate) fn archive(&self) -> PathBuf {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data");
        for name in ["spdx.jsonl", "pydocs.jsonl"] {
            fs::copy(data.join(name), self.path(name)).unwrap();
        }
        self.run("add first --jsonl spdx.jsonl --jsonl pydocs.jsonl --threshold 0.7");
        self.run("export first --out all.jsonl");
        let lines = fs::read_to_string(self.path("all.jsonl")).unwrap();
        let mut lines: Vec<Value> =
            lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for (at, line) in lines.iter_mut().enumerate().skip(1) {
            // Deterministic times within 550 days, growing denser.
            let scattered = (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44;
            let share = (scattered << 20).isqrt();
            let ms = 1_672_531_200_000 + ((550 * 86_400_000 * share) >> 20);
            line["time"] = json!(ms);
        }
        self.lines("spread.jsonl", &lines);
        self.run("import archive spread.jsonl");
        self.run("report archive --from spdx.jsonl --from pydocs.jsonl --out report.html");
        self.path("report.html")
    }
}
