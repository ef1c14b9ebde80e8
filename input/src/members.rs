//! The documents of files that hold many: the messages of a mailbox, the records of a WARC file,
//! and on request the files of an archive.
//!
//! Such a file is read as a stream, and one document of it is in memory at a time. The key of a
//! document is `FILE#N` or `ARCHIVE!NAME`. An archive in an archive is named, not read.

#![expect(clippy::disallowed_types, reason = "reads the user's files, never the index's")]

mod ahead;
#[cfg(feature = "archives")]
mod archives;
#[cfg(not(feature = "archives"))]
#[path = "members/no_archives.rs"]
mod archives;
mod mailbox;
mod member;
mod warc;

use std::fs::{self, File};
use std::io::{Cursor, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::collections::Collection;
use crate::raw::{self, Origin, Raw, Reason};
use crate::source;
use ahead::Ahead;
use archives::OpenArchive;
pub use member::unpacked_max;
use member::{HEAD_BYTES, MemberDocument, Stored};

/// The documents of an open file.
pub struct Members {
    path: PathBuf,
    name: Vec<u8>,
    kind: MemberKind,
    /// Number of documents returned.
    returned: u64,
    has_ended: bool,
}

enum MemberKind {
    Mailbox(Ahead),
    Warc(Ahead),
    Archive(OpenArchive),
}

/// Whether a file holds many documents that are read one by one; with `archives`, an archive does.
pub fn are_in(path: &Path, archives: bool) -> bool {
    let open = || open(Box::new(File::open(path).ok()?), archives);
    is_file(path) && open().is_some()
}

/// The keys of files that may hold the document with this key.
pub fn containers(key: &[u8]) -> impl Iterator<Item = &[u8]> {
    let digits = key.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let numbered = key[..key.len() - digits].strip_suffix(b"#").filter(|_| digits > 0);
    numbered.into_iter().chain(memchr::memchr_iter(b'!', key).map(|at| &key[..at]))
}

fn is_file(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file())
}

impl Members {
    /// The documents of a file that was read as `body`; `None` if it is a document itself. A file
    /// that was too large to be read as one is opened again. `archives`: whether those are read,
    /// and files in them whose names begin with a dot.
    pub(crate) fn of(
        path: &Path,
        name: &[u8],
        body: &Result<Bytes, Reason>,
        (archives, hidden): (bool, bool),
    ) -> Option<Self> {
        let stored: Box<dyn Stored> = match body {
            Ok(bytes) => Box::new(Cursor::new(bytes.clone())),
            // A pipe has no beginning to return to.
            Err(Reason::TooLarge) if is_file(path) => Box::new(File::open(path).ok()?),
            Err(_) => return None,
        };
        let mut kind = open(stored, archives)?;
        if let MemberKind::Archive(archive) = &mut kind {
            archive.show_hidden(hidden);
        }
        let (path, name, returned) = (path.to_owned(), name.to_vec(), 0);
        Some(Self { path, name, kind, returned, has_ended: false })
    }

    /// The documents of an open file with this key; `None` if it is a document itself. Reads
    /// archives, and files in them whose names begin with a dot.
    pub fn of_file(file: File, key: &[u8]) -> Option<Self> {
        let mut kind = open(Box::new(file), true)?;
        if let MemberKind::Archive(archive) = &mut kind {
            archive.show_hidden(true);
        }
        let (path, name) = (raw::path_of(key), key.to_vec());
        Some(Self { path, name, kind, returned: 0, has_ended: false })
    }

    /// The next document. A file without any has one: the reason.
    #[expect(clippy::should_implement_trait, reason = "errors are documents, too")]
    pub fn next(&mut self) -> Option<Raw> {
        if self.has_ended {
            return None;
        }
        let is_named = self.path.extension().is_some_and(|ending| ending == "mbox");
        let next = match &mut self.kind {
            MemberKind::Mailbox(ahead) => mailbox::next(ahead, self.returned, is_named),
            MemberKind::Warc(ahead) => warc::next(ahead, &mut self.returned),
            MemberKind::Archive(archive) => archive.next(),
        };
        let member = match next {
            Some(member) => member,
            None if self.returned == 0 => {
                MemberDocument { name: Vec::new(), body: Err(Reason::Empty) }
            }
            None => return None,
        };
        self.returned += 1;
        self.has_ended = matches!(member.body, Err(Reason::Damaged(_)));
        let name = [&*self.name, &member.name].concat();
        let mut path = self.path.clone().into_os_string();
        path.push(&*String::from_utf8_lossy(&member.name));
        Some(Raw { origin: Origin::File { path: path.into(), name }, body: member.body })
    }

    /// Number of files of an archive that were left out because their names begin with a dot.
    pub(crate) fn hidden_left_out(&self) -> u64 {
        match &self.kind {
            MemberKind::Archive(archive) => archive.hidden_left_out(),
            _ => 0,
        }
    }
}

/// Recognises by its beginning what a file holds.
fn open(mut stored: Box<dyn Stored>, archives: bool) -> Option<MemberKind> {
    let mut magic = [0; 4];
    let count = stored.read(&mut magic).ok()?;
    stored.rewind().ok()?;
    if magic[..count] == *b"PK\x03\x04" {
        return archives.then(|| OpenArchive::zip(stored).map(MemberKind::Archive))?;
    }
    let size = stored.seek(SeekFrom::End(0)).ok()?;
    stored.rewind().ok()?;
    let mut ahead = Ahead::new(source::unpacked(stored).ok()?.0);
    if archives {
        match OpenArchive::tar(ahead, size) {
            Ok(archive) => return Some(MemberKind::Archive(archive)),
            Err(other) => ahead = other,
        }
    }
    match Collection::of(ahead.at_least(HEAD_BYTES)) {
        Some(Collection::Mailbox) if cfg!(feature = "mail") => Some(MemberKind::Mailbox(ahead)),
        Some(Collection::Warc) => Some(MemberKind::Warc(ahead)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
