//! SIGTERM at many moments: `nearkin mirror` ends within a second, whatever it is doing.
#![cfg(unix)]

use super::*;
use std::time::Instant;

/// How long a command may take to end after a signal.
const AT_MOST: Duration = Duration::from_secs(1);

/// On a busy machine a process may not get the processor in time: a late end is measured again.
const ATTEMPTS: usize = 3;

impl Scratch {
    /// Sends SIGTERM to a run after a delay. Returns the status, and the time that it took to end.
    fn ended_after(&self, arguments: &[&str], delay: Duration) -> (Option<i32>, Duration) {
        let mut command = self.command(arguments);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(delay);
        signal(child.id(), "-TERM");
        let sent = Instant::now();
        let status = child.wait().unwrap();
        (status.code(), sent.elapsed())
    }

    /// Interrupts a run ever later until it ends by itself. `prepare` is called before each run.
    #[track_caller]
    fn ends_soon_at_all_moments(&self, arguments: &[&str], prepare: impl Fn()) {
        let mut delay = Duration::from_millis(10);
        loop {
            let mut late = Vec::new();
            let status = loop {
                prepare();
                let (status, took) = self.ended_after(arguments, delay);
                if took <= AT_MOST {
                    break status;
                }
                late.push(took);
                assert!(late.len() < ATTEMPTS, "{arguments:?} after {delay:?}: {late:?}");
            };
            if status == Some(0) {
                return;
            }
            // Before the handler is installed, the signal ends the process itself.
            assert!(matches!(status, Some(130) | None), "{arguments:?}: {status:?}");
            delay = delay * 5 / 4;
        }
    }
}

#[test]
fn a_signal_ends_every_phase_within_a_second() {
    if !signals_are_heard() {
        return;
    }
    let scratch = Scratch::new();
    for number in 0..4_000 {
        scratch.write(&format!("d/{}/{number}", number % 50), "one line that all files hold\n");
    }
    let remove = |name: &str| {
        if scratch.path(name).exists() {
            fs::remove_dir_all(scratch.path(name)).unwrap();
        }
    };
    scratch.ends_soon_at_all_moments(&["mirror", "i", "d"], || ());
    scratch.ends_soon_at_all_moments(&["mirror", "j", "d", "--json"], || remove("j"));
    // Nothing is new.
    scratch.ends_soon_at_all_moments(&["mirror", "i", "d"], || ());
    // All documents are removed.
    scratch.ends_soon_at_all_moments(&["mirror", "i", "d", "--allow-empty"], || remove("d"));
    scratch.ok("verify i");
}

#[cfg(feature = "pdf")]
#[test]
fn a_signal_does_not_wait_for_parsers() {
    if !signals_are_heard() {
        return;
    }
    let scratch = Scratch::new();
    scratch.write("d/a.pdf", "%PDF-1.7\n");
    scratch.write("d/b.pdf", "%PDF-1.7\n");
    for arguments in [&["mirror", "i", "d"][..], &["add", "j", "d"]] {
        let arguments = [arguments, &["--pdf-command", "sleep 30"]].concat();
        let (status, _) = scratch.ended_after(&arguments, Duration::from_secs(2));
        assert_eq!(status, Some(130), "{arguments:?}");
        let took = (0..ATTEMPTS).map(|_| scratch.ended_after(&arguments, Duration::from_secs(2)).1);
        let least = took.min().unwrap();
        assert!(least <= AT_MOST, "{arguments:?}: {least:?}");
    }
    // The files are not taken for damaged: the next run reads them.
    scratch.write_old(&[("d/a.pdf", "%PDF-1.7\n one text")]);
    let arguments = ["mirror", "i", "d", "--json", "--pdf-command", "cat"];
    let counts = scratch.run_split(&arguments).ends_with(0).objects().pop().unwrap();
    assert_eq!(count(&counts, &["added", "waiting"]), [2, 0]);
}
