//! The NAND of one SSD: its state, how it is made, and how its time goes on.

use crate::arbitration::bus_event;
use crate::attempts::decoded;
use crate::domains::Waiting;
use crate::ending::lun_event;
use crate::events::{EventQueue, NEVER};
use crate::levels::Levels;
use crate::loads::Loads;
use crate::luns::{Channel, Lun};
use crate::packed;
use crate::pages::Timer;
use crate::places::{Places, Site};
use crate::power::{self, Power};
use crate::recording::Recording;
use crate::records::{ROOM, Records};
use crate::slc::Slc;
use crate::suspension::{Sites, Suspension, Suspensions};
use crate::{ACTIONS, Completion, Counts, FlashFault, NandSettings, Pages, Shape, WorkKind};
use flashraid_vocabulary::{Cause, NIL, Observer, Ppn, persistent};

/// Buses, LUNs, and what is in flight on them.
#[derive(Clone, Debug)]
pub struct Nand {
    pub(crate) settings: NandSettings,
    pub(crate) shape: Shape,
    pub(crate) now_ns: u64,
    pub(crate) channels: Vec<Channel>,
    pub(crate) luns: Vec<Lun>,
    places: Places,
    pub(crate) events: EventQueue,
    pub(crate) records: Records,
    pub(crate) waiting: Waiting,
    /// LDPC, if the device has it.
    pub(crate) levels: Option<Box<Levels>>,
    /// Blocks in SLC mode, if there may be any.
    pub(crate) slc: Option<Box<Slc>>,
    /// Of work by reads, if the device has it.
    pub(crate) suspension: Option<Box<Suspension>>,
    /// Of programs and erases, if it is limited.
    pub(crate) power: Option<Box<Power>>,
    /// Whether what begins is subject to power, suspension, or the use of buses by other slices.
    pub(crate) has_rules: bool,
    /// See `NandSettings::reads_alone`.
    pub(crate) reads_alone: bool,
    pub(crate) loads: Loads,
    pub(crate) completions: Vec<Completion>,
    pub(crate) recording: Recording,
    /// What page operations were started, by action and cause.
    pub(crate) counts: Counts,
    /// The same of flash pages, where these have several pages of the map.
    pub(crate) flash_counts: Counts,
    /// Whether other SSDs have events at this very time.
    pub(crate) others_have_events: bool,
    /// Deliberate faults, only for tests of the checkers.
    #[cfg(feature = "mutants")]
    pub mutant: Option<FlashFault>,
}

persistent!(Nand {
    arrays [channels, luns],
    anew [
        // Levels are saved behind all else (`Levels::save`).
        settings, shape, places, levels,
        // The layer above saves which blocks are in SLC mode.
        slc,
        // Work, of which there is none; time and statistics.
        waiting, suspension, power, has_rules, reads_alone,
        now_ns, events, records, loads, completions, recording, counts, flash_counts, others_have_events,
        #[cfg(feature = "mutants")]
        mutant,
    ],
});

