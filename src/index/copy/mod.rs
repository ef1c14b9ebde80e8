//! Copies of an index: a sound one of all of it, made while it is in use.

mod backup;
