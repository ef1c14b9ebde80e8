//! Copies a segment under the header of another index. Only the header depends on the index.
//!
//! The header is in the first block, so the checksums and the tail change with it.

use super::blocks::BlockFile;
use super::writer::{Output, Stream, header};
use super::{Segment, Shape};
use crate::format::catalog::SegmentEntry;
use crate::format::header::{FileHeader, FileKind};
use crate::storage::Storage;
use crate::{Error, Result};
use std::path::Path;
use std::sync::Arc;

/// Size of a read in bytes.
const CHUNK_BYTES: u64 = small!(rebind::CHUNK_BYTES, 1 << 20);

impl Segment {
    /// Writes and publishes a copy of this segment that belongs to the index of `shape`, as file
    /// `number` at `path`. Verifies every block as it is read.
    pub(crate) fn rebind(
        &self,
        storage: &Arc<dyn Storage>,
        path: &Path,
        number: u64,
        shape: &Shape,
        write_bytes: usize,
    ) -> Result<SegmentEntry> {
        let same = Shape { uuid: shape.uuid, ..self.shape };
        assert!(same == *shape, "bands, rows and seed of keys are those of the parameters");
        let mut output = Output::create(storage, path, write_bytes)?;
        let header = header(FileKind::Segment, number, shape);
        let body_bytes = copy_body(&self.blocks, &header, &mut output)?;
        let (sections, properties) = (&self.layout.sections, self.properties.encode());
        let listed = output.publish(&header, body_bytes, sections, properties)?;
        Ok(SegmentEntry::new(listed, self.docs(), self.time_range()))
    }
}

/// Writes the new header and the old body. Returns the offset of the body's end.
fn copy_body(blocks: &BlockFile, header: &FileHeader, output: &mut Output) -> Result<u64> {
    let body_bytes = blocks.footer.body_bytes;
    let mut stream = Stream::at(0);
    stream.push(&header.encode(), output)?;
    while stream.position() < body_bytes {
        let count = CHUNK_BYTES.min(body_bytes - stream.position());
        let count = usize::try_from(count).map_err(|_| Error::invalid("chunk is too long"))?;
        stream.push(&blocks.read(stream.position(), count)?, output)?;
    }
    assert!(stream.position() == body_bytes, "the body is copied whole");
    stream.flush(output)?;
    Ok(body_bytes)
}
