//! Who gets the bus next.

use super::records::{Record, WorkKind};
use super::units::{Channel, DATA_OUT, NOTHING, PHASES, PROGRAM, READ_COMMAND, Unit, UnitState, after};
use crate::Flash;
use crate::mapping::space::{NIL, is_for_replacement, pool_of};

impl Unit {
    /// What it would do with the bus in its state.
    #[inline(always)]
    fn wanted(&self, state: UnitState, records: &[Record]) -> u8 {
        match state {
            UnitState::Idle => {
                let filled = self.served();
                if filled == 0 {
                    return NOTHING;
                }
                let index = filled.trailing_zeros() as usize;
                let head = &records[self.queues[index].head as usize];
                let phase = if matches!(head.work, WorkKind::Read | WorkKind::MoveRead) { READ_COMMAND } else { PROGRAM };
                (index / 2) as u8 * PHASES + phase
            }
            UnitState::DataReady => records[self.current as usize].priority as u8 * PHASES + DATA_OUT,
            UnitState::RetryReady => records[self.current as usize].priority as u8 * PHASES + READ_COMMAND,
            _ => NOTHING,
        }
    }
}

impl Channel {
    /// Files the unit under what it wants.
    #[inline(always)]
    fn note_want(&mut self, unit: &mut Unit, want: u8) {
        let old = std::mem::replace(&mut unit.want, want);
        if old == want {
            return;
        }
        if old != NOTHING {
            let units = &mut self.wants[usize::from(old)];
            *units &= !unit.bit;
            if *units == 0 {
                self.wanted &= !(1 << old);
            }
        }
        if want != NOTHING {
            self.wants[usize::from(want)] |= unit.bit;
            self.wanted |= 1 << want;
        }
    }
}

impl Flash {
    /// Recomputes what a unit would do with the bus.
    #[inline]
    pub(crate) fn refresh_want(&mut self, unit_id: u32) {
        let unit = &mut self.units[unit_id as usize];
        let want = unit.wanted(unit.state, &self.records);
        self.channels[unit.channel as usize].note_want(unit, want);
    }

    /// The unit is in this state from now on.
    // Always inlined, as callers know the state, and most states want nothing.
    #[inline(always)]
    pub(super) fn set_state(&mut self, unit_id: u32, state: UnitState) {
        let unit = &mut self.units[unit_id as usize];
        unit.state = state;
        let want = unit.wanted(state, &self.records);
        let channel = &mut self.channels[unit.channel as usize];
        match state {
            UnitState::Idle => channel.idle |= unit.bit,
            // Nobody goes to these from `Idle`.
            UnitState::DataReady | UnitState::DataOut | UnitState::Decoding | UnitState::RetryReady => {}
            UnitState::Reading | UnitState::DataIn | UnitState::Working => channel.idle &= !unit.bit,
        }
        channel.note_want(unit, want);
    }

    pub(crate) fn set_blocked(&mut self, unit_id: u32, blocked: bool) {
        let unit = &mut self.units[unit_id as usize];
        unit.blocked = if blocked { unit.blocked + 1 } else { unit.blocked - 1 };
        let channel = &mut self.channels[unit.channel as usize];
        channel.blocked = if unit.blocked > 0 { channel.blocked | unit.bit } else { channel.blocked & !unit.bit };
        self.refresh_want(unit_id);
    }

    /// Serves the channel if its bus is free, else makes sure that the end of its transfer is noticed. While other units have
    /// events at this very time the bus waits for them, so that it chooses among all that are ready now; also for those of other SSDs, after which
    /// there may be more to do here.
    #[inline]
    pub(crate) fn kick(&mut self, channel_id: u32) {
        let channel = &self.channels[channel_id as usize];
        let is_free = channel.free_ns <= self.now_ns;
        if is_free && self.events.first_ns() != self.now_ns && !self.others_have_events {
            self.serve(channel_id);
        } else {
            self.wait_for_bus(channel_id);
        }
    }

    /// Makes sure that the channel is served when its bus is free.
    #[inline]
    pub(crate) fn wait_for_bus(&mut self, channel_id: u32) {
        let channel = &mut self.channels[channel_id as usize];
        if channel.has_event {
            return;
        }
        channel.has_event = true;
        self.events.set_bus(channel_id, channel.free_ns, self.now_ns);
    }

    pub(crate) fn bus_event(&mut self, channel_id: u32) {
        self.channels[channel_id as usize].has_event = false;
        self.events.clear_bus(channel_id);
        self.serve(channel_id);
    }

    /// Gives the free bus to who comes next, until it is busy or nobody wants it.
    #[inline(always)]
    fn serve(&mut self, channel_id: u32) {
        if self.pooled > 0 || self.channels[channel_id as usize].wanted != 0 {
            self.serve_all(channel_id);
        }
    }

