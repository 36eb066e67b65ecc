//! Who gets the bus next.

use crate::domains::{Takers, is_for_replacement, pool_of, pools_of};
use crate::events::EventQueue;
use crate::luns::{Channel, DATA_OUT, Lun, LunState, NOTHING, PHASES, PROGRAM, READ_COMMAND, after};
use crate::power::{PROGRAMS, served, wait_for_power};
use crate::records::Records;
use crate::service::{start_bound, start_from_pool};
use crate::{BlockFacts, Nand, Pages};
use flashraid_vocabulary::{NIL, Priority};

impl Lun {
    /// What it would do with the bus in its state.
    #[inline(always)]
    fn wanted(&self, state: LunState, records: &Records) -> u8 {
        match state {
            LunState::Idle => {
                let filled = self.served();
                if filled == 0 {
                    return NOTHING;
                }
                let index = filled.trailing_zeros() as usize;
                let head = &records[self.queues[index].head];
                let phase = if head.work.reads() { READ_COMMAND } else { PROGRAM };
                (index / 2) as u8 * PHASES + phase
            }
            LunState::DataReady => records[self.current].priority as u8 * PHASES + DATA_OUT,
            LunState::RetryReady => records[self.current].priority as u8 * PHASES + READ_COMMAND,
            LunState::Suspended => Priority::Host as u8 * PHASES + READ_COMMAND,
            _ => NOTHING,
        }
    }
}

impl Channel {
    /// The LUN, which is one of its own, is in this state from now on.
    // Always inlined, as callers know the state, and most states want nothing.
    #[inline(always)]
    pub(crate) fn set_state(&mut self, lun: &mut Lun, state: LunState, records: &Records) {
        lun.state = state;
        match state {
            LunState::Idle => self.idle |= lun.bit,
            // Nobody goes to these from `Idle`.
            LunState::DataReady
            | LunState::DataOut
            | LunState::Decoding
            | LunState::RetryReady
            | LunState::Interruptible
            | LunState::Suspending
            | LunState::Suspended => {}
            LunState::Reading | LunState::DataIn | LunState::Working => self.idle &= !lun.bit,
        }
        let want = lun.wanted(state, records);
        self.note_want(lun, want);
    }

    /// Makes sure that it is served when its bus is free. `id` is its own.
    #[inline]
    fn wait(&mut self, id: u32, events: &mut EventQueue, now_ns: u64) {
        if !self.has_event {
            self.has_event = true;
            events.set_bus(id, self.free_ns, now_ns);
        }
    }

    /// Files the LUN under what it wants.
    #[inline(always)]
    fn note_want(&mut self, lun: &mut Lun, want: u8) {
        let old = std::mem::replace(&mut lun.want, want);
        if old == want {
            return;
        }
        if old != NOTHING {
            let luns = &mut self.wants[usize::from(old)];
            *luns &= !lun.bit;
            if *luns == 0 {
                self.wanted &= !(1 << old);
            }
        }
        if want != NOTHING {
            self.wants[usize::from(want)] |= lun.bit;
            self.wanted |= 1 << want;
        }
    }

    /// Its LUNs that may take a program of a pool now.
    #[inline]
    fn takers_of_pool(&self, pool: u32, of: &Takers) -> u64 {
        let luns = self.takers(of.kind) & of.luns;
        if is_for_replacement(pool) && of.replacement_planes > 0 { luns & self.replacements } else { luns }
    }
}

impl Nand {
    /// Recomputes what a LUN would do with the bus.
    #[inline]
    pub fn refresh_want(&mut self, lun_id: u32) {
        let lun = &mut self.luns[lun_id as usize];
        let want = lun.wanted(lun.state, &self.records);
        self.channels[lun.channel as usize].note_want(lun, want);
    }

    /// The LUN is in this state from now on.
    #[inline(always)]
    pub(crate) fn set_state(&mut self, lun_id: u32, state: LunState) {
        let lun = &mut self.luns[lun_id as usize];
        self.channels[lun.channel as usize].set_state(lun, state, &self.records);
    }

