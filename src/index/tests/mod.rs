//! Unit tests of the engine that use its internals: the model, crash campaigns, damage, schedules
//! of threads, and one module per feature.

#[cfg(test)]
mod abandoned;
#[cfg(test)]
mod admit;
#[cfg(test)]
mod admit_by_force;
#[cfg(test)]
mod admit_filtered;
#[cfg(test)]
mod admit_verified;
#[cfg(test)]
mod adopt;
#[cfg(test)]
mod comparisons;
#[cfg(test)]
mod containment;
#[cfg(test)]
mod copies;
#[cfg(test)]
mod covered;
#[cfg(test)]
mod crash_table;
#[cfg(test)]
mod crowds;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod events;
#[cfg(test)]
mod exact;
#[cfg(test)]
mod expiry;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod group;
#[cfg(test)]
mod identity;
#[cfg(test)]
mod idle;
#[cfg(test)]
mod imports;
#[cfg(test)]
mod life;
#[cfg(test)]
mod manifests;
mod model;
#[cfg(test)]
mod open;
#[cfg(test)]
mod payloads;
#[cfg(all(test, not(shuttle)))]
mod pool;
#[cfg(test)]
mod recovery;
#[cfg(test)]
mod salvage;
#[cfg(all(shuttle, test))]
mod schedules;
#[cfg(test)]
mod sharded;
#[cfg(test)]
mod shared;
#[cfg(test)]
mod temporary;
#[cfg(test)]
mod tiny;
#[cfg(test)]
mod whole;

pub(crate) use model::fuzz;
