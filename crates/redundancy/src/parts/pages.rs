//! Page operations as host requests need them: current versions, at host priority.

use flashraid_vocabulary::{Action, Cause, MemberPage, PageOperation, Priority, Sources, Version};

/// Read of the current version of a page on behalf of a host request.
///
/// `strip` is the data strip that it delivers, or `PageOperation::NO_STRIP`.
#[inline]
pub fn read(address: MemberPage, cause: Cause, bytes: u32, strip: u8) -> PageOperation {
    PageOperation {
        action: Action::Read,
        version: Version::Current,
        cause,
        priority: Priority::Host,
        host_waits: true,
        keep_base: false,
        address,
        bytes,
        sources: Sources { host: 0, reads: 0 },
        strip,
    }
}

/// Program of a new current version, which makes the superseded one garbage.
///
/// Parity programs wait for the host too: the engine's `parity_in_response` decides whether its response does.
#[inline]
pub fn program(address: MemberPage, cause: Cause, bytes: u32, sources: Sources) -> PageOperation {
    PageOperation {
        action: Action::Program,
        version: Version::Current,
        cause,
        priority: Priority::Host,
        host_waits: true,
        keep_base: false,
        address,
        bytes,
        sources,
        strip: PageOperation::NO_STRIP,
    }
}
