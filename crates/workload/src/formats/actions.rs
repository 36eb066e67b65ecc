//! The actions of the kernel's block layer, as blktrace records them (`enum blktrace_act` in include/uapi/linux/blktrace_api.h) and
//! blkparse prints them. A request causes several; which of them is read as its arrival is for the user to say (`--action`).

use crate::options::BlockAction;

/// Each action: the letters of blkparse, what its events are called, and what happens to them when they are not those asked for.
///
/// | letters | action | what is done |
/// |---|---|---|
/// | `Q` | a bio is queued | read with `--action Q` |
/// | `D` | a request is issued to the device | read with `--action D` |
/// | `C` | a request is completed | read with `--action C` |
/// | `R` | the device gave a request back (requeue) | the `D` that follows is the same request again: it counts once |
/// | `G`, `S` | a request structure is taken, or waited for | passed over: the same bio has a `Q` |
/// | `I` | a request is put into the queue | passed over: the same request has a `D` |
/// | `M`, `F` | a bio is merged into a request behind or before its data | passed over: `D` has the whole request, `Q` each bio |
/// | `X` | a bio is split | passed over: `D` has the parts; with `--action Q` the bio counts whole |
/// | `B` | a bio is copied to memory that the device reaches (bounce) | passed over: the data are the same |
/// | `A` | a bio is mapped to another device | passed over; a trace with both devices has the request twice, which is said |
/// | `P`, `U`, `UT` | the queue is held back, and let go | passed over: no request |
/// | `m`, `a`, others | messages, aborted requests, data of drivers | passed over: no request |
pub(crate) const ACTIONS: [(&[u8], &str); 17] = [
    (b"Q", "Q events"),
    (b"D", "D events"),
    (b"C", "C events"),
    (b"R", "R events"),
    (b"G", "G events"),
    (b"S", "S events"),
    (b"I", "I events"),
    (b"M", "M events"),
    (b"F", "F events"),
    (b"X", "X events"),
    (b"B", "B events"),
    (b"A", "A events"),
    (b"P", "P events"),
    (b"U", "U events"),
    (b"UT", "UT events"),
    (b"T", "UT events"),
    (b"m", "messages (m events)"),
];

/// Events of an action that is none of these.
const OTHER: &str = "events of other actions";

/// What events of this action are called.
pub(crate) fn name(letters: &[u8]) -> &'static str {
    ACTIONS.iter().find(|(known, _)| *known == letters).map_or(OTHER, |(_, name)| name)
}

/// The action that reads events of this name, if there is one.
pub(crate) fn reading(name: &str) -> Option<BlockAction> {
    [BlockAction::Queued, BlockAction::Issued, BlockAction::Completed].into_iter().find(|action| self::name(&[action.letter()]) == name)
}
