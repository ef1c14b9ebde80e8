//! On a terminal, and off it: colours, widths.

use super::*;
