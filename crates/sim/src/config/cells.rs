//! The cells of a device: types of pages, and LDPC.

use super::error::refuse;
use super::{ConfigError, Device};
use flashraid_ftl::{CellTimes, ChosenPolicy, Ldpc, LevelLaw, MOST_LEVEL, MOST_TYPES};

/// The law of levels that `ldpc` names; `Some(None)` for `none`, and `None` for what is not allowed.
pub(super) fn law(text: &str) -> Option<Option<LevelLaw>> {
    match text {
        "none" => Some(None),
        "geometric" => Some(Some(LevelLaw::Geometric)),
        "uniform" => Some(Some(LevelLaw::Uniform)),
        _ => {
            let level = text.strip_prefix("fixed:")?;
            let is_plain = level.bytes().all(|byte| byte.is_ascii_digit());
            level.parse().ok().filter(|level| is_plain && *level <= MOST_LEVEL).map(|level| Some(LevelLaw::Fixed(level)))
        }
    }
}

impl Device {
    fn level_law(&self) -> Option<LevelLaw> {
        law(&self.ldpc).flatten()
    }

    /// Whether reads are decoded by LDPC.
    pub(super) fn has_ldpc(&self) -> bool {
        self.level_law().is_some()
    }

    /// Whether pages can become unreadable by themselves.
    pub fn reads_may_fail(&self) -> bool {
        self.has_ldpc() && (self.ldpc_erases > 0 || self.ldpc_retention_ns > 0 || self.ldpc_reads > 0)
    }

    /// How GC chooses its victims.
    pub fn gc_policy(&self) -> ChosenPolicy {
        ChosenPolicy::of(&self.gc_policy).expect("the configuration was checked")
    }

    /// The cells, with draws of their own for each SSD of an array.
    pub fn cells(&self, ssd: u32) -> CellTimes {
        let [reads_ns, programs_ns] =
            [&self.upper_read_ns, &self.upper_program_ns].map(|times| times.iter().map(|time_ns| *time_ns as u64).collect::<Vec<_>>());
        let cells = CellTimes::new(self.read_ns, self.program_ns, self.erase_ns).with_types(&reads_ns, &programs_ns);
        let Some(law) = self.level_law() else { return cells };
        cells.with_ldpc(Ldpc {
            law,
            seed: u64::from(ssd) << 32,
            highest: self.ldpc_levels,
            step_ns: self.ldpc_step_ns,
            decode_ns: self.ldpc_decode_ns,
            erases: self.ldpc_erases,
            retention_ns: self.ldpc_retention_ns,
            reads: self.ldpc_reads,
            stored_ns: self.stored_ns,
        })
    }

    pub(super) fn check_cells(&self) -> Result<(), ConfigError> {
        let (reads, programs) = (self.upper_read_ns.len(), self.upper_program_ns.len());
        for (key, times) in [("upper_read_ns", &self.upper_read_ns), ("upper_program_ns", &self.upper_program_ns)] {
            if times.len() >= MOST_TYPES {
                return refuse(format!("{key} = {}: allowed are at most {} times", listed(times), MOST_TYPES - 1));
            }
        }
        if reads > 0 && programs > 0 && reads != programs {
            let times = listed(&self.upper_program_ns);
            return refuse(format!("upper_program_ns = {times}: allowed is none, or {reads} times, as upper_read_ns has"));
        }
        if let Some(LevelLaw::Fixed(level)) = self.level_law()
            && level > self.ldpc_levels
        {
            return refuse(format!("ldpc = {}: allowed is at most fixed:{1}, as ldpc_levels = {1}", self.ldpc, self.ldpc_levels));
        }
        if let Some(law) = self.level_law()
            && self.ldpc_erases > 0
            && self.pe_limit == 0
        {
            let lowest = if let LevelLaw::Fixed(level) = law { level } else { 0 };
            let most = (self.ldpc_levels - lowest).saturating_add(1).saturating_mul(self.ldpc_erases) - 1;
            if self.erases_before > most {
                return refuse(format!(
                    "erases_before = {}: leaves no block whose pages LDPC can correct: allowed is at most {most} with ldpc_erases = {} and ldpc_levels = {}",
                    self.erases_before, self.ldpc_erases, self.ldpc_levels
                ));
            }
        }
        if self.has_ldpc() && self.copyback {
            return refuse("copyback = true: allowed is false with LDPC (ldpc), as what stays in the plane is not corrected".into());
        }
        if self.has_ldpc() && self.ldpc_erases > 0 && self.mapping.is_hybrid() {
            return refuse(format!(
                "ldpc_erases = {}: allowed is 0 with mapping = {}, which has no blocks to retire",
                self.ldpc_erases,
                self.mapping.name()
            ));
        }
        Ok(())
    }
}

fn listed(times: &[f64]) -> String {
    times.iter().map(f64::to_string).collect::<Vec<_>>().join(",")
}