    /// One GC run more or less keeps a LUN from serving anything but urgent work.
    pub fn set_blocked(&mut self, lun_id: u32, blocked: bool) {
        let lun = &mut self.luns[lun_id as usize];
        lun.blocked = if blocked { lun.blocked + 1 } else { lun.blocked - 1 };
        let channel = &mut self.channels[lun.channel as usize];
        channel.blocked = if lun.blocked > 0 { channel.blocked | lun.bit } else { channel.blocked & !lun.bit };
        self.refresh_want(lun_id);
        if let Some((suspension, mut sites)) = self.suspension() {
            suspension.ask_for_waiting(lun_id, &mut sites);
        }
    }

    /// Makes sure that the channel is served when its bus is free.
    pub(crate) fn wait_for_bus(&mut self, channel_id: u32) {
        self.channels[channel_id as usize].wait(channel_id, &mut self.events, self.now_ns);
    }

    /// Whether a program may wait in a domain of the channel.
    #[inline(always)]
    fn has_waiting_program(&self, channel_id: u32) -> bool {
        self.waiting.channels >> channel_id & 1 == 1
    }

    /// When the first program of a class that waits in a pool was submitted.
    fn waits_since(&self, class: u32, pool: u32) -> u64 {
        let head = self.waiting.pool(pool).queues[class as usize].head;
        self.records[head].submitted_ns
    }

    /// Under FIFO, a waiting program of the same class goes before a command that was submitted later. Data out and retries always go first:
    /// the register is needed.
    fn pool_is_older(&self, channel: &Channel, bound: u32, class: u32, pool: u32) -> bool {
        if bound / u32::from(PHASES) != class || bound % u32::from(PHASES) == u32::from(DATA_OUT) {
            return false;
        }
        let lun = &self.luns[(channel.first_lun + after(channel.wants[bound as usize], channel.turn)) as usize];
        if lun.state == LunState::RetryReady {
            return false;
        }
        let head = lun.queues[(class * 2) as usize].head;
        self.waits_since(class, pool) < self.records[head].submitted_ns
    }
}

/// Serves the channel if its bus is free, else makes sure that the end of its transfer is noticed. While other LUNs have
/// events at this very time the bus waits for them, so that it chooses among all that are ready now; also for those of other SSDs, after which
/// there may be more to do here.
#[inline]
pub fn kick<P: Pages>(ssd: &mut P, channel_id: u32) {
    let nand = ssd.nand_mut();
    let channel = &mut nand.channels[channel_id as usize];
    if channel.free_ns > nand.now_ns || nand.events.first_ns() == nand.now_ns || nand.others_have_events {
        channel.wait(channel_id, &mut nand.events, nand.now_ns);
    } else if channel.wanted != 0 || nand.has_waiting_program(channel_id) {
        serve(ssd, channel_id);
    }
}

/// `kick` of the channel of a plane, or of each of its lanes.
pub fn kick_plane<P: Pages>(ssd: &mut P, plane: u32) {
    for lane in 0..ssd.nand().shape.lanes {
        let nand = ssd.nand();
        let channel_id = nand.channel_of_lun(nand.places().lun_of_lane(plane, lane));
        kick(ssd, channel_id);
    }
}

/// The bus is free, or due to look whether it is.
pub(crate) fn bus_event<P: Pages>(ssd: &mut P, channel_id: u32) {
    let nand = ssd.nand_mut();
    nand.events.clear_bus(channel_id);
    let channel = &mut nand.channels[channel_id as usize];
    channel.has_event = false;
    if channel.free_ns > nand.now_ns {
        // Another transfer came first: one that took the last free page of a replacement, for whose sake this bus is looked at, or that came before its turn to
        // have power.
        wait_if_wanted(ssd, channel_id);
        served(ssd.nand_mut(), channel_id);
    } else if channel.wanted != 0 || nand.has_waiting_program(channel_id) {
        serve(ssd, channel_id);
    } else {
        served(nand, channel_id);
    }
}

