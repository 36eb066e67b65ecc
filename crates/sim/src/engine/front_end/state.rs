//! What the front end holds, how it is made, and what it says of itself.

use crate::buffer::{Buffer, Victim};
use crate::config::{AfterLoss, Host};
use crate::engine::around::Around;
use crate::engine::content::{Content, InBuffer, InEntry};
use crate::engine::failure::Failures;
use crate::engine::host_side::HostSide;
use crate::engine::options::Options;
use crate::engine::pending::Requests;
use crate::engine::recorder::Recorder;
use crate::engine::replacement::Replacements;
use crate::engine::request::{CompletedRequest, Request, Service};
use crate::engine::valid_sectors::ValidSectors;
use crate::media::Shape;
#[cfg(feature = "mutants")]
use crate::media::accounting::{self, Slip};
use crate::statistics::{KINDS, Latency};
use flashraid_redundancy::{Operation, Scheme};
use flashraid_vocabulary::{Fault, HostOp, Lpn, NIL};
use rustc_hash::{FxHashMap, FxHashSet};

/// See `front_end`.
#[derive(Clone)]
pub struct FrontEnd {
    /// How host requests are served.
    pub(super) host: Host,
    pub(in crate::engine) requests: Requests,
    /// What takes time between the host and the engine, if anything does.
    pub(in crate::engine) host_side: Option<Box<HostSide>>,
    /// Completions since the caller last emptied it, in order.
    pub completed: Vec<CompletedRequest>,
    /// When a measured request was last completed, and the idle time until then.
    pub(in crate::engine) last_completion: (u64, u64),
    /// What the device serves, which failures and wear restrict.
    pub(in crate::engine) service: Service,
    /// Acknowledged writes that have not ended, by page: only where a write may be acknowledged before it ends.
    pub(in crate::engine) in_controller: FxHashMap<u64, u32>,
    pub(in crate::engine) acknowledges_early: bool,
    /// Pages whose write the host takes for done and that failed; nothing whole has come to flash since (`gone`).
    pub(in crate::engine) gone: FxHashSet<u64>,
    /// Operations of requests that the host takes for done that failed as there was no space for their pages.
    pub believed_without_space: u64,
    /// Which sectors are valid, unless every page that is written in part is read.
    pub(in crate::engine) valid_sectors: Option<Box<ValidSectors>>,
    /// The data buffer, if there is one.
    pub(crate) buffer: Option<Box<Buffer>>,
    /// Whether it destages by itself now: not while all is to come to its end.
    pub(in crate::engine) destages: bool,
    /// The pages that are being evicted, in ascending order: operations that write them are being decided.
    pub(in crate::engine) evicting: Vec<Victim>,
    /// Lent for `Content` to list where the buffer has a page, and what pages leave it with.
    pub(super) sources: Vec<InBuffer>,
    pub(in crate::engine) leaving_with: Vec<InEntry>,
    pub(in crate::engine) replacements: Replacements,
    /// What requests felt before, during and after rebuilds and replacements, from the first one on.
    pub(in crate::engine) around: Option<Box<Around>>,
    /// What is kept for outputs beside the result, if anything.
    pub recorder: Option<Box<Recorder>>,
}

impl FrontEnd {
    /// No request, and nothing buffered.
    pub(in crate::engine) fn new(options: &Options, scheme: &dyn Scheme, shape: &Shape) -> Self {
        let Options { host, host_times, space_pages, .. } = options;
        Self {
            requests: Requests::new(host, options.write_streams),
            host_side: HostSide::new(*host_times),
            completed: Vec::new(),
            last_completion: (0, 0),
            service: Service::All,
            in_controller: FxHashMap::default(),
            acknowledges_early: shape.reports_data_in || !host.parity_in_response,
            gone: FxHashSet::default(),
            believed_without_space: 0,
            valid_sectors: ValidSectors::new(host, *space_pages, shape.page_bytes),
            buffer: options.buffer.map(|buffer| {
                let grouping = scheme.grouping();
                Buffer::new(buffer, *space_pages, shape.page_bytes, grouping, scheme.width()).into()
            }),
            destages: true,
            evicting: Vec::new(),
            sources: Vec::new(),
            leaving_with: Vec::new(),
            replacements: Replacements::default(),
            around: None,
            recorder: None,
            host: host.clone(),
        }
    }

    /// What is kept when the drive is switched off.
    pub(in crate::engine) fn kept(&mut self) -> (&mut Requests, &mut Option<Box<ValidSectors>>, &mut Option<Box<Buffer>>) {
        let Self {
            requests,
            valid_sectors,
            buffer,
            // What is made of the configuration.
            host: _,
            acknowledges_early: _,
            // Work.
            host_side: _,
            completed: _,
            in_controller: _,
            destages: _,
            evicting: _,
            // What was lost: then nothing is saved.
            gone: _,
            believed_without_space: _,
            service: _,
            replacements: _,
            // Statistics, records, and what is lent.
            last_completion: _,
            around: _,
            recorder: _,
            sources: _,
            leaving_with: _,
        } = self;
        (requests, valid_sectors, buffer)
    }

    // ---- requests ----

