//! The steps of `inner`, compiled for the processor that is found: the same code in fewer
//! instructions.
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "functions of a processor's features: see `simd`")
)]
#![cfg_attr(
    not(target_arch = "x86_64"),
    expect(unused_variables, reason = "a `Processor` has no value there, so nothing is called")
)]

use super::inner::Inner;
use super::large::Large;
use super::scratch::{Rows, Scratch};
use super::signature::Signature;
use super::simd::{Processor, kernel};

/// Defines methods that call the method of `Inner` with the same name, compiled for this processor.
macro_rules! compiled {
    ($($(#[$doc:meta])* $method:ident($($name:ident: $type:ty),*);)*) => {$(
        $(#[$doc])*
        pub(crate) fn $method(self, inner: &Inner, $($name: $type),*) -> Option<Signature> {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
            fn avx2(own: Processor, inner: &Inner, $($name: $type),*) -> Option<Signature> {
                inner.$method(Some(own), $($name),*)
            }
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2")]
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
            fn avx512(own: Processor, inner: &Inner, $($name: $type),*) -> Option<Signature> {
                inner.$method(Some(own), $($name),*)
            }
            kernel!(self, avx2(self, inner, $($name),*), avx512(self, inner, $($name),*))
        }
    )*};
}

impl Processor {
    compiled! {
        /// `Inner::text`, compiled for this processor: the same code in fewer instructions.
        text(text: &str, scratch: &mut Scratch);
        /// `Inner::large_text`, compiled for this processor.
        large_text(text: &str, large: Large, scratch: &mut Scratch);
        /// `Inner::sign`, compiled for this processor.
        sign(sums: &mut Vec<u64>, rows: &mut Rows);
    }
}
