//! Space domains: sets of planes that share their free pages, because a program may take any of them. Which LUNs these are, NAND knows.

use flashraid_nand::Takers;
use flashraid_vocabulary::persistent;

/// A space domain.
#[derive(Clone, Debug)]
pub(crate) struct Domain {
    /// Pages that host programs may still take.
    pub(crate) free_pages: i64,
    /// Of these, reserved for operations whose programs have not taken theirs yet. After failures more may be reserved than there are:
    /// then programs wait for GC.
    pub(crate) reserved: i64,
    /// Pages that become padding before others are reserved (`memory`).
    pub(crate) owed: i64,
    /// Pages that failures have driven out of their places, and that go before others are reserved (`memory`).
    pub(crate) to_rescue: i64,
    /// Somebody found no page to reserve, and the domain has gained none since.
    pub(crate) is_short: bool,
    /// Planes of it that live.
    pub(crate) living_planes: u32,
    /// Its one data plane, under static placement and with superblocks; else `NIL`.
    pub(crate) plane: u32,
    /// Next channel to be offered a program, when there are several.
    pub(crate) next_channel: u32,
    /// Turn of placement in no simulated time: channel, LUN in the channel, plane in the LUN.
    pub(crate) fill_turn: (u32, u32, u32),
}

persistent!(Domain {
    keeps [free_pages, living_planes, next_channel, fill_turn],
    // Nothing is reserved, and spare chips and what they replace are not saved.
    anew [reserved, owed, to_rescue, is_short, plane],
});

impl Domain {
    /// Without pages: planes join it (`Space::join_domain`).
    pub(crate) fn new(plane: u32, takers: &Takers) -> Self {
        let fill_turn = (takers.channels.0, takers.luns.trailing_zeros(), 0);
        Self {
            free_pages: 0,
            reserved: 0,
            owed: 0,
            to_rescue: 0,
            is_short: false,
            living_planes: 0,
            plane,
            next_channel: takers.channels.0,
            fill_turn,
        }
    }

    /// Whether there is a page that nobody has reserved, or goes before those who reserve.
    pub(crate) fn can_reserve(&self) -> bool {
        self.free_pages > self.reserved + self.owed + self.to_rescue
    }

    /// Reserves a page, if there is one.
    pub(crate) fn reserve(&mut self) -> bool {
        let granted = self.can_reserve();
        self.reserved += i64::from(granted);
        granted
    }
}