    fn serve_all(&mut self, channel_id: u32) {
        loop {
            let channel = &self.channels[channel_id as usize];
            if channel.free_ns > self.now_ns {
                if !channel.has_event && (channel.wanted != 0 || self.waiting_program(channel).1 != NIL) {
                    self.wait_for_bus(channel_id);
                }
                return;
            }
            let (unit_id, pool) = self.next_served(channel);
            if unit_id == NIL {
                return;
            }
            if pool != NIL {
                self.start_from_pool(unit_id, pool);
                continue;
            }
            match self.units[unit_id as usize].state {
                UnitState::DataReady => self.start_data_out(unit_id),
                UnitState::RetryReady => self.start_retry(unit_id),
                _ => self.start_bound(unit_id),
            }
        }
    }

    /// Who gets the bus next: a unit for its own work (and `NIL`), or a unit and the pool whose first program it takes; `NIL` for nobody.
    #[inline]
    fn next_served(&self, channel: &Channel) -> (u32, u32) {
        let bound = channel.wanted.trailing_zeros(); // 64 if nobody wants
        let (class, pool) = self.waiting_program(channel);
        if pool != NIL {
            let bound_first = bound < (class + 1) * u32::from(PHASES);
            if !bound_first || (self.settings.fifo() && self.pool_is_older(channel, bound, class, pool)) {
                return (channel.first_unit + after(self.takers(channel, pool), channel.turn_of_pool), pool);
            }
        }
        if bound == u64::BITS {
            return (NIL, NIL);
        }
        (channel.first_unit + after(channel.wants[bound as usize], channel.turn), NIL)
    }

    /// The channel's units that may take a program of a pool now.
    #[inline]
    fn takers(&self, channel: &Channel, pool: u32) -> u64 {
        let domain = self.domain_of_pool(pool);
        let units = channel.takers(domain.kind) & domain.units;
        if is_for_replacement(pool) && domain.replacement_planes > 0 { units & channel.replacements } else { units }
    }

    /// The most urgent program that waits for any unit that could take it: its class and pool, `NIL` for none. A channel mostly
    /// belongs to one domain; with chips as members, to one for each chip; with a mirror chip, to two. Of several the one that has waited
    /// longest is next, so that none starves while another's programs never end, as in a rebuild.
    #[inline]
    fn waiting_program(&self, channel: &Channel) -> (u32, u32) {
        let mut best = (u32::MAX, NIL);
        if self.pooled == 0 {
            return best;
        }
        for &domain in &channel.domains {
            best = self.more_urgent(channel, best, pool_of(domain, false));
        }
        if self.pooled_for_replacements > 0 { self.urgent_for_replacements(channel, best) } else { best }
    }

    #[cold]
    fn urgent_for_replacements(&self, channel: &Channel, best: (u32, u32)) -> (u32, u32) {
        channel.domains.iter().fold(best, |best, domain| self.more_urgent(channel, best, pool_of(*domain, true)))
    }

    /// The first program of a pool, if one of the channel's units could take it and the best one so far does not go before it.
    #[inline]
    fn more_urgent(&self, channel: &Channel, best: (u32, u32), pool: u32) -> (u32, u32) {
        let mask = self.pool(pool).mask;
        // Only after failures may more programs wait than there are pages.
        if mask != 0 && self.domain_of_pool(pool).free_pages > 0 && self.takers(channel, pool) != 0 {
            let class = mask.trailing_zeros();
            if class < best.0 || class == best.0 && self.waits_since(class, pool) < self.waits_since(class, best.1) {
                return (class, pool);
            }
        }
        best
    }

    /// When the first program of a class that waits in a pool was submitted.
    fn waits_since(&self, class: u32, pool: u32) -> u64 {
        let head = self.pool(pool).queues[class as usize].head;
        self.records[head as usize].submitted_ns
    }

    /// Under FIFO, a waiting program of the same class goes before a command that was submitted later. Data out and retries always go first:
    /// the register is needed.
    fn pool_is_older(&self, channel: &Channel, bound: u32, class: u32, pool: u32) -> bool {
        if bound / u32::from(PHASES) != class || bound % u32::from(PHASES) == u32::from(DATA_OUT) {
            return false;
        }
        let unit = &self.units[(channel.first_unit + after(channel.wants[bound as usize], channel.turn)) as usize];
        if unit.state == UnitState::RetryReady {
            return false;
        }
        let head = unit.queues[(class * 2) as usize].head;
        self.waits_since(class, pool) < self.records[head as usize].submitted_ns
    }
}