impl Nand {
    /// Nothing is in flight. `planes` counts those of translation pages, and `blocks` the gaps between planes.
    pub fn new(settings: NandSettings, shape: Shape, members: u32, planes: u32, blocks: usize) -> Self {
        let luns = shape.luns();
        let has_decoder = settings.cell.ldpc().is_some_and(|ldpc| ldpc.decode_ns > 0);
        let others = usize::from(settings.has_timer) + 2 * usize::from(settings.packs()) + usize::from(has_decoder);
        let resources = (shape.channels + luns) as usize + others;
        let power = Power::new(&settings, resources);
        let of_power = usize::from(power.is_some());
        Self {
            now_ns: 0,
            channels: (0..shape.channels).map(|channel| Channel::new(channel, shape.luns_per_channel)).collect(),
            luns: (0..luns).map(|lun| Lun::new(lun / shape.luns_per_channel, lun % shape.luns_per_channel)).collect(),
            places: Places::new(planes, shape),
            events: EventQueue::with_buses(resources + of_power, luns),
            records: Records::with_room(ROOM),
            waiting: Waiting::default(),
            levels: settings.cell.ldpc().map(|ldpc| Box::new(Levels::new(ldpc, blocks))),
            slc: settings.slc.map(|times| Box::new(Slc::new(times, blocks))),
            suspension: settings.suspend.map(|suspend| Box::new(Suspension::new(suspend, luns))),
            reads_alone: settings.reads_alone(),
            has_rules: power.is_some() || settings.suspend.is_some() || settings.slices_per_bus > 1,
            power,
            loads: Loads::new(members),
            completions: Vec::new(),
            recording: Recording::default(),
            counts: [[0; Cause::COUNT]; ACTIONS],
            flash_counts: [[0; Cause::COUNT]; ACTIONS],
            others_have_events: false,
            #[cfg(feature = "mutants")]
            mutant: None,
            settings,
            shape,
        }
    }

    // ---- what it is ----

    /// What it was told about the device.
    #[inline]
    pub fn settings(&self) -> &NandSettings {
        &self.settings
    }

    /// Numbers of LUNs, planes, blocks and pages.
    #[inline]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// LUNs, in order of channel and LUN.
    #[inline]
    pub fn luns(&self) -> &[Lun] {
        &self.luns
    }

    /// A LUN is of this member, or of none.
    pub fn set_member(&mut self, lun: u32, member: Option<u32>) {
        self.luns[lun as usize].member = member;
    }

    /// Channels.
    #[inline]
    pub fn channels(&self) -> &[Channel] {
        &self.channels
    }

    /// In which LUNs planes and pages are.
    #[inline(always)]
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// The same, to be told of lanes.
    pub fn places_mut(&mut self) -> &mut Places {
        &mut self.places
    }

    /// The member that a LUN belongs to; `None` for those of spare chips that replace none.
    pub fn member_of_lun(&self, lun: u32) -> Option<u32> {
        self.luns[lun as usize].member
    }

    /// The channel of a LUN.
    #[inline]
    pub fn channel_of_lun(&self, lun: u32) -> u32 {
        self.luns[lun as usize].channel
    }

    /// Plans' programs find a page in a plane of the domain from now on; or they find none.
    #[inline]
    pub fn set_writable(&mut self, plane: u32, domain: u32, writable: bool) {
        let (Site { lun, bit }, kind) = (self.places.of(plane), self.takers(domain).kind);
        let lun = &mut self.luns[lun as usize];
        let planes = &mut lun.writable[kind];
        let was_writable = *planes & bit != 0;
        *planes = if writable { *planes | bit } else { *planes & !bit };
        let channel = &mut self.channels[lun.channel as usize];
        let luns = &mut channel.writable[kind];
        *luns = if *planes != 0 { *luns | lun.bit } else { *luns & !lun.bit };
        if channel.replacements & lun.bit != 0 && writable != was_writable {
            self.count_replacement_plane(domain, writable);
        }
    }

    /// Whether plans' programs find a page in a plane of the domain.
    pub fn is_writable(&self, plane: u32, domain: u32) -> bool {
        let Site { lun, bit } = self.places.of(plane);
        self.luns[lun as usize].writable[self.takers(domain).kind] & bit != 0
    }

    /// Whether the plane is of a LUN that has replaced another, which is being rebuilt.
    #[inline]
    pub fn is_of_replacement(&self, plane: u32) -> bool {
        let lun = &self.luns[self.places.lun_of_plane(plane) as usize];
        self.channels[lun.channel as usize].replacements & lun.bit != 0
    }

    /// Whether it makes this fault: never in a product build.
    #[inline(always)]
    pub fn makes(&self, fault: FlashFault) -> bool {
        #[cfg(feature = "mutants")]
        return self.mutant == Some(fault);
        #[cfg(not(feature = "mutants"))]
        {
            let _ = fault;
            false
        }
    }

