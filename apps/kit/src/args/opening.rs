//! Opens the index that the options for parameters are about.

use std::path::Path;

use nearkin::{Common, Index, Params, Shingles};

use super::common::CommonGiven;
use super::params::Given;
use crate::failure::Failure;
use crate::input::common;
use crate::input::documents::Input;
use crate::input::opened::{self, Load};
use crate::output;
use nearkin_input::fields::Fields;

impl Given {
    /// Opens an index for adding. Fails if the given parameters differ from its own.
    fn to_add(&self, dir: &Path, load: &Load) -> Result<Index, Failure> {
        let index = load.open(dir)?;
        self.check(index.params(), dir)?;
        Ok(index)
    }

    /// Opens the index; if there is none, creates it and prints a note that says so. `sets`: the
    /// input holds only sets, so a new index gets `--shingles items`. Also returns the result of
    /// `of`: the fields to read in each line, or an error if the index does not accept such input.
    pub fn open_or_create(
        &self,
        dir: &Path,
        load: &Load,
        sets: bool,
        of: impl Fn(&Params) -> Result<Fields, Failure>,
    ) -> Result<(Index, Fields), Failure> {
        if opened::exists(dir)? {
            let index = self.to_add(dir, load)?;
            let fields = of(index.params())?;
            return Ok((index, fields));
        }
        let mut given = self.clone();
        if sets {
            // With sets as input, only the shingles `items` are possible.
            given = given.or_shingles(Shingles::Items);
        }
        let params = given.params()?;
        // Checked before the index is created: input that does not fit must not leave an empty
        // index.
        let fields = of(&params)?;
        let index = match opened::create(dir, &params, load) {
            // Another process has created the index meanwhile.
            Err(_) if opened::exists(dir)? => {
                let index = self.to_add(dir, load)?;
                let fields = of(index.params())?;
                return Ok((index, fields));
            }
            created => created?,
        };
        output::note(format!("created {}: {}", dir.display(), opened::describe(&params)));
        Ok((index, fields))
    }

    /// The share of documents from which common shingles are to be learned.
    pub fn share_of_common(&self) -> Option<f64> {
        match self.ignore_common {
            Some(CommonGiven::Share(share)) => Some(share),
            _ => None,
        }
    }

    /// Sets the list of common shingles.
    #[must_use]
    pub fn with_common(mut self, common: Option<Common>) -> Self {
        self.ignore_common = common.map(CommonGiven::List);
        self
    }

    /// Learns the common shingles of the documents, if the index is new and a share was given. The
    /// result has the list in place of the share.
    pub fn learned(
        &self,
        dir: &Path,
        sets: bool,
        fields: impl Fn(&Params) -> Result<Fields, Failure>,
        input: impl FnOnce() -> Result<Input, Failure>,
    ) -> Result<Self, Failure> {
        let Some(share) = self.share_of_common() else { return Ok(self.clone()) };
        if opened::exists(dir)? {
            return Ok(self.clone());
        }
        let mut given = self.clone().with_common(None);
        if sets {
            given = given.or_shingles(Shingles::Items);
        }
        let params = given.params()?;
        let fields = fields(&params)?;
        let mut input = input()?.of_fields(&fields);
        let learned = common::learn(&params, share, &mut input, fields)?;
        Ok(given.with_common(learned.list))
    }

    /// Fails if a template, or a list given with it, has other shingles than the index leaves out.
    fn check_templates(&self, params: &Params, dir: &Path) -> Result<(), Failure> {
        if self.template.is_empty() {
            return Ok(());
        }
        let list = self.ignore_common.as_ref().and_then(CommonGiven::list);
        let base = match list {
            Some(list) => params.to_builder().common(list.clone()).build()?,
            None => params.clone(),
        };
        let list = common::of_templates(&base, &self.template)?;
        if params.common().map(Common::hashes) == Some(list.hashes()) {
            return Ok(());
        }
        Err(Failure::new(
            format!("{} was created without this --template", dir.display()),
            "what an index leaves out is fixed when it is created: add the texts to a new one",
        ))
    }

    /// Fails if the given parameters differ from those of the index.
    pub fn check(&self, params: &Params, dir: &Path) -> Result<(), Failure> {
        let differences = self.differences(params);
        if differences.is_empty() {
            return self.check_templates(params, dir);
        }
        let name = dir.display();
        let advice = match self
            .threshold()
            .filter(|threshold| threshold.to_bits() != params.threshold().to_bits())
        {
            Some(threshold) => format!(
                "drop the option to use the index's own; for another threshold, `nearkin \
                 rebuild {name} NEW --threshold {threshold}` makes an index of the same documents"
            ),
            None => "drop these options to use the index's own, or create another index".to_owned(),
        };
        Err(Failure::new(
            format!("{name} has different settings: {}", differences.join("; ")),
            advice,
        ))
    }
}
