//! NAND below the plainest SSD that there can be: its pages are programmed in order, and nothing is collected. All times are closed forms.

mod suspension;

use flashraid_nand::{
    BlockFacts, CellTimes, Completion, DATA, Ldpc, LevelLaw, NEVER, Nand, NandSettings, Pages, Progress, Record, Shape, SlcTimes,
    SuspendSettings, Suspensions, Takers, Timer, WorkKind, advance, bind, check_buses, kick, offer, packed, plane_stride, queue_work,
    reclass_gc, slc::set_mode,
};
use flashraid_vocabulary::{Cause, Geometry, MemberId, NIL, NoObserver, Observer, Ppn, Priority, Version};

const GEOMETRY: Geometry = Geometry {
    channels: 1,
    chips_per_channel: 2,
    dies_per_chip: 1,
    planes_per_die: 2,
    blocks_per_plane: 4,
    pages_per_block: 8,
    page_bytes: 4_000,
};
const READ: u64 = 50_000;
const PROGRAM: u64 = 200_000;
const ERASE: u64 = 3_000_000;
/// A page at 25 ns a byte.
const TRANSFER: u64 = 100_000;
const READ_COMMAND: u64 = 100;
const PROGRAM_COMMAND: u64 = 300;
const ERASE_COMMAND: u64 = 500;

fn settings() -> NandSettings {
    NandSettings {
        page_bytes: GEOMETRY.page_bytes,
        transfers_pages: false,
        units_per_page: 1,
        pages_per_program: 1,
        pages_per_read: 1,
        bus_ps_per_byte: 25_000,
        read_command_ns: READ_COMMAND,
        program_command_ns: PROGRAM_COMMAND,
        erase_command_ns: ERASE_COMMAND,
        fifo: false,
        multi_plane: false,
        reports_data_in: false,
        has_timer: false,
        slices: 1,
        slices_per_bus: 1,
        slc: None,
        active_dies: 0,
        suspend: None,
        cell: CellTimes::new(READ, PROGRAM, ERASE),
    }
}

/// The SSD: two LUNs of two planes on one bus, one domain.
struct Plain {
    nand: Nand,
    /// Pages programmed of each plane.
    programmed: Vec<u32>,
    has_pages: bool,
    erases: u32,
    /// When records have ended, in order.
    ended: Vec<(u32, u64)>,
    /// When work of GC has ended, in order.
    moved: Vec<(WorkKind, u64)>,
    uncorrectable: Vec<Ppn>,
    timer_due_ns: Vec<u64>,
    /// Whether the end of work of GC lets the host on at LUN 0 again.
    unblocks: bool,
}

impl Plain {
    fn new(settings: NandSettings) -> Self {
        let shape = Shape::new(&GEOMETRY, 0, false);
        let planes = shape.data_planes();
        let blocks = (planes * plane_stride(GEOMETRY.blocks_per_plane)) as usize;
        let mut nand = Nand::new(settings, shape, 1, planes, blocks);
        nand.set_domains(vec![Takers::new((0, 1), 0b11, DATA)]);
        nand.serve_domain(0);
        (0..planes).for_each(|plane| nand.set_writable(plane, 0, true));
        let programmed = vec![0; planes as usize];
        let (ended, moved, uncorrectable, timer_due_ns) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { nand, programmed, has_pages: true, erases: 0, ended, moved, uncorrectable, timer_due_ns, unblocks: false }
    }

    fn page(&self, plane: u32, page: u32) -> Ppn {
        Ppn(self.nand.shape().first_ppn((plane * plane_stride(GEOMETRY.blocks_per_plane)) as usize).0 + page)
    }

    fn record(&self, work: WorkKind, plane: u32, ppn: u32, priority: Priority) -> Record {
        Record {
            next: NIL,
            slot: 0,
            ppn,
            owner: 7,
            lun: if plane == NIL { NIL } else { self.nand.places().lun_of_plane(plane) },
            plane,
            domain: 0,
            bytes: GEOMETRY.page_bytes,
            submitted_ns: self.nand.now_ns(),
            member: 0,
            stream: 0,
            work,
            cause: Cause::Host,
            priority,
            version: Version::Current,
            keep_base: false,
            host_waits: true,
        }
    }

