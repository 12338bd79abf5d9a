//! Compiles hot functions a second time for processors with wide vectors.

/// Defines a function whose body is compiled for any processor and, on x86-64, once more for those with AVX2; which
/// one runs is decided at each call. What the body calls must be `#[inline(always)]` to gain from it.
macro_rules! vectorised {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $type:ty),* $(,)?) $body:block) => {
        $(#[$meta])*
        $vis fn $name($($arg: $type),*) {
            #[inline(always)]
            fn plain($($arg: $type),*) $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
                fn wide($($arg: $type),*) {
                    plain($($arg),*);
                }
                if $crate::simd::has_wide_vectors() {
                    #[expect(unsafe_code, reason = "the processor has the features that `wide` is compiled for")]
                    // SAFETY: `has_wide_vectors` has just detected every feature that `wide` enables.
                    return unsafe { wide($($arg),*) };
                }
            }
            plain($($arg),*);
        }
    };
}
pub(crate) use vectorised;

/// Whether the processor has all features that [`vectorised`] functions are compiled for.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_wide_vectors() -> bool {
    use std::arch::is_x86_feature_detected as has;
    has!("avx2") && has!("bmi1") && has!("bmi2") && has!("lzcnt") && has!("popcnt")
}
