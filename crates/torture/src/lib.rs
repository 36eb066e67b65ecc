//! Torture: random requests on random small devices, stopped at random instants at which everything is checked, while parts fail and are
//! rebuilt.
//!
//! A *kill* stops the clock between two events and asks, of what flash really holds (tags): is every acknowledged page there, or does what
//! survives give it? And would it, if any unit failed now whose failure the scheme declares to survive? Then a part may really fail, and
//! things go on. What fails is wiped from the contents behind the engine's back, so that nothing can go on living from what is dead.
//!
//! Kills come in *episodes* of `KILLS`, each on a device of its own, which follows from the seed and the number of the episode alone; so
//! any kill can be replayed without those of other episodes.
//!
//! `runner` runs episodes and makes a report of what they find. An `episode` takes its device from `devices`, which has a rule for each setting
//! (`rules`). What a kill is to find going on stands in `states`; what must hold then, in `episode/checks.rs`, `flushes` and `oracle`.

mod asked;
mod devices;
mod episode;
mod flushes;
mod oracle;
mod random;
mod report;
mod rules;
mod runner;
mod states;

pub use asked::Torture;
pub use report::{Report, SchemeReport, Violation};
pub use states::has_semivalid;
