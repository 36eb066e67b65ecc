//! A run: a trace replayed on a configured device. `steps` is the whole of it, `replay` the host, `passes` how often it begins anew; `warnings` is what the user is told beside
//! the result, `stage` how far it is, and `status` how it ended.

mod passes;
mod replay;
mod stage;
mod status;
mod steps;
mod warnings;

pub use stage::Stage;
pub use status::Status;
pub use steps::{Finished, run, run_on};