    fn queue(&mut self, reads: i32, programs: i32, record: Record) -> u32 {
        self.nand.loads_mut().queue_changes(MemberId(0), reads, programs);
        self.nand.add_record(record)
    }

    fn read(&mut self, plane: u32, page: u32, priority: Priority) -> u32 {
        let record = self.record(WorkKind::Read, plane, self.page(plane, page).0, priority);
        let id = self.queue(1, 0, record);
        bind(self, id);
        id
    }

    /// A program that any LUN may take.
    fn program(&mut self, priority: Priority) -> u32 {
        let record = self.record(WorkKind::Program, NIL, NIL, priority);
        let id = self.queue(0, 1, record);
        self.nand.join_pool(id);
        offer(self, 0, 0);
        id
    }

    /// Runs to the end. Returns when each record has ended, in that order.
    fn run(&mut self) -> Vec<(u32, u64)> {
        check_buses(&self.nand, self).unwrap();
        while self.nand.next_event_ns() != NEVER {
            advance(self, &mut NoObserver);
            self.nand.completions().clear();
            check_buses(&self.nand, self).unwrap();
        }
        std::mem::take(&mut self.ended)
    }

    /// Reads and programs that wait, and page operations in service.
    fn load(&self) -> (u32, u32, u32) {
        let load = self.nand.loads()[MemberId(0)];
        (load.reads, load.programs, load.in_service)
    }

    /// Time in use of the bus and of both LUNs.
    fn busy_ns(&self) -> (u64, [u64; 2]) {
        let now_ns = self.nand.now_ns();
        let sum = |busy_ns: [u64; Cause::COUNT]| busy_ns.iter().sum();
        (sum(self.nand.bus_busy_ns(0, now_ns)), [0, 1].map(|lun| sum(self.nand.lun_busy_ns(lun, now_ns))))
    }
}

impl BlockFacts for Plain {
    fn has_page(&self, _domain: u32) -> bool {
        self.has_pages
    }

    fn next_offset(&self, plane: u32) -> u32 {
        self.programmed[plane as usize]
    }

    fn erases(&self, _block: usize) -> u32 {
        self.erases
    }
}

impl Pages for Plain {
    type Blocks = Self;

    fn nand(&self) -> &Nand {
        &self.nand
    }

    fn nand_mut(&mut self) -> &mut Nand {
        &mut self.nand
    }

    fn blocks(&self) -> &Self {
        self
    }

    fn page_for(&mut self, _record: u32, plane: u32) -> Ppn {
        self.programmed[plane as usize] += 1;
        self.page(plane, self.programmed[plane as usize] - 1)
    }

    fn page_for_move(&mut self, record: u32) -> Option<Ppn> {
        let plane = self.nand.record(record).plane;
        Some(self.page_for(record, plane))
    }

    fn program_started(&mut self, _plane: u32) {}

    fn ended<O: Observer>(&mut self, record: u32, _observer: &mut O) {
        let work = self.nand.record(record).work;
        let now_ns = self.nand.now_ns();
        if matches!(work, WorkKind::Read | WorkKind::Program) {
            self.nand.complete(record, false);
            self.ended.push((record, now_ns));
        } else {
            self.nand.remove_record(record);
            self.moved.push((work, now_ns));
            if self.unblocks {
                self.nand.set_blocked(0, false);
            }
        }
    }

    fn uncorrectable(&mut self, ppn: Ppn) {
        self.uncorrectable.push(ppn);
    }

    fn timer_due<O: Observer>(&mut self, _: Timer, _: &mut O) {
        self.timer_due_ns.push(self.nand.now_ns());
        self.nand.set_timer(NEVER);
    }
}

