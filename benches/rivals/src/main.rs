//! Measures Nearkin and its rivals.

mod clock;
mod corpus;
mod engines;
mod large;
mod machine;
mod made;
mod options;
mod ours;
mod report;
mod results;
mod scripts;
mod shared;
mod tables;
mod text;

use options::Options;
use results::{Result, Results};
use std::process::Command;

fn main() -> Result<()> {
    if shared::write()? {
        return Ok(());
    }
    let options = Options::read();
    match options.stages.as_slice() {
        [stage] => run(stage, &options),
        // Each stage runs in its own process, so that the heap of one does not affect the others.
        stages => stages.iter().try_for_each(|stage| {
            println!("\n== {stage}");
            let mut child = Command::new(std::env::current_exe()?);
            let status = child.arg(stage).args(Options::flags()).status()?;
            if status.success() { Ok(()) } else { Err(format!("{stage} failed").into()) }
        }),
    }
}

fn run(stage: &str, options: &Options) -> Result<()> {
    std::fs::create_dir_all(&options.work)?;
    let start = std::time::Instant::now();
    let mut results = Results::new();
    match stage {
        "tables" => tables::run(options, &mut results)?,
        "ours" => ours::run(options, &mut results)?,
        "large" => large::run(options, &mut results)?,
        "memory" => large::gaoya(options, &mut results)?,
        "shared" => shared::run(options, &mut results)?,
        "text" => text::run(options, &mut results)?,
        "scripts" => scripts::run(options, &mut results)?,
        _ => return report::run(options),
    }
    print!("{}", report::tables(&results)?);
    println!("{stage}: {:.0} s", start.elapsed().as_secs_f64());
    let name = if stage == "scripts" && scripts::NATIVE { scripts::NATIVE_RESULTS } else { stage };
    results.write(&options.results.join(format!("{name}.tsv")))
}
