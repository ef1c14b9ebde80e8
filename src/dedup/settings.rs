//! The parameters of the index of kept documents: which bands find the duplicates.

use crate::{Alike, Dedup, Params, ParamsBuilder, Result};
use nearkin_sketch::engine::has_bands;

/// Number of thresholds for which bands are tried, lowest first, before falling back to the highest
/// one.
const STEPS: u32 = 4;

/// The lowest similarity for which bands are chosen.
const LOWEST: f64 = 0.05;

impl Dedup<'_> {
    /// Parameters for deduplication by this condition, from settings of which only those that
    /// matter are given: the signatures are to be made with these parameters.
    ///
    /// By the estimate, bands are chosen for the threshold of the condition. For exact decisions
    /// ([`Alike::for_verification`]) and for containment, they are chosen as [`Dedup::params`]
    /// says. If no number of hashes was given, as many are used as the bands need. Bands that were
    /// given stay.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// use nearkin::{Alike, Dedup, Params};
    ///
    /// let params = Dedup::choose(&Params::builder(), Alike::contained(0.5))?;
    /// assert_eq!(params.hashes(), 192);
    /// let refused = Dedup::choose(&Params::builder().hashes(128), Alike::contained(0.5));
    /// assert!(refused.unwrap_err().to_string().contains("148 hashes do"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `Invalid` (a threshold outside 0 to 1, other settings out of range, or a threshold that
    /// needs more hashes than were given).
    pub fn choose(given: &ParamsBuilder, alike: impl Into<Alike>) -> Result<Params> {
        let alike = alike.into().check()?;
        let needed = alike.similarity_needed();
        let params = given.clone().threshold(needed.max(LOWEST)).build()?;
        if has_bands(given) { Ok(params) } else { Self::params(&params, alike) }
    }

    /// Parameters for deduplication by this condition, with signatures of existing parameters: only
    /// the bands differ.
    ///
    /// By the estimate, bands are chosen for the threshold of the condition, if `params` have
    /// another one. For exact decisions ([`Alike::for_verification`]) and for containment, bands
    /// reach the recall target three standard errors below the threshold, or as close to that as
    /// the number of hashes allows.
    ///
    /// # Errors
    ///
    /// `Invalid` (a threshold outside 0 to 1, or one that needs more hashes).
    pub fn params(params: &Params, alike: impl Into<Alike>) -> Result<Params> {
        let alike = alike.into().check()?;
        let needed = alike.similarity_needed().max(LOWEST);
        let made = |threshold: f64| params.to_builder().threshold(threshold).choose_bands().build();
        if !alike.is_verified() && !alike.asks_for_containment() {
            let is_same = (params.threshold() - needed).abs() < f64::EPSILON;
            return if is_same { Ok(params.clone()) } else { made(needed) };
        }
        let low = params.search_threshold(needed).max(LOWEST);
        let step = |step: u32| made(low + (needed - low) * f64::from(step) / f64::from(STEPS));
        (0..STEPS).find_map(|at| step(at).ok()).map_or_else(|| step(STEPS), Ok)
    }
}
