//! Decodes the examples printed in `docs/FILE_FORMAT.md` and encodes them again.
