//! Random requests under schemes that delay parities in NVRAM, and their parity cache against a model that goes through everything.

use crate::content::{Request, STRIPES, request, submit};
use crate::deferred::guard;
use crate::host::{Host, scheme};
use flashraid_redundancy::parts::parity_cache::{ParityCache, Replacement, Update};
use flashraid_vocabulary::{Action, Cause, HostOp, Lpn, StripeId, Version, View};
use proptest::prelude::*;

/// A scheme with some options and a small cache.
#[derive(Clone, Debug)]
pub struct Cached {
    pub name: &'static str,
    pub members: u16,
    parameters: Vec<(&'static str, &'static str)>,
    filled: bool,
}

pub fn cached() -> impl Strategy<Value = Cached> {
    let size = prop::sample::select(vec!["4096", "8192", "12288", "32768"]);
    let words =
        [vec!["no", "yes"], vec!["paper", "min"], vec!["commit", "move"], vec!["fewest", "rmw", "rcw"], vec!["0", "0.3", "0.81", "1"]]
            .map(prop::sample::select);
    let name = prop::sample::select(vec!["ppc", "ca-ppc", "fpc"]);
    (name, 3..=9u16, size, words, any::<bool>()).prop_map(|(name, members, size, [flag, update, gc, rule, alpha], filled)| {
        let mut parameters = vec![("parity_cache_bytes", size)];
        match name {
            "fpc" => parameters.extend([("update", rule), ("fpc_cached_parity_free", flag)]),
            _ => parameters.extend([("early_release", flag), ("ppc_update", update), ("gc_semivalid", gc)]),
        }
        if name == "ca-ppc" {
            parameters.extend([("alpha", alpha), ("spares_recent", if flag == "yes" { "half" } else { "none" })]);
        }
        Cached { name, members, parameters, filled }
    })
}

impl Cached {
    pub fn host(&self) -> Host {
        let host = Host::new(scheme(self.name, self.members, STRIPES, &self.parameters));
        if self.filled { host.filled() } else { host }
    }
}

/// A request, or a group of pages, or a commit for GC.
pub fn step(host: &mut Host, request: &Request) {
    let aside = request.aside.index(1 << 16) as u64;
    let width = u64::from(host.scheme.width());
    if aside.is_multiple_of(5) {
        let lpn = aside % host.scheme.user_pages();
        host.collect(host.scheme.locate(Lpn(lpn)), aside.is_multiple_of(2));
    }
    if request.op == HostOp::Write && aside.is_multiple_of(3) {
        let stripe = aside % u64::from(STRIPES);
        let pages = (aside >> 3 | 1 << (aside % width)) & ((1 << width) - 1);
        let first = u64::from(pages.trailing_zeros());
        host.flush(stripe * width + first, pages >> first, aside >> 5 & pages >> first);
    } else {
        submit(host, request);
    }
}

