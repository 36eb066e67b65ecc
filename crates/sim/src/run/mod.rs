//! A run: a trace replayed on a configured device. `steps` is the whole of it, `replay` the host; `warnings` is what the user is told beside
//! the result, and `stage` how far it is.

mod replay;
mod stage;
mod steps;
mod warnings;

pub use stage::Stage;
pub use steps::{Finished, run};
