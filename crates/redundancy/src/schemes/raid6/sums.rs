//! What the pages of a stripe with two parities say of each other (SPEC 8.16 (b) and (d)).
//!
//! With data strips d_i, and g = 2 in GF(2^8):
//!
//! ```text
//! P = XOR of d_i
//! Q = XOR of g^i d_i
//! ```
//!
//! These are two equations, so any two of the pages are sums of the others.

use crate::Method;
use crate::parts::bits::{self, Bits};
use crate::stripe_map::Row;
use crate::stripe_map::raid6::Raid6Row;
use flashraid_vocabulary::galois::{inverse, power, scale};
use flashraid_vocabulary::{MemberPage, Version, View};

/// The place of P among the terms of a sum, behind those of the data strips, of which there are at most 62.
const P: u32 = 62;
/// The place of Q.
const Q: u32 = 63;
/// The places of both.
pub const PARITIES: [u32; 2] = [P, Q];

/// A set of pages of a stripe: bit i is data strip i, and the highest two are P and Q.
pub type Pages = u64;

/// The page at a place.
pub fn page_at(row: &Raid6Row, place: u32) -> MemberPage {
    match place {
        P => row.parity(),
        Q => row.second_parity().expect("a stripe has two"),
        strip => row.data(strip),
    }
}

/// The factor of data strip `strip` in the equation of a parity.
#[inline]
pub fn factor(parity: u32, strip: u32) -> u8 {
    if parity == P { 1 } else { power(strip) }
}

/// A sum of pages of a stripe, each times a factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum([u8; 64]);

impl Sum {
    /// The factor of the page at a place.
    #[inline]
    pub fn factor(&self, place: u32) -> u8 {
        self.0[place as usize]
    }

    /// The pages with a factor that is not 0.
    pub fn pages(&self) -> Pages {
        bits::of((0..64).filter(|place| self.factor(*place) != 0))
    }

    /// No page.
    fn empty() -> Self {
        Self([0; 64])
    }

    /// One page.
    fn of(place: u32) -> Self {
        let mut sum = Self::empty();
        sum.0[place as usize] = 1;
        sum
    }

    /// Adds another sum times a factor.
    fn add(&mut self, other: &Self, times: u8) {
        for (words, others) in self.0.chunks_exact_mut(8).zip(other.0.chunks_exact(8)) {
            let [word, other] = [&*words, others].map(|bytes| u64::from_le_bytes(bytes.try_into().expect("eight bytes")));
            words.copy_from_slice(&(word ^ scale(other, times)).to_le_bytes());
        }
    }
}

/// A stripe as a plan sees it.
#[derive(Clone, Copy, Debug)]
pub struct Stripe {
    /// Where its strips lie.
    pub row: Raid6Row,
    /// The pages that are lost.
    pub lost: Pages,
}

impl Stripe {
    /// With what failures took of it.
    #[inline]
    pub fn new(row: Raid6Row, view: &dyn View) -> Self {
        let whole = Self { row, lost: 0 };
        if view.has_failures() { whole.without(&|page, version| view.is_lost(page, version)) } else { whole }
    }

    /// With what is lost according to `lost`.
    pub fn without(self, lost: &crate::Lost) -> Self {
        Self { lost: bits::of(Bits(self.pages()).filter(|place| lost(page_at(&self.row, *place), Version::Current))), ..self }
    }

    /// Every data strip.
    #[inline]
    pub fn all(&self) -> u64 {
        self.row.all()
    }

    /// Every page.
    fn pages(&self) -> Pages {
        self.all() | 1 << P | 1 << Q
    }

    /// Data strips that are lost.
    #[inline]
    pub fn lost_strips(&self) -> u64 {
        self.lost & self.all()
    }

    /// Whether a page is lost.
    #[inline]
    pub fn is_lost(&self, place: u32) -> bool {
        self.lost >> place & 1 == 1
    }

    /// The sum of all pages that is zero by the equation of a parity.
    fn equation(&self, parity: u32) -> Sum {
        let mut sum = Sum::of(parity);
        Bits(self.all()).for_each(|strip| sum.0[strip as usize] = factor(parity, strip));
        sum
    }