#[test]
fn a_read_takes_command_array_and_transfer() {
    let mut ssd = Plain::new(settings());
    let id = ssd.read(0, 3, Priority::Host);
    assert_eq!(ssd.load(), (0, 0, 1));
    assert_eq!(ssd.run(), [(id, READ_COMMAND + READ + TRANSFER)]);
    assert_eq!(ssd.load(), (0, 0, 0));
    assert_eq!(ssd.busy_ns(), (READ_COMMAND + TRANSFER, [READ_COMMAND + READ + TRANSFER, 0]));
    assert_eq!(ssd.nand.counts()[0][Cause::Host as usize], 1);
}

#[test]
fn arrays_overlap_and_the_bus_does_not() {
    let mut ssd = Plain::new(settings());
    let (first, second) = (ssd.read(0, 0, Priority::Host), ssd.read(2, 0, Priority::Host));
    // Both commands go first; the second data leave behind the first.
    let first_ns = READ_COMMAND + READ + TRANSFER;
    assert_eq!(ssd.run(), [(first, first_ns), (second, first_ns + TRANSFER)]);
    assert_eq!(ssd.busy_ns().0, 2 * (READ_COMMAND + TRANSFER));
    // On one LUN one follows the other.
    let start_ns = ssd.nand.now_ns();
    let (first, second) = (ssd.read(0, 0, Priority::Host), ssd.read(1, 0, Priority::Host));
    assert_eq!(ssd.run(), [(first, start_ns + first_ns), (second, start_ns + 2 * first_ns)]);
}

#[test]
fn programs_are_taken_by_luns_in_turn() {
    let mut ssd = Plain::new(settings());
    let ids: Vec<u32> = (0..4).map(|_| ssd.program(Priority::Host)).collect();
    let data_ns = PROGRAM_COMMAND + TRANSFER;
    let ends = ssd.run();
    // The first two one behind the other on the bus; the next ones when a LUN is free: the bus waits for it.
    let expected = [data_ns + PROGRAM, 2 * data_ns + PROGRAM, 2 * (data_ns + PROGRAM), data_ns + 2 * (data_ns + PROGRAM)];
    assert_eq!(ends, ids.iter().copied().zip(expected).collect::<Vec<_>>());
    // LUNs in turn, then planes in turn.
    assert_eq!(ssd.programmed, [1, 1, 1, 1]);
}

/// With power for one LUN, the other begins when that has ended; a read needs none.
#[test]
fn so_many_luns_are_active_and_no_more() {
    for (active_dies, second_ns) in
        [(0, PROGRAM_COMMAND + TRANSFER), (1, PROGRAM_COMMAND + TRANSFER + PROGRAM), (2, PROGRAM_COMMAND + TRANSFER)]
    {
        let mut ssd = Plain::new(NandSettings { active_dies, ..settings() });
        let programs = [ssd.program(Priority::Host), ssd.program(Priority::Host)];
        let one_ns = PROGRAM_COMMAND + TRANSFER + PROGRAM;
        assert_eq!(ssd.run(), [(programs[0], one_ns), (programs[1], second_ns + one_ns)]);
    }
    let mut ssd = Plain::new(NandSettings { active_dies: 1, ..settings() });
    queue_work(&mut ssd, 0, WorkKind::Erase, Ppn(0), Cause::Gc, Priority::Gc);
    let advance_to_10_us = |ssd: &mut Plain| {
        while ssd.nand.next_event_ns() < 10_000 {
            advance(ssd, &mut NoObserver);
        }
    };
    advance_to_10_us(&mut ssd);
    let program = ssd.program(Priority::Host);
    advance_to_10_us(&mut ssd);
    ssd.nand.set_now(10_000);
    let read = ssd.read(2, 0, Priority::Host);
    let erased_ns = ERASE_COMMAND + ERASE;
    let read_ns = 10_000 + READ_COMMAND + READ + TRANSFER;
    assert_eq!(ssd.run(), [(read, read_ns), (program, erased_ns + PROGRAM_COMMAND + TRANSFER + PROGRAM)]);
    assert_eq!(ssd.moved, [(WorkKind::Erase, erased_ns)]);
}

