//! Programs that any LUN of a space domain may take: where they wait, and who may take them.

use crate::luns::{Lun, each};
use crate::records::Queue;
use crate::{Nand, Record};
use flashraid_vocabulary::{Cause, NIL, Priority};

/// Planes that hold what a scheme writes.
pub const DATA: usize = 0;
/// Planes that hold translation pages: other blocks of the same planes.
pub const TRANSLATION: usize = 1;

/// The LUNs of a space domain.
#[derive(Clone, Debug)]
pub struct Takers {
    /// Channels that it spans: first, and one past the last.
    pub channels: (u32, u32),
    /// Its LUNs in each of these channels.
    pub luns: u64,
    /// Which of each LUN's planes: `DATA` or `TRANSLATION`.
    pub kind: usize,
    /// Planes of LUNs that have replaced others, in which a program of a plan finds a page.
    pub replacement_planes: u32,
}

impl Takers {
    /// Those of a new domain.
    pub fn new(channels: (u32, u32), luns: u64, kind: usize) -> Self {
        Self { channels, luns, kind, replacement_planes: 0 }
    }

    /// Whether all are LUNs of one channel.
    #[inline]
    pub fn share_a_channel(&self) -> bool {
        self.channels.0 + 1 == self.channels.1
    }

    /// Whether it is one LUN alone.
    #[inline]
    pub fn is_single(&self) -> bool {
        self.share_a_channel() && self.luns.is_power_of_two()
    }
}

/// Programs that wait, by priority.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pool {
    /// By class.
    pub(crate) queues: [Queue; Priority::COUNT],
    /// Which of them are not empty.
    pub(crate) mask: u32,
}

impl Pool {
    const EMPTY: Pool = Pool { queues: [Queue::EMPTY; Priority::COUNT], mask: 0 };
}

/// The number of a pool of a domain: of programs that any of its LUNs may take, or of those that only LUNs may take that have replaced others, as long as these
/// have a free page (SPEC 1.10, ruling 14).
#[inline]
pub(crate) fn pool_of(domain: u32, for_replacement: bool) -> u32 {
    2 * domain + u32::from(for_replacement)
}

/// Both pools of a domain.
#[inline]
pub(crate) fn pools_of(domain: u32) -> [u32; 2] {
    [pool_of(domain, false), pool_of(domain, true)]
}

/// Which of the two a pool is.
#[inline]
pub(crate) fn is_for_replacement(pool: u32) -> bool {
    pool % 2 == 1
}

/// Programs that wait in space domains.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting {
    /// By domain.
    pub(crate) takers: Vec<Takers>,
    /// As `pool_of` numbers them.
    pub(crate) pools: Vec<Pool>,
    /// How many there are.
    count: u32,
    /// Of these, for replacements.
    pub(crate) for_replacements: u32,
    /// Channels (bits) that may find one in the pools of their domains; those that looked in vain are not in it.
    pub(crate) channels: u64,
}

impl Waiting {
    #[inline]
    pub(crate) fn pool(&self, pool: u32) -> &Pool {
        &self.pools[pool as usize]
    }

    #[inline]
    pub(crate) fn takers_of_pool(&self, pool: u32) -> &Takers {
        &self.takers[pool as usize / 2]
    }
}

impl Nand {
    /// The device's space domains, by number, once and for all. Channels look for programs of those that are served (`serve_domain`).
    pub fn set_domains(&mut self, takers: Vec<Takers>) {
        self.waiting.pools = vec![Pool::EMPTY; 2 * takers.len()];
        self.waiting.takers = takers;
    }

    /// The channels of a domain look for its programs from now on.
    pub fn serve_domain(&mut self, domain: u32) {
        let (first, end) = self.takers(domain).channels;
        for channel in first..end {
            self.channels[channel as usize].domains.push(domain);
        }
    }

    /// The LUNs of a domain.
    #[inline]
    pub fn takers(&self, domain: u32) -> &Takers {
        &self.waiting.takers[domain as usize]
    }

    /// The LUNs of a domain.
    #[inline]
    pub(crate) fn takers_mut(&mut self, domain: u32) -> &mut Takers {
        &mut self.waiting.takers[domain as usize]
    }

    /// The only LUN of a domain.
    #[inline]
    pub fn only_taker(&self, domain: u32) -> u32 {
        let takers = self.takers(domain);
        self.channels[takers.channels.0 as usize].first_lun + takers.luns.trailing_zeros()
    }

    /// Whether a program waits in a domain.
    #[inline]
    pub fn has_waiting(&self, domain: u32) -> bool {
        pools_of(domain).iter().any(|pool| self.waiting.pool(*pool).mask != 0)
    }

    /// Programs that wait in a domain. Looks at all of them.
    pub fn count_waiting(&self, domain: u32) -> i64 {
        let queues = pools_of(domain).into_iter().flat_map(|pool| self.waiting.pool(pool).queues);
        queues.map(|queue| self.each_queued(queue.head).count() as i64).sum()
    }

