//! The setters of [`Conditions`](crate::Conditions) on the types that carry conditions.

/// Implements the setters for a type with the field `conditions`.
macro_rules! setters {
    ($builder:ident) => {
        impl<'a> $builder<'a> {
            /// Sets all conditions at once; those set before are replaced.
            #[inline]
            pub fn conditions(mut self, conditions: $crate::Conditions<'a>) -> Self {
                self.conditions = conditions;
                self
            }

            /// Sets the minimum similarity: see
            /// [`Conditions::threshold`](crate::Conditions::threshold).
            #[inline]
            pub fn threshold(mut self, threshold: f64) -> Self {
                self.conditions = self.conditions.threshold(threshold);
                self
            }

            /// Sets the minimum containment: see
            /// [`Conditions::contained`](crate::Conditions::contained).
            #[inline]
            pub fn contained(mut self, contained: f64) -> Self {
                self.conditions = self.conditions.contained(contained);
                self
            }

            /// Sets the minimum similarity and containment: see
            /// [`Conditions::alike`](crate::Conditions::alike).
            pub fn alike(mut self, alike: impl Into<$crate::Alike>) -> Self {
                self.conditions = self.conditions.alike(alike);
                self
            }

            /// Searches below the minimum, for a caller that compares the documents: see
            /// [`Conditions::for_verification`](crate::Conditions::for_verification).
            pub fn for_verification(mut self) -> Self {
                self.conditions = self.conditions.for_verification();
                self
            }

            /// Sets the maximum number of results: see
            /// [`Conditions::limit`](crate::Conditions::limit).
            #[inline]
            pub fn limit(mut self, limit: usize) -> Self {
                self.conditions = self.conditions.limit(limit);
                self
            }

            /// Sets the maximum number of candidates: see
            /// [`Conditions::max_candidates`](crate::Conditions::max_candidates).
            #[inline]
            pub fn max_candidates(mut self, candidates: usize) -> Self {
                self.conditions = self.conditions.max_candidates(candidates);
                self
            }

            /// Considers only keys that begin with this prefix: see
            /// [`Conditions::prefix`](crate::Conditions::prefix).
            pub fn prefix(mut self, prefix: impl AsRef<[u8]>) -> Self {
                self.conditions = self.conditions.prefix(prefix);
                self
            }

            /// Considers only documents of this time or later: see
            /// [`Conditions::after`](crate::Conditions::after).
            pub fn after(mut self, time: u64) -> Self {
                self.conditions = self.conditions.after(time);
                self
            }

            /// Considers only documents older than this time: see
            /// [`Conditions::before`](crate::Conditions::before).
            pub fn before(mut self, time: u64) -> Self {
                self.conditions = self.conditions.before(time);
                self
            }

            /// Considers only documents whose key and payload pass: see
            /// [`Conditions::filter`](crate::Conditions::filter).
            pub fn filter(
                mut self,
                filter: impl Fn(&[u8], &[u8]) -> bool + Send + Sync + 'a,
            ) -> Self {
                self.conditions = self.conditions.filter(filter);
                self
            }

            /// Considers only documents that pass, by key, payload and time: see
            /// [`Conditions::filter_document`](crate::Conditions::filter_document).
            pub fn filter_document(
                mut self,
                filter: impl Fn($crate::DocumentView<'_>) -> bool + Send + Sync + 'a,
            ) -> Self {
                self.conditions = self.conditions.filter_document(filter);
                self
            }

            /// Stops at this time: see [`Conditions::deadline`](crate::Conditions::deadline).
            pub fn deadline(mut self, deadline: std::time::Instant) -> Self {
                self.conditions = self.conditions.deadline(deadline);
                self
            }

            /// Stops when this returns true: see
            /// [`Conditions::cancel_if`](crate::Conditions::cancel_if).
            pub fn cancel_if(mut self, cancel: impl Fn() -> bool + Send + Sync + 'a) -> Self {
                self.conditions = self.conditions.cancel_if(cancel);
                self
            }
        }
    };
}

pub(crate) use setters;
