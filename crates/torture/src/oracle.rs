//! What must be lost, by linear algebra that knows no scheme: a page is lost exactly if what its stripe still has does not add up to it.
//!
//! With one parity, contents tell: their sums are XORs. With two, a stripe has more pages than a tag has bytes, so that contents of other pages would add up to nearly any.
//! There the equations of both parities are known instead, and the rank of their coefficients tells.

use flashraid_sim::engine::Engine;
use flashraid_sim::engine::tags::{Tags, ZERO};
use flashraid_sim::media::Media;
use flashraid_sim::verify::{VERSIONS, end_of_stripe, pages_of_stripe};
use flashraid_vocabulary::galois::{inverse, multiply, power};
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

/// Coefficients of sums of data strips in GF(2^8), as far as they are independent: each has a 1 where the following ones have 0.
#[derive(Default)]
struct Rank(Vec<(usize, [u8; 64])>);

impl Rank {
    /// What is left of a sum after all that these explain is taken away; nothing if they determine it.
    fn reduce(&self, mut sum: [u8; 64]) -> [u8; 64] {
        for (pivot, known) in &self.0 {
            let times = sum[*pivot];
            sum.iter_mut().zip(known).for_each(|(term, known)| *term ^= multiply(times, *known));
        }
        sum
    }

    fn add(&mut self, sum: [u8; 64]) {
        let left = self.reduce(sum);
        if let Some(pivot) = left.iter().position(|term| *term != 0) {
            let own = inverse(left[pivot]);
            self.0.push((pivot, left.map(|term| multiply(term, own))));
        }
    }
}

/// The sum that is one data strip.
fn strip(index: usize) -> [u8; 64] {
    std::array::from_fn(|term| u8::from(term == index))
}

/// The pages of a stripe with two parities that must be lost: the data strips of which this says so, if it says so too of one parity, or both, or none.
fn lost_by_rank(width: usize, is_lost: impl Fn(usize) -> bool, parities_lost: [bool; 2]) -> impl Iterator<Item = usize> {
    let mut rank = Rank::default();
    (0..width).filter(|index| !is_lost(*index)).for_each(|index| rank.add(strip(index)));
    let equations: [fn(u32) -> u8; 2] = [|_| 1, power];
    for (equation, _) in equations.into_iter().zip(parities_lost).filter(|(_, is_lost)| !is_lost) {
        rank.add(std::array::from_fn(|index| if index < width { equation(index as u32) } else { 0 }));
    }
    (0..width).filter(move |index| rank.reduce(strip(*index)) != [0; 64])
}

/// The pages that must be lost under a scheme with two parities, in order.
fn lost_with_two_parities<M: Media>(engine: &Engine<Tags, M>) -> Vec<Lpn> {
    let flash = &engine.executor.media;
    let (mut lost, mut parities, mut first) = (Vec::new(), Vec::new(), 0);
    while first < engine.space_pages() {
        let end = end_of_stripe(engine, first);
        parities.clear();
        engine.scheme().redundancy_of(Lpn(first), &mut parities);
        let parities_lost = [parities[0], parities[1]].map(|page| flash.is_lost(page, Version::Current));
        let is_lost = |index| flash.is_lost(engine.scheme().locate(Lpn(first + index as u64)), Version::Current);
        lost.extend(lost_by_rank((end - first) as usize, is_lost, parities_lost).map(|index| Lpn(first + index as u64)));
        first = end;
    }
    lost
}

