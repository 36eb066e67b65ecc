//! When something fails: how operations in flight are handled, and the rebuild.
//!
//! Nothing is taken back. A page operation that fails is a completion like others. A program is repeated elsewhere in its space
//! domain, as the controller still has the content (SPEC 0.1 e), also if it had ended when its chip died, since its operation has not; where
//! nothing is left to take it, its page will be lost when the operation ends, or the scheme does otherwise. A read that fails starts its
//! operation anew, from the state that is found then.
//!
//! Space in a domain that has lost something may never come back. An operation waits for it like any other, until nothing is in flight
//! that could make some: then the domain counts as exhausted, and operations do without, until GC gives it a page.
//!
//! Here is what is kept of failures; what is done is in `executor::failing` and, for the operations in flight, `executor::repeats`.

mod records;

pub(super) use records::{Failures, Fetch};
pub use records::{FaultRecord, ReadErrors, RebuildOptions, RebuildRecord, WearOutRecord};
