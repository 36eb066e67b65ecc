//! What schemes may look at.

use crate::Flash;
use flashraid_nand::{CellOperation, NEVER, read_ns};
use flashraid_vocabulary::{GcLoad, Health, LoadView, LocalPage, MemberId, MemberPage, ReadLoad, SsdView, Version, View};

impl Flash {
    /// Until what the LUN does now next changes its state, and for a page read, with its transfer, for each page operation queued at it
    /// (programs that any LUN may take wait elsewhere).
    pub fn busy_ns_at_time(&self, address: MemberPage, version: Version, now_ns: u64) -> u64 {
        let Some(ppn) = self.lookup(address, version) else { return 0 };
        let (id, nand) = (self.nand.lun_of(ppn), self.nand.settings());
        let read_ns = nand.read_command_ns + nand.cell.mean_ns(CellOperation::Read) + nand.page_transfer_ns();
        let left_ns = match self.nand.lun_event_ns(id) {
            NEVER => 0,
            time_ns => time_ns - now_ns,
        };
        left_ns + u64::from(self.nand.luns()[id as usize].queued()) * read_ns
    }

    /// `View::read_load` at this time.
    pub fn read_load_at_time(&self, address: MemberPage, version: Version, now_ns: u64) -> Option<ReadLoad> {
        let ppn = self.lookup(address, version)?;
        let load = &self.nand.loads()[address.member];
        let gc = self.gc_blocking(self.nand.lun_of(ppn)).map(|plane| self.gc_load(plane, now_ns));
        Some(ReadLoad { read_ns: read_ns(self, ppn.0), reads: load.reads, programs: load.programs, gc })
    }

    /// The plane of the latest GC run that keeps host work off the LUN.
    pub(crate) fn gc_blocking(&self, lun: u32) -> Option<u32> {
        if self.nand.luns()[lun as usize].blocked() == 0 {
            return None;
        }
        let planes = |other, kind| {
            let first = self.shape.first_plane(other, kind);
            first..first + self.shape.planes_per_lun
        };
        let kinds = self.space.planes() / self.shape.data_planes();
        self.shape
            .neighbors(lun)
            .flat_map(|other| (0..kinds as usize).flat_map(move |kind| planes(other, kind)))
            .filter(|plane| self.is_collecting(*plane) && self.gc.runs[*plane as usize].stage.blocks_luns())
            .filter(|plane| self.luns_blocked_by(*plane).any(|blocked| blocked == lun))
            .max_by_key(|plane| self.gc.runs[*plane as usize].since_ns)
    }

    fn gc_load(&self, plane: u32, now_ns: u64) -> GcLoad {
        let run = &self.gc.runs[plane as usize];
        let block = self.space.blocks.index(plane, run.victim);
        let victim = self.shape.first_ppn(block).0;
        let lun = self.nand.lun_of_plane(plane);
        let chip = self.shape.neighbors(lun).filter(|other| self.shape.chip_of_lun(*other) == self.shape.chip_of_lun(lun));
        let (moves, erases) = chip.map(|lun| self.gc_so_far(lun)).fold((0, 0), |sum, of| (sum.0 + of[0], sum.1 + of[1]));
        GcLoad {
            elapsed_ns: now_ns - run.since_ns,
            moves,
            erases,
            to_move: run.to_move.into(),
            read_ns: read_ns(self, victim),
            program_ns: self.settings.cell.mean_ns(CellOperation::Program),
            erase_ns: self.settings.cell.mean_ns(CellOperation::Erase),
        }
    }
}

impl View for Flash {
    fn now_ns(&self) -> u64 {
        self.nand.now_ns()
    }

    #[inline]
    fn is_written(&self, address: MemberPage, version: Version) -> bool {
        self.lookup(address, version).is_some()
    }

    #[inline]
    fn has_failures(&self) -> bool {
        Flash::has_failures(self)
    }

    fn is_lost(&self, address: MemberPage, version: Version) -> bool {
        Flash::is_lost(self, address, version)
    }

    fn next_written(&self, page: LocalPage) -> Option<LocalPage> {
        Flash::next_written(self, page.0).map(LocalPage)
    }

    fn can_allocate(&self, address: MemberPage) -> bool {
        let domain = &self.space.domains[self.space.domain_of(address, Version::Current) as usize];
        domain.free_pages > domain.reserved
    }

    fn space_of(&self, address: MemberPage) -> u32 {
        self.space.domain_of(address, Version::Current)
    }

    fn has_mirror(&self, member: MemberId) -> bool {
        self.settings.given.mirror_chips > 0 && self.space.domain_is_alive(self.members + u32::from(member.0))
    }

    fn pages_gone(&self, member: MemberId) -> u32 {
        self.faults.pages_gone[usize::from(member.0)]
    }

    fn takes_copy(&self, member: MemberId) -> bool {
        if self.settings.given.mirror_chips == 0 || self.faults.no_copies[usize::from(member.0)] {
            return false;
        }
        let id = self.members + u32::from(member.0);
        let domain = &self.space.domains[id as usize];
        domain.free_pages > domain.reserved && !self.nand.has_waiting(id) && self.nand.domain_is_idle(id)
    }

    fn bases(&self, member: MemberId) -> u32 {
        self.held(member).bases
    }

    fn copies(&self, member: MemberId) -> u32 {
        self.held(member).copies
    }
}

impl LoadView for Flash {
    fn queued(&self, member: MemberId) -> (u32, u32) {
        let load = &self.nand.loads()[member];
        (load.reads, load.programs)
    }

    fn load_at(&self, address: MemberPage, version: Version) -> u32 {
        let Some(ppn) = self.lookup(address, version) else { return 0 };
        let lun = &self.nand.luns()[self.nand.lun_of(ppn) as usize];
        lun.queued() + u32::from(!lun.is_idle())
    }

    fn busy_ns_at(&self, address: MemberPage, version: Version) -> u64 {
        self.busy_ns_at_time(address, version, self.nand.now_ns())
    }

    fn channel_load_at(&self, address: MemberPage) -> u32 {
        let Some(ppn) = self.lookup(address, Version::Current) else { return 0 };
        let channel = &self.nand.channels()[self.nand.channel_of_lun(self.nand.lun_of(ppn)) as usize];
        channel.queued() + self.shape.luns_per_channel - channel.idle_luns()
    }

    fn read_load(&self, address: MemberPage, version: Version) -> Option<ReadLoad> {
        self.read_load_at_time(address, version, self.nand.now_ns())
    }

    fn is_idle(&self, member: MemberId) -> bool {
        let load = &self.nand.loads()[member];
        load.reads + load.programs + load.in_service + load.gc_runs == 0
    }
}

impl SsdView for Flash {
    fn erases(&self, _: MemberId) -> u64 {
        self.space.total_erases()
    }

    fn endurance(&self, _: MemberId) -> u64 {
        self.space.endurance()
    }

    fn health(&self, _: MemberId) -> Health {
        self.health
    }

    fn last_host_ns(&self, member: MemberId) -> u64 {
        self.nand.loads()[member].last_host_ns
    }

    fn is_collecting(&self, member: MemberId) -> bool {
        self.nand.loads()[member].gc_runs > 0
    }
}
