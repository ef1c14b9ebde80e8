//! The report: the results as a page with tables and plots.

mod figures;
mod page;
mod plot;
mod targets;

use crate::options::{Options, repository};
use crate::results::Result;
use figures::Figures;

/// Reads the results of all stages, and writes docs/reports/BENCHMARKS.md and docs/reports/plots.
pub fn run(options: &Options) -> Result<()> {
    let figures = Figures::read(options)?;
    if figures.stages.is_empty() {
        return Err(format!("no results in {}", options.results.display()).into());
    }
    let docs = options.docs.clone().unwrap_or_else(|| repository().join("docs/reports"));
    let plots = docs.join("plots");
    std::fs::create_dir_all(&plots)?;
    let mut drawn = Vec::new();
    for one in &plot::PLOTS {
        if let Some(svg) = plot::draw(&figures, one) {
            std::fs::write(plots.join(one.file), svg)?;
            drawn.push(one);
        }
    }
    let page = page::write(&figures, &drawn)?;
    std::fs::write(docs.join("BENCHMARKS.md"), page)?;
    for target in targets::all(&figures) {
        let [bound, measured, limit, held] = target.columns();
        let held = held.replace('*', "");
        let figures = format!("{bound:>24} {measured:>24} {limit:>24}");
        println!("{:>2} {:<60} {figures}  {held}", target.point, target.what);
    }
    println!("written: {}", docs.join("BENCHMARKS.md").display());
    Ok(())
}
