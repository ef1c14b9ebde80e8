//! Crash states: plans for what survives a power cut, and the disks that result from them.
//!
//! A *unit* is an operation that no sync has made durable. A plan gives the fate of each unit; for
//! each file, it also gives the length, and the content of bytes that were never synced. The plans
//! come in this order:
//!
//! - Plans that treat all units alike: nothing survives; everything; everything except names; only
//!   names, with files that are empty or full of zeros, garbage or stale bytes.
//!
//! - Several plans per unit: only this unit is lost (also with the length kept, and with garbage);
//!   only this unit survives (also with all names, or with all bytes); this unit and all before it
//!   survive (also with this unit torn; a torn rename leaves both names).
//!
//! - Random plans.
//!
//! If `count` is too small for all plans, those per unit are sampled.

use super::content::{FileContent, PAGE, Page, at, noise};
use super::random::Random;
use super::state::{DataOp, Id, Inode, Logged, NameOp, NodesByPath, SimNode, SimState, Standing};
use crate::format::bytes::wide;
use std::collections::BTreeMap;
use std::ops::Range;

const SECTOR: u64 = 512;

/// A disk at the moment of a power cut.
pub(super) struct Crash {
    disk: SimState,
    units: Vec<CrashUnit>,
}

/// The position of an operation in its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CrashUnit {
    Data { id: Id, index: usize },
    Name { index: usize },
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Fate {
    Lost,
    Kept,
    /// A rename: both names exist.
    Linked,
    /// A write: only these bytes survive.
    Torn(Vec<Range<u64>>),
}

/// The length after the crash, for a file with unsynced operations.
#[derive(Debug, Clone, Copy)]
enum Length {
    /// The length that the surviving operations produce.
    Natural,
    /// The length that the program saw.
    Live,
    /// Any length that the file had since the last sync, including those while a write was
    /// extending the file.
    Between,
}

/// The content of a range that was never synced and in which no write survived.
#[derive(Debug, Clone, Copy)]
enum Fill {
    Zeros,
    Noise,
    /// Bytes from elsewhere in the same file.
    Stale,
}

#[derive(Debug, Clone)]
pub(super) struct CrashPlan {
    fates: Vec<Fate>,
    length: Length,
    fill: Fill,
    seed: u64,
}

impl Crash {
    pub(super) fn new(disk: SimState) -> Self {
        let mut units = BTreeMap::new();
        for (index, logged) in disk.names_log.iter().enumerate() {
            units.insert(logged.seq, CrashUnit::Name { index });
        }
        for (&id, inode) in &disk.inodes {
            for (index, logged) in inode.log.iter().enumerate() {
                if logged.standing != Standing::Fixed {
                    units.insert(logged.seq, CrashUnit::Data { id, index });
                }
            }
        }
        Self { units: units.into_values().collect(), disk }
    }

    pub(super) fn unit_count(&self) -> usize {
        self.units.len()
    }

    pub(super) fn plans(&self, seed: u64, count: usize) -> Vec<CrashPlan> {
        let mut random = Random::new(seed);
        let mut plans = self.whole_plans();
        let mut each = self.unit_plans();
        plans.truncate(count);
        let left = count - plans.len();
        if each.len() > left {
            // A quarter of the remaining plans are random.
            let wanted = left - left / 4;
            while each.len() > wanted {
                each.remove(at(random.below(wide(each.len()))));
            }
        }
        plans.extend(each);
        while plans.len() < count {
            plans.push(self.random_plan(&mut random));
        }
        for plan in &mut plans {
            plan.seed = random.next();
        }
        plans
    }

    /// Plans that treat all units of a kind alike.
    fn whole_plans(&self) -> Vec<CrashPlan> {
        let names = |unit: CrashUnit| matches!(unit, CrashUnit::Name { .. });
        vec![
            self.plan(|_| Fate::Lost),
            self.plan(|_| Fate::Kept),
            self.plan(|index| kept_if(!names(self.units[index]))),
            self.plan(|index| kept_if(names(self.units[index]))),
            self.plan(|index| kept_if(names(self.units[index]))).with(Length::Live, Fill::Zeros),
            self.plan(|index| kept_if(names(self.units[index]))).with(Length::Live, Fill::Noise),
            self.plan(|index| kept_if(names(self.units[index]))).with(Length::Live, Fill::Stale),
        ]
    }

