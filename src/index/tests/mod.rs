//! Tests that need to look inside: the model, damage, the fixture, group commit, opening.

#[cfg(test)]
mod damage;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod group;
mod model;
#[cfg(test)]
mod open;

pub(crate) use model::fuzz;