/// Gives the bus, which is free, to who comes next, until it is busy or nobody wants it.
fn serve<P: Pages>(ssd: &mut P, channel_id: u32) {
    loop {
        debug_assert!(ssd.nand().channels[channel_id as usize].free_ns <= ssd.nand().now_ns, "a busy bus is served");
        let (lun_id, pool) = next_served(ssd, channel_id);
        if lun_id == NIL {
            return served(ssd.nand_mut(), channel_id);
        }
        if pool != NIL {
            start_from_pool(ssd, lun_id, pool);
        } else {
            match ssd.nand().luns[lun_id as usize].state {
                LunState::DataReady => ssd.nand_mut().start_data_out(lun_id),
                LunState::RetryReady => ssd.nand_mut().start_retry(lun_id),
                _ => start_bound(ssd, lun_id),
            }
        }
        if ssd.nand().channels[channel_id as usize].free_ns > ssd.nand().now_ns {
            wait_if_wanted(ssd, channel_id);
            return served(ssd.nand_mut(), channel_id);
        }
    }
}

/// Makes sure that the channel is served when its bus, which is busy, is free, if somebody wants it.
#[inline(always)]
fn wait_if_wanted<P: Pages>(ssd: &mut P, channel_id: u32) {
    let channel = &ssd.nand().channels[channel_id as usize];
    if !channel.has_event && (channel.wanted != 0 || waiting_program(ssd, channel_id).1 != NIL) {
        ssd.nand_mut().wait_for_bus(channel_id);
    }
}

/// Who gets the bus next: a LUN for its own work (and `NIL`), or a LUN and the pool whose first program it takes; `NIL` for nobody.
#[inline]
fn next_served<P: Pages>(ssd: &mut P, channel_id: u32) -> (u32, u32) {
    if ssd.nand().power.as_ref().is_some_and(|power| !power.is_turn_of(channel_id)) {
        return next_out_of_turn(ssd, channel_id);
    }
    let (class, pool) = waiting_program(ssd, channel_id);
    let nand = ssd.nand();
    let channel = &nand.channels[channel_id as usize];
    if is_pool_next(nand, channel, class, pool) {
        let takers = channel.takers_of_pool(pool, nand.waiting.takers_of_pool(pool));
        return (channel.first_lun + after(takers, channel.turn_of_pool), pool);
    }
    (next_bound(channel, channel.wanted), NIL)
}

/// Whether the first program of the pool, if it is one, is next, and not what a LUN wants of the bus.
#[inline(always)]
fn is_pool_next(nand: &Nand, channel: &Channel, class: u32, pool: u32) -> bool {
    let bound = channel.wanted.trailing_zeros(); // 64 if nobody wants
    pool != NIL && (bound >= (class + 1) * u32::from(PHASES) || (nand.settings.fifo && nand.pool_is_older(channel, bound, class, pool)))
}

/// The LUN whose own work is next, of what is `wanted`.
#[inline(always)]
fn next_bound(channel: &Channel, wanted: u64) -> u32 {
    match wanted {
        0 => NIL,
        _ => channel.first_lun + after(channel.wants[wanted.trailing_zeros() as usize], channel.turn),
    }
}

/// The same while it is not the channel's turn to have power. If a program or an erase is next: nobody yet if there is power, and else who needs none.
#[cold]
#[inline(never)]
fn next_out_of_turn<P: Pages>(ssd: &mut P, channel_id: u32) -> (u32, u32) {
    let (class, pool) = waiting_program(ssd, channel_id);
    let nand = ssd.nand_mut();
    let channel = &nand.channels[channel_id as usize];
    let needs_power = is_pool_next(nand, channel, class, pool) || channel.wanted & channel.wanted.wrapping_neg() & PROGRAMS != 0;
    if needs_power && wait_for_power(nand, channel_id) {
        return (NIL, NIL);
    }
    let channel = &nand.channels[channel_id as usize];
    (next_bound(channel, channel.wanted & !PROGRAMS), NIL)
}

