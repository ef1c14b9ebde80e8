//! What the simulated disk promises, one test each.
