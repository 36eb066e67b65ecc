//! A device as one holds it, whatever it simulates: what the replay, a `Simulation` and outputs ask of an engine. Of which media an engine is, and
//! whether it tracks contents, are types that nobody above this file knows.

use crate::assemble;
use crate::config::{Config, ConfigError};
use crate::engine::content::Untracked;
use crate::engine::recorder::Recorder;
use crate::engine::tags::Tags;
use crate::engine::{AsOverwritten, CompletedRequest, Engine, Halted, Reached, Survey, fill};
use crate::media::{Flash, Media, Recording, SsdArray};
use crate::verify::{Checked, Checks, Verified};
use flashraid_redundancy::Scheme;
use flashraid_vocabulary::{DeviceFault, HostRequest, Persistent};
use std::any::Any;
use std::io;
use std::ops::Range;

/// An engine, whatever its media and contents are: requests, time, failures, and what there is to know.
pub trait Device: Lifecycle + Recorded {
    /// Pages of the logical space.
    fn space_pages(&self) -> u64;
    /// Simulated time.
    fn now_ns(&self) -> u64;
    /// Time of the next event, if anything is in flight.
    fn next_event_ns(&self) -> Option<u64>;
    /// Requests submitted and not completed.
    fn outstanding(&self) -> u64;
    /// Asks the processor for what the requests after the one at `index` will touch.
    fn prefetch(&self, requests: &[HostRequest], index: usize);
    /// Submits a request at the current time. Returns its number.
    fn submit(&mut self, request: &HostRequest, measured: bool) -> u64;
    /// Processes the next event. Returns whether there was one.
    fn advance(&mut self) -> Result<bool, Halted>;
    /// Processes every event up to and including `time_ns` and moves the clock there.
    fn advance_until(&mut self, time_ns: u64) -> Result<(), Halted>;
    /// Completions since the caller last emptied the list, in order.
    fn completed(&mut self) -> &mut Vec<CompletedRequest>;
    /// Whether a data buffer destages by itself: not while everything is to come to its end.
    fn set_destaging(&mut self, is_on: bool);
    /// Something fails now.
    fn fail(&mut self, failure: DeviceFault);
    /// The failure that takes the flash page of a host page; none if it is not written, or failures have left it without a page.
    fn failure_of(&self, host_page: u64) -> Option<DeviceFault>;
    /// Has an SSD of an array replaced. Returns why that cannot be.
    fn replace(&mut self, device: u32) -> Result<(), &'static str>;
    /// What there is to know.
    fn survey(&self) -> Survey<'_>;
}

/// What a device goes through before its first request and after its last one. What is saved of it is its durable state.
pub trait Lifecycle: Persistent + Any + Send + Sync {
    /// Writes the first `pages` pages of the logical space, in no time, and may leave them as overwrites would have: see `preparation::fill`.
    fn fill(&mut self, pages: u64, state: Option<AsOverwritten<'_>>) -> Option<Reached>;
    /// Overwrites random pages among the first `pages`, in no time: see `Engine::precondition`.
    fn precondition(
        &mut self,
        pages: u64,
        most_overwrites: u64,
        with_phases: bool,
        random: &mut dyn FnMut() -> u64,
        go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Reached;
    /// Measuring begins: what was counted so far counts no more.
    fn begin_measuring(&mut self);
    /// Writes what the data buffer holds to flash, and lets everything end that is in flight.
    fn drain_buffer(&mut self) -> Result<(), Halted>;
    /// Brings deferred parities to flash.
    fn drain_scheme(&mut self);
    /// No requests will come: GC runs that wait for programs go on, to their ends if `finish` follows.
    fn finish_gc(&mut self);
    /// Programs all flash pages that are not full, in no time. Nothing is in flight.
    fn empty_memory(&mut self);
    /// Lets everything end that was submitted.
    fn finish(&mut self) -> Result<(), Halted>;
    /// Why its state cannot be saved, if that is so.
    fn cannot_be_saved(&self) -> Option<&'static str>;
    /// Reads of host pages that were compared, and those with other contents than what is permitted; 0 if contents are not tracked.
    fn compared(&self) -> (u64, u64);
    /// Checks everything stored, if contents are tracked, and adds what was found to `checks`.
    fn check_stored(&self, checks: &mut Checks) -> Option<Verified>;
    /// Host pages that nothing rebuilds. Looks at all of them.
    fn count_lost_pages(&self) -> u64;
    /// Acknowledged host pages that are gone, as they could not be written to flash.
    fn count_gone(&self) -> u64;
    /// SSDs that the user or their age wants replaced, but whose replacement has not begun.
    fn awaiting_replacement(&self) -> Vec<u32>;
    /// A clone; perhaps with this scheme, which differs in runtime parameters alone and goes on with what that of the device keeps on a drive.
    fn copy(&self, scheme: Option<Box<dyn Scheme>>) -> io::Result<Box<dyn Device>>;
}

/// What a device keeps for outputs beside the result.
pub trait Recorded {
    /// Begins recording. `slices` says whether it matters when page operations start.
    fn record(&mut self, slices: bool);
    /// Records page operations as well.
    fn record_operations(&mut self);
    /// Keeps moments of this time.
    fn record_moments(&mut self, window: Range<u64>);
    /// Keeps no more moments. `slices` as in `record`.
    fn stop_moments(&mut self, slices: bool);
    /// Ends recording.
    fn stop_recording(&mut self);
    /// What was recorded; `None` before recording begins.
    fn recorder(&mut self) -> Option<&mut Recorder>;
}

/// The engine that a configuration describes, on erased media.
pub fn assemble(config: &Config) -> Result<Box<dyn Device>, ConfigError> {
    Ok(match (config.array.is_single(), config.run.verify) {
        (true, false) => Box::new(assemble::engine::<Untracked, Flash>(config, |_, _| Untracked)?),
        (true, true) => Box::new(assemble::engine::<Tags, Flash>(config, Tags::new)?),
        (false, false) => Box::new(assemble::engine::<Untracked, SsdArray>(config, |_, _| Untracked)?),
        (false, true) => Box::new(assemble::engine::<Tags, SsdArray>(config, Tags::new)?),
    })
}

impl Clone for Box<dyn Device> {
    fn clone(&self) -> Self {
        self.copy(None).expect("a clone is not read from anywhere")
    }
}

impl<C: Checked, M: Media> Device for Engine<C, M> {
    fn space_pages(&self) -> u64 {
        self.space_pages()
    }

    fn now_ns(&self) -> u64 {
        self.now_ns()
    }

    fn next_event_ns(&self) -> Option<u64> {
        self.next_event_ns()
    }

    fn outstanding(&self) -> u64 {
        self.outstanding()
    }

    fn prefetch(&self, requests: &[HostRequest], index: usize) {
        self.prefetch(requests, index);
    }

    fn submit(&mut self, request: &HostRequest, measured: bool) -> u64 {
        self.submit(request, measured)
    }

    fn advance(&mut self) -> Result<bool, Halted> {
        self.advance()
    }

    fn advance_until(&mut self, time_ns: u64) -> Result<(), Halted> {
        self.advance_until(time_ns)
    }

    fn completed(&mut self) -> &mut Vec<CompletedRequest> {
        &mut self.front_end.completed
    }

    fn set_destaging(&mut self, is_on: bool) {
        self.front_end.set_destaging(is_on);
    }

    fn fail(&mut self, failure: DeviceFault) {
        self.fail(failure);
    }

    fn failure_of(&self, host_page: u64) -> Option<DeviceFault> {
        self.executor.failure_of(self.executor.space.page_at(host_page))
    }

    fn replace(&mut self, device: u32) -> Result<(), &'static str> {
        self.replace(device)
    }

    fn survey(&self) -> Survey<'_> {
        self.survey()
    }
}

