//! `nearkin list` and `nearkin get`: what is stored.
//!
//! This module prints. The library finds and sorts the keys.

use nearkin::Document;
use serde::Serialize;

use crate::args::{Get, List};
use nearkin_kit::ended::Ended;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::opened;
use nearkin_kit::output::table::{Align, Table};
use nearkin_kit::output::{self, JsonBytes, Output, counted, grouped, visible};
use nearkin_kit::time;

#[derive(Serialize)]
struct KeyObject<'a> {
    key: JsonBytes<'a>,
}

#[derive(Serialize)]
struct StoredObject<'a> {
    key: JsonBytes<'a>,
    /// Time of insertion or last replacement, in milliseconds UTC.
    time: u64,
    shingle_count: u32,
    payload: JsonBytes<'a>,
}

pub(crate) fn list(args: &List, output: &mut Output) -> Result<Ended, Failure> {
    let index = opened::to_read(&args.index)?;
    opened::check_of_documents(index.params(), "list")?;
    let prefix = args.prefix.as_deref().unwrap_or_default().as_encoded_bytes();
    let after = args.after.as_deref().map(std::ffi::OsStr::as_encoded_bytes);
    let mut keys = index.keys_with_prefix(prefix)?.peekable();
    let is_before = |key: &[u8]| after.is_some_and(|after| key <= after);
    while keys.next_if(|key| key.as_ref().is_ok_and(|key| is_before(key.as_bytes()))).is_some() {}
    let mut broken = 0;
    for key in keys.take(args.limit.unwrap_or(usize::MAX)) {
        let key = key?;
        let key = key.as_bytes();
        if output.json() {
            output.object(&KeyObject { key: JsonBytes(key) })?;
        } else if output.width().is_some() {
            output.line(visible(key))?;
        } else {
            // Read again by `remove --from`, so the bytes stay as they are.
            broken += u64::from(key.contains(&b'\n'));
            output.bytes(key)?;
            output.bytes(b"\n")?;
        }
    }
    output.flush()?;
    if broken > 0 {
        let broken = counted(broken, "key");
        output::note(format!("{broken} printed on several lines: --json prints one per line"));
    }
    Ok(Ended::Well)
}

pub(crate) fn get(args: &Get, output: &mut Output) -> Result<Ended, Failure> {
    let index = opened::to_read(&args.index)?;
    opened::check_of_documents(index.params(), "get")?;
    let mut table = (!output.json() && !args.payload).then(|| {
        let (right, left) = (Align::Right, Align::Left);
        Table::new([("time", left), ("shingles", right), ("key", left), ("payload", left)])
    });
    let mut missing = Vec::new();
    for key in &args.keys {
        let Some(document) = index.get(key.as_encoded_bytes())? else {
            missing.push(visible(key.as_encoded_bytes()));
            continue;
        };
        let Document { key, payload, time, signature, .. } = &document;
        let shingle_count = signature.shingle_count();
        if args.payload {
            output.bytes(payload)?;
        } else if let Some(table) = &mut table {
            let count = grouped(u64::from(shingle_count));
            table.row([time::day(*time), count, visible(key), visible(payload)], output)?;
        } else {
            let (key, payload) = (JsonBytes(key), JsonBytes(payload));
            output.object(&StoredObject { key, time: *time, shingle_count, payload })?;
        }
    }
    if let Some(table) = table {
        table.finish(output)?;
    }
    output.flush()?;
    for key in &missing {
        output::note(format!("{key}: no document has this key"));
    }
    Ok(if missing.is_empty() { Ended::Well } else { Ended::Amiss })
}