    /// Numbers of requests that the engine has not decided: they wait in the host, are on their way to the engine, or wait for the end of a replacement.
    pub fn undecided(&self) -> impl Iterator<Item = u64> {
        let on_their_way = self.host_side.iter().flat_map(|side| side.inwards());
        let held = self.replacements.held.iter().flatten().copied();
        self.requests.in_host.iter().chain(on_their_way).chain(held).map(|id| self.requests[id].sequence)
    }

    /// Whether requests are decided in the order in which they come.
    pub fn keeps_order(&self) -> bool {
        self.host.queues == 1 && self.host_side.is_none()
    }

    /// Whether requests have their positions among writes from when they are served. Where pages leave on behalf of nobody and a flush waits for that, they
    /// must: while all is held for a replacement, something may leave before a flush that came earlier. And a flush must not wait for writes behind it in
    /// the host, which wait for it; one that has overtaken a write on the way to the engine does not write what that will buffer.
    #[inline]
    pub(in crate::engine) fn numbers_when_served(&self) -> bool {
        self.host.device_queue_depth > 0
            || self.host_side.is_some()
            || self.buffer.as_ref().is_some_and(|buffer| buffer.admits_pages() && !buffer.survives_power_loss())
    }

    /// The next position among writes, for a request that writes; `u64::MAX` for others.
    #[inline]
    pub(in crate::engine) fn number_write(&mut self, op: HostOp) -> u64 {
        // A flush of a buffer in DRAM writes.
        if !matches!(op, HostOp::Write | HostOp::Trim | HostOp::WriteZeroes) && (op != HostOp::Flush || !self.flushes_to_flash()) {
            return u64::MAX;
        }
        self.requests.unflushed += 1;
        self.requests.writes += 1;
        self.requests.writes - 1
    }

    /// Whether the drive has fewer requests than it takes at a time.
    #[inline]
    pub(in crate::engine) fn has_room(&self) -> bool {
        let depth = u64::from(self.host.device_queue_depth);
        depth == 0 || self.requests.outstanding - (self.requests.in_host.len() as u64) < depth
    }

    /// Tells the contents that all that the host waits for of a request is there; they know which of the pages `lpns` it changed.
    pub(in crate::engine) fn acknowledge(&self, request: &Request, lpns: impl Iterator<Item = Lpn>, content: &mut impl Content) {
        if matches!(request.op, HostOp::Read | HostOp::Flush) {
            return;
        }
        for lpn in lpns {
            content.acknowledged(self.requests.number_of_version(request), lpn, request.failed.is_some());
        }
    }

    // ---- what is served ----

    /// Whether such a request is refused now.
    pub fn refuses(&self, op: HostOp) -> bool {
        match self.service {
            Service::All => false,
            Service::Reads => !matches!(op, HostOp::Read | HostOp::Flush),
            Service::Nothing => true,
        }
    }

    /// From now on no more than this is served. What was accepted before goes on.
    pub(in crate::engine) fn restrict(&mut self, service: Service) {
        self.service = self.service.max(service);
    }

    /// A failure may have taken more than the scheme survives: so many host pages were lost before, and are now.
    pub(in crate::engine) fn note_loss(&mut self, fault: Fault, before: u64, now: u64) {
        let is_small = match fault {
            Fault::Loss(part) => part.block().is_some(),
            Fault::Program(_) | Fault::Erase(_) => true,
            Fault::ParityCache => false,
        };
        if now > before && !is_small {
            self.restrict(match self.host.after_loss {
                AfterLoss::Serve => Service::All,
                AfterLoss::ReadOnly => Service::Reads,
                AfterLoss::Stop => Service::Nothing,
            });
        }
    }

    // ---- what is told of requests ----

    /// The method of an operation is settled.
    #[cold]
    pub(in crate::engine) fn note_method(&mut self, request: u32, operation: &Operation) {
        if let Some(recorder) = self.recorder.as_mut().filter(|_| request != NIL) {
            recorder.note_method(request, self.requests[request].sequence, operation);
        }
    }

    /// A rebuild or a replacement begins; until now requests felt this.
    pub(in crate::engine) fn part_latencies(&mut self, now_ns: u64, before: &[Latency; KINDS.len()]) {
        self.around.get_or_insert_with(|| Box::new(Around::new(now_ns, before)));
    }

    /// A measured request has completed that arrived then, after a rebuild or a replacement had begun.
    #[cold]
    pub(in crate::engine) fn note_around(&mut self, op: HostOp, arrival_ns: u64, latency_ns: u64, failures: &Failures) {
        let is_during = failures.is_rebuilt_at(arrival_ns) || self.replacements.ran_at(arrival_ns);
        if let Some(around) = &mut self.around {
            around.note(op, arrival_ns, latency_ns, is_during);
        }
    }

    /// A deliberate fault: a request of which a program is repeated counts as if it had arrived now.
    #[cfg(feature = "mutants")]
    pub(in crate::engine) fn arrives_anew(&mut self, request: u32, now_ns: u64) {
        if let Some(request) = self.requests.get_mut(request)
            && accounting::makes(Slip::RepeatedRequestAnew)
        {
            request.arrival_ns = now_ns;
        }
    }
}
