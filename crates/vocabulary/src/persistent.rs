//! What a drive keeps when it is switched off: how each part of it is written to a file, and put back.
//!
//! A part is restored in place, into one that was built of the same configuration and is new. So all that follows from the configuration, and all that
//! belongs to work in flight, to the time and to statistics, is made anew; and large arrays stay where `memory` has placed them. [`persistent!`](crate::persistent!) makes
//! every field of a type say which of the two it is: a field that is added and named in neither list does not compile.
//!
//! Numbers are written in little-endian order, at full width. An array is cut into pieces; of a piece in which all is zero only that is written, and memory
//! that was never touched is not touched.

use crate::{Health, LocalPage, Lpn, MemberId, MemberPage, Ppn, StripeId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::hash::Hash;
use std::io::{self, Error, ErrorKind, Read, Write};

/// Elements of a piece of an array.
const PIECE: usize = 4096;

/// See the module.
pub trait Persistent {
    /// Writes it.
    fn save(&self, to: &mut dyn Write) -> io::Result<()>;

    /// Puts back what was saved of one that was built of the same configuration. After an error it is of no use.
    fn restore(&mut self, from: &mut dyn Read) -> io::Result<()>;

    /// Writes neighbors, one after the other.
    fn save_all(items: &[Self], to: &mut Vec<u8>) -> io::Result<()>
    where
        Self: Sized,
    {
        items.iter().try_for_each(|item| item.save(to))
    }

    /// Puts them back.
    fn restore_all(items: &mut [Self], from: &mut dyn Read) -> io::Result<()>
    where
        Self: Sized,
    {
        items.iter_mut().try_for_each(|item| item.restore(from))
    }
}

/// What was saved is none of what there can be.
fn impossible() -> Error {
    Error::new(ErrorKind::InvalidData, "it does not fit the device")
}

/// Implements [`Persistent`] for a type with named fields. Each of its fields is in one list: `keeps` are saved, `arrays` are saved and have as many
/// elements in every device of one configuration, `parts` are saved and exist or not by the configuration (`Option<Box<_>>`), `anew` are not saved.
#[macro_export]
macro_rules! persistent {
    (
        $type:ty $(where [$($parameters:tt)*])? {
            $(keeps [$($kept:ident),* $(,)?],)?
            $(arrays [$($array:ident),* $(,)?],)?
            $(parts [$($part:ident),* $(,)?],)?
            $(anew [$($(#[$attribute:meta])* $other:ident),* $(,)?],)?
        }
    ) => {
        impl $(<$($parameters)*>)? $crate::Persistent for $type {
            #[allow(unused_variables)]
            fn save(&self, to: &mut dyn ::std::io::Write) -> ::std::io::Result<()> {
                let Self { $($($kept,)*)? $($($array,)*)? $($($part,)*)? $($($(#[$attribute])* $other: _,)*)? } = self;
                $($($crate::Persistent::save($kept, to)?;)*)?
                $($($crate::Persistent::save(&$array[..], to)?;)*)?
                $($($part.iter().try_for_each(|part| $crate::Persistent::save(&**part, to))?;)*)?
                Ok(())
            }

            #[allow(unused_variables)]
            fn restore(&mut self, from: &mut dyn ::std::io::Read) -> ::std::io::Result<()> {
                let Self { $($($kept,)*)? $($($array,)*)? $($($part,)*)? $($($(#[$attribute])* $other: _,)*)? } = self;
                $($($crate::Persistent::restore($kept, from)?;)*)?
                $($($crate::Persistent::restore(&mut $array[..], from)?;)*)?
                $($($part.iter_mut().try_for_each(|part| $crate::Persistent::restore(&mut **part, from))?;)*)?
                Ok(())
            }
        }
    };
}

/// Implements [`Persistent`] for an enumeration of words, which are numbered in the order given.
#[macro_export]
macro_rules! persistent_words {
    ($type:ident { $($word:ident),+ $(,)? }) => {
        impl $crate::Persistent for $type {
            fn save(&self, to: &mut dyn ::std::io::Write) -> ::std::io::Result<()> {
                let words = [$(Self::$word),+];
                // Exhaustive, so that a new word is not forgotten here.
                match self {
                    $(Self::$word)|+ => {}
                }
                let number = words.iter().position(|word| word == self).unwrap_or_default();
                $crate::Persistent::save(&(number as u8), to)
            }

            fn restore(&mut self, from: &mut dyn ::std::io::Read) -> ::std::io::Result<()> {
                let mut number = 0u8;
                $crate::Persistent::restore(&mut number, from)?;
                let words = [$(Self::$word),+];
                *self = words.into_iter().nth(number.into()).ok_or(::std::io::ErrorKind::InvalidData)?;
                Ok(())
            }
        }
    };
}

macro_rules! numbers {
    ($($number:ty),+) => {$(
        impl Persistent for $number {
            #[inline]
            fn save(&self, to: &mut dyn Write) -> io::Result<()> {
                to.write_all(&self.to_le_bytes())
            }

            #[inline]
            fn restore(&mut self, from: &mut dyn Read) -> io::Result<()> {
                let mut bytes = [0; size_of::<Self>()];
                from.read_exact(&mut bytes)?;
                *self = Self::from_le_bytes(bytes);
                Ok(())
            }

            fn save_all(items: &[Self], to: &mut Vec<u8>) -> io::Result<()> {
                to.extend(items.iter().flat_map(|item| item.to_le_bytes()));
                Ok(())
            }

            fn restore_all(items: &mut [Self], from: &mut dyn Read) -> io::Result<()> {
                const BYTES: usize = size_of::<$number>();
                let mut bytes = [0; PIECE * BYTES];
                for piece in items.chunks_mut(PIECE) {
                    let bytes = &mut bytes[..piece.len() * BYTES];
                    from.read_exact(bytes)?;
                    for (item, bytes) in piece.iter_mut().zip(bytes.as_chunks::<BYTES>().0) {
                        *item = Self::from_le_bytes(*bytes);
                    }
                }
                Ok(())
            }
        }
    )+};
}
numbers!(u8, u16, u32, u64, u128, i64);

impl Persistent for usize {
    fn save(&self, to: &mut dyn Write) -> io::Result<()> {
        (*self as u64).save(to)
    }

    fn restore(&mut self, from: &mut dyn Read) -> io::Result<()> {
        let mut number = 0u64;
        number.restore(from)?;
        *self = usize::try_from(number).map_err(|_| impossible())?;
        Ok(())
    }
}

impl Persistent for bool {
    fn save(&self, to: &mut dyn Write) -> io::Result<()> {
        u8::from(*self).save(to)
    }

    fn restore(&mut self, from: &mut dyn Read) -> io::Result<()> {
        let mut number = 0u8;
        number.restore(from)?;
        *self = number != 0;
        Ok(())
    }
}

macro_rules! ids {
    ($($id:ty),+) => {$(
        impl Persistent for $id {
            fn save(&self, to: &mut dyn Write) -> io::Result<()> {
                self.0.save(to)
            }

            fn restore(&mut self, from: &mut dyn Read) -> io::Result<()> {
                self.0.restore(from)
            }
        }
    )+};
}
ids!(Lpn, Ppn, StripeId, MemberId, LocalPage);
persistent!(MemberPage { keeps [member, page], });
persistent_words!(Health { ReadWrite, ReadOnly, Disabled });

/// An array: as many elements are expected as there are.
impl<T: Persistent> Persistent for [T] {
    fn save(&self, to: &mut dyn Write) -> io::Result<()> {
        self.len().save(to)?;
        let mut bytes = Vec::new();
        for piece in self.chunks(PIECE) {
            bytes.clear();
            T::save_all(piece, &mut bytes)?;
            let is_zero = is_zero(&bytes);
            is_zero.save(to)?;
            if !is_zero {
                to.write_all(&bytes)?;
            }
        }
        Ok(())
    }

    fn restore(&mut self, from: &mut dyn Read) -> io::Result<()> {
        let mut len = 0usize;
        len.restore(from)?;
        if len != self.len() {
            return Err(impossible());
        }
        let mut bytes = Vec::new();
        for piece in self.chunks_mut(PIECE) {
            let mut was_zero = false;
            was_zero.restore(from)?;
            if !was_zero {
                T::restore_all(piece, from)?;
                continue;
            }
            bytes.clear();
            T::save_all(piece, &mut bytes)?;
            if !is_zero(&bytes) {
                T::restore_all(piece, &mut io::repeat(0))?;
            }
        }
        Ok(())
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().fold(0, |all, byte| all | byte) == 0
}

impl<T: Persistent, const N: usize> Persistent for [T; N] {
    fn save(&self, to: &mut dyn Write) -> io::Result<()> {
        self.iter().try_for_each(|item| item.save(to))
    }

    fn restore(&mut self, from: &mut dyn Read) -> io::Result<()> {
        self.iter_mut().try_for_each(|item| item.restore(from))
    }
}

macro_rules! tuples {
    ($(($($name:ident $index:tt),+)),+) => {$(
        impl<$($name: Persistent),+> Persistent for ($($name,)+) {
            fn save(&self, to: &mut dyn Write) -> io::Result<()> {
                $(self.$index.save(to)?;)+
                Ok(())
            }

            fn restore(&mut self, from: &mut dyn Read) -> io::Result<()> {
                $(self.$index.restore(from)?;)+
                Ok(())
            }
        }
    )+};
}
tuples!((A 0, B 1), (A 0, B 1, C 2));

impl<T: Persistent> Persistent for Reverse<T> {
    fn save(&self, to: &mut dyn Write) -> io::Result<()> {
        self.0.save(to)
    }

    fn restore(&mut self, from: &mut dyn Read) -> io::Result<()> {
        self.0.restore(from)
    }
}

impl<T: Persistent + Default> Persistent for Option<T> {
    fn save(&self, to: &mut dyn Write) -> io::Result<()> {
        self.is_some().save(to)?;
        self.iter().try_for_each(|value| value.save(to))
    }

    fn restore(&mut self, from: &mut dyn Read) -> io::Result<()> {
        let mut is_some = false;
        is_some.restore(from)?;
        *self = if is_some { Some(restored(from)?) } else { None };
        Ok(())
    }
}

/// One more of what was saved.
fn restored<T: Persistent + Default>(from: &mut dyn Read) -> io::Result<T> {
    let mut value = T::default();
    value.restore(from)?;
    Ok(value)
}

fn save_list<'a, T: Persistent + 'a>(items: impl ExactSizeIterator<Item = &'a T>, to: &mut dyn Write) -> io::Result<()> {
    items.len().save(to)?;
    items.into_iter().try_for_each(|item| item.save(to))
}

fn restore_list<T: Persistent + Default>(from: &mut dyn Read, mut add: impl FnMut(T)) -> io::Result<()> {
    let mut len = 0usize;
    len.restore(from)?;
    (0..len).try_for_each(|_| restored(from).map(&mut add))
}

/// Lists, which grow and shrink. What has no order of its own is saved in ascending order, so that equal ones are saved as equal bytes.
macro_rules! lists {
    ($($list:ty where [$($parameters:tt)*] of $item:ty: |$this:ident| $items:expr, $add:expr;)+) => {$(
        impl<$($parameters)*> Persistent for $list {
            fn save(&self, to: &mut dyn Write) -> io::Result<()> {
                let $this = self;
                save_list($items, to)
            }

            fn restore(&mut self, from: &mut dyn Read) -> io::Result<()> {
                self.clear();
                restore_list(from, |item: $item| $add(self, item))
            }
        }
    )+};
}
lists! {
    Vec<T> where [T: Persistent + Default] of T: |list| list.iter(), Self::push;
    VecDeque<T> where [T: Persistent + Default] of T: |list| list.iter(), Self::push_back;
    BinaryHeap<T> where [T: Persistent + Default + Ord] of T: |heap| sorted(heap.iter()).into_iter(), Self::push;
    BTreeSet<T> where [T: Persistent + Default + Ord] of T: |set| set.iter(), |set: &mut Self, item| { set.insert(item); };
    FxHashSet<T> where [T: Persistent + Default + Ord + Hash] of T:
        |set| sorted(set.iter()).into_iter(), |set: &mut Self, item| { set.insert(item); };
}

fn sorted<'a, T: Ord + 'a>(items: impl Iterator<Item = &'a T>) -> Vec<&'a T> {
    let mut items: Vec<_> = items.collect();
    items.sort_unstable();
    items
}

impl<K: Persistent + Default + Ord, V: Persistent + Default> Persistent for BTreeMap<K, V> {
    fn save(&self, to: &mut dyn Write) -> io::Result<()> {
        save_list(self.keys(), to)?;
        self.values().try_for_each(|value| value.save(to))
    }

    fn restore(&mut self, from: &mut dyn Read) -> io::Result<()> {
        self.clear();
        let mut keys: Vec<K> = Vec::new();
        keys.restore(from)?;
        keys.into_iter().try_for_each(|key| {
            restored(from).map(|value| {
                self.insert(key, value);
            })
        })
    }
}

impl<K: Persistent + Default + Ord + Hash, V: Persistent + Default> Persistent for FxHashMap<K, V> {
    fn save(&self, to: &mut dyn Write) -> io::Result<()> {
        let keys = sorted(self.keys());
        save_list(keys.iter().copied(), to)?;
        keys.into_iter().try_for_each(|key| self[key].save(to))
    }

    fn restore(&mut self, from: &mut dyn Read) -> io::Result<()> {
        self.clear();
        let mut keys: Vec<K> = Vec::new();
        keys.restore(from)?;
        keys.into_iter().try_for_each(|key| {
            restored(from).map(|value| {
                self.insert(key, value);
            })
        })
    }
}
