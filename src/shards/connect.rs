//! Connects the documents of a bucket without comparing all pairs.

use super::bands::count_of;
use super::verify::{VerifiedPair, Verifier};
use crate::Result;
use nearkin_sketch::engine::{Agreement, first_shared_band};

/// The documents of one component among those of the bucket that were visited.
type Members = Vec<usize>;

impl Verifier {
    /// Edges that connect the documents of a bucket as all their pairs do, at most one less than
    /// there are documents: indexes into `signatures`, the concatenated bytes.
    ///
    /// For clusters. A document is compared with one document of each component of the bucket at a
    /// time, until one is similar, so a crowd of n similar documents costs about n comparisons.
    /// Documents that share any band count, so a pair may be an edge of several buckets.
    ///
    /// # Errors
    ///
    /// `Invalid` (a length that is not a multiple of [`Params::signature_bytes`]).
    ///
    /// [`Params::signature_bytes`]: crate::Params::signature_bytes
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// use nearkin::shards::Verifier;
    /// use nearkin::{Params, Sketcher};
    ///
    /// let params = Params::for_threshold(0.7).build()?;
    /// let sketcher = Sketcher::new(&params);
    /// let mut bucket = Vec::new();
    /// let texts = ["one two three", "other words entirely", "One, two, three!", "one two three."];
    /// for text in texts {
    ///     bucket.extend_from_slice(sketcher.text(text)?.as_bytes());
    /// }
    /// assert_eq!(Verifier::new(&params, 0.7)?.connect(&bucket)?, [(0, 2), (0, 3)]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn connect(&self, signatures: &[u8]) -> Result<Vec<(usize, usize)>> {
        self.connect_if(signatures, |_| true)
    }

    /// Like [`Verifier::connect`], for pairs that also satisfy `holds`, such as a minimum
    /// containment: [`Alike::is_reached`](crate::Alike::is_reached) with the counts of both.
    ///
    /// # Errors
    ///
    /// Those of [`Verifier::connect`].
    pub fn connect_if(
        &self,
        signatures: &[u8],
        holds: impl Fn(&VerifiedPair) -> bool,
    ) -> Result<Vec<(usize, usize)>> {
        self.connect_counted(signatures, holds).map(|(edges, _)| edges)
    }

    /// Also returns the number of comparisons.
    fn connect_counted(
        &self,
        data: &[u8],
        holds: impl Fn(&VerifiedPair) -> bool,
    ) -> Result<(Vec<(usize, usize)>, u64)> {
        count_of(&self.params, data)?;
        let signatures: Vec<&[u8]> = data.chunks_exact(self.params.signature_bytes()).collect();
        let (mut edges, mut compared) = (Vec::new(), 0);
        let mut components: Vec<Members> = Vec::new();
        for (document, signature) in signatures.iter().enumerate() {
            let mut own = vec![document];
            // The largest component that it joins keeps its place; the others are moved into it.
            components.retain_mut(|members| {
                let is_like = |other: &&usize| {
                    compared += 1;
                    let pair = self.pair_in((**other, signatures[**other]), (document, signature));
                    pair.is_some_and(|pair| holds(&pair))
                };
                let Some(&like) = members.iter().find(is_like) else { return true };
                edges.push((like, document));
                if members.len() >= own.len() {
                    std::mem::swap(members, &mut own);
                }
                own.append(members);
                false
            });
            components.push(own);
        }
        Ok((edges, compared))
    }

    /// The pair of two documents, whatever band they share.
    fn pair_in(
        &self,
        (a, one): (usize, &[u8]),
        (b, other): (usize, &[u8]),
    ) -> Option<VerifiedPair> {
        let params = &self.params;
        let agreement = Agreement::compare(one, other, params.lane_bits(), self.equal_rows_min)?;
        first_shared_band(&agreement, params.bands() - 1, params.rows_per_band())?;
        let equal_rows = agreement.equal_rows();
        Some(VerifiedPair { a, b, equal_rows, similarity: params.similarity(equal_rows) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params;
    use crate::shards::components;

    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        *state >> 33
    }

    #[test]
    fn edges_connect_what_all_pairs_connect() {
        let params = Params::builder().hashes(16).bands(4, 4).build().expect("sound");
        let mut state = 5;
        for case in 0..60 {
            let count = random(&mut state) % 40;
            let family = |at: u64, row: u64| at % (1 + case % 7) * 16 + row;
            let signatures: Vec<u8> = (0..count * 16)
                .map(|at| {
                    let is_noise = random(&mut state) % 10 < case % 4;
                    let value =
                        if is_noise { random(&mut state) } else { family(at / 16, at % 16) };
                    value.to_le_bytes()[0]
                })
                .collect();
            for threshold in [0.0, 0.5, 0.8, 1.0] {
                let verifier = Verifier::new(&params, threshold).expect("sound");
                let all = (0..4).flat_map(|band| verifier.bucket(band, &signatures).expect("ok"));
                let expected = components(all.map(|pair| (pair.a, pair.b)));
                let edges = verifier.connect(&signatures).expect("sound");
                assert!(edges.len() < signatures.len().max(1), "case {case}");
                assert_eq!(components(edges), expected, "case {case} at {threshold}");
            }
        }
    }

    #[test]
    fn a_crowd_takes_about_one_comparison_a_document() {
        let params = Params::builder().hashes(16).bands(4, 4).build().expect("sound");
        let mut signatures = Vec::new();
        for document in 0..2_000_u16 {
            signatures.extend_from_slice(&[7; 14]);
            signatures.extend_from_slice(&document.to_le_bytes());
        }
        let verifier = Verifier::new(&params, 0.8).expect("sound");
        let (edges, compared) = verifier.connect_counted(&signatures, |_| true).expect("sound");
        assert_eq!(edges.len(), 1_999);
        assert!(compared < 4_000, "{compared} comparisons");
    }

    #[test]
    fn edges_connect_the_pairs_that_hold() {
        let params = Params::builder().hashes(16).bands(4, 4).build().expect("sound");
        let signatures: Vec<u8> = (0..40_u8).flat_map(|at| [[7; 12], [at; 12]].concat()).collect();
        let signatures = &signatures[..60 * 16];
        let verifier = Verifier::new(&params, 0.2).expect("sound");
        for apart in 1..9 {
            let holds = |pair: &VerifiedPair| pair.a.abs_diff(pair.b) == apart;
            let all = (0..4).flat_map(|band| verifier.bucket(band, signatures).expect("ok"));
            let expected = all.filter(holds).map(|pair| (pair.a, pair.b)).collect::<Vec<_>>();
            assert!(expected.len() > 10);
            let edges = verifier.connect_if(signatures, holds).expect("sound");
            assert_eq!(components(edges), components(expected), "{apart} apart");
        }
    }

    #[test]
    fn a_cut_signature_is_an_error() {
        let params = Params::builder().hashes(16).bands(4, 4).build().expect("sound");
        let verifier = Verifier::new(&params, 0.8).expect("sound");
        assert!(verifier.connect(&[0; 17]).is_err());
        assert!(verifier.connect(&[]).expect("sound").is_empty());
    }
}