/// A read of GC that is put before a program, for which its channel waits until there is power, begins at once.
#[test]
fn a_read_whose_class_rises_does_not_wait_for_power() {
    let mut ssd = Plain::new(NandSettings { active_dies: 1, ..settings() });
    queue_work(&mut ssd, 0, WorkKind::Erase, Ppn(0), Cause::Gc, Priority::Host);
    let (program, read) = (ssd.page(2, 0), ssd.page(2, 1));
    queue_work(&mut ssd, 2, WorkKind::PageProgram, program, Cause::Gc, Priority::Host);
    queue_work(&mut ssd, 2, WorkKind::MoveRead, read, Cause::Gc, Priority::Gc);
    while ssd.nand.next_event_ns() < 10_000 {
        advance(&mut ssd, &mut NoObserver);
    }
    ssd.nand.set_now(10_000);
    assert_eq!(reclass_gc(&mut ssd.nand, 2, 1, [Priority::Gc, Priority::Host]).len(), 1);
    ssd.run();
    assert_eq!(ssd.moved[0], (WorkKind::MoveRead, 10_000 + READ_COMMAND + READ + TRANSFER));
    assert_eq!(ssd.moved[1], (WorkKind::Erase, ERASE_COMMAND + ERASE));
}

#[test]
fn no_program_starts_without_a_page() {
    let mut ssd = Plain::new(settings());
    ssd.has_pages = false;
    let id = ssd.program(Priority::Host);
    assert_eq!(ssd.run(), []);
    assert!(ssd.nand.has_waiting(0) && ssd.nand.count_waiting(0) == 1);
    assert_eq!(ssd.nand.take_waiting(0), Some(id));
    assert!(ssd.nand.take_waiting(0).is_none() && !ssd.nand.has_waiting(0));
}

#[test]
fn classes_go_before_their_order_and_reads_before_programs() {
    let mut ssd = Plain::new(settings());
    let running = ssd.read(0, 0, Priority::Host);
    let (rebuild, host, urgent) = (ssd.read(0, 1, Priority::Rebuild), ssd.read(0, 2, Priority::Host), ssd.read(0, 3, Priority::Urgent));
    let order: Vec<u32> = ssd.run().into_iter().map(|(id, _)| id).collect();
    assert_eq!(order, [running, urgent, host, rebuild]);
    for (fifo, reads_first) in [(false, true), (true, false)] {
        let mut ssd = Plain::new(NandSettings { fifo, ..settings() });
        let running = ssd.read(0, 0, Priority::Host);
        let program = ssd.record(WorkKind::Program, 0, NIL, Priority::Host);
        let program = ssd.queue(0, 1, program);
        bind(&mut ssd, program);
        let read = ssd.read(0, 1, Priority::Host);
        let order: Vec<u32> = ssd.run().into_iter().map(|(id, _)| id).collect();
        assert_eq!(order, if reads_first { [running, read, program] } else { [running, program, read] });
    }
}

#[test]
fn a_blocked_lun_does_urgent_work_alone() {
    let mut ssd = Plain::new(settings());
    ssd.nand.set_blocked(0, true);
    let (host, urgent) = (ssd.read(0, 0, Priority::Host), ssd.read(0, 1, Priority::Urgent));
    assert_eq!(ssd.run(), [(urgent, READ_COMMAND + READ + TRANSFER)]);
    ssd.nand.set_blocked(0, false);
    kick(&mut ssd, 0);
    assert_eq!(ssd.run().iter().map(|(id, _)| *id).collect::<Vec<_>>(), [host]);
}

