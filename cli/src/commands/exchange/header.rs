//! The header of an export: parameters, and the number of documents.

use std::collections::BTreeMap;

use nearkin::{Common, Normalise, Params};
use serde::{Deserialize, Serialize};

use nearkin_kit::failure::Failure;

/// First field of the header; identifies an export.
const MAGIC: &str = "export";
/// The format version that is written. Files of other versions are not read.
const VERSION: u32 = 1;

/// The header of an export.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Header {
    nearkin: String,
    version: u32,
    /// The number of documents. `None` if a program has filtered the export and removed this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    documents: Option<u64>,
    /// Numbers are stored as text, so that JSON parsers cannot round them.
    parameters: BTreeMap<String, String>,
}

impl Header {
    pub(crate) fn new(params: &Params, documents: u64) -> Self {
        let pairs = [
            ("scheme", params.scheme().to_string()),
            ("seed", params.seed().to_string()),
            ("hashes", params.hashes().to_string()),
            ("bands", params.bands().to_string()),
            ("rows-per-band", params.rows_per_band().to_string()),
            ("lane-bits", params.lane_bits().to_string()),
            ("shingles", params.shingles().to_string()),
            ("bag", params.bag().to_string()),
            ("keep-case", params.keep_case().to_string()),
            ("keep-space", params.keep_space().to_string()),
            ("no-nfc", params.no_nfc().to_string()),
            ("threshold", params.threshold().to_string()),
            ("recall", params.recall_target().to_string()),
            ("signature-id", format!("{:016x}", params.signature_id())),
            ("id", format!("{:016x}", params.id())),
        ];
        let stop: Vec<&str> = params.stop_words().collect();
        let stop = (!stop.is_empty()).then(|| ("stop", stop.join("\n")));
        // This entry is written only if the older boolean entries cannot express the normalisation,
        // so that older versions of nearkin can read all other exports.
        let fold = matches!(params.normalise(), Normalise::Fold(_));
        let fold = fold.then(|| ("normalise", params.normalise().to_string()));
        let common = params.common().map(|common| ("common", common.to_string()));
        let pairs = pairs.into_iter().chain(stop).chain(common).chain(fold);
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value));
        Self {
            nearkin: MAGIC.to_owned(),
            version: VERSION,
            documents: Some(documents),
            parameters: pairs.collect(),
        }
    }

    pub(super) fn parse(text: &[u8], name: &str) -> Result<Self, Failure> {
        let header: Option<Self> = serde_json::from_slice(text).ok();
        match header {
            Some(header) if header.nearkin == MAGIC && header.version == VERSION => Ok(header),
            Some(header) if header.nearkin == MAGIC => Err(Failure::new(
                format!(
                    "{name} has export version {}, which this version cannot read",
                    header.version
                ),
                "use a newer version of nearkin",
            )),
            _ => Err(Failure::new(
                format!(
                    "{name} is not an export: its first line is not a header of `nearkin export`"
                ),
                "to add texts or items, use `nearkin add INDEX --jsonl FILE`",
            )),
        }
    }

    pub(super) fn to_json(&self) -> Result<String, Failure> {
        serde_json::to_string(self).map_err(|error| Failure::new(error.to_string(), ""))
    }

    /// The expected number of documents, if known.
    pub(crate) fn documents(&self) -> Option<u64> {
        self.documents
    }

    /// The exact parameters. Fails if they do not match the id in the header.
    pub(crate) fn params(&self, name: &str) -> Result<Params, Failure> {
        let normalise = if self.parameters.contains_key("normalise") {
            self.value("normalise", name)?
        } else {
            Normalise::Case
        };
        let has_common = self.parameters.contains_key("common");
        let common = if has_common { Some(self.value::<Common>("common", name)?) } else { None };
        let params = Params::builder()
            .normalise(normalise)
            .common(common)
            .scheme(self.value("scheme", name)?)
            .seed(self.value("seed", name)?)
            .hashes(self.value("hashes", name)?)
            .bands(self.value("bands", name)?, self.value("rows-per-band", name)?)
            .lane_bits(self.value("lane-bits", name)?)
            .shingles(self.value("shingles", name)?)
            .bag(self.value("bag", name)?)
            .keep_case(self.value("keep-case", name)?)
            .keep_space(self.value("keep-space", name)?)
            .no_nfc(self.value("no-nfc", name)?)
            .threshold(self.value("threshold", name)?)
            .recall_target(self.value("recall", name)?)
            .stop_words(self.parameters.get("stop"))
            .build()?;
        let id: String = self.value("id", name)?;
        if id == format!("{:016x}", params.id()) {
            return Ok(params);
        }
        Err(Failure::new(
            format!("{name}: the parameters do not match their id {id}"),
            "export again, or use a newer version of nearkin if that wrote the file",
        ))
    }

    fn value<T: std::str::FromStr>(&self, key: &str, name: &str) -> Result<T, Failure> {
        let value = self.parameters.get(key).and_then(|value| value.parse().ok());
        value.ok_or_else(|| {
            Failure::new(format!("{name}: the parameter {key:?} is missing or malformed"), "")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearkin::{Scheme, Shingles};

    #[test]
    fn parameters_come_back_exactly() {
        let all = [
            Params::builder(),
            Params::for_threshold(0.1 + 0.2).recall_target(1.0 / 3.0).seed(u64::MAX).hashes(777),
            Params::for_threshold(0.5).shingles(Shingles::Items).bag(true).bands(20, 2),
            Params::builder().keep_case(true).keep_space(true).no_nfc(true).lane_bits(16),
            Params::builder().scheme(Scheme::external("datasketch-2.0").unwrap()),
            Params::builder().scheme(Scheme::Textbook),
            Params::builder().stop_words(["the", "a\u{e9}", "of"]),
            Params::builder().common(Common::from_hashes([7, 9]).unwrap()),
            Params::builder().normalise(Normalise::Case),
            Params::builder().normalise("fold,diacritics,turkish".parse().unwrap()),
        ];
        for builder in all {
            let params = builder.build().unwrap();
            let json = Header::new(&params, 7).to_json().unwrap();
            let header = Header::parse(json.as_bytes(), "f").unwrap();
            assert_eq!((header.documents(), header.params("f").unwrap()), (Some(7), params));
        }
    }

    #[test]
    fn a_header_that_was_changed_is_refused() {
        let params = Params::builder().build().unwrap();
        let json = Header::new(&params, 7).to_json().unwrap();
        let changed = json.replace("\"hashes\":\"128\"", "\"hashes\":\"129\"");
        let header = Header::parse(changed.as_bytes(), "f").unwrap();
        assert!(header.params("f").unwrap_err().to_string().contains("do not match their id"));
        let newer = json.replace("\"version\":1", "\"version\":2");
        assert!(Header::parse(newer.as_bytes(), "f").unwrap_err().to_string().contains("newer"));
        for other in ["{}", "", "{\"id\":1,\"text\":\"a\"}", "[1]"] {
            assert!(Header::parse(other.as_bytes(), "f").is_err(), "{other}");
        }
    }
}
