//! datasketch, rensa and Lance, run by a Python script on the texts that this stage has written.

use super::folder;
use crate::options::{Options, home};
use crate::results::{Result, Results};
use std::process::Command;

/// Runs the script once. Returns false if there was no `--python`, or if the script failed. Later
/// runs must then skip the script, too, because figures are compared only within a run.
pub fn run(options: &Options, results: &mut Results) -> Result<bool> {
    let Some(program) = &options.python else {
        println!("skipped: no --python given, so no figures of datasketch, rensa and Lance");
        return Ok(false);
    };
    let out = options.work.join("python.tsv");
    let mut child = Command::new(program);
    child.arg(home().join("python/rivals.py"));
    child.arg("--texts").arg(folder(options));
    child.arg("--work").arg(options.work.join("python"));
    child.arg("--out").arg(&out);
    if !child.status()?.success() {
        eprintln!("the Python rivals failed: this run and later ones have no figures of theirs");
        return Ok(false);
    }
    let once = Results::read(&out)?;
    std::fs::remove_file(&out)?;
    results.note_medians(&once);
    results.machine = once.machine;
    Ok(true)
}
