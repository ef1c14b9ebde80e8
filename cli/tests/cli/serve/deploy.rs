//! The operator's commands of `docs/guide/DEPLOY.md`: backup under writes, restore, upgrade, roll.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::{fs, thread};

use serde_json::json;

use super::Scratch;
use super::http::Client;

/// A `systemctl` that starts and stops `nearkin serve` itself: SCRATCH and WRITER are replaced.
const SYSTEMCTL: &str = r#"#!/bin/bash
pid=SCRATCH/$2.pid
if [ "$1" != start ] && [ -e "$pid" ]; then
  kill -TERM "$(cat "$pid")"
  while kill -0 "$(cat "$pid")" 2> /dev/null; do sleep 0.05; done
  rm "$pid"
fi
[ "$1" = stop ] && exit
case $2 in
  nearkin) options="--listen 127.0.0.1:WRITER" ;;
  *) options="--listen 127.0.0.1:${2#*@}" ;;
esac
setsid SCRATCH/bin/nearkin serve SCRATCH/var/lib/nearkin/index.nearkin --access-log off $options \
  < /dev/null > /dev/null 2>> SCRATCH/log &
echo $! > "$pid"
"#;

/// The folder of the operator, whose servers end with it.
struct Machine {
    scratch: Scratch,
    page: String,
    ports: [u16; 3],
}

impl Machine {
    fn new() -> Self {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/guide/DEPLOY.md");
        let page = fs::read_to_string(page).unwrap();
        let free = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let ports = free.each_ref().map(|free| free.local_addr().unwrap().port());
        let machine = Self { scratch: Scratch::new(), page, ports };
        for folder in ["bin", "var/lib/nearkin", "var/backups/nearkin"] {
            fs::create_dir_all(machine.scratch.dir.path().join(folder)).unwrap();
        }
        fs::copy(env!("CARGO_BIN_EXE_nearkin"), machine.path("bin/nearkin")).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_nearkin"), machine.path("nearkin")).unwrap();
        let systemctl = SYSTEMCTL.replace("SCRATCH", &machine.path(""));
        let systemctl = systemctl.replace("WRITER", &ports[0].to_string());
        machine.scratch.write("bin/systemctl", systemctl);
        machine.sh("chmod 755 bin/systemctl");
        machine
    }

    fn path(&self, name: &str) -> String {
        self.scratch.dir.path().join(name).display().to_string()
    }

    /// Runs commands with the machine's folders and ports, which must succeed.
    fn sh(&self, commands: &str) -> String {
        let mut script = commands.to_owned();
        for folder in ["/var/lib/nearkin", "/var/backups/nearkin", "/usr/local/bin"] {
            let own = folder.trim_start_matches("/usr/local").trim_start_matches('/');
            script = script.replace(folder, &self.path(own));
        }
        for (port, own) in ["7878", "7881", "7882"].iter().zip(self.ports) {
            script = script.replace(port, &own.to_string());
        }
        let path = format!("{}:{}", self.path("bin"), std::env::var("PATH").unwrap());
        let mut bash = Command::new("bash");
        bash.args(["-c", &script]).current_dir(self.scratch.dir.path()).env("PATH", path);
        let output = bash.stdin(Stdio::null()).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{commands}\n{stderr}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs the block of the page that begins with this comment.
    fn block(&self, title: &str) -> String {
        let begin = format!("```sh\n# {title}\n");
        let (_, rest) = self.page.split_once(&begin).expect("the page has the commands");
        self.sh(rest.split_once("```").unwrap().0)
    }

    fn documents(port: u16) -> u64 {
        let stats = client(port).ask("GET", "/v1/stats", None).has(200).json();
        stats["documents"].as_u64().unwrap()
    }
}

fn client(port: u16) -> Client {
    Client::new(([127, 0, 0, 1], port).into())
}

fn put(client: &mut Client, number: u64) {
    let text = format!("document {number} says {} and {}", number * 7, number * 13);
    let path = format!("/v1/documents/{number}");
    client.ask("PUT", &path, Some(&json!({"text": text}))).has(201);
}

impl Drop for Machine {
    fn drop(&mut self) {
        for unit in ["nearkin".to_owned()]
            .into_iter()
            .chain(self.ports.map(|port| format!("nearkin@{port}")))
        {
            let pid = fs::read_to_string(self.path(&format!("{unit}.pid"))).unwrap_or_default();
            let _ =
                Command::new("kill").arg("-KILL").arg(pid.trim()).stderr(Stdio::null()).status();
        }
    }
}

#[test]
fn an_operator_backs_up_restores_upgrades_and_rolls() {
    let machine = Machine::new();
    let [writer, others @ ..] = machine.ports;
    machine.sh("nearkin create /var/lib/nearkin/index.nearkin --threshold 0.6");
    let started = "until curl -fsS http://127.0.0.1:7878/health; do sleep 0.1; done";
    machine.sh(&format!("systemctl start nearkin; {started}"));
    (0..200).for_each(|number| put(&mut client(writer), number));
    // Backup, while documents are written.
    let (done, written) = (AtomicBool::new(false), AtomicU64::new(200));
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = client(writer);
            while !done.load(Ordering::SeqCst) {
                put(&mut client, written.load(Ordering::SeqCst));
                written.fetch_add(1, Ordering::SeqCst);
            }
        });
        machine.block("/etc/cron.daily/nearkin");
        // The second one of the day takes the place of the first.
        machine.block("/etc/cron.daily/nearkin");
        done.store(true, Ordering::SeqCst);
    });
    let all = written.load(Ordering::SeqCst);
    assert_eq!(Machine::documents(writer), all);
    let copies = machine.sh("ls /var/backups/nearkin");
    assert_eq!(copies.lines().count(), 1, "{copies}");
    let stats = machine.sh("nearkin stats /var/backups/nearkin/* --json");
    let stats: serde_json::Value = serde_json::from_str(&stats).unwrap();
    let saved = stats["documents"].as_u64().unwrap();
    assert!((200..=all).contains(&saved), "{saved} of {all}");
    machine.block("Restore");
    assert_eq!(Machine::documents(writer), saved);
    put(&mut client(writer), 1_000_000);
    machine.block("Upgrade");
    assert_eq!(Machine::documents(writer), saved + 1);
    machine.block("Roll restart");
    machine.block("Roll restart");
    assert_eq!(others.map(Machine::documents), [saved + 1; 2]);
    machine.sh("systemctl stop nearkin; nearkin verify /var/lib/nearkin/index.nearkin");
    // The others are servers like the first, and go on.
    put(&mut client(others[0]), 2_000_000);
    assert_eq!(Machine::documents(others[0]), saved + 2);
}
