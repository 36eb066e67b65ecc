//! Internal mirroring (SIRF-1).
//!
//! Idea: the channels of one SSD form mirror groups, and each page has a copy in each of them. What distinguishes it from RAID-1 is that
//! the FTL places the copies independently, each on whatever channel, chip, die and plane of its group is idle, so that a mapping entry
//! holds one physical page number per group; and that page reads alternate between the groups. The overhead is the capacity of all groups
//! but one, and as many more programs for each page written.
//! Source: M. S. MacFadden, R. Shelby, T. Xie, "SIRF-1: Enhancing Reliability of Single Flash SSD through Internal Mirroring for
//! Mission-Critical Mobile Applications", section III; SPEC 2.4 (algorithms), 2.7 (rulings), 0.1 b (one lock for all copies of a page).
//! The rules of copies that have nothing to do with all this are in `parts::copies`, shared with RAID-1. Placement and GC are
//! the FTL's: `mirror_groups` confines the former to the group, and the latter moves pages inside a plane (SPEC 2.4).
//! Departures: a program that finds no LUN of its group idle takes the first that becomes so, as in SSDsim, where SPEC 2.4 binds it to the
//! channel with the shortest queue when it is issued. Where SPEC 2.7 ruling 6 compares chips, the LUNs (dies, unless the device serves a chip
//! as a whole) are compared, and programs that any LUN of the group may take count nowhere.
//! Note: consecutive page writes rotate over the channels, and consecutive reads over the groups. With an even number of channels in a
//! group the two rotations are in step, and such reads use only every other channel; `read = least_busy` avoids this.

use crate::parts::copies::{Copies, Steering};
use crate::{Build, Choice, Draws, Entry, Members, Parameter, ParameterError, Protects, Redundancy, Scheme, Values};
use flashraid_vocabulary::{MemberPage, Version, View, persistent};

const GROUPS: Parameter = Parameter {
    name: "groups",
    values: Values::Whole { least: 1, most: 64, default: 2 },
    draws: Draws::OneOf(&["2", "2", "3"]),
    about: "Number of mirror groups into which the channels are divided. Each group holds a copy of each page; 1 disables mirroring.",
    ..Parameter::PLAIN
};

const READ: Parameter = Parameter {
    name: "read",
    values: Values::Words(&["round_robin", "least_busy"]),
    needs: Some(("groups from 2", has_mirror)),
    runtime: true,
    about: "Which copy a page read uses: round_robin uses each group in turn; least_busy uses the one with the fewest queued \
            operations (at its LUN, then on its channel; ties are broken in turn).",
    ..Parameter::PLAIN
};

const FIRST_COPY: &str = "first_copy";

const COMPLETES: Parameter = Parameter {
    name: "completes",
    values: Values::Words(&["all_copies", FIRST_COPY]),
    needs: Some(("groups from 2", has_mirror)),
    draws: Draws::OneOf(&["all_copies", "all_copies", FIRST_COPY]),
    about: "When a write is acknowledged: once all copies are programmed, or once the first one is. The latter is for sensitivity studies only: \
            until the other copies are programmed, a failure may lose an acknowledged write.",
    ..Parameter::PLAIN
};

fn has_mirror(build: &Build) -> bool {
    build.whole(&GROUPS).is_ok_and(|groups| groups > 1)
}

/// SIRF-1.
pub const ENTRY: Entry = Entry {
    name: "sirf1",
    title: "SIRF-1 (internal mirroring)",
    about: "Each page in each of two groups of channels, placed independently; reads alternate between the groups. Overhead: half of the capacity, and a second program for each page.",
    protects: Protects::Channel,
    redundancy: Redundancy::Copies,
    members: Members::from(1),
    // A mapping entry holds one physical page number a group, anywhere in it (SPEC 2.2).
    // SPEC 2.7 ruling 9 refuses odd numbers of channels for two groups.
    mirror_groups: Some(&GROUPS),
    completes_early: Some(Choice { parameter: &COMPLETES, word: FIRST_COPY }),
    parameters: &[&[GROUPS, READ, COMPLETES]],
    construct: build,
    ..Entry::PLAIN
};

fn build(build: &Build) -> Result<Box<dyn Scheme>, ParameterError> {
    let groups = build.whole(&GROUPS)?;
    let by_load = build.choice(&READ)? == "least_busy";
    let first_copy = build.choice(&COMPLETES)? == FIRST_COPY;
    Ok(Box::new(Copies::new(build, groups, Sirf1 { toggle: 0, by_load, first_copy })))
}

/// What SIRF-1 adds to keeping copies.
#[derive(Clone, Debug)]
struct Sirf1 {
    /// The group that the next page read takes (SPEC 2.2).
    toggle: u32,
    by_load: bool,
    first_copy: bool,
}

persistent!(Sirf1 {
    keeps [toggle],
    anew [by_load, first_copy],
});

impl Sirf1 {
    /// The group whose copy's LUN has the fewest page operations in service and queued; among equals the one whose channel has;
    /// among equals the next from the toggle on (SPEC 2.7 ruling 6).
    fn least_busy(&self, groups: u32, copy: &dyn Fn(u32) -> MemberPage, view: &dyn View) -> u32 {
        let from_toggle = (self.toggle..groups).chain(0..self.toggle);
        let load = |group: &u32| (view.load_at(copy(*group), Version::Current), view.channel_load_at(copy(*group)));
        from_toggle.min_by_key(load).expect("at least one group")
    }
}

impl Steering for Sirf1 {
    /// Round robin over the groups; every page read moves it on, whichever copy it takes.
    fn host_read(&mut self, groups: u32, copy: &dyn Fn(u32) -> MemberPage, view: &dyn View) -> u32 {
        let group = if self.by_load { self.least_busy(groups, copy, view) } else { self.toggle };
        self.toggle = if self.toggle + 1 == groups { 0 } else { self.toggle + 1 };
        group
    }

    /// The read before a write goes by load in any case, once for all copies, and leaves the toggle alone (SPEC 2.4).
    fn update_read(&mut self, groups: u32, copy: &dyn Fn(u32) -> MemberPage, view: &dyn View) -> u32 {
        self.least_busy(groups, copy, view)
    }

    /// SPEC 2.7 ruling 2.
    fn posted_programs(&self, groups: u32) -> u8 {
        if self.first_copy { (groups - 1) as u8 } else { 0 }
    }

    /// A page may lie on any channel of its group (SPEC 7.3).
    fn protects(&self) -> Protects {
        Protects::Channel
    }
}
