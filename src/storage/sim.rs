//! A simulated disk, for tests: what a power cut or a kill leaves behind.
