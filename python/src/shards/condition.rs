//! The condition under which a candidate of a bucket is a pair.

use nearkin::Alike;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrow::{Field, Kind};
use crate::error::InvalidError;
use crate::options::{argument, keywords};
use crate::sketch::signatures::Signatures;

/// The condition of a pair: a minimum similarity, and perhaps a minimum containment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Condition {
    pub(crate) alike: Alike,
}

impl Condition {
    /// The condition of a step: this threshold, and those of the keyword arguments of `method`.
    pub(crate) fn new(
        method: &str,
        threshold: f64,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let (mut contained, mut for_verification) = (None, false);
        keywords(method, &["contained", "for_verification"], given, |name, value| {
            match name {
                "contained" => contained = argument(value, name)?,
                _ => for_verification = argument(value, name)?,
            }
            Ok(())
        })?;
        let alike = Alike::from_minima(Some(threshold), contained, threshold);
        Ok(Self { alike: if for_verification { alike.for_verification() } else { alike } })
    }

    /// The counts of shingles that the condition needs: none, or one per signature.
    pub(crate) fn counts(self, signatures: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
        if !self.alike.asks_for_containment() {
            return Ok(Vec::new());
        }
        let Ok(signatures) = signatures.cast::<Signatures>() else {
            let message = "contained needs counts of shingles: give Signatures";
            return Err(InvalidError::new_err(message));
        };
        let signatures = signatures.get();
        Ok((0..signatures.len()).map(|row| signatures.count(row)).collect())
    }

    /// The estimated containment of a candidate that satisfies the condition (0 if the condition
    /// has no containment); `None` if it does not.
    pub(crate) fn reached(
        self,
        params: &nearkin::Params,
        equal_rows: u32,
        (a, b): (Option<&u32>, Option<&u32>),
    ) -> Option<f64> {
        if !self.alike.asks_for_containment() {
            return Some(0.0);
        }
        let counts = (a.copied().unwrap_or(0), b.copied().unwrap_or(0));
        let is_reached = self.alike.is_reached(params, equal_rows, counts);
        let containment = params.containment(equal_rows, counts.0, counts.1).filter(|_| is_reached);
        containment.map(|containment| containment.estimate)
    }

    /// These columns, and the containment if the condition has one.
    pub(crate) fn fields(self, fields: &[Field]) -> Vec<Field> {
        let contained = Field::new("contained", Kind::Float);
        let more = self.alike.asks_for_containment().then_some(contained);
        fields.iter().cloned().chain(more).collect()
    }
}
