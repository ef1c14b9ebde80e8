//! The warning that a threshold cuts through documents of one form.

use nearkin::Margin;

use nearkin_kit::output::{self, grouped};

/// Warns if more pairs lie just below the threshold than reach it. `way_out` are the options that
/// let the documents decide.
pub(crate) fn warn_if_blurred(margin: Margin, way_out: &str) {
    if !margin.is_blurred() {
        return;
    }
    let (below, reached) = (grouped(margin.just_below), grouped(margin.reached));
    output::warn(format!(
        "more pairs lie just below the threshold ({below}) than above ({reached}): the texts share \
         a form, and the estimate cannot separate them; {way_out} compares them"
    ));
}