#[test]
fn planes_are_programmed_and_read_together() {
    let mut ssd = Plain::new(NandSettings { multi_plane: true, ..settings() });
    ssd.nand.set_blocked(1, true);
    let (first, second) = (ssd.program(Priority::Host), ssd.program(Priority::Host));
    // The first found the bus free and went alone; the second was too late for it.
    let alone_ns = PROGRAM_COMMAND + TRANSFER + PROGRAM;
    assert_eq!(ssd.run(), [(first, alone_ns), (second, 2 * alone_ns)]);
    let start_ns = ssd.nand.now_ns();
    let running = ssd.read(0, 0, Priority::Host);
    let (third, fourth) = (ssd.program(Priority::Host), ssd.program(Priority::Host));
    let read_ns = start_ns + READ_COMMAND + READ + TRANSFER;
    let together_ns = read_ns + 2 * (PROGRAM_COMMAND + TRANSFER) + PROGRAM;
    assert_eq!(ssd.run(), [(running, read_ns), (third, together_ns), (fourth, together_ns)]);
    // Two planes, the same page, behind another read: one time of the array, and both transfers.
    let start_ns = ssd.nand.now_ns();
    let ids = [(0, 0), (0, 1), (1, 1)].map(|(plane, page)| ssd.read(plane, page, Priority::Host));
    let first_ns = start_ns + READ_COMMAND + READ + TRANSFER;
    let both_ns = first_ns + 2 * READ_COMMAND + READ;
    assert_eq!(ssd.run(), [(ids[0], first_ns), (ids[1], both_ns + TRANSFER), (ids[2], both_ns + 2 * TRANSFER)]);
}

/// Program units of two planes go together; another block of one of these planes, at the same offset, goes alone.
#[test]
fn a_plane_programs_one_block_at_a_time() {
    let mut ssd = Plain::new(NandSettings { multi_plane: true, pages_per_program: 2, ..settings() });
    for (plane, page) in [(0, 0), (1, 0), (0, GEOMETRY.pages_per_block)] {
        let first = ssd.page(plane, page);
        packed::queue_page_program(&mut ssd.nand, plane, first, Cause::Host, Priority::Host, false);
    }
    ssd.run();
    let unit_ns = PROGRAM_COMMAND + 2 * TRANSFER;
    let together_ns = 2 * unit_ns + PROGRAM;
    let ends_ns: Vec<u64> = ssd.moved.iter().map(|(_, end_ns)| *end_ns).collect();
    assert_eq!(ends_ns, [together_ns, together_ns, together_ns + unit_ns + PROGRAM]);
}

/// SPEC 8.14 (b): a multi-plane operation has one mode.
#[test]
fn planes_in_different_modes_are_read_one_after_the_other() {
    let (read_ns, program_ns) = (READ / 2, PROGRAM / 4);
    let slc = Some(SlcTimes { read_ns, program_ns });
    for (modes, together) in [([false, false], true), ([true, false], false), ([false, true], false), ([true, true], true)] {
        let mut ssd = Plain::new(NandSettings { multi_plane: true, slc, ..settings() });
        for (plane, is_slc) in modes.into_iter().enumerate() {
            let block = ssd.nand.shape().block_of(ssd.page(plane as u32, 0));
            set_mode(&mut ssd.nand, block, is_slc);
        }
        // Behind another read, so that both are there when they start.
        let ids = [(0, 0), (0, 1), (1, 1)].map(|(plane, page)| ssd.read(plane, page, Priority::Host));
        let [of_first, of_second] = modes.map(|is_slc| if is_slc { read_ns } else { READ });
        let first_ns = READ_COMMAND + of_first + TRANSFER;
        let ends_ns = if together {
            let both_ns = first_ns + 2 * READ_COMMAND + of_first;
            [both_ns + TRANSFER, both_ns + 2 * TRANSFER]
        } else {
            let second_ns = first_ns + READ_COMMAND + of_first + TRANSFER;
            [second_ns, second_ns + READ_COMMAND + of_second + TRANSFER]
        };
        assert_eq!(ssd.run(), [(ids[0], first_ns), (ids[1], ends_ns[0]), (ids[2], ends_ns[1])], "{modes:?}");
    }
}

