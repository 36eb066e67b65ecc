//! What a data buffer does when it is time: it answers, and destages by itself (`buffer/destaging.rs`).

use super::content::Content;
use super::slot::NIL;
use super::state::Engine;
use super::time::Halted;
use crate::clock::NEVER;
use crate::media::Media;

impl<C: Content, M: Media> Engine<C, M> {
    /// Processes everything up to the last thing that the buffer does until `time_ns`. Where pages wait for space, or requests in the host, that is every
    /// event, as each may free some, or make room.
    #[inline(never)]
    pub(super) fn advance_to_buffer(&mut self, time_ns: u64) -> Result<(), Halted> {
        let somebody_waits = self.options.host.device_queue_depth > 0 || self.buffer.as_ref().is_some_and(|buffer| buffer.admits_pages());
        loop {
            let (timer_ns, buffer_ns) = (self.clock.next_timer_ns(), self.next_in_buffer_ns());
            if somebody_waits && self.media.next_event_ns() <= timer_ns.min(buffer_ns).min(time_ns) {
                self.process_event(!self.has_watchers);
            } else if buffer_ns <= time_ns || somebody_waits && timer_ns <= time_ns {
                self.advance()?;
            } else {
                return Ok(());
            }
        }
    }

    /// When the buffer does something next, if there is a buffer; `NEVER` if it waits for nothing.
    #[inline]
    pub(super) fn next_in_buffer_ns(&self) -> u64 {
        self.next_completion_ns().min(self.next_destage_ns())
    }

    /// When it answers next.
    #[inline]
    pub(super) fn next_completion_ns(&self) -> u64 {
        self.buffer.as_ref().map_or(NEVER, |buffer| buffer.next_completion_ns())
    }

    /// When something leaves it next that need not: now, if it had to wait. Nothing does while requests wait for the end of a replacement.
    #[inline]
    fn next_destage_ns(&self) -> u64 {
        match &self.buffer {
            Some(buffer) if self.destages && self.replacements.held.is_none() => buffer.next_destage_ns().max(self.now_ns()),
            _ => NEVER,
        }
    }

    /// The buffer does what it does next: after everything that the flash does until then.
    #[cold]
    pub(super) fn buffer_is_due(&mut self) {
        let destage_ns = self.next_destage_ns();
        if destage_ns > self.next_completion_ns() {
            return self.complete_from_buffer();
        }
        if destage_ns > self.now_ns() {
            if self.media.is_at_rest() {
                self.note_idle(destage_ns);
            }
            self.set_now(destage_ns);
        }
        self.destage();
        if self.has_watchers {
            self.tell_watchers();
        }
    }

    fn complete_from_buffer(&mut self) {
        if let Some((time_ns, id)) = self.buffer.as_deref_mut().and_then(|buffer| buffer.take_completion()) {
            self.set_now(time_ns);
            self.completed(id);
            self.ended_part(id);
        }
    }

    /// Whether a buffer destages by itself from now on: not while everything comes to its end after the last request, as how much left then would depend on
    /// flash.
    pub fn set_destaging(&mut self, is_on: bool) {
        self.destages = is_on;
    }

    /// What is due leaves before a request that comes now, whatever has brought the clock here.
    #[inline]
    pub(super) fn destage_before_request(&mut self) {
        while self.next_destage_ns() == self.now_ns() {
            self.destage();
        }
    }

    #[cold]
    fn destage(&mut self) {
        let mut victims = std::mem::take(&mut self.evicting);
        self.buffer.as_deref_mut().expect("something is due in it").destage(&mut victims);
        self.write_out(victims, NIL);
    }
}