    // ---- time ----

    /// Simulated time of the last event processed.
    #[inline(always)]
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Time of the earliest event, `u64::MAX` if nothing is in flight.
    #[inline]
    pub fn next_event_ns(&self) -> u64 {
        self.events.first_ns()
    }

    /// The earliest event: its time, `u64::MAX` if nothing is in flight, and whether it is one of a bus (or of the timer or the decoder, which come last).
    #[inline]
    pub fn next_event(&self) -> (u64, bool) {
        let (time_ns, resource) = self.events.first();
        (time_ns, resource >= self.luns.len() as u32)
    }

    /// Moves the clock to a time before the next event (an arrival).
    #[inline]
    pub fn set_now(&mut self, now_ns: u64) {
        debug_assert!(now_ns >= self.now_ns && now_ns <= self.next_event_ns());
        self.now_ns = now_ns;
    }

    /// Tells one SSD of several what it needs to know before it does something: the time, how many requests have completed, and whether other
    /// SSDs have events at this very time.
    #[inline]
    pub fn set_surroundings(&mut self, now_ns: u64, completed_requests: u64, others_have_events: bool) {
        self.set_now(now_ns);
        (self.loads.completed_requests, self.others_have_events) = (completed_requests, others_have_events);
    }

    /// When a LUN next changes its state by itself, `u64::MAX` if it does not.
    pub fn lun_event_ns(&self, lun: u32) -> u64 {
        self.events.of(lun as usize)
    }

    // ---- the timer of the layer above ----

    /// Position of the timer among the events: behind the buses.
    pub(crate) fn timer(&self) -> usize {
        self.luns.len() + self.channels.len()
    }

    /// When the timer is due, `u64::MAX` if it is not set.
    pub fn timer_ns(&self) -> u64 {
        self.events.of(self.timer())
    }

    /// Sets the timer, or with `u64::MAX` takes it back.
    pub fn set_timer(&mut self, time_ns: u64) {
        self.events.set(self.timer(), time_ns);
    }

    /// The number of a page's flash page in its block.
    #[inline(always)]
    pub(crate) fn number_in_block(&self, ppn: u32) -> u32 {
        self.shape.page_in_lane(Ppn(ppn)) / self.settings.units_per_page
    }

    /// Whether nothing is in flight. The timer may still be set, and so may the time for padding.
    #[inline]
    pub fn is_at_rest(&self) -> bool {
        let has_timer = self.settings.has_timer && self.timer_ns() != NEVER;
        let waits = usize::from(has_timer) + usize::from(packed::padding_ns(self) != NEVER);
        self.events.first_ns() == NEVER || (waits > 0 && self.events.count() == waits)
    }

    // ---- what buses and LUNs did ----

    /// Time that a channel's bus was in use before `time_ns`, which no transfer after the one in progress began before, by the cause of the
    /// work.
    pub fn bus_busy_ns(&self, channel: u32, time_ns: u64) -> [u64; Cause::COUNT] {
        let channel = &self.channels[channel as usize];
        let mut busy_ns = channel.busy_ns;
        if channel.free_ns > time_ns {
            // The LUN that last had its turn is in the midst of the transfer, or other slices transfer as much for the same cause.
            let lun = &self.luns[channel.first_lun as usize + channel.turn as usize];
            let is_shared = self.settings.slices_per_bus > 1;
            let cause = if is_shared { channel.shared_for } else { self.records[lun.current].cause };
            busy_ns[cause as usize] -= channel.free_ns - time_ns;
        }
        busy_ns
    }

    /// Time that a LUN was at work before `time_ns`, which no event is before that is still to come, by the cause of the work.
    pub fn lun_busy_ns(&self, lun: u32, time_ns: u64) -> [u64; Cause::COUNT] {
        let lun = &self.luns[lun as usize];
        let mut busy_ns = lun.busy_ns;
        if !lun.is_idle() {
            busy_ns[self.cause_of_work(lun) as usize] += time_ns.saturating_sub(lun.since_ns);
        }
        busy_ns
    }

