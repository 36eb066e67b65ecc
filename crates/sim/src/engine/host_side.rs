//! The host side of a drive (SPEC 8.8): what lies between the host and the engine, and takes time.
//!
//! A write crosses the link to the drive, takes its turn at the controller, and is put off by a fixed latency; then the engine has it. A read takes its turn
//! at the controller; when the engine has answered it, it is put off by a fixed latency, and its data cross the link to the host. Everything else takes its
//! turn at the controller alone. The two directions of the link and the controller serve one request after the other, in the order in which these come to
//! them; latencies are pipelined. A stage that takes no time for any request is left out.
//!
//! What GC moves takes the controller as well, in the same order. GC itself waits for nothing: the requests that come behind it do.
//!
//! So the requests inside a stage leave it in the order in which they came, and when each of them leaves is known when it comes.

use crate::clock::NEVER;
use crate::media::Counts;
use flashraid_vocabulary::{Action, Cause, HostOp};
use std::collections::VecDeque;

/// How long a request takes outside of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostTimes {
    /// For one byte on the link to the drive, in picoseconds.
    pub write_ps_per_byte: u64,
    /// For one byte on the link to the host, in picoseconds.
    pub read_ps_per_byte: u64,
    /// Of the controller for a command.
    pub command_ns: u64,
    /// Of the controller for a mapping unit that a read or write touches.
    pub unit_ns: u64,
    /// Of the controller for a mapping unit that GC moves.
    pub gc_unit_ns: u64,
    /// By which each read is put off.
    pub read_latency_ns: u64,
    /// By which each write is put off.
    pub write_latency_ns: u64,
    /// How many slices of a drive the links and the controller serve, of which this is one (SPEC 8.11).
    pub slice: u32,
}

impl HostTimes {
    /// Nothing takes time.
    pub const NONE: Self = Self {
        write_ps_per_byte: 0,
        read_ps_per_byte: 0,
        command_ns: 0,
        unit_ns: 0,
        gc_unit_ns: 0,
        read_latency_ns: 0,
        write_latency_ns: 0,
        slice: 1,
    };

    /// How long one request at most is put off by latencies.
    pub fn most_latency_ns(&self) -> u64 {
        self.read_latency_ns.max(self.write_latency_ns)
    }
}

/// What serves requests one after the other, in the order of `SERIAL`.
pub const SERIAL: usize = 3;
/// Time in use of the link to the drive, of the link to the host, and of the controller.
pub type HostBusy = [u64; SERIAL];

/// A stage, in the order of the way of a request. The engine has the request between `WriteLatency` and `ReadLatency`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    WriteLink,
    Controller,
    WriteLatency,
    ReadLatency,
    ReadLink,
}

impl Stage {
    const ALL: [Self; 5] = [Self::WriteLink, Self::Controller, Self::WriteLatency, Self::ReadLatency, Self::ReadLink];
    /// Before the engine has the request.
    pub(super) const INWARDS: &'static [Self] = &[Self::WriteLink, Self::Controller, Self::WriteLatency];
    /// When it has answered it.
    pub(super) const OUTWARDS: &'static [Self] = &[Self::ReadLatency, Self::ReadLink];

    /// The stages that follow on the way to the engine, or from it.
    pub(super) fn rest(self) -> &'static [Self] {
        match self {
            Self::WriteLink => &Self::INWARDS[1..],
            Self::Controller => &Self::INWARDS[2..],
            Self::ReadLatency => &Self::OUTWARDS[1..],
            Self::WriteLatency | Self::ReadLink => &[],
        }
    }
}

/// What of a request makes it take time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) op: HostOp,
    /// Bytes of data that cross the link.
    pub(super) bytes: u64,
    /// Mapping units that it touches.
    pub(super) units: u64,
}

/// How long so many bytes need a link.
fn data_ns(bytes: u64, ps_per_byte: u64) -> u64 {
    bytes.saturating_mul(ps_per_byte).div_ceil(1000)
}

/// The requests inside a stage, first come first, with the times at which they leave it.
#[derive(Clone, Debug, Default)]
struct Line {
    inside: VecDeque<(u64, u32)>,
    /// Of a stage that serves one after the other: until when it is in use by what has come, and how long that is in all.
    until_ns: u64,
    busy_ns: u64,
}

impl Line {
    /// Uses a stage that serves one after the other for so long. Returns until when. Then each other slice uses it as long.
    fn occupy(&mut self, now_ns: u64, duration_ns: u64, slices: u32) -> u64 {
        let of_all_ns = duration_ns.saturating_mul(slices.into());
        let start_ns = self.until_ns.max(now_ns);
        self.until_ns = start_ns.saturating_add(of_all_ns).min(NEVER - 1);
        self.busy_ns = self.busy_ns.saturating_add(of_all_ns);
        start_ns.saturating_add(duration_ns).min(NEVER - 1)
    }