#[test]
fn data_in_is_reported_before_the_end() {
    let mut ssd = Plain::new(NandSettings { reports_data_in: true, ..settings() });
    let id = ssd.program(Priority::Host);
    let mut told = Vec::new();
    while ssd.nand.next_event_ns() != NEVER {
        advance(&mut ssd, &mut NoObserver);
        let now_ns = ssd.nand.now_ns();
        told.extend(ssd.nand.completions().drain(..).map(|completion| (now_ns, completion)));
    }
    let data_ns = PROGRAM_COMMAND + TRANSFER;
    let of = |progress| Completion { record: id, progress };
    assert_eq!(told, [(data_ns, of(Progress::DataIn)), (data_ns + PROGRAM, of(Progress::Ended))]);
}

#[test]
fn work_of_gc_takes_its_times() {
    let mut ssd = Plain::new(settings());
    let page = ssd.page(0, 0).0;
    let mut start_ns = 0;
    for (work, lasts_ns) in [
        (WorkKind::MoveRead, READ_COMMAND + READ + TRANSFER),
        (WorkKind::MoveProgram, PROGRAM_COMMAND + TRANSFER + PROGRAM),
        (WorkKind::CopyBack, READ_COMMAND + PROGRAM_COMMAND + READ + PROGRAM),
        (WorkKind::Erase, ERASE_COMMAND + ERASE),
    ] {
        queue_work(&mut ssd, 0, work, Ppn(page), Cause::Gc, Priority::Gc);
        ssd.run();
        start_ns += lasts_ns;
        assert_eq!(ssd.moved.pop(), Some((work, start_ns)));
    }
    let gc = ssd.nand.counts().map(|counts| counts[Cause::Gc as usize]);
    assert_eq!(gc, [2, 2, 1], "a copyback reads and programs");
    assert_eq!(ssd.nand.luns()[0].operations.map(|counts| counts[Cause::Gc as usize]), gc);
}

const DECODE: u64 = 4_000;
const STEP: u64 = 10_000;

fn with_ldpc(level: u32) -> NandSettings {
    let ldpc = Ldpc {
        law: LevelLaw::Fixed(level),
        seed: 1,
        highest: 3,
        step_ns: STEP,
        decode_ns: DECODE,
        erases: 100,
        retention_ns: 0,
        reads: 0,
        stored_ns: 0,
    };
    NandSettings { cell: CellTimes::new(READ, PROGRAM, ERASE).with_ldpc(ldpc), ..settings() }
}

#[test]
fn a_read_has_as_many_attempts_as_its_level_says() {
    for level in 0..4 {
        let mut ssd = Plain::new(with_ldpc(level));
        let id = ssd.read(0, 0, Priority::Host);
        let attempts = u64::from(level) + 1;
        let expected_ns = attempts * (READ_COMMAND + READ + TRANSFER + DECODE) + STEP * (attempts * (attempts - 1) / 2);
        assert_eq!(ssd.run(), [(id, expected_ns)]);
        // The LUN does something else while the last attempt is decoded.
        assert_eq!(ssd.busy_ns().1[0], expected_ns - DECODE);
        assert_eq!(ssd.nand.levels().unwrap().reads_by_level()[level as usize], 1);
        assert!(ssd.uncorrectable.is_empty());
        // By wear one level more, of which the highest cannot be corrected.
        ssd.erases = 100;
        ssd.read(0, 1, Priority::Host);
        ssd.run();
        assert_eq!(ssd.uncorrectable, if level == 3 { vec![ssd.page(0, 1)] } else { Vec::new() });
    }
}

/// A GC run may end with the decoding of a page. The host reads that it kept from the LUN begin then.
#[test]
fn the_end_of_decoding_serves_the_bus() {
    let mut ssd = Plain::new(with_ldpc(0));
    ssd.unblocks = true;
    ssd.nand.set_blocked(0, true);
    let page = ssd.page(0, 0);
    queue_work(&mut ssd, 0, WorkKind::MoveRead, page, Cause::Gc, Priority::Urgent);
    let read = ssd.read(0, 1, Priority::Host);
    assert_eq!(ssd.run(), [(read, 2 * (READ_COMMAND + READ + TRANSFER + DECODE))]);
}

