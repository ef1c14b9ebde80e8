//! How much one document must contain of the other, for commands that compare documents.

use super::values::similarity;
use crate::failure::Failure;

/// How much of the smaller of two documents the larger one must contain.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct ContainedGiven {
    /// Find documents of which the larger one contains at least so much of the smaller one, 0 to 1
    /// or in percent, as far as signatures tell; then --threshold is 0 unless it is given
    ///
    /// Half of a document is similar to the whole to 0.5 only, and so is one with as much
    /// boilerplate around it. The index must have been made for such similarities: with
    /// --threshold 0.4, for instance.
    #[arg(long, value_name = "C", value_parser = similarity)]
    pub(crate) contained: Option<f64>,
}

impl ContainedGiven {
    /// Refuses to verify by the documents how much one contains: that is not built.
    pub(crate) fn check_is_estimate(self, is_exact: bool) -> Result<(), Failure> {
        if self.contained.is_none() || !is_exact {
            return Ok(());
        }
        Err(Failure::new(
            "--contained is an estimate, and --exact verifies similarities",
            "give one of the two",
        ))
    }
}
