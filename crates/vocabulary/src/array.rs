//! Large arrays whose copies share what none has written.
//!
//! To prepare a drive can take longer than a run on it, and the maps of a large drive are most of what a copy of it costs. The arrays of a drive that is
//! [prepared for many runs](shared) lie in files that only the memory has; copies map them privately, so that the system copies the pages that a run
//! writes, and no others. Where that is not possible, and for small arrays, a copy is one.

use crate::memory;
use bytemuck::Zeroable;
use std::cell::Cell;
use std::fmt::{self, Debug, Formatter};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

thread_local! {
    static WAY: Cell<Way> = const { Cell::new(Way::Apart) };
}

/// How arrays are made on this thread.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// For one owner. Copies of shared ones share.
    Apart,
    /// To be copied on write.
    Shared,
    /// As `Apart`; copies of shared ones are copies, too.
    Copied,
}

/// Makes something whose large arrays can be shared. It must not change any more once it has been cloned: the process would be killed.
pub fn shared<R>(make: impl FnOnce() -> R) -> R {
    on(Way::Shared, make)
}

/// Makes a clone that shares nothing: for long work, which would copy most of it anyway, and on memory that is faster to access.
pub fn copied<R>(make: impl FnOnce() -> R) -> R {
    on(Way::Copied, make)
}

fn on<R>(way: Way, make: impl FnOnce() -> R) -> R {
    struct Before(Way);
    impl Drop for Before {
        fn drop(&mut self) {
            WAY.set(self.0);
        }
    }
    let _before = Before(WAY.replace(way));
    make()
}

/// A zeroed array of fixed length. See the module.
pub struct Array<T> {
    start: NonNull<T>,
    len: usize,
    home: Home,
}

/// Where its elements are.
enum Home {
    /// In a box.
    Heap,
    /// In a file, which others map.
    #[cfg(target_os = "linux")]
    File(std::os::fd::OwnedFd),
    /// In such a file, but for the pages that were written since.
    #[cfg(target_os = "linux")]
    OnFile,
}

// SAFETY: it owns its elements, as a vector does; a file that several map is written by none of them.
unsafe impl<T: Send> Send for Array<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Array<T> {}

impl<T: Zeroable + Copy + PartialEq> Array<T> {
    /// Of `len` elements, which cost memory as they are used; on huge pages, if the system grants them.
    pub fn zeroed(len: usize) -> Self {
        let array = Self::zeroed_on_small_pages(len);
        memory::want_huge(&array);
        array
    }

    /// The same, on huge pages only when that is wanted (`memory::want_huge`).
    pub fn zeroed_on_small_pages(len: usize) -> Self {
        #[cfg(target_os = "linux")]
        if WAY.get() == Way::Shared
            && let Some(array) = Self::in_file(len)
        {
            return array;
        }
        bytemuck::zeroed_vec(len).into()
    }

