//! Options that several commands have.

mod common;
pub mod conditions;
pub mod lines;
pub mod listen;
pub mod machine;
mod opening;
pub mod params;
pub mod rows;
mod stop;
pub mod table;
pub mod ttl;
pub mod values;
mod words;
