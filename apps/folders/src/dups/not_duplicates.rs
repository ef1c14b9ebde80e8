//! `--not-duplicates`: groups that a person has looked at, and that are not listed again.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use rayon::prelude::*;

use super::exact;
use super::files::ExaminedFiles;
use super::groups::Groups;
use nearkin_kit::failure::Failure;
use nearkin_kit::interrupt;
use nearkin_kit::output::{self, counted};
use nearkin_kit::plan::CONTENT;

/// The groups of the file, by the hashes of their contents.
pub(super) struct Refused(Vec<HashSet<u128>>);

impl Refused {
    /// Reads groups as a plan has them: a blank line ends each.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let text = fs::read_to_string(path).map_err(|error| Failure::reading(path, &error))?;
        let (mut groups, mut group) = (Vec::new(), HashSet::new());
        for line in text.lines().map(str::trim).chain([""]) {
            if line.is_empty() {
                groups.push(std::mem::take(&mut group));
            }
            group.extend(sum(line));
        }
        groups.retain(|group| !group.is_empty());
        if groups.is_empty() && !text.trim().is_empty() {
            let message = format!("{} has no group of a plan", path.display());
            return Err(Failure::new(message, "copy groups there that `dups --plan FILE` wrote"));
        }
        Ok(Self(groups))
    }

    /// Takes these groups, and near-copies of these pairs, out of what was found.
    pub(super) fn leave_out(
        &self,
        groups: &mut Groups,
        files: &ExaminedFiles,
    ) -> Result<(), Failure> {
        let before = groups.exact.len() + groups.near.len();
        let is_same = |sum: u128| self.0.iter().any(|refused| refused.iter().eq([&sum]));
        groups.exact.retain(|group| !group.kept(files).sum.is_some_and(is_same));
        let is_pair =
            |one, other| self.0.iter().any(|all| all.contains(&one) && all.contains(&other));
        groups.near.par_iter_mut().for_each(|group| {
            let sum = |at: usize| {
                let file = &files.all[at];
                file.sum.or_else(|| exact::hash(file, u64::MAX, |_| ()).ok())
            };
            let first = group.files[0].0;
            let Some(kept) = sum(first) else { return };
            let is_refused = |at| at != first && sum(at).is_some_and(|sum| is_pair(kept, sum));
            group.files.retain(|(at, _)| !is_refused(*at));
        });
        interrupt::check()?;
        groups.near.retain(|group| group.files.len() > 1);
        for group in &mut groups.near {
            let members: HashSet<usize> = group.files.iter().map(|(at, _)| *at).collect();
            group.below.retain(|one| members.contains(&one.of));
        }
        let left = (before - groups.exact.len() - groups.near.len()) as u64;
        let left = counted(left, "group");
        output::note(format!("{left} not listed, as --not-duplicates says"));
        Ok(())
    }
}

/// The hash in a line of a plan: its last field, or that of exact copies.
fn sum(line: &str) -> Option<u128> {
    let digits = line.strip_prefix(CONTENT).or_else(|| line.rsplit('\t').next())?;
    let is_sum = digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_sum.then(|| u128::from_str_radix(digits, 16).ok()).flatten()
}
