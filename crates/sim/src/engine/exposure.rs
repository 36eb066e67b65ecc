//! Pages that the loss of a unit would take although the scheme declares to survive it: the window of schemes that make redundancy up later
//! (`Recovery::exposed`). Counted stripe by stripe as operations end, and weighted with the time.

use flashraid_redundancy::{Lock, Method, Operation, Scheme};
use flashraid_vocabulary::{Lpn, StripeId, View};
use rustc_hash::FxHashMap;

/// What is exposed, and what was since measuring began.
#[derive(Clone, Debug)]
pub struct Exposure {
    of_stripe: Vec<u8>,
    /// Strips of acknowledged writes that have not ended, and whose redundancy is made later. Each has its stripe's lock.
    in_registers: FxHashMap<StripeId, u64>,
    /// Pages exposed now.
    pub pages: u64,
    /// The most there were at once.
    pub peak_pages: u64,
    /// Time in which there were any, until `since_ns`.
    exposed_ns: u64,
    /// Sum over time of the pages exposed, until `since_ns`.
    page_ns: u128,
    since_ns: u64,
}

impl Exposure {
    /// Nothing is exposed on a device of so many stripes.
    fn new(stripes: u32) -> Self {
        Self {
            of_stripe: vec![0; stripes as usize],
            in_registers: FxHashMap::default(),
            pages: 0,
            peak_pages: 0,
            exposed_ns: 0,
            page_ns: 0,
            since_ns: 0,
        }
    }

    fn advance(&mut self, now_ns: u64) {
        (self.exposed_ns, self.page_ns) = (self.exposed_ns(now_ns), self.page_ns(now_ns));
        self.since_ns = now_ns;
    }

    /// The scheme exposes these strips.
    pub(super) fn set(&mut self, stripe: StripeId, strips: u64, now_ns: u64) {
        let pages = (strips | self.in_registers.get(&stripe).copied().unwrap_or_default()).count_ones();
        // At most 63 data strips.
        let before = std::mem::replace(&mut self.of_stripe[stripe.0 as usize], pages as u8);
        if u32::from(before) != pages {
            self.advance(now_ns);
            self.pages = self.pages - u64::from(before) + u64::from(pages);
            self.peak_pages = self.peak_pages.max(self.pages);
        }
    }

    /// A write is acknowledged: what creates redundancy later is exposed from now on, as only the registers of the chips have it that program it. Returns
    /// whether it is such a one.
    pub(super) fn acknowledged(&mut self, operation: &Operation) -> bool {
        let is_later = operation.method == Method::Deferred;
        if is_later {
            self.in_registers.insert(operation.stripe, operation.strips);
        }
        is_later
    }

    /// The operation has ended.
    #[inline]
    pub(super) fn ended(&mut self, operation: &Operation) {
        if operation.lock == Lock::Exclusive {
            self.in_registers.remove(&operation.stripe);
        }
    }

    /// Whether the scheme's window exposes the page.
    pub(super) fn is_exposed(&self, lpn: Lpn, scheme: &dyn Scheme, view: &dyn View) -> bool {
        let (stripe, first) = (scheme.stripe_of(lpn), scheme.grouping().pages(lpn).start);
        let in_registers = self.in_registers.get(&stripe).copied().unwrap_or_default();
        (scheme.exposed(stripe, view) | in_registers) >> (lpn.0 - first) & 1 == 1
    }

    /// Measuring begins.
    pub(super) fn begin(&mut self, now_ns: u64) {
        (self.peak_pages, self.exposed_ns, self.page_ns, self.since_ns) = (self.pages, 0, 0, now_ns);
    }

    /// Time in which any page was exposed, until now.
    pub fn exposed_ns(&self, now_ns: u64) -> u64 {
        self.exposed_ns + if self.pages > 0 { now_ns - self.since_ns } else { 0 }
    }

    /// Sum over time of the pages exposed, until now.
    pub fn page_ns(&self, now_ns: u64) -> u128 {
        self.page_ns + u128::from(self.pages) * u128::from(now_ns - self.since_ns)
    }
}

/// The accounting that a scheme needs, if it has a window.
pub(super) fn of(scheme: &dyn Scheme) -> Option<Box<Exposure>> {
    scheme.has_window().then(|| Exposure::new(scheme.stripes()).into())
}
