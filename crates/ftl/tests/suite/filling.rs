//! The fill leaves behind what placing page by page leaves.

use crate::support::{GEOMETRY, GIVEN, Random, settings};
use flashraid_ftl::{Flash, Placement, Settings};
use flashraid_vocabulary::{Geometry, Lun, Member, MemberPage, NoObserver, Version, WearLeveling};

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
        let (plane, ppn) = flash.preparation().place(page, Version::Current, keep_base, &mut NoObserver);
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