#[test]
fn the_timer_is_no_work() {
    let mut ssd = Plain::new(NandSettings { has_timer: true, ..settings() });
    ssd.nand.set_timer(1_000_000);
    assert!(ssd.nand.is_at_rest() && ssd.nand.timer_ns() == 1_000_000);
    ssd.read(0, 0, Priority::Host);
    assert!(!ssd.nand.is_at_rest());
    ssd.run();
    assert_eq!(ssd.timer_due_ns, [1_000_000]);
    assert!(ssd.nand.is_at_rest());
}

#[test]
fn programs_of_a_lun_can_be_taken_back() {
    let mut ssd = Plain::new(settings());
    ssd.read(0, 0, Priority::Host);
    let ids = [Priority::Rebuild, Priority::Host].map(|priority| {
        let record = ssd.record(WorkKind::Program, 0, NIL, priority);
        let id = ssd.queue(0, 1, record);
        bind(&mut ssd, id);
        id
    });
    let read = ssd.read(1, 0, Priority::Host);
    assert_eq!(ssd.nand.luns()[0].queued(), 3);
    assert_eq!(ssd.nand.unbind_programs(0, 0), [ids[1], ids[0]], "the most urgent first");
    assert_eq!((ssd.nand.luns()[0].queued(), ssd.nand.channels()[0].queued()), (1, 1));
    assert_eq!(ssd.run().last().map(|(id, _)| *id), Some(read));
}

/// SPEC 8.4 (c): what GC owes is in the class of the host. Its programs and erases go before programs that wait, its reads take their turn, and
/// under FIFO all do.
#[test]
fn what_gc_owes_goes_before_programs_that_wait() {
    const READS: u64 = READ_COMMAND + READ + TRANSFER;
    for fifo in [false, true] {
        let mut ssd = Plain::new(NandSettings { fifo, ..settings() });
        let page = ssd.page(0, 0);
        ssd.read(0, 0, Priority::Host);
        let record = ssd.record(WorkKind::Program, 0, NIL, Priority::Host);
        let program = ssd.queue(0, 1, record);
        bind(&mut ssd, program);
        queue_work(&mut ssd, 0, WorkKind::Erase, page, Cause::Gc, Priority::Host);
        let program_ns = PROGRAM_COMMAND + TRANSFER + PROGRAM;
        let (before_ns, behind_ns) = if fifo { (0, program_ns) } else { (ERASE_COMMAND + ERASE, 0) };
        assert_eq!(ssd.run().pop(), Some((program, READS + before_ns + program_ns)));
        assert_eq!(ssd.moved, [(WorkKind::Erase, READS + behind_ns + ERASE_COMMAND + ERASE)]);
    }
    let mut ssd = Plain::new(settings());
    let page = ssd.page(0, 0);
    (0..2).for_each(|page| _ = ssd.read(0, page, Priority::Host));
    queue_work(&mut ssd, 0, WorkKind::MoveRead, page, Cause::Gc, Priority::Host);
    ssd.run();
    assert_eq!(ssd.moved, [(WorkKind::MoveRead, 3 * READS)]);
}

/// So do program units that GC has filled. Those of programs of plans are one behind the other.
#[test]
fn program_units_of_gc_go_before_those_that_wait() {
    let mut ssd = Plain::new(NandSettings { pages_per_program: 2, ..settings() });
    let firsts = [0, 2, 4].map(|page| ssd.page(0, page));
    for (first, cause) in firsts.into_iter().zip([Cause::Host, Cause::Host, Cause::Gc]) {
        packed::queue_page_program(&mut ssd.nand, 0, first, cause, Priority::Host, cause == Cause::Gc);
        if first == firsts[0] {
            advance(&mut ssd, &mut NoObserver); // it begins
        }
    }
    while ssd.moved.len() < 2 {
        advance(&mut ssd, &mut NoObserver);
    }
    let (busy_ns, each_ns) = (ssd.nand.lun_busy_ns(0, ssd.nand.now_ns()), PROGRAM_COMMAND + 2 * TRANSFER + PROGRAM);
    assert_eq!((busy_ns[Cause::Host as usize], busy_ns[Cause::Gc as usize]), (each_ns, each_ns));
}
