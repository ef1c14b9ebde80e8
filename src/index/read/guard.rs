//! What keeps similar documents apart: the name of the rule, for all who drop or refuse documents.

use crate::{Error, Original, Params, Result, Shingles};

/// Shingles of up to this many characters are for short texts.
const SHORT_CHARS: u32 = 4;

/// What a document may differ in without being dropped or refused. Two texts that are similar are
/// often two forms filled in: invoices, letters, files under one licence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum Guard {
    /// Nothing: what is similar is a duplicate.
    None,
    /// A document that differs from its duplicate in numbers, and in no other word, is kept.
    Numbers,
    /// Also a document of which the rare words are not those of its duplicate. Only [`Judge`] can
    /// tell: it has counted the words of all documents.
    ///
    /// [`Judge`]: crate::Judge
    #[default]
    Rare,
    /// A document with other numbers than its duplicate is kept, whatever else differs: for short
    /// texts (titles, products, addresses), and where nothing else is known of the documents.
    Agree,
}

impl std::str::FromStr for Guard {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "none" => Ok(Self::None),
            "numbers" => Ok(Self::Numbers),
            "rare" => Ok(Self::Rare),
            "agree" => Ok(Self::Agree),
            _ => Err(Error::invalid(format!(
                "a guard is none, numbers, rare or agree, not `{name}`"
            ))),
        }
    }
}

impl Guard {
    /// The guard of whoever drops texts compared by these parameters, unless another one was asked
    /// for: [`Guard::Agree`] with shingles of up to four characters, as [`Preset::Short`] and
    /// [`Preset::Records`] have, otherwise [`Guard::Rare`]. Short texts have too few words to tell
    /// which are rare.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// use nearkin::{Guard, Params, Preset};
    ///
    /// let records = Params::preset(Preset::Records).build()?;
    /// assert_eq!(Guard::for_params(&records), Guard::Agree);
    /// let articles = Params::preset(Preset::Documents).build()?;
    /// assert_eq!(Guard::for_params(&articles), Guard::Rare);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// [`Preset::Short`]: crate::Preset::Short
    /// [`Preset::Records`]: crate::Preset::Records
    pub fn for_params(params: &Params) -> Self {
        match params.shingles() {
            Shingles::Chars(..=SHORT_CHARS) => Self::Agree,
            _ => Self::Rare,
        }
    }

    /// Whether the guard keeps two documents apart because of their numbers. False if one of them
    /// has no details.
    pub(crate) fn parts_by_numbers(self, one: &Original, other: &Original) -> bool {
        let Some((one, other)) = one.details().zip(other.details()) else { return false };
        match self {
            Self::None => false,
            Self::Numbers | Self::Rare => one.differs_only_in_numbers(other),
            Self::Agree => !one.has_same_numbers(other),
        }
    }
}
