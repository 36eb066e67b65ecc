//! What torture is asked for.

use flashraid_redundancy::Protects;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Torture {
    /// A scheme, or `all`: those that protect anything at all times.
    pub scheme: String,
    /// A preset or file; without it, small devices of many shapes.
    pub device: Option<String>,
    /// Where everything random starts.
    pub seed: u64,
    /// How many kills, of each scheme.
    pub kills: u64,
    /// Only the episode of this kill, up to it.
    pub kill: Option<u64>,
    /// An order of rebuild, or `auto`: all that suit the scheme, in turn.
    pub rebuild: String,
    /// Let a second unit fail while the first is being rebuilt, and compare what is lost with what must be.
    pub second: bool,
    /// Settings that all devices have, over what is drawn.
    pub settings: Vec<(String, String)>,
    /// Episodes that run side by side, which changes no result; 0 for as many as there are cores.
    pub threads: usize,
    /// The unit of which one failure is to be survived, whatever the scheme declares, and without what the controller alone holds.
    pub claims: Option<Protects>,
    /// A deliberate fault that each engine makes.
    #[cfg(feature = "mutants")]
    pub mutant: Option<flashraid_sim::mutants::EngineFault>,
}

impl Default for Torture {
    fn default() -> Self {
        Self {
            scheme: "all".into(),
            device: None,
            seed: 1,
            kills: 1000,
            kill: None,
            rebuild: "auto".into(),
            second: false,
            settings: Vec::new(),
            threads: 0,
            claims: None,
            #[cfg(feature = "mutants")]
            mutant: None,
        }
    }
}