/// The counts that a host may never see differ from what its flash holds.
pub fn check_counts(host: &Host) {
    let counts = host.deferring().guard().unwrap();
    assert_eq!((counts.entries, counts.old_pages), (host.flash.held(Version::DeferredParity), host.flash.held(Version::Base)));
    assert!(counts.entries <= counts.most_entries);
    assert!(counts.most_old_pages <= counts.most_entries * u64::from(host.scheme.width()));
    let on_one = (0..64).map(|member| host.flash.bases(flashraid_vocabulary::MemberId(member))).max().unwrap();
    assert!(u64::from(on_one) <= counts.most_entries, "SPEC 4.2: at most one old page a stripe and chip");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn deferred_parities_keep_every_page(cached in cached(), requests in prop::collection::vec(request(), 1..60)) {
        let mut host = cached.host();
        for request in &requests {
            step(&mut host, request);
            host.check();
            check_counts(&host);
        }
        let reads = |host: &Host| host.flash.count(Action::Read, Cause::Commit);
        let counts = guard(&host);
        let total: u64 = counts.commits.iter().chain([&counts.widened]).map(|commits| commits.reads).sum();
        assert_eq!(reads(&host), total);
        host.drain();
        host.check();
        host.check_each_member();
        prop_assert_eq!((guard(&host).entries, host.flash.held(Version::Base)), (0, 0));
    }

    /// The cache decides what a list does that is gone through each time.
    #[test]
    fn the_cache_agrees_with_a_list(
        widths in prop::collection::vec(2..=8u32, 12), even: bool, most in 1..=6u32, alpha in prop::sample::select(vec![0u32, 1, 250, 500, 810, 1000]), spares_recent: bool,
        evicts_locked: bool, events in prop::collection::vec((0..12u32, any::<u8>(), 0..24u32), 1..300),
    ) {
        let replacement = Replacement { alpha, spares_recent, evicts_locked };
        let widths = if even { vec![widths[0]; 12] } else { widths };
        let mut cache = ParityCache::new(12, widths.iter().copied().max().unwrap(), most, replacement);
        let mut list = List { widths: widths.clone(), most: most as usize, replacement, ..List::default() };
        for (stripe, strips, kind) in events {
            let width = widths[stripe as usize];
            let all = (1u64 << width) - 1;
            let (id, strips) = (StripeId(stripe), u64::from(strips) & all | 1 << (stripe % width));
            match kind {
                0..8 => {
                    cache.write(id, strips);
                    list.written[stripe as usize] |= strips;
                    prop_assert_eq!(cache.claim(id, width, strips, kind > 0), list.claim(stripe, strips, kind > 0));
                }
                8..12 => {
                    let dropped = cache.trim(id, if kind == 11 { all } else { strips });
                    prop_assert_eq!(dropped, list.trim(stripe, if kind == 11 { all } else { strips }));
                    if dropped != 0 {
                        prop_assert_eq!(cache.claim(id, width, dropped, true), list.claim(stripe, dropped, true));
                    }
                }
                12..20 => {
                    let is_update = list.pending[stripe as usize] > 0;
                    cache.ended(id, is_update);
                    list.pending[stripe as usize] -= u32::from(is_update);
                    list.runs[stripe as usize] = false;
                }
                20..22 => {
                    cache.begun(id);
                    list.runs[stripe as usize] = true;
                }
                22 => {
                    cache.committed(id);
                    let is_pending = list.pending[stripe as usize] > 0;
                    list.entries.retain(|entry| entry.stripe != stripe || is_pending);
                }
                _ => {
                    cache.widened(id);
                    list.entries.iter_mut().filter(|entry| entry.stripe == stripe && !entry.is_empty).for_each(|entry| entry.changed = all);
                }
            }
            for stripe in 0..12 {
                let entry = list.entries.iter().find(|entry| entry.stripe == stripe && !entry.is_empty);
                prop_assert_eq!(cache.reads_to_commit(StripeId(stripe)), entry.map(|entry| list.reads(entry)));
            }
        }
    }

    /// SPEC 4.4: with alpha 1 CA-PPC is PPC, plan by plan.
    #[test]
    fn alpha_one_is_ppc(members in 3..=9u16, requests in prop::collection::vec(request(), 1..60)) {
        let bytes = ("parity_cache_bytes", "8192");
        let mut hosts = [("ppc", vec![bytes]), ("ca-ppc", vec![bytes, ("alpha", "1")])]
            .map(|(name, parameters)| Host::new(scheme(name, members, STRIPES, &parameters)).filled());
        for request in &requests {
            hosts.iter_mut().for_each(|host| step(host, request));
        }
        let [ppc, ca_ppc] = hosts;
        prop_assert_eq!(ppc.flash.log, ca_ppc.flash.log);
    }
}

#[derive(Clone, Debug)]
struct Listed {
    stripe: u32,
    changed: u64,
    updated: u64,
    /// Its stripe was trimmed as a whole.
    is_empty: bool,
}

