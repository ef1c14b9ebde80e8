//! A store of texts that uses Nearkin.

use super::Store;
use crate::engines::{key, params, threshold};
use crate::results::Result;
use nearkin::{Answer, Batch, Index, Options, Sketcher};
use std::path::Path;

pub struct NearkinStore {
    index: Index,
    sketcher: Sketcher,
    threshold: f64,
}

fn numbers(answer: Answer) -> Result<Vec<u32>> {
    let number = |key: Vec<u8>| Ok(u64::from_be_bytes(key.as_slice().try_into()?) as u32);
    answer.into_iter().map(|found| number(found.key)).collect()
}

impl Store for NearkinStore {
    const NAME: &'static str = "nearkin";
    const DURABILITY: &'static str = "sync per batch";
    const CHECKED_MAX: usize = usize::MAX;

    fn open(folder: &Path) -> Result<Self> {
        let index = Index::open_or_create(folder.join("index"), &params()?, Options::default())?;
        let threshold = threshold(index.params());
        Ok(Self { sketcher: index.sketcher(), index, threshold })
    }

    fn insert(&mut self, first: u32, texts: &[String]) -> Result<()> {
        let mut batch = Batch::new();
        for (document, text) in (first..).zip(texts) {
            batch = batch.insert(key(document), &self.sketcher.text(text)?);
        }
        self.index.write(batch)?;
        Ok(())
    }

    fn compact(&mut self) -> Result<()> {
        Ok(self.index.compact()?)
    }

    fn query(&self, text: &str) -> Result<Vec<u32>> {
        let signature = self.sketcher.text(text)?;
        numbers(self.index.query(&signature).threshold(self.threshold).run()?)
    }

    fn remove(&mut self, documents: &[u32]) -> Result<()> {
        let batch = documents.iter().fold(Batch::new(), |batch, one| batch.remove(key(*one)));
        self.index.write(batch)?;
        Ok(())
    }

    /// Duplicates within a batch are not detected. The same is true of sketchir's store.
    fn check_then_add(&mut self, first: u32, texts: &[String]) -> Result<()> {
        let mut batch = Batch::new();
        for (document, text) in (first..).zip(texts) {
            let signature = self.sketcher.text(text)?;
            let query = self.index.query(&signature).threshold(self.threshold).limit(1);
            if query.run()?.matches.is_empty() {
                batch = batch.insert(key(document), &signature);
            }
        }
        self.index.write(batch)?;
        Ok(())
    }

    fn close(self) -> Result<()> {
        Ok(self.index.close()?)
    }
}