    /// Plans in which one unit differs from the others.
    fn unit_plans(&self) -> Vec<CrashPlan> {
        let mut plans = Vec::new();
        for (one, &unit) in self.units.iter().enumerate() {
            let is_name = |index: usize| matches!(self.units[index], CrashUnit::Name { .. });
            plans.push(self.plan(|index| kept_if(index != one)));
            plans.push(self.plan(|index| kept_if(index == one)));
            plans.push(self.plan(|index| kept_if(index <= one)));
            let others = !is_name(one);
            plans.push(self.plan(|index| kept_if(index == one || is_name(index) == others)));
            if !is_name(one) {
                let lost = self.plan(|index| kept_if(index != one));
                plans.push(lost.clone().with(Length::Live, Fill::Zeros));
                plans.push(lost.with(Length::Live, Fill::Noise));
            }
            let torn = match self.sectors(unit).as_slice() {
                [] => self.is_rename(unit).then_some(Fate::Linked),
                cuts => {
                    let start = cuts[0].start;
                    let end = cuts[cuts.len() / 2].start;
                    (end > start).then(|| Fate::Torn(std::iter::once(start..end).collect()))
                }
            };
            if let Some(torn) = torn {
                let fate = |index: usize| {
                    if index == one { torn.clone() } else { kept_if(index < one) }
                };
                plans.push(self.plan(fate));
                plans.push(self.plan(fate).with(Length::Live, Fill::Noise));
            }
        }
        plans
    }

    fn random_plan(&self, random: &mut Random) -> CrashPlan {
        let chances = [1, 4, 7, 8];
        let names = chances[at(random.below(4))];
        let data = chances[at(random.below(4))];
        let fates = self.units.iter().map(|&unit| match unit {
            CrashUnit::Name { .. } if !random.eighths(names) => Fate::Lost,
            CrashUnit::Data { .. } if !random.eighths(data) => Fate::Lost,
            _ if random.eighths(4) => Fate::Kept,
            _ if self.is_rename(unit) => Fate::Linked,
            _ => torn_at_random(&self.sectors(unit), random),
        });
        CrashPlan {
            fates: fates.collect(),
            length: [Length::Natural, Length::Live, Length::Between][at(random.below(3))],
            fill: [Fill::Zeros, Fill::Noise, Fill::Stale][at(random.below(3))],
            seed: 0,
        }
    }

    fn plan(&self, fate: impl Fn(usize) -> Fate) -> CrashPlan {
        CrashPlan {
            fates: (0..self.units.len()).map(fate).collect(),
            length: Length::Natural,
            fill: Fill::Zeros,
            seed: 0,
        }
    }

    fn is_rename(&self, unit: CrashUnit) -> bool {
        match unit {
            CrashUnit::Data { .. } => false,
            CrashUnit::Name { index } => {
                matches!(self.disk.names_log[index].op, NameOp::Rename { .. })
            }
        }
    }

    /// The sectors of a write. Empty for other operations.
    fn sectors(&self, unit: CrashUnit) -> Vec<Range<u64>> {
        let CrashUnit::Data { id, index } = unit else { return Vec::new() };
        let DataOp::Write(patch) = &self.disk.inode(id).log[index].op else { return Vec::new() };
        let range = patch.range();
        let numbers = range.start / SECTOR..range.end.div_ceil(SECTOR);
        let within = |number: u64| {
            (number * SECTOR).max(range.start)..((number + 1) * SECTOR).min(range.end)
        };
        numbers.map(within).collect()
    }

    /// The disk after a crash, according to this plan.
    pub(super) fn state(&self, plan: &CrashPlan) -> SimState {
        let mut files: BTreeMap<Id, Vec<&Fate>> = BTreeMap::new();
        let mut names = self.disk.durable.clone();
        for (unit, fate) in self.units.iter().zip(&plan.fates) {
            match *unit {
                CrashUnit::Data { id, .. } => files.entry(id).or_default().push(fate),
                CrashUnit::Name { index } => {
                    survive(&mut names, &self.disk.names_log[index].op, fate);
                }
            }
        }
        drop_unreachable(&mut names);
        let mut state = SimState::default();
        let mut ids: BTreeMap<Id, Id> = BTreeMap::new();
        for node in names.values_mut() {
            if let SimNode::File(id) = node {
                *id = *ids.entry(*id).or_insert_with(|| {
                    let fates = files.get(id).map_or(&[][..], Vec::as_slice);
                    let content = survivor(self.disk.inode(*id), fates, plan, *id);
                    state.add_inode(Inode {
                        live: content.clone(),
                        durable: content,
                        ..Inode::default()
                    })
                });
            }
        }
        state.live = names.clone();
        state.durable = names;
        state
    }
}

impl CrashPlan {
    fn with(mut self, length: Length, fill: Fill) -> Self {
        self.length = length;
        self.fill = fill;
        self
    }
}

fn kept_if(kept: bool) -> Fate {
    if kept { Fate::Kept } else { Fate::Lost }
}

/// Keeps random runs of sectors, or a prefix.
fn torn_at_random(sectors: &[Range<u64>], random: &mut Random) -> Fate {
    let (Some(first), Some(last)) = (sectors.first(), sectors.last()) else {
        return Fate::Kept;
    };
    let mut kept = random.eighths(4);
    let mut start = first.start;
    let mut runs = Vec::new();
    let step = random.below(wide(sectors.len())) + 1;
    let mut next = random.below(step) + 1;
    for (sector, number) in sectors.iter().zip(0..) {
        if number == next {
            if kept {
                runs.push(start..sector.start);
            }
            kept = !kept;
            start = sector.start;
            next += random.below(step) + 1;
        }
    }
    if kept {
        runs.push(start..last.end);
    }
    Fate::Torn(runs)
}