    /// A copy on huge pages or not, where it is one.
    pub fn copy(&self, is_huge: bool) -> Self {
        #[cfg(target_os = "linux")]
        if let Home::File(file) = &self.home
            && WAY.get() != Way::Copied
            && let Some(array) = self.on_file(file)
        {
            return array;
        }
        memory::copy_of(self, is_huge).into()
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use super::{Array, Home};
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    use std::ptr::NonNull;

    /// Smaller arrays are not worth a file.
    const LEAST_BYTES: usize = 1 << 20;

    impl<T> Array<T> {
        pub(super) fn bytes(&self) -> usize {
            self.len * size_of::<T>()
        }

        /// Zeroed, in a file of its own; none if it is small or the system has no such files.
        pub(super) fn in_file(len: usize) -> Option<Self> {
            let bytes = len * size_of::<T>();
            if bytes < LEAST_BYTES {
                return None;
            }
            // SAFETY: the name is a C string, and the descriptor is nobody else's.
            let file = unsafe {
                let descriptor = libc::memfd_create(c"flashraid".as_ptr(), libc::MFD_CLOEXEC);
                (descriptor >= 0).then(|| OwnedFd::from_raw_fd(descriptor))?
            };
            // SAFETY: the descriptor is open.
            let has_length = unsafe { libc::ftruncate(file.as_raw_fd(), bytes as libc::off_t) } == 0;
            let start = has_length.then(|| map(&file, bytes, libc::MAP_SHARED))??;
            Some(Self { start: start.cast(), len, home: Home::File(file) })
        }

        /// What the file of this array has, of which nothing is written from now on.
        pub(super) fn on_file(&self, file: &OwnedFd) -> Option<Self> {
            // SAFETY: it is the whole mapping of this array.
            if unsafe { libc::mprotect(self.start.as_ptr().cast(), self.bytes(), libc::PROT_READ) } != 0 {
                return None;
            }
            let start = map(file, self.bytes(), libc::MAP_PRIVATE)?;
            Some(Self { start: start.cast(), len: self.len, home: Home::OnFile })
        }
    }

    fn map(file: &OwnedFd, bytes: usize, flags: libc::c_int) -> Option<NonNull<libc::c_void>> {
        // SAFETY: a new mapping of a file that is as long.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, file.as_raw_fd(), 0) };
        (start != libc::MAP_FAILED).then(|| NonNull::new(start))?
    }
}

impl<T: Zeroable + Copy + PartialEq> Clone for Array<T> {
    fn clone(&self) -> Self {
        self.copy(true)
    }
}

impl<T> From<Vec<T>> for Array<T> {
    fn from(vector: Vec<T>) -> Self {
        let elements = Box::leak(vector.into_boxed_slice());
        Self { len: elements.len(), start: NonNull::from(elements).cast(), home: Home::Heap }
    }
}

impl<T> Drop for Array<T> {
    fn drop(&mut self) {
        match self.home {
            // SAFETY: it is the box that `From` has leaked, and nobody has dropped it.
            Home::Heap => drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(self.start.as_ptr(), self.len)) }),
            // SAFETY: it is the whole mapping of this array, whose elements need no drop.
            #[cfg(target_os = "linux")]
            Home::File(_) | Home::OnFile => _ = unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes()) },
        }
    }
}

impl<T> Deref for Array<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: so many elements lie there, and all are initialized: those of a file as zeroes, which `zeroed` allows.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for Array<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and nobody else has them.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T: Debug> Debug for Array<T> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self[..].fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEN: usize = 1 << 20;

    fn numbered(len: usize) -> Array<u32> {
        let mut array = Array::zeroed(len);
        array.iter_mut().zip(0..).for_each(|(element, number)| *element = number);
        array
    }

    /// What one writes nobody else sees, shared or not, and it is all there.
    #[test]
    fn copies_are_their_own() {
        for origin in [shared(|| numbered(LEN)), numbered(LEN), shared(|| numbered(3))] {
            let mut copies = [origin.copy(true), copied(|| origin.copy(false)), origin.copy(false)];
            let further = copies[2].copy(true);
            for (number, copy) in copies.iter_mut().enumerate() {
                assert!(copy[..] == origin[..]);
                copy[1] = 100 + number as u32;
            }
            assert_eq!(copies.each_ref().map(|copy| copy[1]), [100, 101, 102]);
            assert_eq!((origin[1], further[1], copies[0][2]), (1, 1, 2));
            drop(origin);
            assert_eq!(copies[2][2], 2);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn only_what_is_large_and_to_be_shared_is_in_a_file() {
        let is_in_file = |array: &Array<u32>| matches!(array.home, Home::File(_));
        let of = shared(|| [numbered(LEN), numbered(3)]);
        assert_eq!(of.each_ref().map(is_in_file), [true, false]);
        assert!(!is_in_file(&numbered(LEN)) && matches!(of[0].copy(true).home, Home::OnFile));
        assert!(matches!(copied(|| of[0].copy(true)).home, Home::Heap));
        // A copy of a copy has what that has written.
        assert!(matches!(of[0].copy(true).copy(true).home, Home::Heap));
    }
}
