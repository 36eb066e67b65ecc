//! The fill leaves behind what placing page by page leaves.

use crate::support::{GEOMETRY, GIVEN, Random, settings};
use flashraid_ftl::{Flash, Given, MemorySettings, Overwrites, Placement, Settings};
use flashraid_vocabulary::{Cause, Geometry, Lun, Member, MemberPage, NoObserver, Version, WearLeveling};

/// What happens to a page.
#[derive(Clone, Copy, Debug)]
enum Event {
    Place(MemberPage),
    /// The same, and what it supersedes becomes the base.
    Keep(MemberPage),
    Unmap(MemberPage),
}

fn state_after(settings: &Settings, events: &[Event], is_fill: bool) -> String {
    let mut flash = Flash::new(settings.clone());
    flash.preparation().set_untimed(true);
    if is_fill {
        flash.preparation().begin_fill(events.len() as u64);
    }
    let place = |flash: &mut Flash, page, keep_base| {
        let (plane, ppn) = flash.preparation().place(page, Version::Current, keep_base, Cause::Host, &mut NoObserver);
        assert_eq!(flash.store().lookup(page, Version::Current), Some(ppn));
        flash.preparation().collect_low(plane, &mut NoObserver);
    };
    for event in events {
        match *event {
            Event::Place(page) => place(&mut flash, page, false),
            Event::Keep(page) => place(&mut flash, page, true),
            Event::Unmap(page) => {
                flash.preparation().end_filling();
                flash.unmap(page, Version::Current);
            }
        }
    }
    flash.preparation().set_untimed(false);
    format!("{flash:?}")
}

fn devices() -> Vec<Settings> {
    let odd = Geometry { channels: 3, chips_per_channel: 1, pages_per_block: 6, blocks_per_plane: 5, ..GEOMETRY };
    let mut all = Vec::new();
    for placement in [Placement::Static, Placement::Member, Placement::Groups(1)] {
        for geometry in [GEOMETRY, odd] {
            for (member, lun, gc_threshold) in [(Member::Channel, Lun::Die, 0.1), (Member::Chip, Lun::Chip, 0.9)] {
                let given = flashraid_ftl::Given { member, lun, wear_leveling: WearLeveling::Static, ..GIVEN };
                let base = Settings { geometry, given, gc_threshold, ..settings(placement) };
                let members = base.members();
                // As many as the device can hold while GC keeps its blocks: the last ones find planes without a page.
                let in_use = geometry.physical_pages() as u32 / geometry.blocks_per_plane * (geometry.blocks_per_plane - 1);
                let pages = in_use / members;
                all.push(Settings { pages_per_member: pages, ..base });
            }
        }
    }
    all
}

#[test]
fn a_fill_is_as_page_by_page() {
    let mut random = Random(7);
    let mut fast = 0;
    for settings in devices() {
        let members = settings.members();
        let page = |number: u32| MemberPage::new((number % members) as u16, number / members);
        let all = settings.pages_per_member * members;
        for round in 0..12 {
            let count = if round == 0 { all } else { random.below(u64::from(all) + 1) as u32 };
            let mut events: Vec<_> = (0..count).map(|number| Event::Place(page(number))).collect();
            if round > 6 && count > 10 {
                let at = random.below(u64::from(count)) as usize;
                let earlier = page(random.below(at as u64 + 1) as u32);
                let other = [Event::Place(earlier), Event::Keep(earlier), Event::Unmap(earlier)][round % 3];
                events.insert(at + 1, other);
            }
            let (expected, found) = (state_after(&settings, &events, false), state_after(&settings, &events, true));
            assert!(expected == found, "{count} pages, {:?}, round {round}", settings.placement);
            fast += 1;
        }
    }
    assert!(fast > 100, "{fast}");
}

const PAGES: u32 = 64;
const BLOCKS: u32 = 64;

/// One plane of 64 blocks of 64 pages, 4 of which GC keeps free, with so many pages.
fn one_plane(live: u32) -> Settings {
    let geometry = Geometry { blocks_per_plane: BLOCKS, pages_per_block: PAGES, ..crate::support::ONE_PLANE };
    Settings { geometry, pages_per_member: live, gc_threshold: 4.0 / f64::from(BLOCKS), ..settings(Placement::Member) }
}

/// Such a plane filled as overwrites would leave it, the last pages parities that are overwritten four times as often. Returns where its pages lie, and what is
/// programmed while each of the others is overwritten once.
fn overwritten(data: u32, parities: u32) -> (Flash, Vec<u32>, f64) {
    let mut random = Random(3);
    let mut flash = Flash::new(one_plane(data + parities));
    flash.preparation().set_untimed(true);
    let pages = &[[data.into(), parities.into()]];
    let overwrites = &mut Overwrites { pages, parity_rate: 4.0, phases: false, random: &mut || random.below(u64::MAX) };
    let programs = flash.preparation().begin_overwritten_fill(overwrites).unwrap();
    let mut places = Vec::new();
    for number in 0..data + parities {
        let cause = if number < data { Cause::Host } else { Cause::Parity };
        let (_, ppn) = flash.preparation().place(MemberPage::new(0, number), Version::Current, false, cause, &mut NoObserver);
        places.push(ppn.0);
    }
    flash.preparation().set_untimed(false);
    (flash, places, programs)
}

