//! `nearkin mirror --watch` notices every change, or ends with an error. And file systems that are
//! absent: their documents stay.
//!
//! The scripts run in namespaces of their own, in which they may mount file systems and set limits.
//! Where the system does not allow that, these tests do nothing.
#![cfg(all(target_os = "linux", feature = "watch"))]

use super::*;

/// Functions for the scripts: waits for a line in a file, and starts watching.
const FUNCTIONS: &str = r#"
wait_for() {
    i=0
    until grep -q "$1" "$2"; do
        i=$((i + 1))
        [ $i -lt 1200 ] || { echo "no '$1' in $2:" >&2; cat "$2" >&2; exit 9; }
        sleep .05
    done
}
watch() {
    "$NEARKIN" mirror i "$@" --watch >out 2>err &
    pid=$!
    trap 'kill -9 $pid 2>/dev/null || true' EXIT
    wait_for "^nearkin: watching" err
}
stop() {
    # A shell lets its background jobs ignore SIGINT, and then SIGTERM is not caught either.
    kill -TERM $pid
    wait $pid || true
    cat err >&2
}
ends_with() {
    status=0
    wait $pid || status=$?
    cat err >&2
    [ $status = "$1" ] || { echo "status $status" >&2; exit 9; }
}
"#;

impl Scratch {
    /// Runs a shell script in namespaces of its own. `None` if the system does not allow that.
    #[track_caller]
    fn script(&self, script: &str) -> Option<Ran> {
        let unshare = |arguments: &[&str]| {
            let mut command = Command::new("unshare");
            command.args(["-rm"]).args(arguments).current_dir(self.dir.path());
            command.env("NEARKIN", env!("CARGO_BIN_EXE_nearkin")).output()
        };
        if !unshare(&["true"]).is_ok_and(|output| output.status.success()) {
            return None;
        }
        let script = format!("{FUNCTIONS}{script}");
        Some(Ran::new(unshare(&["sh", "-eu", "-c", &script]).unwrap()).ends_with(0))
    }
}

#[test]
fn watching_ends_when_the_file_system_is_unmounted() {
    let scratch = Scratch::new();
    let script = "
        mkdir m
        mount -t tmpfs none m
        echo the first text >m/a
        watch m
        umount m
        ends_with 2
    ";
    let Some(ran) = scratch.script(script) else { return };
    ran.says(&["cannot watch m: the folder is gone, or another one took its place"]);
    assert_eq!(scratch.documents("i").len(), 1);
}

#[test]
fn watch_continues_or_ends_after_a_remount() {
    let scratch = Scratch::new();
    let script = "
        mkdir m
        mount -t tmpfs none m
        echo the first text >m/a
        watch m
        umount m
        mount -t tmpfs none m
        echo the second text >m/b
        i=0
        while kill -0 $pid 2>/dev/null && ! grep -q m/b out; do
            i=$((i + 1))
            [ $i -lt 1200 ] || { echo it is deaf >&2; exit 9; }
            sleep .05
        done
    ";
    scratch.script(script);
}