/// The pages that must be lost, in order; and those that cannot be read now of which contents do not tell.
pub fn lost_pages<M: Media>(engine: &Engine<Tags, M>) -> (Vec<Lpn>, Vec<Lpn>) {
    if engine.scheme().survives_failures() > 1 {
        return (lost_with_two_parities(engine), Vec::new());
    }
    let (flash, tags) = (&engine.executor.media, &engine.executor.content);
    let (mut lost, mut vague, mut pages) = (Vec::new(), Vec::new(), Vec::new());
    let mut first = 0;
    while first < engine.space_pages() {
        let end = end_of_stripe(engine, first);
        pages.clear();
        pages_of_stripe(engine, first, end, &mut pages);
        let has_deferred = pages.iter().any(|page| tags.in_nvram(*page) != ZERO);
        let has_base = pages.iter().any(|page| flash.lookup(*page, Version::Base).is_some());
        // NVRAM lives. What it and living data give needs no base.
        let (mut span, mut without_bases, mut old_parities) = (Span::default(), Span::default(), Vec::new());
        for content in pages.iter().map(|page| tags.in_nvram(*page)) {
            span.add(content);
            without_bases.add(content);
        }
        for (page, version) in pages.iter().flat_map(|page| VERSIONS.map(|version| (*page, version))) {
            if let Some(ppn) = flash.lookup(page, version).filter(|_| !flash.is_lost(page, version)) {
                let is_old = has_deferred && !has_base && !holds_data(engine, first, end, page);
                if is_old {
                    old_parities.push(tags.page(ppn))
                } else {
                    span.add(tags.page(ppn))
                }
                if version == Version::Current && holds_data(engine, first, end, page) {
                    without_bases.add(tags.page(ppn));
                }
            }
        }
        // A parity on flash that NVRAM has outdated may give a page if the old versions that it covers are pages of zeroes, or are still the
        // newest ones: if NVRAM covers the whole stripe, nobody knows that.
        let mut wider = Span(span.0.clone());
        old_parities.into_iter().for_each(|content| wider.add(content));
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
            } else if lost_base && without_bases.reduce(tags.durable(lpn)) != 0 || span.reduce(tags.durable(lpn)) != 0 {
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
    use super::{Span, lost_by_rank, lost_pages};
    use flashraid_sim::engine::Engine;
    use flashraid_sim::engine::tags::Tags;
    use flashraid_sim::media::{Flash, Inspect};
    use flashraid_sim::{Config, assemble};
    use flashraid_vocabulary::{Fault, HostOp, HostRequest, Lpn, Part};

    /// A drive of four members, three pages of data in each stripe, of which the first ones are written.
    fn filled(scheme: &str, pages: u64) -> Engine<Tags, Flash> {
        let pairs =
            [("channels", "4"), ("unwritten", "prefill"), ("buffer_bytes", "0")].map(|(key, value)| (key.to_string(), value.to_string()));
        let config = Config::assemble(Some("tiny"), Some(scheme), None, &pairs).expect("legal settings");
        let mut engine = assemble::engine::<Tags, Flash>(&config, Tags::new).expect("a legal device");
        engine.fill(pages);
        engine
    }

    fn member_of(engine: &Engine<Tags, Flash>, lpn: u64) -> u16 {
        engine.scheme().locate(Lpn(lpn)).member.0
    }

    fn fail(engine: &mut Engine<Tags, Flash>, member: u16) {
        let part = Part::Channel(member.into());
        engine.fail(Fault::Loss(part));
        let dead: Vec<_> = engine.executor.media.parts().pages_of(&part).collect();
        dead.into_iter().for_each(|ppn| engine.executor.content.destroy(ppn));
    }

    fn submit(engine: &mut Engine<Tags, Flash>, op: HostOp, lpn: u64) {
        let size_bytes = u64::from(engine.executor.media.shape().page_bytes);
        let request = HostRequest { arrival_ns: engine.now_ns(), offset_bytes: lpn * size_bytes, size_bytes, op, stream: 0, source: 0 };
        engine.submit(&request, true);
        engine.finish().expect("no stall");
    }

    fn pages(pages: impl IntoIterator<Item = u64>) -> Vec<Lpn> {
        pages.into_iter().map(Lpn).collect()
    }

    /// With one parity a second failure takes what lies on either member, whether the parity is on one of them or not; the first one takes nothing.
    #[test]
    fn two_failures_take_what_lies_on_both_members() {
        for (one, other) in (0..4).flat_map(|one| (one..4).map(move |other| (one, other))) {
            let mut engine = filled("raid5", 63);
            fail(&mut engine, one);
            assert_eq!(lost_pages(&engine), (Vec::new(), Vec::new()));
            if other != one {
                fail(&mut engine, other);
                let on_either = (0..63).filter(|lpn| [one, other].contains(&member_of(&engine, *lpn)));
                assert_eq!(lost_pages(&engine), (pages(on_either), Vec::new()));
            }
        }
    }

    /// A lost page of zeroes leaves open what its stripe has lost, and says nothing of others.
    #[test]
    fn a_lost_page_of_zeroes_makes_its_stripe_vague() {
        let mut engine = filled("raid5", 62);
        submit(&mut engine, HostOp::Read, 62);
        let failed = [60, 62].map(|lpn| member_of(&engine, lpn));
        failed.iter().for_each(|member| fail(&mut engine, *member));
        let elsewhere = (0..60).filter(|lpn| failed.contains(&member_of(&engine, *lpn)));
        assert_eq!(lost_pages(&engine), (pages(elsewhere), pages([60, 62])));
    }

    /// NVRAM gives the strip that it has the only parity of; the other strips need the old version that the parity on flash covers.
    #[test]
    fn what_nvram_guards_is_lost_with_no_member() {
        for (also_fails, lost) in [(None, None), (Some(1), Some(1)), (Some(2), Some(2))] {
            let mut engine = filled("ppc", 63);
            submit(&mut engine, HostOp::Write, 0);
            for lpn in [Some(0), also_fails].into_iter().flatten() {
                let member = member_of(&engine, lpn);
                fail(&mut engine, member);
            }
            let (must, vague) = lost_pages(&engine);
            assert_eq!((must.into_iter().filter(|lpn| lpn.0 < 3).collect(), vague), (pages(lost), Vec::new()));
        }
    }

    /// Any two pages of a stripe may be lost; with more, the data strips among them are.
    #[test]
    fn two_equations_determine_any_two_strips() {
        for width in [2usize, 5, 62] {
            let places = 0..width + 2;
            let sets =
                places.clone().flat_map(|one| places.clone().flat_map(move |two| [one, two, width - 1].map(|three| [one, two, three])));
            for set in sets {
                let is_lost = |place: usize| set.contains(&place);
                let count = places.clone().filter(|place| is_lost(*place)).count();
                let lost: Vec<_> = lost_by_rank(width, is_lost, [is_lost(width), is_lost(width + 1)]).collect();
                let expected: Vec<_> = (0..width).filter(|index| count > 2 && is_lost(*index)).collect();
                assert_eq!(lost, expected, "{set:?} of {width}");
            }
        }
    }

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