    /// The cause that work in progress will have been counted under when it ends: of several reads together, that of the last.
    fn cause_of_work(&self, lun: &Lun) -> Cause {
        let record = &self.records[lun.current];
        if record.work.reads() { self.records[self.last_read(lun)].cause } else { record.cause }
    }

    /// Whether a LUN that began its work before `time_ns` is still at it.
    pub fn is_at_work_since_before(&self, time_ns: u64) -> bool {
        let began_ns = |lun| self.suspension.as_ref().and_then(|suspension| suspension.began_ns(lun));
        (0..).zip(&self.luns).any(|(id, lun)| !lun.is_idle() && began_ns(id).unwrap_or(lun.since_ns) < time_ns)
    }

    /// Suspension, and what it works with, on devices that have it.
    #[inline]
    pub(crate) fn suspension(&mut self) -> Option<(&mut Suspension, Sites<'_>)> {
        let Self { suspension, now_ns, luns, channels, records, events, .. } = self;
        suspension.as_deref_mut().map(|suspension| (suspension, Sites { now_ns: *now_ns, luns, channels, records, events }))
    }

    /// How often work was suspended; `None` of a device whose reads suspend nothing.
    pub fn suspensions(&self) -> Option<Suspensions> {
        self.suspension.as_ref().map(|suspension| suspension.counts())
    }

    /// The pages that programs are being written to. Looks at all LUNs.
    pub fn programs_in_service(&self) -> impl Iterator<Item = Ppn> {
        let first = self.luns.iter().map(|lun| lun.current).filter(|id| *id != NIL);
        let suspended = self.suspension.iter().flat_map(|suspension| suspension.suspended());
        first
            .chain(suspended)
            .map(|id| &self.records[id])
            .filter(|record| matches!(record.work, WorkKind::Program | WorkKind::PageProgram))
            .map(|record| Ppn(record.ppn))
    }
}

/// Processes the earliest event. Completions, and what the layer above has to tell, must be taken before the next call.
#[inline]
pub fn advance<P: Pages, O: Observer>(ssd: &mut P, observer: &mut O) {
    let nand = ssd.nand_mut();
    let time_ns = nand.events.first_ns();
    debug_assert!(time_ns >= nand.now_ns && time_ns != NEVER);
    nand.now_ns = time_ns;
    if let Some(bus) = nand.events.bus_alone() {
        return bus_event(ssd, bus);
    }
    let (luns, channels) = (nand.luns.len() as u32, nand.channels.len() as u32);
    let in_heap = nand.events.first_in_heap();
    if in_heap < luns {
        return lun_event(ssd, in_heap, observer);
    }
    let (_, resource) = nand.events.first();
    match resource - luns {
        channel if channel < channels => bus_event(ssd, channel),
        other if other == channels && nand.settings.has_timer => ssd.timer_due(Timer::Idle, observer),
        _ if let Some(is_work) = packed::is_of_memory(nand, resource as usize) => {
            nand.events.set(resource as usize, NEVER);
            let timer = if is_work { Timer::Memory } else { Timer::Padding };
            ssd.timer_due(timer, observer);
        }
        _ if power::is_of_power(nand, resource) => power::give_turns(nand),
        _ => decoded(ssd, observer),
    }
}

/// Processes the event of a bus that is due now, if no LUN has an event. Returns whether there was one.
#[inline]
pub fn serve_due_bus<P: Pages>(ssd: &mut P) -> bool {
    let nand = ssd.nand();
    if !nand.completions.is_empty() {
        return false;
    }
    let Some(bus) = nand.events.bus_alone() else { return false };
    bus_event(ssd, bus);
    true
}