#[test]
fn a_mount_or_unmount_in_the_folder_is_noticed() {
    let scratch = Scratch::new();
    let script = "
        mkdir -p d/sub
        echo the first text >d/sub/a
        echo another text >d/c
        watch d
        mount -t tmpfs none d/sub
        wait_for 'removed.*d/sub/a' out
        echo the second text >d/sub/b
        wait_for 'added.*d/sub/b' out
        added=$(grep -c 'added.*d/sub/a' out || true)
        umount d/sub
        i=0
        while [ $(grep -c 'added.*d/sub/a' out) -le $added ]; do
            i=$((i + 1))
            [ $i -lt 1200 ] || { echo it is deaf >&2; exit 9; }
            sleep .05
        done
        wait_for '1 document kept: nothing is mounted' err
        stop
    ";
    if scratch.script(script).is_some() {
        let keys: Vec<_> = scratch.documents("i").into_keys().collect();
        assert_eq!(keys, [r#""d/c""#, r#""d/sub/a""#, r#""d/sub/b""#]);
    }
}

#[test]
fn a_limit_that_is_reached_later_is_an_error() {
    let scratch = Scratch::new();
    let script = "
        mkdir d
        echo the first text >d/a
        echo 12 >/proc/sys/user/max_inotify_watches
        watch d
        for name in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do mkdir d/$name; done
        ends_with 2
        \"$NEARKIN\" mirror i d --watch 2>err && exit 9
        cat err >&2
        echo 0 >/proc/sys/user/max_inotify_instances
        \"$NEARKIN\" mirror i d --watch 2>err && exit 9
        cat err >&2
    ";
    let Some(ran) = scratch.script(script) else { return };
    let of_watches = ran.stderr.matches("fs.inotify.max_user_watches").count();
    let of_instances = ran.stderr.matches("fs.inotify.max_user_instances").count();
    assert_eq!((of_watches, of_instances), (2, 1), "{}", ran.stderr);
}

#[test]
fn rules_above_the_folder_are_noticed() {
    let scratch = Scratch::new();
    let script = "
        mkdir -p above/d above/.git/info
        echo the first text >above/d/a
        echo the second text >above/d/b
        watch above/d
        echo a >above/.gitignore
        wait_for 'removed.*above/d/a' out
        rm above/.gitignore
        wait_for 'added.*above/d/a' out
        echo b >above/.git/info/exclude
        wait_for 'removed.*above/d/b' out
        stop
    ";
    scratch.script(script);
}

/// Changes below an overlay cause no events in it.
#[test]
fn changes_without_events_are_found_by_a_scan() {
    let scratch = Scratch::new();
    let script = "
        mkdir lower upper work d
        echo the first text >lower/a
        mount -t overlay none -o lowerdir=lower,upperdir=upper,workdir=work d || exit 0
        watch d --rescan 1s
        echo the second text >lower/b
        wait_for 'added.*d/b' out
        stop
    ";
    scratch.script(script);
}

#[test]
fn documents_of_an_absent_file_system_stay() {
    let scratch = Scratch::new();
    let script = "
        mkdir -p d/sub e/docs
        echo the first text >d/a
        echo left below the mount point >e/docs/readme
        mount -t tmpfs none d/sub
        mount -t tmpfs none e
        mkdir e/docs
        echo the second text >d/sub/b
        echo the third text >e/docs/c
        \"$NEARKIN\" mirror i d
        \"$NEARKIN\" mirror i e/docs
        umount d/sub
        umount e
        for again in 1 2; do
            \"$NEARKIN\" mirror i d
            \"$NEARKIN\" mirror i e/docs 2>err && exit 9
            grep -q 'nothing is mounted at .*/e any more, but the index has 1 document' err
        done
        \"$NEARKIN\" mirror i d --dry-run --json
        \"$NEARKIN\" export i --out kept.jsonl
        \"$NEARKIN\" mirror i d --allow-empty --json
        \"$NEARKIN\" mirror i e/docs --allow-empty --json
        \"$NEARKIN\" mirror i d --json
    ";
    let Some(ran) = scratch.script(script) else { return };
    let counts: Vec<_> = ran.stdout.lines().filter(|line| line.starts_with("{\"added\"")).collect();
    let removed = |line: &&str| serde_json::from_str::<Value>(line).unwrap()["removed"].clone();
    assert_eq!(counts.iter().map(removed).collect::<Vec<_>>(), [0, 1, 1, 0].map(Value::from));
    assert_eq!(fs::read_to_string(scratch.path("kept.jsonl")).unwrap().lines().count(), 4);
    let kept = "1 document kept: nothing is mounted any more where their files were";
    assert_eq!(ran.stderr.matches(kept).count(), 3, "{}", ran.stderr);
    let keys: Vec<_> = scratch.documents("i").into_keys().collect();
    assert_eq!(keys, [r#""d/a""#, r#""e/docs/readme""#]);
}
