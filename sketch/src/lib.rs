//! From texts, sets and rows to MinHash signatures, and the parameters that say how. Pure: no I/O,
//! no clock, and no state between calls except empty buffers; the same output on every machine.
//!
//! The crate [`nearkin`](https://github.com/nearkin/nearkin), an index of signatures on disk,
//! exports all types of this one, except those of [`engine`]. Programs that only make and compare
//! signatures can use this crate alone. The examples name `nearkin`.
//!
//! ```
//! # fn main() -> nearkin_sketch::Result<()> {
//! use nearkin_sketch::{Params, Sketcher};
//!
//! let params = Params::for_threshold(0.7).build()?;
//! let sketcher = Sketcher::new(&params);
//! let a = sketcher.text("the quick brown fox jumps over the lazy dog")?;
//! let b = sketcher.text("The quick brown fox jumps over the lazy dog!")?;
//! assert_eq!(a.equal_rows(&b)?, 128);
//! # Ok(())
//! # }
//! ```
#![expect(
    clippy::inline_always,
    reason = "what `simd` inlines is compiled for the processor that is found, nothing else"
)]

mod band;
mod common;
mod compare;
mod compiled;
mod curve;
mod details;
mod difference;
mod distinct;
mod eights;
pub mod engine;
mod error;
mod excerpt;
mod fast;
mod few;
mod fold;
mod hash;
mod inner;
mod item;
mod items;
mod lane;
mod large;
mod learn;
mod many;
mod masks;
mod normalise;
mod numbers;
mod original;
mod params;
mod plain_words;
mod rounds;
mod scratch;
mod shown;
mod signature;
mod simd;
mod similarity_text;
mod sketcher;
mod split;
mod textbook;
mod unicode;
mod unit;
mod units;
mod variety;
mod white_space;
mod windows;
mod winnow;
#[cfg(test)]
mod winnow_tests;
mod words;

pub use details::Details;
pub use difference::Difference;
pub use error::{Error, ErrorKind, Result};
pub use item::{Item, ItemHash};
pub use learn::{CommonLearner, CommonShingle};
pub use original::{Original, Overlap};
pub use params::{
    Common, Containment, FoldOptions, Normalise, Params, ParamsBuilder, Preset, Scheme, SchemeName,
    Shingles, Windows,
};
pub use shown::TextShingles;
pub use signature::Signature;
pub use similarity_text::SimilarityText;
pub use sketcher::Sketcher;
pub use variety::Variety;

/// What the fuzz target `text` calls.
#[cfg(fuzzing)]
pub mod fuzzing {
    /// Parameters and a text. The signature must equal that of a slow implementation of the
    /// definitions.
    pub fn text(data: &[u8]) {
        crate::tests::oracle::check(data);
    }
}

#[cfg(test)]
mod tests;
#[cfg(all(fuzzing, not(test)))]
mod tests;
