//! Documents of mailboxes, crawls and archives, read again by their keys.
//!
//! Such a file can only be read from its beginning. So when the first of its documents is asked
//! for, all are copied to a temporary file without a name, which holds the documents of all files.

#![expect(clippy::disallowed_types, reason = "reads the user's files and temporary files")]

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

use crate::file_state::FileState;
use crate::{output, scratch};
use nearkin_input::interrupt;
use nearkin_input::members::{self, Members};
use nearkin_input::raw::Origin;

/// Maximum size of all copies. A bomb must not fill the disk: what does not fit is missing.
const BYTES_MAX: u64 = 16 << 30;

/// The files of many documents that were read.
#[derive(Default)]
pub(super) struct MemberFiles(Mutex<Copies>);

#[derive(Default)]
struct Copies {
    file: Option<File>,
    end: u64,
    /// The offset and the length of each document, by its key.
    places: HashMap<Vec<u8>, (u64, usize)>,
    /// The state of each file when it was read, by its key.
    read: HashMap<Vec<u8>, FileState>,
    has_warned: bool,
}

impl MemberFiles {
    /// The bytes of a document. `open` opens a regular file by its key. The first call for a file
    /// reads all its documents, and so does one after the file has changed.
    pub(super) fn read(&self, key: &[u8], open: impl Fn(&[u8]) -> Option<File>) -> Option<Bytes> {
        let (container, stored) =
            members::containers(key).find_map(|file| Some((file, open(file)?)))?;
        let state = FileState::of_open(&stored).ok()?;
        // Other threads wait for the copy in place of making one each.
        let mut copies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if copies.read.get(container).is_none_or(|read| *read != state) {
            let bytes = state.bytes;
            copies.forget(container);
            copies.read.insert(container.to_vec(), state);
            if let Err(error) = copies.add(container, stored, bytes) {
                copies.warn(container, &error);
            }
        }
        let (at, bytes) = *copies.places.get(key)?;
        scratch::read_exact_at(copies.file.as_ref()?, at, bytes).ok().map(Into::into)
    }
}

impl Copies {
    /// Forgets what a file held before it changed.
    fn forget(&mut self, container: &[u8]) {
        if self.read.remove(container).is_some() {
            self.places.retain(|key, _| !members::containers(key).any(|of| of == container));
        }
    }

    /// Copies all documents of a file of so many bytes.
    fn add(&mut self, container: &[u8], stored: File, bytes: u64) -> io::Result<()> {
        let Some(mut members) = Members::of_file(stored, container) else { return Ok(()) };
        let most = self.end.saturating_add(members::unpacked_max(bytes)).min(BYTES_MAX);
        let mut file = match self.file.take() {
            Some(file) => file,
            None => scratch::file()?,
        };
        // Where a write failed before, it may have written a part.
        let copied = file.seek(SeekFrom::Start(self.end));
        let copied = copied.and_then(|_| self.copy(&mut file, &mut members, most));
        self.file = Some(file);
        copied
    }

    fn copy(&mut self, file: &mut File, members: &mut Members, most: u64) -> io::Result<()> {
        while let Some(raw) = members.next() {
            if interrupt::came() {
                return Ok(());
            }
            let (Ok(body), Origin::File { name, .. }) = (raw.body, raw.origin) else { continue };
            if self.end + body.len() as u64 > most {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            file.write_all(&body)?;
            self.places.insert(name, (self.end, body.len()));
            self.end += body.len() as u64;
        }
        Ok(())
    }

    /// Says once that documents are missing for want of space.
    fn warn(&mut self, container: &[u8], error: &io::Error) {
        if !std::mem::replace(&mut self.has_warned, true) {
            let name = output::visible(container);
            output::note(format!(
                "warning: the documents of {name} could not all be copied to a temporary file: \
                 {error}; they count as missing (TMPDIR names another folder for such files)"
            ));
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test writes a file as a user does")]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use nearkin_input::raw;

    fn open(key: &[u8]) -> Option<File> {
        let path = raw::path_of(key);
        fs::metadata(&path).is_ok_and(|data| data.is_file()).then(|| File::open(path).ok())?
    }

    fn mailbox(path: &Path, texts: &[&str]) {
        let mail = |text: &&str| {
            format!("From a@b Mon Jan 1 00:00:00 2024\nSubject: s\nMessage-ID: <a@b>\n\n{text}\n\n")
        };
        fs::write(path, texts.iter().map(mail).collect::<String>()).unwrap();
    }

    #[test]
    fn documents_of_several_files_are_read_again_also_after_a_change() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["one.mbox", "other.mbox"].map(|name| folder.path().join(name));
        mailbox(&paths[0], &["first", "second", "third"]);
        mailbox(&paths[1], &["fourth", "fifth"]);
        let files = MemberFiles::default();
        let read = |file: usize, number: usize| {
            let key = format!("{}#{number}", paths[file].display());
            files.read(key.as_bytes(), open).map(|body| String::from_utf8(body.to_vec()).unwrap())
        };
        let has =
            |found: Option<String>, text: &str| found.is_some_and(|found| found.contains(text));
        assert!(has(read(0, 2), "second") && has(read(1, 1), "fourth") && has(read(0, 3), "third"));
        assert!(read(0, 4).is_none() && read(1, 3).is_none());
        mailbox(&paths[0], &["changed altogether"]);
        assert!(has(read(0, 1), "changed") && read(0, 2).is_none() && has(read(1, 2), "fifth"));
    }

    #[test]
    fn what_finds_no_room_is_missing_and_not_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("one.mbox");
        mailbox(&path, &["first", "second"]);
        let full = Copies { end: BYTES_MAX - 60, ..Copies::default() };
        let files = MemberFiles(Mutex::new(full));
        let key = |number| format!("{}#{number}", path.display()).into_bytes();
        assert!(files.read(&key(1), open).is_some() && files.read(&key(2), open).is_none());
        let end = files.0.lock().unwrap().end;
        assert!(files.read(&key(2), open).is_none());
        let copies = files.0.lock().unwrap();
        assert!(copies.has_warned && copies.end == end);
    }
}
