//! What a device serves that has lost data, or is worn out: all requests, those that change nothing, or none.

use super::content::Content;
use super::request::Service;
use super::state::Engine;
use crate::config::AfterLoss;
use crate::media::Media;
use flashraid_redundancy::Failure;
use flashraid_vocabulary::{Fault, HostOp, Part};

impl<C: Content, M: Media> Engine<C, M> {
    /// Whether such a request is refused now.
    pub fn refuses(&self, op: HostOp) -> bool {
        match self.service {
            Service::All => false,
            Service::Reads => !matches!(op, HostOp::Read | HostOp::Flush),
            Service::Nothing => true,
        }
    }

    /// From now on no more than this is served. What was accepted before goes on.
    pub(super) fn restrict(&mut self, service: Service) {
        self.service = self.service.max(service);
    }

    /// A failure may have taken more than the scheme survives: so many host pages were lost before, and are now.
    pub(super) fn note_loss(&mut self, fault: Fault, before: u64, now: u64) {
        let is_small = matches!(fault, Fault::Loss(Part::Block { .. } | Part::Page { .. }) | Fault::Program(_) | Fault::Erase(_));
        if now > before && !is_small {
            self.restrict(match self.options.host.after_loss {
                AfterLoss::Serve => Service::All,
                AfterLoss::ReadOnly => Service::Reads,
                AfterLoss::Stop => Service::Nothing,
            });
        }
    }

    /// A request that is not served fails at once.
    #[cold]
    pub(super) fn refuse(&mut self, id: u32) {
        self.requests[id].failed = Some(Failure::Refused);
        self.completed(id);
        self.ended_part(id);
    }
}