impl<C: Checked, M: Media> Lifecycle for Engine<C, M> {
    fn fill(&mut self, pages: u64, state: Option<AsOverwritten<'_>>) -> Option<Reached> {
        fill(self, pages, state)
    }

    fn precondition(
        &mut self,
        pages: u64,
        most_overwrites: u64,
        with_phases: bool,
        random: &mut dyn FnMut() -> u64,
        go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Reached {
        self.precondition(pages, most_overwrites, with_phases, random, go_on)
    }

    fn begin_measuring(&mut self) {
        self.executor.begin_measuring();
    }

    fn drain_buffer(&mut self) -> Result<(), Halted> {
        self.drain_buffer()
    }

    fn drain_scheme(&mut self) {
        self.executor.drain_scheme(&mut self.front_end);
    }

    fn finish_gc(&mut self) {
        self.executor.media.finish_gc();
    }

    fn empty_memory(&mut self) {
        self.executor.media.empty_memory();
    }

    fn finish(&mut self) -> Result<(), Halted> {
        self.finish()
    }

    fn cannot_be_saved(&self) -> Option<&'static str> {
        self.cannot_be_saved()
    }

    fn compared(&self) -> (u64, u64) {
        self.executor.content.compared()
    }

    fn check_stored(&self, checks: &mut Checks) -> Option<Verified> {
        C::check_stored(self, checks)
    }

    fn count_lost_pages(&self) -> u64 {
        self.lost_pages().count() as u64
    }

    fn count_gone(&self) -> u64 {
        self.count_gone() as u64
    }

    fn awaiting_replacement(&self) -> Vec<u32> {
        self.awaiting_replacement().collect()
    }

    fn copy(&self, scheme: Option<Box<dyn Scheme>>) -> io::Result<Box<dyn Device>> {
        let mut copy = self.clone();
        if let Some(mut scheme) = scheme {
            let mut kept = Vec::new();
            copy.executor.scheme.save(&mut kept)?;
            scheme.restore(&mut &kept[..])?;
            copy.executor.scheme = scheme;
        }
        Ok(Box::new(copy))
    }
}

impl<C: Checked, M: Media> Recorded for Engine<C, M> {
    fn record(&mut self, slices: bool) {
        self.record(slices);
    }

    fn record_operations(&mut self) {
        self.executor.media.record(Recording::Done, true);
    }

    fn record_moments(&mut self, window: Range<u64>) {
        self.record_moments(window);
    }

    fn stop_moments(&mut self, slices: bool) {
        self.record_moments(0..0);
        self.executor.media.record(Recording::Slices, slices);
    }

    fn stop_recording(&mut self) {
        self.front_end.recorder = None;
        self.executor.media.record(Recording::Slices, false);
        self.executor.media.record(Recording::Done, false);
    }

    fn recorder(&mut self) -> Option<&mut Recorder> {
        self.front_end.recorder.as_deref_mut()
    }
}
