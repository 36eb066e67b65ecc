//! What must be lost, by linear algebra that knows no scheme: a page is lost exactly if what its stripe still has does not add up to it.

use crate::engine::Engine;
use crate::engine::tags::{Tags, ZERO};
use crate::media::Media;
use crate::verify::{VERSIONS, end_of_stripe, pages_of_stripe};
use flashraid_vocabulary::{Lpn, MemberPage, Version};

/// Vectors over the field of two elements, as far as they are independent: each has a highest bit that no other has.
#[derive(Default)]
struct Span(Vec<u64>);

impl Span {
    /// What is left of the content after all that the span explains is taken away; 0 if the span holds it.
    fn reduce(&self, content: u64) -> u64 {
        self.0.iter().fold(content, |left, vector| left.min(left ^ vector))
    }

    fn add(&mut self, content: u64) {
        let left = self.reduce(content);
        if left != 0 {
            self.0.push(left);
            self.0.sort_unstable_by(|one, other| other.cmp(one));
        }
    }
}

/// The pages that must be lost, in order; and those that cannot be read now of which contents do not tell.
pub fn lost_pages<M: Media>(engine: &Engine<Tags, M>) -> (Vec<Lpn>, Vec<Lpn>) {
    let (flash, tags) = (&engine.media, &engine.content);
    let (mut lost, mut vague, mut pages) = (Vec::new(), Vec::new(), Vec::new());
    let mut first = 0;
    while first < engine.space_pages() {
        let end = end_of_stripe(engine, first);
        pages.clear();
        pages_of_stripe(engine, first, end, &mut pages);
        let has_deferred = pages.iter().any(|page| tags.in_nvram(*page) != ZERO);
        let has_base = pages.iter().any(|page| flash.lookup(*page, Version::Base).is_some());
        let (mut span, mut old_parities) = (Span::default(), Vec::new());
        pages.iter().for_each(|page| span.add(tags.in_nvram(*page)));
        for (page, version) in pages.iter().flat_map(|page| VERSIONS.map(|version| (*page, version))) {
            if let Some(ppn) = flash.lookup(page, version).filter(|_| !flash.is_lost(page, version)) {
                let is_old = has_deferred && !has_base && !holds_data(engine, first, end, page);
                if is_old { old_parities.push(tags.page(ppn)) } else { span.add(tags.page(ppn)) }
            }
        }
        // A parity on flash that NVRAM has outdated may give a page if the old versions that it covers are pages of zeroes, or are still the
        // newest ones: if NVRAM covers the whole stripe, nobody knows that.
        let mut wider = Span(span.0.clone());
        old_parities.into_iter().for_each(|content| wider.add(content));
        // NVRAM lives.
        pages.iter().for_each(|page| span.add(tags.in_nvram(*page)));
        let is_lost = |lpn: &Lpn| flash.is_lost(engine.scheme().locate(*lpn), Version::Current);
        let gone = (first..end).map(Lpn).filter(is_lost);
        // With a page of zeroes lost, what is left may add up to another one by chance, which nobody could know.
        // So may what is left without a base of zeroes; what bases held is not known here.
        let lost_base = pages.iter().any(|page| flash.is_lost(*page, Version::Base));
        let is_vague = gone.clone().any(|lpn| tags.durable(lpn) == ZERO);
        for lpn in gone {
            if is_vague {
                vague.push(lpn);
            } else if wider.reduce(tags.durable(lpn)) != 0 {
                lost.push(lpn);
            } else if lost_base || span.reduce(tags.durable(lpn)) != 0 {
                vague.push(lpn);
            }
        }
        first = end;
    }
    (lost, vague)
}

/// Whether the page is one of the host pages `first..end`, and not kept for the sake of these.
fn holds_data<M: Media>(engine: &Engine<Tags, M>, first: u64, end: u64, page: MemberPage) -> bool {
    (first..end).any(|lpn| engine.scheme().locate(Lpn(lpn)) == page)
}

#[cfg(test)]
mod tests {
    use super::Span;

    #[test]
    fn a_span_holds_its_sums_and_nothing_else() {
        let vectors = [0b1011_0000u64, 0b0110_1100, 0b0000_0111, 0b1101_1100];
        let mut span = Span::default();
        vectors.into_iter().for_each(|vector| span.add(vector));
        for chosen in 0..16u32 {
            let sum = (0..4).filter(|bit| chosen >> bit & 1 == 1).fold(0, |sum, bit| sum ^ vectors[bit]);
            assert_eq!(span.reduce(sum), 0);
        }
        let sums: Vec<u64> =
            (0..16u32).map(|chosen| (0..4).filter(|bit| chosen >> bit & 1 == 1).fold(0, |sum, bit| sum ^ vectors[bit])).collect();
        for other in 0..256u64 {
            assert_eq!(span.reduce(other) == 0, sums.contains(&other), "{other:b}");
        }
    }
}