    /// The records of a list.
    pub(crate) fn each_queued(&self, head: u32) -> impl Iterator<Item = &Record> {
        let of = |id: u32| (id != NIL).then(|| &self.records[id]);
        std::iter::successors(of(head), move |record| of(record.next))
    }

    /// Records that wait at LUNs, and programs that wait in domains. Looks at all of them.
    pub fn queued(&self) -> impl Iterator<Item = &Record> {
        let of_pools = self.waiting.pools.iter().flat_map(|pool| pool.queues).map(|queue| queue.head);
        let of_luns = self.luns.iter().flat_map(|lun| lun.bound());
        of_luns.chain(of_pools).flat_map(|head| self.each_queued(head))
    }

    /// Records that wait at LUNs. Looks at all of them.
    pub fn bound(&self) -> impl Iterator<Item = &Record> {
        self.luns.iter().flat_map(|lun| lun.bound()).flat_map(|head| self.each_queued(head))
    }

    /// Appends a program to those that wait in its domain; one of a rebuild to those for LUNs that have replaced others, as long as these have a page.
    #[inline]
    pub fn join_pool(&mut self, id: u32) {
        let Record { domain, priority, cause, .. } = self.records[id];
        let for_replacement = cause == Cause::Rebuild && self.takers(domain).replacement_planes > 0;
        let class = priority as usize;
        let waiting = &mut self.waiting;
        let pool = &mut waiting.pools[pool_of(domain, for_replacement) as usize];
        pool.queues[class].append(id, &mut self.records);
        pool.mask |= 1 << class;
        waiting.count += 1;
        let (first, end) = waiting.takers[domain as usize].channels;
        waiting.channels |= u64::MAX >> (64 - (end - first)) << first;
        waiting.for_replacements += u32::from(for_replacement);
    }

    /// Takes the program out of a pool that has waited longest of the most urgent ones. There must be one.
    pub(crate) fn pop_pool(&mut self, number: u32) -> u32 {
        let waiting = &mut self.waiting;
        waiting.for_replacements -= u32::from(is_for_replacement(number));
        let pool = &mut waiting.pools[number as usize];
        let class = pool.mask.trailing_zeros() as usize;
        let (head, next) = pool.queues[class].pop(&mut self.records);
        if next == NIL {
            pool.mask &= !(1 << class);
        }
        waiting.count -= 1;
        if waiting.count == 0 {
            waiting.channels = 0;
        }
        head
    }

    /// Takes the next program out that waits in a domain, if there is one.
    pub fn take_waiting(&mut self, domain: u32) -> Option<u32> {
        let pool = pools_of(domain).into_iter().find(|pool| self.waiting.pool(*pool).mask != 0)?;
        Some(self.pop_pool(pool))
    }

    /// A LUN takes the place of another that is dead: its member, and its place in a domain of one of its planes. With `is_target`, programs of a rebuild
    /// wait for LUNs that have replaced others.
    pub fn replace_lun(&mut self, domain: u32, old: u32, new: u32, is_target: bool) {
        self.luns[new as usize].member = self.luns[old as usize].member;
        let Lun { channel, bit, .. } = self.luns[new as usize];
        if is_target {
            self.channels[channel as usize].replacements |= bit;
        }
        let was = self.luns[old as usize].bit;
        let takers = self.takers_mut(domain);
        // A mirror chip has no translation pages, and neither has the spare chip in its place.
        if takers.luns & was != 0 {
            takers.luns |= bit;
            if takers.share_a_channel() {
                takers.luns &= !was;
            }
        }
    }

    /// LUNs that have replaced others are LUNs like them from now on.
    pub fn end_replacements(&mut self) {
        self.channels.iter_mut().for_each(|channel| channel.replacements = 0);
        self.waiting.takers.iter_mut().for_each(|takers| takers.replacement_planes = 0);
    }

    /// A plane of a replacement has a free page from now on, or has none. When none has, any other plane of the domain takes what waits for them.
    #[cold]
    pub(crate) fn count_replacement_plane(&mut self, domain: u32, writable: bool) {
        let takers = self.takers_mut(domain);
        if writable {
            takers.replacement_planes += 1;
            return;
        }
        takers.replacement_planes -= 1;
        let (first, end) = takers.channels;
        if takers.replacement_planes == 0 && self.waiting.pool(pool_of(domain, true)).mask != 0 {
            (first..end).for_each(|channel| self.wait_for_bus(channel));
        }
    }

    /// Whether none of the LUNs of a domain in one channel does anything, has anything to do, or is kept for a GC run.
    pub fn domain_is_idle(&self, domain: u32) -> bool {
        let takers = self.takers(domain);
        let channel = &self.channels[takers.channels.0 as usize];
        channel.is_idle(takers.luns) && each(takers.luns).all(|number| self.luns[(channel.first_lun + number) as usize].queued == 0)
    }
}
