//! Documents of mailboxes, crawls and archives, read again by their keys.
//!
//! Such a file can only be read from its beginning. So when the first of its documents is asked
//! for, all are copied to a temporary file without a name.

#![expect(clippy::disallowed_types, reason = "reads the user's files and temporary files")]

use std::collections::HashMap;
use std::fs::File;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

use crate::file_state::FileState;
use crate::scratch;
use nearkin_input::interrupt;
use nearkin_input::members::{self, Members};
use nearkin_input::raw::Origin;

/// The files of many documents that were read, by their keys.
#[derive(Default)]
pub(super) struct MemberFiles(Mutex<HashMap<Vec<u8>, Copied>>);

/// The documents of a file.
struct Copied {
    /// The state of the file when it was read.
    state: FileState,
    file: File,
    /// The offset and the length of each document.
    places: HashMap<Vec<u8>, (u64, usize)>,
}

impl MemberFiles {
    /// The bytes of a document. `open` opens a regular file by its key. The first call for a file
    /// reads all its documents, and so does one after the file has changed.
    pub(super) fn read(&self, key: &[u8], open: impl Fn(&[u8]) -> Option<File>) -> Option<Bytes> {
        let (container, file) =
            members::containers(key).find_map(|file| Some((file, open(file)?)))?;
        let state = FileState::of_open(&file).ok()?;
        // Other threads wait for the copy in place of making one each.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.get(container).is_none_or(|copied| copied.state != state) {
            known.insert(container.to_vec(), Copied::of(container, file, state)?);
        }
        let copied = known.get(container)?;
        let (mut at, bytes) = *copied.places.get(key)?;
        let (mut document, mut filled) = (vec![0; bytes], 0);
        while filled < bytes {
            match scratch::read_at(&copied.file, &mut document[filled..], at).ok()? {
                0 => return None,
                count => (filled, at) = (filled + count, at + count as u64),
            }
        }
        Some(document.into())
    }
}

impl Copied {
    fn of(container: &[u8], stored: File, state: FileState) -> Option<Self> {
        let mut members = Members::of_file(stored, container)?;
        let (mut file, mut places, mut end) = (scratch::file().ok()?, HashMap::new(), 0);
        while let Some(raw) = members.next() {
            if interrupt::came() {
                return None;
            }
            let (Ok(body), Origin::File { name, .. }) = (raw.body, raw.origin) else { continue };
            // A bomb must not fill the disk: the documents behind are missing.
            end += body.len() as u64;
            if end > members::unpacked_max(state.bytes) {
                break;
            }
            file.write_all(&body).ok()?;
            places.insert(name, (end - body.len() as u64, body.len()));
        }
        Some(Self { state, file, places })
    }
}
