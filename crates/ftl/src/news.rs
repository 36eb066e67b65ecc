//! What an SSD tells and asks the layer above, which takes it after each event, beside the progress of page operations: what GC did to the map, and its
//! questions.

use flashraid_vocabulary::{MemberPage, Version, persistent};

/// Domains that gain space at one instant, each as often as it does, hardly ever more.
const MOST_FREED: usize = 64;

/// What GC did to the map, for whom stores it: reported while there are translation planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapEvent {
    /// A version of a page of a scheme is elsewhere now.
    Moved {
        /// The plane in which it was moved.
        plane: u32,
        /// Which version.
        version: Version,
        /// Of which page.
        slot: u32,
    },
    /// The GC run of the plane has ended: its victim, from which pages were moved, is erased, or it was cut short.
    Ended {
        /// The plane.
        plane: u32,
    },
}

/// What GC wants to know of the layer above, which answers in the same instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GcQuery {
    /// Which block of the plane GC reclaims, as some have semivalid pages to commit: answered by `choose_victim`.
    Victim(u32),
    /// How a semivalid page is handled in the victim of a plane: answered by `rule`.
    Semivalid(u32, MemberPage),
}

/// How many pages of a member have versions beside the current one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Pages with a base.
    pub bases: u32,
    /// Pages with a copy.
    pub copies: u32,
}

persistent!(Held { keeps [bases, copies], });

/// What nobody has taken of what there is to tell and to ask: lists that are mostly empty. Whether any is not is asked after each event, so that it is one flag.
#[derive(Clone, Debug)]
pub struct Untold {
    freed: Vec<u32>,
    flushed: Vec<u32>,
    queries: Vec<GcQuery>,
    map_events: Vec<MapEvent>,
    wears_out: bool,
    is_any: bool,
}

impl Untold {
    /// Nothing.
    pub(crate) fn new() -> Self {
        Self {
            freed: Vec::with_capacity(MOST_FREED),
            flushed: Vec::new(),
            queries: Vec::new(),
            map_events: Vec::new(),
            wears_out: false,
            is_any: false,
        }
    }

    /// Whether there is anything.
    #[inline(always)]
    pub fn is_any(&self) -> bool {
        self.is_any
    }

    /// Something was taken.
    fn look_again(&mut self) {
        let Self { freed, flushed, queries, map_events, wears_out, .. } = self;
        self.is_any = *wears_out || !(freed.is_empty() && flushed.is_empty() && queries.is_empty() && map_events.is_empty());
    }

    // ---- space ----

    /// The domain has gained space, or whoever waits for it may try again.
    #[inline]
    pub(crate) fn free(&mut self, domain: u32) {
        self.freed.push(domain);
        self.is_any = true;
    }

    /// Whether the domain is to be told of.
    pub(crate) fn tells_of(&self, domain: u32) -> bool {
        self.freed.contains(&domain)
    }

    /// Takes a domain that gained space; operations may wait for it. The last comes first.
    #[inline]
    pub fn take_freed(&mut self) -> Option<u32> {
        let domain = self.freed.pop()?;
        self.look_again();
        Some(domain)
    }

    /// Takes all of them, in order.
    pub fn take_all_freed(&mut self, mut to: impl FnMut(u32)) {
        self.freed.drain(..).for_each(&mut to);
        self.look_again();
    }

    // ---- flushes ----

    /// The flush of this owner need wait no longer.
    pub(crate) fn pass_flush(&mut self, owner: u32) {
        self.flushed.push(owner);
        self.is_any = true;
    }

    /// Takes a flush that need wait no longer.
    pub fn take_flushed(&mut self) -> Option<u32> {
        let owner = self.flushed.pop()?;
        self.look_again();
        Some(owner)
    }

    // ---- questions of GC ----

    /// Asks, unless that is asked already.
    pub(crate) fn ask(&mut self, query: GcQuery) {
        if !self.queries.contains(&query) {
            self.queries.push(query);
            self.is_any = true;
        }
    }

    /// Lends the list of questions, the last of which is taken first, to be given back with more.
    pub(crate) fn lend_queries(&mut self) -> Vec<GcQuery> {
        std::mem::take(&mut self.queries)
    }

    /// See `lend_queries`.
    pub(crate) fn give_back_queries(&mut self, queries: Vec<GcQuery>) {
        self.queries = queries;
        self.look_again();
    }

    /// Nothing is asked any more about pages of the plane.
    pub(crate) fn take_back(&mut self, plane: u32) {
        self.queries.retain(|query| !matches!(query, GcQuery::Semivalid(of, _) if *of == plane));
        self.look_again();
    }

    /// Takes a question, which may have been settled meanwhile.
    pub(crate) fn take_query(&mut self) -> Option<GcQuery> {
        let query = self.queries.pop()?;
        self.look_again();
        Some(query)
    }

    /// Questions that are not taken.
    pub fn queries_waiting(&self) -> usize {
        self.queries.len()
    }

    // ---- the map ----

    /// GC did something to the map.
    pub(crate) fn report(&mut self, event: MapEvent) {
        self.map_events.push(event);
        self.is_any = true;
    }

    /// Whether GC did anything to the map that nobody has taken over.
    #[inline]
    pub fn has_map_events(&self) -> bool {
        !self.map_events.is_empty()
    }

    /// Takes over what GC did to the map, in order, and leaves an empty list.
    pub fn swap_map_events(&mut self, news: &mut Vec<MapEvent>) {
        debug_assert!(news.is_empty());
        std::mem::swap(&mut self.map_events, news);
        self.look_again();
    }

    // ---- wear ----

    /// The device has worn out.
    pub(crate) fn wear_out(&mut self) {
        (self.wears_out, self.is_any) = (true, true);
    }

    /// Whether the device has worn out since this was last asked.
    pub fn take_wear_out(&mut self) -> bool {
        let wears_out = std::mem::take(&mut self.wears_out);
        if wears_out {
            self.look_again();
        }
        wears_out
    }
}