    /// What a data strip is the sum of: itself, or if it is lost, others that are not; `None` if it is lost for good.
    pub fn newest(&self, strip: u32) -> Option<Sum> {
        if !self.is_lost(strip) {
            return Some(Sum::of(strip));
        }
        let mut living = PARITIES.into_iter().filter(|parity| !self.is_lost(*parity));
        let mut others = Bits(self.lost_strips() & !(1 << strip));
        let mut sum = self.equation(living.next()?);
        if let Some(other) = others.next() {
            // Both equations: of P, times what makes the other lost strip vanish from that of Q.
            let mut both = self.equation(living.next()?);
            both.add(&sum, factor(Q, other));
            sum = both;
        }
        if others.next().is_some() {
            return None;
        }
        let own = inverse(sum.factor(strip));
        sum.0[strip as usize] = 0;
        let mut newest = Sum::empty();
        newest.add(&sum, own);
        Some(newest)
    }

    /// Whether each of `strips` can be had.
    pub fn has_newest(&self, strips: u64) -> bool {
        strips & self.lost == 0 || Bits(strips).all(|strip| self.newest(strip).is_some())
    }

    /// Adds `strips` as they are to a sum, each times its factor in the equation of a parity. `None` if one of them is lost for good.
    fn add_strips(&self, sum: &mut Sum, parity: u32, strips: u64) -> Option<()> {
        for strip in Bits(strips) {
            if self.is_lost(strip) {
                sum.add(&self.newest(strip)?, factor(parity, strip));
            } else {
                sum.0[strip as usize] ^= factor(parity, strip);
            }
        }
        Some(())
    }

    /// What is to be read for a parity when `changed` data strips get new contents, which are added to it; `None` if it cannot be made.
    pub fn parity(&self, parity: u32, method: Method, changed: u64) -> Option<Sum> {
        let (mut sum, strips) = match method {
            Method::Rmw if !self.is_lost(parity) => (Sum::of(parity), changed),
            Method::FullStripe | Method::Rcw => (Sum::empty(), self.all() & !changed),
            Method::None | Method::Rmw | Method::Mirrored | Method::Deferred => return None,
        };
        self.add_strips(&mut sum, parity, strips)?;
        Some(sum)
    }

