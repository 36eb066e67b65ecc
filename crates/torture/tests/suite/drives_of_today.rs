//! What a drive of today adds (SPEC 8), each under a slice of the schemes: whatever fails, and whenever, nothing is lost.

use crate::support::{proving, some_of};
use flashraid_redundancy::{Entry, Protects, SCHEMES};
use flashraid_torture::Torture;

type Pairs<'a> = &'a [(&'a str, &'a str)];

/// Whether superblocks (SPEC 8.12) and `gc_pace = debt` (SPEC 8.4), if they are among the settings, are allowed with the scheme.
fn may_have(entry: &Entry, pairs: Pairs) -> bool {
    let has_superblocks = pairs.contains(&("superblock", "true"));
    let has_debt = pairs.contains(&("gc_pace", "debt"));
    (entry.mirror_chips == 0 || !has_superblocks) && (entry.coordinates_gc.is_none() || !has_debt)
}

/// Of a slice of the schemes (`some_of`), each with the next of `kinds` that it may have; and once more with second failures, if these are asked for.
fn nothing_is_lost(kinds: &[Pairs], (first, of): (usize, usize), seconds: &[bool]) {
    let mut tried = 0;
    let protecting = SCHEMES.iter().filter(|entry| entry.protects != Protects::None);
    for (number, entry) in some_of(protecting, first, of).enumerate() {
        for &second in seconds {
            let mut next = kinds.iter().cycle().skip(number + usize::from(second)).take(kinds.len());
            let Some(kind) = next.find(|kind| may_have(entry, kind)) else { continue };
            let settings = kind.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
            let torture = Torture { scheme: entry.name.into(), settings, kills: proving(20_000, 175), second, ..Torture::default() };
            let report = torture.run(&mut |_, _| true).unwrap_or_else(|error| panic!("{} {kind:?}: {error}", entry.name));
            let [found] = report.schemes.as_slice() else { panic!("one scheme") };
            assert_eq!(found.violation, None, "{} {kind:?}", entry.name);
            assert!(found.kills == torture.kills && found.rebuilt > 0, "{}: {found:?}", entry.name);
            tried += 1;
        }
    }
    assert!(tried > 0);
}

/// Several units share a flash page, or several pages are programmed together, or both.
#[test]
fn of_what_is_programmed_together() {
    const KINDS: [Pairs; 3] = [
        &[("mapping_unit_bytes", "512")],
        &[("program_pages", "4"), ("pages_per_block", "8"), ("read_pages", "2")],
        &[("mapping_unit_bytes", "512"), ("program_pages", "3"), ("pages_per_block", "6"), ("read_pages", "3")],
    ];
    nothing_is_lost(&KINDS, (0, 6), &[false, true]);
}

#[test]
fn around_suspensions() {
    const KINDS: [Pairs; 2] = [
        &[("suspend", "both"), ("suspend_min_ns", "0"), ("scheduling", "read_first"), ("erase_ns", "1500000")],
        &[("suspend", "program"), ("suspend_min_ns", "20000"), ("scheduling", "read_first"), ("erase_ns", "1500000")],
    ];
    nothing_is_lost(&KINDS, (3, 6), &[false, true]);
}

/// Members have several dies, and superblocks all of them together. With mirror chips there is none.
#[test]
fn of_superblocks() {
    const KINDS: [Pairs; 3] = [
        &[("superblock", "true")],
        &[("superblock", "true"), ("program_pages", "2"), ("pages_per_block", "8"), ("read_pages", "2"), ("allocation", "dynamic")],
        &[
            ("superblock", "true"),
            ("gc_pace", "debt"),
            ("power_loss_protection", "true"),
            ("program_pages", "2"),
            ("pages_per_block", "8"),
            ("planes_per_die", "2"),
        ],
    ];
    nothing_is_lost(&KINDS, (1, 5), &[false, true]);
}

#[test]
fn of_streams() {
    const KINDS: [Pairs; 5] = [
        &[("mapping_unit_bytes", "1024"), ("page_bytes", "4096"), ("write_streams", "3")],
        &[("mapping_unit_bytes", "1024"), ("page_bytes", "4096"), ("write_streams", "8"), ("power_loss_protection", "false")],
        &[("superblock", "true"), ("write_streams", "3"), ("gc_streams", "own")],
        &[
            ("write_streams", "3"),
            ("gc_streams", "own"),
            ("power_loss_protection", "false"),
            ("mapping_unit_bytes", "1024"),
            ("page_bytes", "4096"),
        ],
        &[("program_pages", "2"), ("pages_per_block", "8"), ("write_streams", "2"), ("gc_streams", "own"), ("gc_pace", "debt")],
    ];
    nothing_is_lost(&KINDS, (2, 5), &[false]);
}

#[test]
fn of_the_slc_cache() {
    const NEEDS: Pairs = &[("mapping", "page"), ("ldpc", "none"), ("read_pages", "1")];
    const KINDS: [Pairs; 4] = [
        &[("program_pages", "2"), ("pages_per_block", "8"), ("slc_static", "2"), ("slc_full", "stall")],
        &[("program_pages", "3"), ("pages_per_block", "6"), ("slc_dynamic", "true"), ("slc_leave", "1")],
        &[("program_pages", "2"), ("pages_per_block", "8"), ("superblock", "true"), ("slc_static", "1"), ("slc_dynamic", "true")],
        &[("program_pages", "2"), ("pages_per_block", "6"), ("slc_static", "1"), ("gc_pace", "debt"), ("write_streams", "3")],
    ];
    let kinds = KINDS.map(|kind| [NEEDS, kind].concat());
    nothing_is_lost(&kinds.each_ref().map(Vec::as_slice), (1, 5), &[false]);
}
