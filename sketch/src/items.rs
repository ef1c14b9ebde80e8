//! Signatures of sets of items.

use super::inner::Inner;
use super::item::{Digits, Item, ItemHash};
use super::original::Original;
use super::scratch::{self, Rows, Scratch};
use super::signature::Signature;
use super::sketcher::Sketcher;
use crate::params::Shingles;
use crate::{Error, ErrorKind, Result};

impl Sketcher {
    /// The signature of a set with all its items, for exact comparison.
    ///
    /// # Errors
    ///
    /// Same as [`Sketcher::items`].
    pub fn original_items<'i>(
        &self,
        items: impl IntoIterator<Item = impl Into<Item<'i>>>,
    ) -> Result<Original> {
        self.check_items()?;
        scratch::with(|Scratch { sums, rows, .. }| {
            self.hash_items(items, sums);
            let signature = self.sign_items(sums, rows)?;
            Ok(Original::new(signature, sums))
        })
    }

    /// The signature of a set of strings, byte strings or integers: see [`Item`]. Strings (and
    /// bytes that are UTF-8) are folded only if the parameters ask for it. One pass, without
    /// allocation per item.
    ///
    /// # Errors
    ///
    /// `Empty` if there is no item. `Invalid` if the parameters are not for items, or are of an
    /// external scheme.
    pub fn items<'i>(
        &self,
        items: impl IntoIterator<Item = impl Into<Item<'i>>>,
    ) -> Result<Signature> {
        self.check_items()?;
        scratch::with(|Scratch { sums, rows, .. }| {
            self.hash_items(items, sums);
            self.sign_items(sums, rows)
        })
    }

    /// The hash of an item, which stands for the item in [`Sketcher::items`]. For a program that
    /// sees the items before it has the whole set, or that keeps many large sets: a hash takes 8
    /// bytes. Meaningful only if the parameters are for items.
    ///
    /// ```
    /// # use nearkin_sketch as nearkin;
    /// # fn main() -> nearkin::Result<()> {
    /// use nearkin::{ItemHash, Params, Shingles, Sketcher};
    ///
    /// let params = Params::for_threshold(0.5).shingles(Shingles::Items).build()?;
    /// let sketch = Sketcher::new(&params);
    /// let mut hashes: Vec<ItemHash> = Vec::new();
    /// for item in ["one", "two", "three"] {
    ///     hashes.push(sketch.hash_item(item));
    /// }
    /// assert_eq!(sketch.items(hashes)?, sketch.items(["one", "two", "three"])?);
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    pub fn hash_item<'i>(&self, item: impl Into<Item<'i>>) -> ItemHash {
        let (inner, mut digits) = (&self.inner, Digits::new());
        ItemHash(item.into().hash(inner.unit, &mut digits, |text| inner.item(text)))
    }

    #[inline]
    fn hash_items<'i>(
        &self,
        items: impl IntoIterator<Item = impl Into<Item<'i>>>,
        sums: &mut Vec<u64>,
    ) {
        let (inner, mut digits) = (&self.inner, Digits::new());
        sums.clear();
        let hash = |item: Item<'_>| item.hash(inner.unit, &mut digits, |text| inner.item(text));
        sums.extend(items.into_iter().map(Into::into).map(hash));
    }

    fn sign_items(&self, sums: &mut Vec<u64>, rows: &mut Rows) -> Result<Signature> {
        self.inner.drop_common(sums);
        let made = match self.inner.processor {
            Some(processor) => processor.sign(&self.inner, sums, rows),
            None => self.inner.sign(None, sums, rows),
        };
        made.ok_or_else(nothing)
    }

    fn check_items(&self) -> Result<()> {
        self.check_made_here()?;
        if self.inner.shingles == Shingles::Items {
            return Ok(());
        }
        let shingles = self.inner.shingles;
        Err(Error::invalid(format!(
            "the parameters are for {shingles}; items need shingles of items"
        )))
    }
}

impl Inner {
    /// The hash of an item.
    #[inline]
    fn item(&self, item: &[u8]) -> u64 {
        if self.units.folds_items() { self.units.item(item) } else { self.unit.hash_bytes(item) }
    }
}

#[cold]
fn nothing() -> Error {
    Error::new(ErrorKind::Empty, "nothing to compare: the set has no items")
}
