//! The one list of schemes.

use crate::host;
use flashraid_redundancy::{Build, SCHEMES, WriteBuffer, find};

fn build(name: &str, members: u16, parameters: &[(&str, &str)]) -> Result<u64, String> {
    find(name).unwrap().build(&host::build(members, 10, parameters)).map(|scheme| scheme.user_pages()).map_err(|error| error.to_string())
}

#[test]
fn names_are_distinct_and_found() {
    for (index, entry) in SCHEMES.iter().enumerate() {
        assert!(SCHEMES[..index].iter().all(|other| other.name != entry.name));
        assert_eq!(find(entry.name).unwrap().title, entry.title);
    }
    assert!(find("raid7").is_none());
}

/// SPEC 4.3: the schemes of that paper run behind a write buffer in NVRAM, and no-pc is nothing but raid5 behind it.
#[test]
fn the_schemes_of_one_paper_have_a_write_buffer() {
    let has = |name, is: fn(WriteBuffer) -> bool| assert!(is(find(name).unwrap().write_buffer), "{name}");
    has("no-pc", |buffer| matches!(buffer, WriteBuffer::Needed(_)));
    for name in ["fpc", "ppc", "ca-ppc"] {
        has(name, |buffer| buffer == WriteBuffer::Usual);
    }
    for name in ["raid0", "raid1", "raid4", "raid5", "sirf1", "cr5m", "fra"] {
        has(name, |buffer| buffer == WriteBuffer::Unused);
    }
}

#[test]
fn capacities() {
    assert_eq!(build("raid0", 4, &[]), Ok(40));
    assert_eq!(build("raid1", 4, &[]), Ok(20));
    assert_eq!(build("sirf1", 4, &[]), Ok(20));
    assert_eq!(build("sirf1", 6, &[("groups", "3")]), Ok(20));
    assert_eq!(build("sirf1", 6, &[("groups", "1")]), Ok(60));
    assert_eq!(build("raid4", 4, &[]), Ok(30));
    assert_eq!(build("raid5", 64, &[]), Ok(630));
    assert_eq!(build("cr5m", 32, &[]), Ok(310), "as raid5: the price are the mirror chips");
}

#[test]
fn what_makes_no_sense_is_refused_with_the_reason() {
    let refused = |name, members| build(name, members, &[]).unwrap_err();
    assert_eq!(refused("raid0", 0), "raid0 needs at least 1 member; the device has 0");
    assert_eq!(refused("raid1", 1), "raid1 needs at least 2 members; the device has 1");
    assert_eq!(refused("raid1", 5), "raid1 needs an even number of members; the device has 5");
    assert_eq!(refused("raid4", 2), "raid4 needs at least 3 members; the device has 2");
    assert_eq!(refused("raid5", 2), "raid5 needs at least 3 members; the device has 2");
    assert_eq!(refused("sirf1", 0), "sirf1 needs at least 1 member; the device has 0");
    assert_eq!(refused("sirf1", 5), "groups = 2: the device has 5 members, which cannot be divided evenly into 2 groups");
    assert_eq!(
        build("sirf1", 8, &[("groups", "3")]).unwrap_err(),
        "groups = 3: the device has 8 members, which cannot be divided evenly into 3 groups"
    );
    assert_eq!(build("sirf1", 8, &[("groups", "65")]).unwrap_err(), "groups = 65: allowed is a whole number from 1 to 64");
    assert_eq!(build("sirf1", 8, &[("groups", "2.0")]).unwrap_err(), "groups = 2.0: allowed is a whole number from 1 to 64");
    assert_eq!(refused("cr5m", 2), "cr5m needs at least 3 members; the device has 2");
    assert_eq!(refused("cr5m", 33), "cr5m supports at most 32 members; the device has 33");
    let without_mirrors = Build { copies_held: 0, ..host::build(4, 10, &[]) };
    let error = find("cr5m").unwrap().build(&without_mirrors).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "cr5m needs mirror chips with space for at least one copy; the device has none");
    let limit = |value| build("cr5m", 4, &[("mw_limit", value)]).unwrap_err();
    assert_eq!(limit("-1"), "mw_limit = -1: allowed is a number from 0 to 1000 with at most 3 decimal places");
    assert_eq!(build("cr5m", 4, &[("consolidate", "always")]).unwrap_err(), "consolidate = always: allowed is last_strip, never");
    assert_eq!(build("raid5", 4, &[("update", "RMW")]).unwrap_err(), "update = RMW: allowed is fewest, rmw, rcw, bpu, adaptive");
}
