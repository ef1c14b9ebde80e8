//! One short script, stopped at every operation of its disk.