/// The most urgent program that waits for any LUN that could take it: its class and pool, `NIL` for none. A channel mostly
/// belongs to one domain; with chips as members, to one for each chip; with a mirror chip, to two. Of several the one that has waited
/// longest is next, so that none starves while another's programs never end, as in a rebuild.
#[inline(always)]
fn waiting_program<P: Pages>(ssd: &mut P, channel_id: u32) -> (u32, u32) {
    if ssd.nand().has_waiting_program(channel_id) { look_for_program(ssd, channel_id) } else { (u32::MAX, NIL) }
}

fn look_for_program<P: Pages>(ssd: &mut P, channel_id: u32) -> (u32, u32) {
    let (nand, blocks) = (ssd.nand(), ssd.blocks());
    let channel = &nand.channels[channel_id as usize];
    let (mut best, mut is_empty) = ((u32::MAX, NIL), nand.waiting.for_replacements == 0);
    for &domain in &channel.domains {
        let pool = pool_of(domain, false);
        is_empty &= nand.waiting.pool(pool).mask == 0;
        best = more_urgent(nand, blocks, channel, best, pool);
    }
    if nand.waiting.for_replacements > 0 {
        best = urgent_for_replacements(nand, blocks, channel, best);
    }
    if is_empty {
        ssd.nand_mut().waiting.channels &= !(1 << channel_id);
    }
    best
}

#[cold]
fn urgent_for_replacements(nand: &Nand, blocks: &impl BlockFacts, channel: &Channel, best: (u32, u32)) -> (u32, u32) {
    channel.domains.iter().fold(best, |best, domain| more_urgent(nand, blocks, channel, best, pool_of(*domain, true)))
}

/// The first program of a pool, if one of the channel's LUNs could take it and the best one so far does not go before it.
#[inline(always)]
fn more_urgent(nand: &Nand, blocks: &impl BlockFacts, channel: &Channel, best: (u32, u32), pool: u32) -> (u32, u32) {
    let mask = nand.waiting.pool(pool).mask;
    // Only after failures may more programs wait than there are pages.
    if mask != 0 && blocks.has_page(pool / 2) && channel.takers_of_pool(pool, nand.waiting.takers_of_pool(pool)) != 0 {
        let class = mask.trailing_zeros();
        if class < best.0 || class == best.0 && nand.waits_since(class, pool) < nand.waits_since(class, best.1) {
            return (class, pool);
        }
    }
    best
}

/// Checks that no bus is forgotten: without an event it has nobody to serve, and if no program is looked for, none waits; for tests.
pub fn check_buses(nand: &Nand, blocks: &impl BlockFacts) -> Result<(), String> {
    for (id, channel) in (0..).zip(&nand.channels) {
        let pools = || channel.domains.iter().flat_map(|domain| pools_of(*domain));
        if !nand.has_waiting_program(id) && pools().any(|pool| nand.waiting.pool(pool).mask != 0) {
            return Err(format!("a program waits for channel {id}, which does not look for it"));
        }
        let is_powerless = nand.power.as_ref().is_some_and(|power| power.is_waiting(id));
        let wanted = if is_powerless { channel.wanted & !PROGRAMS } else { channel.wanted };
        let may_take = |pool| !is_powerless && more_urgent(nand, blocks, channel, (u32::MAX, NIL), pool).1 != NIL;
        let is_asking = nand.power.as_ref().is_some_and(|power| power.is_asking(id));
        if !channel.has_event && !is_asking && (wanted != 0 || pools().any(may_take)) {
            return Err(format!("the bus of channel {id} is forgotten, which LUNs want for {:b} or for programs", channel.wanted));
        }
    }
    Ok(())
}