/// What `ParityCache` decides, by going through everything.
#[derive(Clone, Debug)]
struct List {
    /// Of each stripe.
    widths: Vec<u32>,
    most: usize,
    replacement: Replacement,
    entries: Vec<Listed>,
    written: [u64; 12],
    updates: u64,
    /// Updates that have not ended.
    pending: [u32; 12],
    /// Something else is done to the stripe.
    runs: [bool; 12],
}

impl Default for List {
    fn default() -> Self {
        let (widths, entries) = (Vec::new(), Vec::new());
        Self { widths, most: 0, replacement: Replacement::LRU, entries, written: [0; 12], updates: 0, pending: [0; 12], runs: [false; 12] }
    }
}

impl List {
    fn reads(&self, entry: &Listed) -> u32 {
        let (changed, width) = (entry.changed.count_ones(), self.widths[entry.stripe as usize]);
        if 2 * changed >= width { width - changed } else { changed + 1 }
    }

    fn trim(&mut self, stripe: u32, strips: u64) -> u64 {
        let dropped = self.written[stripe as usize] & strips;
        self.written[stripe as usize] &= !strips;
        if self.written[stripe as usize] != 0 {
            return dropped;
        }
        if dropped != 0 && self.replacement.evicts_locked {
            self.entries.iter_mut().filter(|entry| entry.stripe == stripe).for_each(|entry| entry.is_empty = true);
        }
        0
    }

    fn claim(&mut self, stripe: u32, strips: u64, may_evict: bool) -> Option<Update> {
        let own = self.entries.iter().position(|entry| entry.stripe == stripe);
        if own.is_none() && !may_evict {
            return None;
        }
        let former = own.map(|own| self.entries.remove(own));
        let is_hit = former.as_ref().is_some_and(|entry| !entry.is_empty);
        let changed = former.as_ref().filter(|_| is_hit).map_or(0, |entry| entry.changed) | strips;
        let victim = if former.is_none() && self.entries.len() == self.most { Some(self.take_victim()?) } else { None };
        self.updates += 1;
        self.pending[stripe as usize] += 1;
        self.entries.push(Listed { stripe, changed, updated: self.updates, is_empty: false });
        Some(Update { is_hit, victim: victim.map(StripeId) })
    }

    fn is_locked(&self, entry: &Listed) -> bool {
        !self.replacement.evicts_locked && (self.pending[entry.stripe as usize] > 0 || self.runs[entry.stripe as usize])
    }

    fn take_victim(&mut self) -> Option<u32> {
        self.entries.sort_by_key(|entry| entry.updated);
        let Replacement { alpha, spares_recent, .. } = self.replacement;
        let spared = if spares_recent && alpha < 1000 { self.most as u64 / 2 } else { 0 };
        let candidates = self.entries.iter().enumerate();
        let candidates = candidates.filter(|(_, entry)| !self.is_locked(entry) && entry.updated + spared <= self.updates);
        // The first of the least.
        let best = candidates.min_by(|one, other| self.priority(*one).total_cmp(&self.priority(*other))).map(|(_, entry)| entry);
        let victim = self.entries.iter().find(|entry| entry.is_empty).or(best)?.stripe;
        self.entries.retain(|entry| entry.stripe != victim);
        Some(victim)
    }

    /// The formula as it stands, in numbers whose rounding does not matter.
    fn priority(&self, (rank, entry): (usize, &Listed)) -> f64 {
        let alpha = f64::from(self.replacement.alpha) / 1000.0;
        let recency = if self.most == 1 { 0.0 } else { rank as f64 / (self.most - 1) as f64 };
        let cost = f64::from(self.reads(entry)) / f64::from(self.widths.iter().max().unwrap().div_ceil(2));
        let priority = alpha * recency + (1.0 - alpha) * cost;
        (priority * 1e9).round()
    }
}