/// Of each block, the oldest first, as many of these pages are valid as the law says: this share of the newest slots, and less of those that were overwritten since.
fn assert_follow(places: &[u32], newest: f64, overwrites: f64) {
    let mut of_blocks = [0u32; BLOCKS as usize];
    places.iter().for_each(|ppn| of_blocks[(ppn / PAGES) as usize] += 1);
    for (age, valid) in of_blocks[..60].iter().enumerate() {
        let share = newest * (-overwrites * (1.0 - (age as f64 + 0.5) / 60.0)).exp();
        let deviation = (f64::from(PAGES) * share * (1.0 - share)).sqrt();
        assert!((f64::from(*valid) - f64::from(PAGES) * share).abs() < 4.5 * deviation + 1.0, "block {age}: {valid} valid, {share}");
    }
    assert_eq!(of_blocks[60..], [0; 4]);
}

/// A fill that lays pages where random writes would have left them: the shares of valid pages follow e^(-xT), every page is there, and GC goes on from it.
#[test]
fn a_fill_may_be_as_overwritten() {
    let live = 3_500;
    let (flash, mut places, programs) = overwritten(live, 0);
    // 60 blocks are written, as 4 are kept: T of (1 - e^-T) / T = 3,500 / 3,840 is 0.1884.
    let overwrites: f64 = 0.1884;
    assert!((programs / f64::from(live) - 1.0 / (1.0 - (-overwrites).exp())).abs() < 0.002, "{programs}");
    assert_follow(&places, 1.0, overwrites);
    // Where a page is says nothing of its number.
    let half = places.iter().filter(|ppn| **ppn / PAGES < 30).count();
    let early = places[..1750].iter().filter(|ppn| **ppn / PAGES < 30).count();
    assert!((early as f64 - half as f64 / 2.0).abs() < 4.0 * 30.0, "{early} of {half}");
    places.sort_unstable();
    places.dedup();
    assert_eq!(places.len(), live as usize);
    // Programs find their pages, and GC its victims, oldest first.
    let mut host = crate::support::Host::new(one_plane(live));
    host.flash = flash;
    let mut random = Random(5);
    for _ in 0..12 {
        // Of one page after the other, as one that is being programmed is not programmed again.
        let first = random.below(70) as u32;
        (0..50).for_each(|number| assert!(host.write(MemberPage::new(0, first + 70 * number), Version::Current, false)));
        host.finish();
    }
    let [_, programs, erases] = host.flash.nand().counts().map(|of| of[flashraid_vocabulary::Cause::Gc as usize]);
    assert!(erases > 30 && programs > 2 * 600, "{programs} pages moved, {erases} erases");
}

/// Parities are overwritten more often, so that they are the newer pages. T and the shares are solutions of the equations in SPEC 8.10; a FIFO log of pages that
/// was simulated by itself has a write amplification of 5.921.
#[test]
fn parities_are_newer_than_data_in_a_fill_as_overwritten() {
    let (data, parities) = (2_800, 700);
    let (_, places, programs) = overwritten(data, parities);
    let overwrites = 0.115_852;
    assert_follow(&places[..2_800], 0.772_220, overwrites);
    assert_follow(&places[2_800..], 0.227_780, 4.0 * overwrites);
    let written = f64::from(data + 4 * parities);
    assert!((programs / written - 5.918_864).abs() < 1e-3, "{}", programs / written);
    let ages = |places: &[u32]| places.iter().map(|ppn| f64::from(ppn / PAGES)).sum::<f64>() / places.len() as f64;
    assert!(ages(&places[2_800..]) > ages(&places[..2_800]) + 1.0);
}

/// Nothing is spare: such a device is not constructed, and nothing has changed.
#[test]
fn nothing_is_overwritten_where_nothing_is_spare() {
    let settings = Settings { geometry: crate::support::ONE_PLANE, pages_per_member: 24, ..settings(Placement::Member) };
    let mut flash = Flash::new(settings);
    let before = format!("{flash:?}");
    let overwrites = &mut Overwrites { pages: &[[24, 0]], parity_rate: 0.0, phases: true, random: &mut || 0 };
    assert_eq!(flash.preparation().begin_overwritten_fill(overwrites), None);
    assert_eq!(format!("{flash:?}"), before);
}

/// Also where several pages are programmed together, of which a plane takes all before it is the turn of another.
#[test]
fn a_fill_of_program_units_is_as_page_by_page() {
    let geometry = Geometry { channels: 1, pages_per_block: 8, ..GEOMETRY };
    for (units_per_page, program_pages) in [(2, 1), (1, 2), (2, 2)] {
        let memory = MemorySettings { pages: 64, read_ns: 0, survives_power_loss: true, pad_after_ns: 0 };
        let given = Given { program_pages, ..GIVEN };
        let own = Settings { geometry, given, units_per_page, memory, ..settings(Placement::Member) };
        let places = |is_fill: bool| -> Vec<_> {
            let mut flash = Flash::new(own.clone());
            flash.preparation().set_untimed(true);
            if is_fill {
                flash.preparation().begin_fill(101);
            }
            (0..101)
                .map(|page| flash.preparation().place(MemberPage::new(0, page), Version::Current, false, Cause::Host, &mut NoObserver))
                .collect()
        };
        assert_eq!(places(true), places(false), "{units_per_page} x {program_pages}");
    }
}