/// Applies the part of a name operation that survives.
fn survive(names: &mut NodesByPath, op: &NameOp, fate: &Fate) {
    if *fate == Fate::Lost {
        return;
    }
    match op {
        NameOp::Link { path, node } => {
            names.insert(path.clone(), *node);
        }
        NameOp::Unlink { path } => {
            names.remove(path);
        }
        NameOp::Rename { from, to, node } => {
            names.insert(to.clone(), *node);
            if *fate != Fate::Linked {
                names.remove(from);
            }
        }
    }
}

/// A folder without its name is lost, with everything in it.
fn drop_unreachable(names: &mut NodesByPath) {
    let folders = names.clone();
    names.retain(|path, _| {
        let mut above = path.ancestors().skip(1);
        above.all(|folder| super::state::node_in(&folders, folder) == Some(SimNode::Folder))
    });
}

/// The content of a file after the crash.
fn survivor(inode: &Inode, fates: &[&Fate], plan: &CrashPlan, id: Id) -> FileContent {
    if inode.log.is_empty() {
        return inode.durable.clone();
    }
    if fates.iter().all(|fate| **fate == Fate::Kept) {
        return inode.live.clone();
    }
    let ends = inode.log.iter().map(|logged| match &logged.op {
        DataOp::Write(patch) => patch.range().end,
        DataOp::Resize(bytes) => *bytes,
    });
    let synced = inode.durable.bytes();
    let peak = ends.fold(synced, u64::max);
    let page = |number: u64| -> Page {
        let salt = plan.seed ^ id.wrapping_mul(PAGE);
        match plan.fill {
            Fill::Zeros => None,
            Fill::Noise => noise(salt.wrapping_add(number)),
            Fill::Stale => inode.live.some_page(salt.wrapping_add(number) >> 1),
        }
    };
    // Start with the largest length that an operation in the log gave the file, then apply the
    // surviving operations.
    let mut content = inode.durable.clone();
    content.resize(peak);
    content.fill(synced..peak, page);
    let mut length = synced;
    let mut fates = fates.iter();
    for logged in &inode.log {
        let fixed = logged.standing == Standing::Fixed;
        let fate = if fixed { &Fate::Kept } else { *fates.next().expect("one fate each") };
        if fixed {
            // A synced range contains no garbage. If there is a gap between the end of the file and
            // this range, the gap contains zeros.
            let start = match &logged.op {
                DataOp::Write(patch) => patch.range().start,
                DataOp::Resize(bytes) => *bytes,
            };
            content.fill(length.min(start)..start, |_| None);
        }
        length = redo(&mut content, logged, fate, length, peak, &page);
    }
    let live = inode.live.bytes();
    content.resize(match plan.length {
        Length::Natural => length,
        Length::Live => live,
        Length::Between => some_length(inode, &mut Random::new(plan.seed ^ id)),
    });
    content
}

/// A length that the file has had since its last sync. A write may extend the file partially;
/// setting the length is atomic.
fn some_length(inode: &Inode, random: &mut Random) -> u64 {
    let mut length = inode.durable.bytes();
    let mut steps: Vec<_> = std::iter::once(length..length + 1).collect();
    for logged in &inode.log {
        let before = length;
        length = match &logged.op {
            DataOp::Write(patch) => before.max(patch.range().end),
            DataOp::Resize(bytes) => *bytes,
        };
        let is_growth = matches!(logged.op, DataOp::Write(_)) && length > before;
        if logged.standing == Standing::Fixed {
            steps.clear();
        }
        let whole = logged.standing == Standing::Fixed || !is_growth;
        steps.push(if whole { length } else { before }..length + 1);
    }
    let step = &steps[at(random.below(wide(steps.len())))];
    step.start + random.below(step.end - step.start)
}

/// Applies the part of a data operation that survives, and returns the length after it.
fn redo(
    content: &mut FileContent,
    logged: &Logged<DataOp>,
    fate: &Fate,
    length: u64,
    peak: u64,
    page: &impl Fn(u64) -> Page,
) -> u64 {
    match (&logged.op, fate) {
        (_, Fate::Lost) => length,
        (DataOp::Resize(bytes), _) => {
            content.fill(*bytes..peak, page);
            *bytes
        }
        (DataOp::Write(patch), Fate::Torn(runs)) => {
            for run in runs {
                content.apply(patch, run.clone());
            }
            runs.last().map_or(length, |run| length.max(run.end))
        }
        (DataOp::Write(patch), _) => {
            content.apply(patch, patch.range());
            length.max(patch.range().end)
        }
    }
}
