//! How much the campaigns do: a part by default, so that `cargo test` is quick, and all of it with
//! `NEARKIN_CAMPAIGNS=long`, which `tools/night` sets.

fn is_long() -> bool {
    std::env::var("NEARKIN_CAMPAIGNS").is_ok_and(|length| length == "long")
}

/// The amount of work: `short` by default.
pub(crate) fn amount(short: u64, long: u64) -> u64 {
    if is_long() { long } else { short }
}

/// The distance from one case to the next: `short` by default, 1 in a long campaign.
#[cfg(test)]
pub(crate) fn step(short: usize) -> usize {
    if is_long() { 1 } else { short }
}
