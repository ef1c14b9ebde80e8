//! Files of exported documents: a header with the parameters, then keys, payloads, times, shingle
//! counts and signatures, unchanged.
//!
//! This module chooses the file format. It does not know indexes.

mod header;
mod lines;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(not(feature = "parquet"))]
#[path = "exchange/no_parquet.rs"]
mod parquet;

pub(crate) use header::Header;

use std::path::Path;

use nearkin::{Document, Params};

use nearkin_kit::failure::Failure;

/// The format of an export, from the file name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExchangeFormat {
    Lines,
    Parquet,
}

impl ExchangeFormat {
    /// `reads`: also accept names that the tool reads but never writes.
    fn from_path(path: &Path, reads: bool) -> Result<Self, Failure> {
        if path.as_os_str() == "-" {
            return Ok(Self::Lines);
        }
        let ending = path.extension().map(std::ffi::OsStr::to_ascii_lowercase);
        match ending.as_deref().and_then(std::ffi::OsStr::to_str) {
            Some("jsonl" | "ndjson") => Ok(Self::Lines),
            // The suffix only says that the lines are compressed: the method is detected from the
            // content when the file is opened.
            Some("gz" | "zst" | "zstd") if reads => Ok(Self::Lines),
            Some("parquet") => Ok(Self::Parquet),
            _ => Err(Failure::new(
                format!("{} is neither a .jsonl nor a .parquet file", path.display()),
                "give a file name that ends in .jsonl or .parquet",
            )),
        }
    }
}

/// Writes documents to a file of either format.
pub(crate) enum Writer {
    Lines(lines::LinesWriter),
    Parquet(Box<parquet::ParquetWriter>),
}

impl Writer {
    /// Starts a file. It gets its final name in [`Writer::finish`].
    pub(crate) fn create(path: &Path, header: &Header, params: &Params) -> Result<Self, Failure> {
        Ok(match ExchangeFormat::from_path(path, false)? {
            ExchangeFormat::Lines => Self::Lines(lines::LinesWriter::create(path, header)?),
            ExchangeFormat::Parquet => {
                Self::Parquet(Box::new(parquet::ParquetWriter::create(path, header, params)?))
            }
        })
    }

    pub(crate) fn write(&mut self, document: Document) -> Result<(), Failure> {
        match self {
            Self::Lines(writer) => writer.write(&document),
            Self::Parquet(writer) => writer.write(document),
        }
    }

    pub(crate) fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Lines(writer) => writer.finish(),
            Self::Parquet(writer) => writer.finish(),
        }
    }
}

/// Reads documents from a file of either format.
pub(crate) enum Reader {
    Lines(lines::LinesReader),
    Parquet(Box<parquet::ParquetReader>),
}

impl Reader {
    /// Opens a file and reads its header.
    pub(crate) fn open(path: &Path) -> Result<(Header, Self), Failure> {
        Ok(match ExchangeFormat::from_path(path, true)? {
            ExchangeFormat::Lines => {
                let (header, reader) = lines::LinesReader::open(path)?;
                (header, Self::Lines(reader))
            }
            ExchangeFormat::Parquet => {
                let (header, reader) = parquet::ParquetReader::open(path)?;
                (header, Self::Parquet(Box::new(reader)))
            }
        })
    }

    /// The next document. `params` are needed to decode its signature.
    pub(crate) fn next(&mut self, params: &Params) -> Result<Option<Document>, Failure> {
        match self {
            Self::Lines(reader) => reader.next(params),
            Self::Parquet(reader) => reader.next(params),
        }
    }

    /// Whether a truncated file of this format looks like a complete one: JSON lines have no
    /// end mark.
    pub(crate) fn may_be_cut(&self) -> bool {
        matches!(self, Self::Lines(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_says_what_a_file_is() {
        let format = |name: &str| ExchangeFormat::from_path(Path::new(name), false).ok();
        assert_eq!(
            (format("a.jsonl"), format("-")),
            (Some(ExchangeFormat::Lines), Some(ExchangeFormat::Lines))
        );
        assert_eq!(format("a.b.PARQUET"), Some(ExchangeFormat::Parquet));
        assert_eq!((format("a"), format("a.csv")), (None, None));
    }
}