    /// For how long it has been in use. Whatever it is to do still, it does from now on without a break.
    fn busy_until(&self, now_ns: u64) -> u64 {
        self.busy_ns - self.until_ns.saturating_sub(now_ns)
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct HostSide {
    times: HostTimes,
    lines: [Line; Stage::ALL.len()],
    /// Units that GC has moved, as far as the controller has been told.
    moved_units: u64,
}

impl HostSide {
    pub(super) fn new(times: HostTimes) -> Option<Box<Self>> {
        (times != HostTimes { slice: times.slice, ..HostTimes::NONE })
            .then(|| Box::new(Self { times, lines: Default::default(), moved_units: 0 }))
    }

    /// Times that do not change.
    pub fn times(&self) -> &HostTimes {
        &self.times
    }

    /// When the next request leaves a stage; `NEVER` if none is inside.
    pub(super) fn next_ns(&self) -> u64 {
        self.lines.iter().filter_map(|line| line.inside.front()).fold(NEVER, |next_ns, (end_ns, _)| next_ns.min(*end_ns))
    }

    /// Takes out a request that leaves a stage now, those first that have come farthest.
    pub(super) fn take_due(&mut self, now_ns: u64) -> Option<(Stage, u32)> {
        let is_due = |line: &Line| line.inside.front().is_some_and(|(end_ns, _)| *end_ns == now_ns);
        let stage = Stage::ALL.into_iter().rev().find(|stage| is_due(&self.lines[*stage as usize]))?;
        self.lines[stage as usize].inside.pop_front().map(|(_, id)| (stage, id))
    }

    /// A request comes to the first of these stages that takes time. Returns false if there is none.
    pub(super) fn enter(&mut self, stages: &[Stage], id: u32, load: Load, now_ns: u64) -> bool {
        stages.iter().any(|stage| self.enter_stage(*stage, id, load, now_ns))
    }

    fn enter_stage(&mut self, stage: Stage, id: u32, load: Load, now_ns: u64) -> bool {
        let (times, is_write) = (self.times, load.op == HostOp::Write);
        let line = &mut self.lines[stage as usize];
        let end_ns = match stage {
            Stage::WriteLink if is_write && times.write_ps_per_byte > 0 => {
                line.occupy(now_ns, data_ns(load.bytes, times.write_ps_per_byte), times.slice)
            }
            Stage::Controller if times.command_ns + times.unit_ns > 0 => {
                let units = if is_write || load.op == HostOp::Read { load.units } else { 0 };
                line.occupy(now_ns, units.saturating_mul(times.unit_ns).saturating_add(times.command_ns), times.slice)
            }
            Stage::WriteLatency if is_write && times.write_latency_ns > 0 => now_ns + times.write_latency_ns,
            Stage::ReadLatency if times.read_latency_ns > 0 => now_ns + times.read_latency_ns,
            Stage::ReadLink if times.read_ps_per_byte > 0 => line.occupy(now_ns, data_ns(load.bytes, times.read_ps_per_byte), times.slice),
            _ => return false,
        };
        line.inside.push_back((end_ns, id));
        true
    }

    /// The requests that are on their way to the engine.
    pub(super) fn inwards(&self) -> impl Iterator<Item = u32> {
        Stage::INWARDS.iter().flat_map(|stage| self.lines[*stage as usize].inside.iter().map(|(_, id)| *id))
    }

    /// What GC has moved takes the controller: it is among what was started so far, of which `counts` tells.
    pub(super) fn note_moves(&mut self, counts: impl FnOnce() -> Counts, now_ns: u64) {
        if self.times.gc_unit_ns == 0 {
            return;
        }
        let programs = counts()[Action::Program as usize];
        let units = programs[Cause::Gc as usize] + programs[Cause::Wear as usize];
        let more = units - std::mem::replace(&mut self.moved_units, units);
        if more > 0 {
            self.lines[Stage::Controller as usize].occupy(now_ns, more * self.times.gc_unit_ns, self.times.slice);
        }
    }

    /// For how long what serves one after the other has been in use, until now.
    pub fn busy_ns(&self, now_ns: u64) -> HostBusy {
        [Stage::WriteLink, Stage::ReadLink, Stage::Controller].map(|stage| self.lines[stage as usize].busy_until(now_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 ns a byte to the drive, 2 from it.
    const TIMES: HostTimes = HostTimes {
        write_ps_per_byte: 1_000,
        read_ps_per_byte: 2_000,
        command_ns: 10,
        unit_ns: 3,
        gc_unit_ns: 3,
        read_latency_ns: 100,
        write_latency_ns: 1_000,
        slice: 1,
    };

    fn programs(gc: u64, wear: u64) -> Counts {
        let mut counts = Counts::default();
        counts[Action::Program as usize][Cause::Gc as usize] = gc;
        counts[Action::Program as usize][Cause::Wear as usize] = wear;
        counts
    }

    fn leaving(side: &mut HostSide) -> Vec<(u64, Stage, u32)> {
        std::iter::from_fn(|| {
            let next_ns = side.next_ns();
            side.take_due(next_ns).map(|(stage, id)| (next_ns, stage, id))
        })
        .collect()
    }

    #[test]
    fn stages_serve_in_the_order_of_arrival_and_latencies_are_pipelined() {
        let mut side = HostSide::new(TIMES).expect("it takes time");
        let write = Load { op: HostOp::Write, bytes: 50, units: 2 };
        let read = Load { op: HostOp::Read, bytes: 20, units: 1 };
        for (id, load) in [write, write, read].into_iter().enumerate() {
            assert!(side.enter(Stage::INWARDS, id as u32, load, 0));
        }
        assert_eq!(side.busy_ns(5), [5, 0, 5]);
        assert_eq!(leaving(&mut side), [(13, Stage::Controller, 2), (50, Stage::WriteLink, 0), (100, Stage::WriteLink, 1)]);
        for id in 0..2 {
            assert!(side.enter(Stage::WriteLink.rest(), id, write, 100));
        }
        side.note_moves(|| programs(3, 1), 100);
        assert_eq!(side.busy_ns(130), [100, 0, 43]);
        assert_eq!(leaving(&mut side), [(116, Stage::Controller, 0), (132, Stage::Controller, 1)]);
        assert!(!side.enter(Stage::Controller.rest(), 2, read, 140));
        for id in 0..2 {
            assert!(side.enter(Stage::Controller.rest(), id, write, 140));
            assert!(side.enter(Stage::OUTWARDS, 2 + id, read, 140));
        }
        side.note_moves(|| programs(4, 1), 140);
        side.note_moves(|| programs(4, 1), 141);
        assert_eq!(side.busy_ns(147), [100, 0, 45 + 12 + 3]);
        let latencies = [(240, Stage::ReadLatency, 2), (240, Stage::ReadLatency, 3), (1_140, Stage::WriteLatency, 0)];
        assert_eq!(leaving(&mut side), [&latencies[..], &[(1_140, Stage::WriteLatency, 1)]].concat());
        for id in 2..4 {
            assert!(side.enter(Stage::ReadLatency.rest(), id, read, 1_140));
        }
        assert_eq!(leaving(&mut side), [(1_180, Stage::ReadLink, 2), (1_220, Stage::ReadLink, 3)]);
        assert!(Stage::ReadLink.rest().is_empty() && Stage::WriteLatency.rest().is_empty());
    }

    /// Of requests that leave stages at one time those go on first that have come farthest.
    #[test]
    fn who_has_come_farthest_goes_on_first() {
        let mut side = HostSide::new(TIMES).expect("it takes time");
        let write = Load { op: HostOp::Write, bytes: 50, units: 1 };
        let read = Load { op: HostOp::Read, ..write };
        assert!(side.enter(Stage::INWARDS, 0, write, 0) && side.enter(Stage::INWARDS, 1, read, 37));
        assert_eq!(leaving(&mut side), [(50, Stage::Controller, 1), (50, Stage::WriteLink, 0)]);
    }

    /// A discard takes a command, whatever it touches; a stage that takes no time for anybody is left out.
    #[test]
    fn what_takes_no_time_is_left_out() {
        assert!(HostSide::new(HostTimes::NONE).is_none());
        let discard = Load { op: HostOp::Trim, bytes: 1 << 40, units: 1 << 30 };
        let mut side = HostSide::new(TIMES).expect("it takes time");
        assert!(side.enter(Stage::INWARDS, 0, discard, 7) && side.take_due(17) == Some((Stage::Controller, 0)));
        assert!(!side.enter(Stage::Controller.rest(), 0, discard, 17));
        let mut side = HostSide::new(HostTimes { read_latency_ns: 9, ..HostTimes::NONE }).expect("it takes time");
        let write = Load { op: HostOp::Write, bytes: 1, units: 1 };
        assert!(!side.enter(Stage::INWARDS, 0, write, 0) && side.next_ns() == NEVER);
        assert!(side.enter(Stage::OUTWARDS, 0, Load { op: HostOp::Read, ..write }, 1) && side.next_ns() == 10);
        assert!(!side.enter(Stage::ReadLatency.rest(), 0, write, 10));
    }
}
