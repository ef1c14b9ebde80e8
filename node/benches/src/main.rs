//! The jobs of `overhead.mjs` in Rust, in the same sizes: what is left is what JavaScript costs.

use std::hint::black_box;
use std::time::Instant;

use nearkin::{Batch, Index, Options, Params, Signature};

const COUNT: u32 = 100_000;
const BATCH: usize = 1_000;

/// The words of text `number`: the same as in JavaScript.
fn text(number: u32) -> String {
    let mut state = number.wrapping_mul(2_654_435_761);
    let mut words = Vec::new();
    for _ in 0..12 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        words.push(format!("w{}", state >> 18));
    }
    words.join(" ")
}

fn measure(name: &str, mut work: impl FnMut() -> nearkin::Result<()>) -> nearkin::Result<()> {
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let begun = Instant::now();
        work()?;
        best = best.min(begun.elapsed().as_secs_f64());
    }
    println!("{name}\t{:.2} us", best * 1e6 / f64::from(COUNT));
    Ok(())
}

fn main() -> nearkin::Result<()> {
    let texts: Vec<String> = (0..COUNT).map(text).collect();
    let params = Params::for_threshold(0.7).build()?;
    let index = Index::temporary(&params, Options::default())?;
    let sketch = index.sketcher();
    let sketched =
        || texts.iter().map(|text| sketch.text(text)).collect::<nearkin::Result<Vec<_>>>();
    let signatures: Vec<Signature> = sketched()?;
    let key = |chunk: usize, at: usize| format!("k{}", chunk * BATCH + at);
    measure("insert of signatures, batches of 1,000", || {
        index.remove_prefix("k")?;
        for (chunk, some) in signatures.chunks(BATCH).enumerate() {
            let mut batch = Batch::new();
            for (at, signature) in some.iter().enumerate() {
                batch = batch.insert(key(chunk, at), signature);
            }
            index.write(batch)?;
        }
        Ok(())
    })?;
    measure("insert of texts, batches of 1,000", || {
        index.remove_prefix("k")?;
        for (chunk, some) in texts.chunks(BATCH).enumerate() {
            let mut batch = Batch::new();
            for (at, text) in some.iter().enumerate() {
                batch = batch.insert(key(chunk, at), &sketch.text(text)?);
            }
            index.write(batch)?;
        }
        Ok(())
    })?;
    index.compact()?;
    measure("query of a signature", || {
        for signature in &signatures {
            black_box(index.query(signature).limit(10).run()?);
        }
        Ok(())
    })?;
    measure("query of a text", || {
        for text in &texts {
            black_box(index.query(&sketch.text(text)?).limit(10).run()?);
        }
        Ok(())
    })?;
    measure("sketch of a text", || sketched().map(|all| drop(black_box(all))))
}
