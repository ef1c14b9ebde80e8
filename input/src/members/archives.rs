//! The files in ZIP and tar archives. Each is bounded as a document, and all together by the size
//! of the archive, which few texts reach and bombs exceed.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use bytes::Bytes;
use zip::ZipArchive;

use super::ahead::Ahead;
use super::member::{MemberDocument, Stored, unpacked_max};
use crate::raw::{DOCUMENT_BYTES_MAX, Reason};

/// Size of a block of a tar archive, and the offset of its magic number.
const BLOCK_BYTES: u64 = 512;
const MAGIC_AT: usize = 257;
const MAGIC: &[u8] = b"ustar";

/// Maximum size of what stands before a file in a tar archive: headers and long names.
const HEADERS_BYTES_MAX: u64 = 1 << 20;

/// Why reading ends at a bomb.
const TOO_MUCH: &str = "it unpacks to far more than its size: not read any further";

/// An open archive.
pub(super) struct OpenArchive {
    kind: ArchiveKind,
    /// Number of bytes that may still be unpacked.
    left: u64,
    number: u64,
    /// Whether to include names that begin with a dot.
    hidden: bool,
    hidden_left_out: u64,
}

enum ArchiveKind {
    Zip(ZipArchive<Box<dyn Stored>>),
    Tar(Limited),
}

/// A file of an archive: its name, and its content or the reason why it is not read.
type Packed = (Vec<u8>, Result<Bytes, Reason>);

impl OpenArchive {
    /// `None` for a document that is a ZIP archive, and for one that cannot be read.
    pub(super) fn zip(mut stored: Box<dyn Stored>) -> Option<Self> {
        let bytes = stored.seek(std::io::SeekFrom::End(0)).ok()?;
        let archive = ZipArchive::new(stored).ok()?;
        let of_documents = ["[Content_Types].xml", "mimetype", "META-INF/container.xml"];
        let is_document = |name: &&str| archive.index_for_name(name).is_some();
        let is_document = of_documents.iter().any(is_document);
        (!is_document).then(|| Self::new(ArchiveKind::Zip(archive), bytes))
    }

    /// `bytes`: the size of the stored archive. Returns the stream if it is no tar archive.
    pub(super) fn tar(mut ahead: Ahead, bytes: u64) -> Result<Self, Ahead> {
        let head = ahead.at_least(MAGIC_AT + MAGIC.len());
        if !head.get(MAGIC_AT..).is_some_and(|rest| rest.starts_with(MAGIC)) {
            return Err(ahead);
        }
        let (read, most) = (Rc::default(), Rc::default());
        Ok(Self::new(ArchiveKind::Tar(Limited { ahead, read, most }), bytes))
    }

    fn new(kind: ArchiveKind, bytes: u64) -> Self {
        Self { kind, left: unpacked_max(bytes), number: 0, hidden: false, hidden_left_out: 0 }
    }

    pub(super) fn show_hidden(&mut self, hidden: bool) {
        self.hidden = hidden;
    }

    pub(super) fn hidden_left_out(&self) -> u64 {
        self.hidden_left_out
    }

    /// The next file. Names lose what leads out of a folder.
    pub(super) fn next(&mut self) -> Option<MemberDocument> {
        loop {
            let (name, body) = match &mut self.kind {
                ArchiveKind::Zip(archive) => from_zip(archive, self.number, &mut self.left)?,
                ArchiveKind::Tar(stored) => from_tar(stored, &mut self.left)?,
            };
            self.number += 1;
            let is_part = |part: &&[u8]| !matches!(*part, b"" | b"." | b"..");
            let parts: Vec<_> = name.split(|byte| *byte == b'/').filter(is_part).collect();
            let is_hidden = |part: &&[u8]| !self.hidden && is_hidden_part(part);
            let is_damage = matches!(body, Err(Reason::Damaged(_)));
            match body {
                // A folder.
                Ok(_) if name.ends_with(b"/") => {}
                _ if parts.iter().any(is_hidden) && !is_damage => self.hidden_left_out += 1,
                body => {
                    let name = [b"!", &*parts.join(&b'/')].concat();
                    return Some(MemberDocument { name, body });
                }
            }
        }
    }
}

/// Whether a file is hidden by this part of its name; macOS puts folders of its own into archives.
fn is_hidden_part(part: &[u8]) -> bool {
    part == b"__MACOSX" || part.starts_with(b".")
}

