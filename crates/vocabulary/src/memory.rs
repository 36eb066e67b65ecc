//! Large zeroed arrays.
//!
//! Random access to the maps dominates the cost of a simulated request, and a large part of that is address translation:
//! ask for huge pages where the system has them. Memory is zeroed by the system at first touch, so a device costs only what is used.

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

/// A zeroed vector of `len` elements, on huge pages if the system grants them. (`vec![T::default(); len]` would write all of it, but for plain numbers.)
pub fn zeroed<T: bytemuck::Zeroable>(len: usize) -> Vec<T> {
    let array = bytemuck::zeroed_vec(len);
    want_huge(&array);
    array
}

/// A copy of an array that `zeroed` made, on huge pages or not. Of pieces in which all is zero it has no memory either, until they are written.
pub fn copy_of<T: bytemuck::Zeroable + Copy + PartialEq>(array: &[T], is_huge: bool) -> Vec<T> {
    const PIECE: usize = 4096;
    let mut copy = bytemuck::zeroed_vec(array.len());
    if is_huge {
        want_huge(&copy);
    }
    for (to, from) in copy.chunks_mut(PIECE).zip(array.chunks(PIECE)) {
        // All of a piece is looked at, which the processor does many elements at a time.
        if from.iter().fold(false, |any, value| any | (*value != T::zeroed())) {
            to.copy_from_slice(from);
        }
    }
    copy
}

/// From now on, what is touched of the array lies on huge pages if the system grants them.
pub fn want_huge<T>(array: &[T]) {
    #[cfg(target_os = "linux")]
    advise_huge(array.as_ptr() as usize, std::mem::size_of_val(array));
    #[cfg(not(target_os = "linux"))]
    let _ = array;
}

/// Has all memory of a zeroed array in place, which is accessed at random from the start: else the system would have to find memory in the middle of
/// the run.
pub fn put_in_place(array: &mut [u32]) {
    const PAGE_WORDS: usize = 1024;
    // The compiler must not know that this writes what is there already.
    array.iter_mut().step_by(PAGE_WORDS).for_each(|word| *word = std::hint::black_box(0));
}

/// A vector of `len` copies of `value`, on huge pages if the system grants them. For records that are no plain zeroes.
pub fn filled<T: Clone>(value: T, len: usize) -> Vec<T> {
    let mut array = reserved(len);
    array.resize(len, value);
    array
}

/// An empty vector with space for `capacity` elements, on huge pages if the system grants them. Capacity costs address space, and
/// memory only when it is used; a vector that had to grow would be copied, and leave holes behind.
pub fn reserved<T>(capacity: usize) -> Vec<T> {
    let array = Vec::with_capacity(capacity);
    #[cfg(target_os = "linux")]
    advise_huge(array.as_ptr() as usize, std::mem::size_of::<T>() * capacity);
    array
}

#[cfg(target_os = "linux")]
fn advise_huge(address: usize, bytes: usize) {
    const HUGE: usize = 2 << 20;
    let first = address.next_multiple_of(HUGE);
    let end = (address + bytes) / HUGE * HUGE;
    if end > first {
        // SAFETY: advice on whole huge pages inside an allocation that we own; it changes no content, and failing is harmless.
        unsafe { libc::madvise(first as *mut libc::c_void, end - first, libc::MADV_HUGEPAGE) };
    }
}