    /// How a change of some data strips gets the parities: with the fewest reads, and RCW on a tie (SPEC 8.16 (c)). What is lost leaves less choice (8.16 (e)): a
    /// method that reads nothing lost goes before one that computes it.
    pub fn method(&self, changed: u64) -> Method {
        let others = self.all() & !changed;
        if others == 0 {
            return Method::FullStripe;
        }
        let living = PARITIES.into_iter().filter(|parity| !self.is_lost(*parity)).count() as u32;
        let is_rmw = changed.count_ones() + living < others.count_ones();
        let reads_lost = |method| match method {
            Method::Rmw => living == 0 || self.lost & changed != 0,
            _ => self.lost & others != 0,
        };
        let order = if is_rmw { [Method::Rmw, Method::Rcw] } else { [Method::Rcw, Method::Rmw] };
        if let Some(method) = order.into_iter().find(|method| !reads_lost(*method)) {
            return method;
        }
        if self.has_newest(others) { Method::Rcw } else { Method::None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stripe_map::StripeMap;
    use crate::stripe_map::raid6::Raid6Map;
    use flashraid_vocabulary::StripeId;
    use flashraid_vocabulary::galois::multiply;

    /// Contents of the pages of a stripe, by place.
    fn contents(width: u32) -> [u8; 64] {
        let mut pages = [0; 64];
        let strip = |index: u32| (index * 37 + 11) as u8;
        (0..width).for_each(|index| pages[index as usize] = strip(index));
        for parity in PARITIES {
            pages[parity as usize] = (0..width).fold(0, |sum, index| sum ^ multiply(factor(parity, index), strip(index)));
        }
        pages
    }

    fn value(sum: &Sum, pages: &[u8; 64]) -> u8 {
        (0..64).fold(0, |total, place| total ^ multiply(sum.factor(place), pages[place as usize]))
    }

    /// Every set of at most three pages of a stripe of so many data strips.
    fn losses(width: u32) -> impl Iterator<Item = Stripe> {
        let row = Raid6Map::new(width as u16 + 2, 1, 1).row(StripeId(0));
        let places: Vec<u32> = (0..width).chain(PARITIES).collect();
        let one = places.clone();
        let sets = places.into_iter().flat_map(move |first| {
            let (second, third) = (one.clone(), one.clone());
            second.into_iter().flat_map(move |second| third.clone().into_iter().map(move |third| 1u64 << first | 1 << second | 1 << third))
        });
        sets.chain([0]).map(move |lost| Stripe { row, lost })
    }

    /// Any two pages come back from the others, and with three lost no strip does that is lost, unless few enough are data.
    #[test]
    fn any_two_pages_are_sums_of_the_others() {
        for width in [2, 3, 6] {
            let pages = contents(width);
            for stripe in losses(width) {
                for strip in 0..width {
                    let newest = stripe.newest(strip);
                    assert_eq!(newest.is_some(), !stripe.is_lost(strip) || stripe.lost.count_ones() <= 2, "{stripe:?}: strip {strip}");
                    let Some(sum) = newest else { continue };
                    assert_eq!(sum.pages() & stripe.lost, 0, "{stripe:?}: strip {strip} of what is lost");
                    assert_eq!(value(&sum, &pages), pages[strip as usize], "{stripe:?}: strip {strip}");
                }
            }
        }
    }

    /// The parities of a change, by each method, are what they would be if all strips were new.
    #[test]
    fn parities_are_made_of_what_is_read_and_what_is_new() {
        let width = 5;
        let pages = contents(width);
        for (stripe, changed) in losses(width).flat_map(|stripe| (1..1u64 << width).map(move |changed| (stripe, changed))) {
            let mut after = pages;
            Bits(changed).for_each(|strip| after[strip as usize] ^= 0x5A + strip as u8);
            for (method, parity) in
                [Method::FullStripe, Method::Rmw, Method::Rcw].into_iter().flat_map(|method| PARITIES.map(|parity| (method, parity)))
            {
                if method == Method::FullStripe && changed != stripe.all() {
                    continue;
                }
                let Some(read) = stripe.parity(parity, method, changed) else { continue };
                assert_eq!(read.pages() & stripe.lost, 0, "{stripe:?}");
                let new = Bits(changed).fold(0, |sum, strip| sum ^ multiply(factor(parity, strip), after[strip as usize]));
                let expected = (0..width).fold(0, |sum, strip| sum ^ multiply(factor(parity, strip), after[strip as usize]));
                assert_eq!(value(&read, &pages) ^ new, expected, "{stripe:?}: {method:?} of {changed:b}");
            }
            let method = stripe.method(changed);
            let makes = PARITIES.into_iter().any(|parity| stripe.parity(parity, method, changed).is_some());
            // Two equations at most: whenever nothing is lost for good, a parity that is not lost stays one.
            assert!(makes || stripe.lost.count_ones() > 2, "{stripe:?}: {method:?} of {changed:b} makes no parity");
        }
    }

    /// The example of SPEC 8.16: N = 6, k = 1 to 6; and N = 4.
    #[test]
    fn the_method_with_fewest_reads_is_chosen() {
        let reads = |width: u32, count: u32| {
            let stripe = Stripe { row: Raid6Map::new(width as u16 + 2, 1, 1).row(StripeId(0)), lost: 0 };
            let changed = bits::lowest(count);
            let method = stripe.method(changed);
            let pages =
                PARITIES.into_iter().filter_map(|parity| stripe.parity(parity, method, changed)).fold(0, |all, sum| all | sum.pages());
            pages.count_ones()
        };
        assert_eq!((1..=6).map(|count| reads(6, count)).collect::<Vec<_>>(), [3, 4, 3, 2, 1, 0]);
        assert_eq!((1..=4).map(|count| reads(4, count)).collect::<Vec<_>>(), [3, 2, 1, 0]);
    }
}
