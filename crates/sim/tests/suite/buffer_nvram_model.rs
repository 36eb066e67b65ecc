//! Counts and victims of the write buffer in NVRAM (SPEC 4.4) beside a plain model.

use crate::buffer_nvram::{PAGE, SECTOR, buffered, counted, evictions, held, is_clean, requests};
use flashraid_vocabulary::{Action, Cause, HostOp, HostRequest};
use std::collections::BTreeMap;

/// A plain model: knows requests, parameters and what was filled, no time.
struct Model {
    room: usize,
    width: u64,
    largest: bool,
    /// Stripes in the order of their last write, each with its pages and their sectors.
    stripes: Vec<(u64, BTreeMap<u64, u8>)>,
    on_flash: BTreeMap<u64, u8>,
    /// Read hits and misses, write hits and misses, evictions, pages of these, those of them that need old content beneath.
    counts: [u64; 7],
}

impl Model {
    fn sectors(&self, page: u64) -> u8 {
        self.stripes.iter().find_map(|(_, pages)| pages.get(&page).copied()).unwrap_or(0)
    }

    fn held(&self) -> Vec<u64> {
        let mut pages: Vec<u64> = self.stripes.iter().flat_map(|(_, pages)| pages.keys().copied()).collect();
        pages.sort_unstable();
        pages
    }

    fn evict(&mut self) {
        let largest = self.stripes.iter().map(|(_, pages)| pages.len()).max();
        let victim = self.stripes.iter().position(|(_, pages)| !self.largest || Some(pages.len()) == largest).expect("something");
        let (_, pages) = self.stripes.remove(victim);
        self.counts[4] += 1;
        self.counts[5] += pages.len() as u64;
        for (page, sectors) in pages {
            let on_flash = self.on_flash.entry(page).or_default();
            self.counts[6] += u64::from(*on_flash & !sectors != 0);
            *on_flash |= sectors;
        }
    }

    fn write(&mut self, page: u64, sectors: u8) {
        let stripe = page / self.width;
        let is_hit = self.held().contains(&page);
        self.counts[if is_hit { 2 } else { 3 }] += 1;
        if !is_hit && self.held().len() == self.room {
            self.evict();
        }
        let (_, mut pages) = match self.stripes.iter().position(|(of, _)| *of == stripe) {
            Some(position) => self.stripes.remove(position),
            None => (stripe, BTreeMap::new()),
        };
        *pages.entry(page).or_default() |= sectors;
        self.stripes.push((stripe, pages));
    }

    fn data(&mut self, op: HostOp, start: u64, end: u64) {
        let sectors: Vec<u64> = (start / SECTOR..if start < end { end.div_ceil(SECTOR) } else { 0 }).collect();
        for sectors in sectors.chunk_by(|one, other| one / 8 == other / 8) {
            let (page, mask) = (sectors[0] / 8, sectors.iter().fold(0u8, |mask, sector| mask | 1 << (sector % 8)));
            if op == HostOp::Write {
                self.write(page, mask);
            } else {
                self.counts[usize::from(mask & !self.sectors(page) != 0)] += 1;
            }
        }
    }

    fn request(&mut self, request: &HostRequest) {
        let (start, end) = (request.offset_bytes, request.offset_bytes + request.size_bytes);
        let (first, last) = (start.div_ceil(PAGE), end / PAGE);
        match request.op {
            HostOp::Read | HostOp::Write => return self.data(request.op, start, end),
            HostOp::Flush => return,
            HostOp::Trim => {}
            HostOp::WriteZeroes => self.data(HostOp::Write, start, end.min(first * PAGE)),
        }
        for page in first..last {
            for (_, pages) in &mut self.stripes {
                pages.remove(&page);
            }
            self.stripes.retain(|(_, pages)| !pages.is_empty());
            self.on_flash.remove(&page);
        }
        if request.op == HostOp::WriteZeroes && first <= last {
            self.data(HostOp::Write, last * PAGE, end);
        }
    }
}

/// After each request the buffer holds what the model holds, so that each victim was the same, however long flash takes for anything.
#[test]
fn counts_and_victims_are_those_of_a_plain_model_at_any_speed() {
    let mut collected = 0;
    for (scheme, channels, width) in [("raid0", 3, 3), ("raid1", 4, 2), ("raid5", 5, 4)] {
        for (number, room) in [1, 2, 3, 5, 8, 16, 64].into_iter().enumerate() {
            for rule in ["oldest_write", "largest_group"] {
                for gap_ns in [0, 30_000, 3_000_000] {
                    let settings =
                        [("nvram_victim", rule), ("blocks_per_plane", "12"), ("pages_per_block", "8"), ("over_provisioning", "0.3")];
                    let mut engine = buffered(scheme, channels, room, &settings);
                    let filled = number as u64 * 10 * width;
                    engine.fill(filled);
                    let mut model = Model {
                        room: room as usize,
                        width,
                        largest: rule == "largest_group",
                        stripes: Vec::new(),
                        on_flash: (0..filled).map(|page| (page, 0xFF)).collect(),
                        counts: [0; 7],
                    };
                    for (index, request) in requests(&engine, number as u64, 400).iter().enumerate() {
                        model.request(request);
                        engine.advance_until(engine.now_ns() + gap_ns).unwrap();
                        engine.submit(request, true);
                        let held = held(&engine, engine.space_pages());
                        assert_eq!(held, model.held(), "{scheme}, room for {room}, {rule}, {gap_ns} ns, request {index}: {request:?}");
                        if index % 50 == 0 {
                            is_clean(&engine);
                        }
                    }
                    engine.finish().unwrap();
                    is_clean(&engine);
                    let counts = engine.survey().buffer.unwrap().counts;
                    let found = [counts.read_hits, counts.read_misses, counts.write_hits, counts.write_misses];
                    assert_eq!((found, evictions(&engine)), (model.counts[..4].try_into().unwrap(), (model.counts[4], model.counts[5])));
                    assert_eq!(counted(&engine, Action::Program, Cause::Host), model.counts[5]);
                    let update_reads = counted(&engine, Action::Read, Cause::UpdateRead);
                    assert!(if scheme == "raid5" { update_reads <= model.counts[6] } else { update_reads == model.counts[6] });
                    assert_eq!((counts.failed_no_space, counts.failed_lost), (0, 0));
                    collected += engine.executor.media.nand().counts()[Action::Program as usize][Cause::Gc as usize];
                }
            }
        }
    }
    assert!(collected > 100, "{collected} pages were moved");
}
