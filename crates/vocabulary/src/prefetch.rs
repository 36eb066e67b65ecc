//! Looking ahead in large arrays.

/// Asks the processor to fetch the element into its cache, all lines of it. Never faults; out of range does nothing.
#[inline(always)]
pub fn prefetch<T>(array: &[T], index: usize) {
    const LINE: usize = 64;
    #[cfg(target_arch = "x86_64")]
    if index < array.len() {
        for offset in (0..size_of::<T>()).step_by(LINE) {
            // SAFETY: the address is inside the slice, and prefetching has no architectural effect.
            unsafe {
                use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
                _mm_prefetch::<_MM_HINT_T0>(array.as_ptr().add(index).cast::<i8>().add(offset));
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (array, index, LINE);
}
