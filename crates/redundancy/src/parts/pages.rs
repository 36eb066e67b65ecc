//! Page operations as host requests need them, at host priority.

use flashraid_vocabulary::{Action, Cause, MemberPage, PageOperation, Priority, Sources, Version};

/// Read of the current version of a page on behalf of a host request.
///
/// `strip` is the data strip that it delivers, or `PageOperation::NO_STRIP`.
#[inline]
pub fn read(address: MemberPage, cause: Cause, bytes: u32, strip: u8) -> PageOperation {
    read_version(address, Version::Current, cause, bytes, strip)
}

/// Read of a version of a page on behalf of a host request. `strip` as in [`read`].
#[inline]
pub fn read_version(address: MemberPage, version: Version, cause: Cause, bytes: u32, strip: u8) -> PageOperation {
    PageOperation {
        action: Action::Read,
        version,
        cause,
        priority: Priority::Host,
        host_waits: true,
        keep_base: false,
        address,
        bytes,
        sources: Sources::default(),
        strip,
        stream: 0,
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
        stream: 0,
    }
}