fn from_zip(
    archive: &mut ZipArchive<Box<dyn Stored>>,
    number: u64,
    left: &mut u64,
) -> Option<Packed> {
    let number = usize::try_from(number).ok().filter(|number| *number < archive.len())?;
    let refused = |error: String| Err(Reason::Refused(format!("ZIP: {error}")));
    let name = archive.name_for_index(number).and_then(Result::ok).unwrap_or_default();
    let name = name.into_owned().into_bytes();
    let mut file = match archive.by_index(number) {
        Ok(file) => file,
        Err(error) => return Some((name, refused(error.to_string()))),
    };
    if file.is_symlink() {
        return Some((name, Err(Reason::NotAFile("a symbolic link"))));
    }
    let mut bytes = Vec::new();
    let read = file.by_ref().take(DOCUMENT_BYTES_MAX as u64 + 1).read_to_end(&mut bytes);
    let body = match read {
        _ if bytes.len() as u64 > *left => Err(Reason::Damaged(TOO_MUCH.to_owned())),
        Ok(count) if count > DOCUMENT_BYTES_MAX => Err(Reason::TooLarge),
        Ok(_) => Ok(Bytes::from(bytes)),
        Err(error) => refused(error.to_string()),
    };
    *left = left.saturating_sub(file.size().min(DOCUMENT_BYTES_MAX as u64 + 1));
    Some((name, body))
}

fn from_tar(stored: &mut Limited, left: &mut u64) -> Option<Packed> {
    let (read, most) = (Rc::clone(&stored.read), Rc::clone(&stored.most));
    let damaged = |error: io::Error| Err(Reason::Damaged(format!("tar: {error}")));
    // Long names and other notes stand before a file.
    most.set(read.get() + HEADERS_BYTES_MAX);
    let mut archive = tar::Archive::new(&mut *stored);
    let begin = read.get();
    let mut entry = match archive.entries().and_then(|mut all| all.next().transpose()) {
        Ok(Some(entry)) => entry,
        // Blocks of zeros are the end.
        Ok(None) if read.get() > begin => return None,
        Ok(None) => return Some((Vec::new(), Err(Reason::Damaged("it is cut off".to_owned())))),
        Err(error) => return Some((Vec::new(), damaged(error))),
    };
    let (before, name) = (read.get(), entry.path_bytes().into_owned());
    most.set(before.saturating_add(*left));
    let is_for_sparse = |field: io::Result<tar::PaxExtension<'_>>| {
        field.is_ok_and(|field| field.key_bytes().starts_with(b"GNU.sparse."))
    };
    let fields = entry.pax_extensions().ok().flatten();
    let is_sparse = fields.is_some_and(|mut fields| fields.any(is_for_sparse));
    let mut bytes = Vec::new();
    let content = entry.by_ref().take(DOCUMENT_BYTES_MAX as u64 + 1).read_to_end(&mut bytes);
    let passed = content.and_then(|_| io::copy(&mut entry, &mut io::sink()));
    let kind = entry.header().entry_type();
    let body = match passed {
        Err(error) => damaged(error),
        Ok(_) if kind.is_dir() => return Some((b"/".to_vec(), Ok(Bytes::new()))),
        Ok(_) if kind.is_symlink() => Err(Reason::NotAFile("a symbolic link")),
        Ok(_) if !(kind.is_file() || kind.is_contiguous() || kind.is_gnu_sparse()) => {
            Err(Reason::NotAFile("a link or device"))
        }
        Ok(_) if is_sparse => {
            Err(Reason::Format("a file with holes in a tar archive: unpack it".to_owned()))
        }
        Ok(_) if bytes.len() > DOCUMENT_BYTES_MAX => Err(Reason::TooLarge),
        Ok(_) => Ok(bytes.into()),
    };
    *left -= (read.get() - before).min(*left);
    // A file fills its last block.
    most.set(u64::MAX);
    let padding = read.get().next_multiple_of(BLOCK_BYTES) - read.get();
    // If the padding is missing, there is no next file.
    let _ = io::copy(&mut stored.take(padding), &mut io::sink());
    Some((name, body))
}

/// A stream of which a limited number of bytes is read.
pub(super) struct Limited {
    ahead: Ahead,
    read: Rc<Cell<u64>>,
    /// `read` may become so many.
    most: Rc<Cell<u64>>,
}

impl Read for Limited {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let next = self.ahead.at_least(1);
        let left = usize::try_from(self.most.get() - self.read.get()).unwrap_or(usize::MAX);
        let count = next.len().min(buffer.len()).min(left);
        if left == 0 && !buffer.is_empty() {
            return Err(io::Error::other(TOO_MUCH));
        }
        buffer[..count].copy_from_slice(&next[..count]);
        self.ahead.take(count);
        self.read.set(self.read.get() + count as u64);
        match self.ahead.failed().filter(|_| count == 0) {
            Some(error) => Err(io::Error::other(error)),
            None => Ok(count),
        }
    }
}
