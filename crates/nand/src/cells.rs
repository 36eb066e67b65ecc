//! The cell model, the only owner of array times: who multiplies, adds or compares them asks it.
//!
//! A page has a type: the pages of a block are in turn lower, middle, upper (as many as a cell has bits), each with its times. With LDPC a page
//! has a level, 0 for the best: the first attempt to read a page senses it with the fewest reference voltages, and each further attempt with more of
//! them, which takes longer. A page of level L is corrected by attempt L, counted from 0, and not before. `levels` says where levels come from.

/// The array operations that take time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellOperation {
    /// Page to register: all attempts, with decoding.
    Read,
    /// Register to page.
    Program,
    /// Whole block.
    Erase,
}

/// Types of pages at most: bits of a cell.
pub const MOST_TYPES: usize = 5;

/// Highest level at most, of pages that can be corrected.
pub const MOST_LEVEL: u32 = 15;

/// How the levels of new blocks are distributed over 0 to the highest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelLaw {
    /// All blocks have this one.
    Fixed(u32),
    /// All are as likely.
    Uniform,
    /// Level L is as likely as 2^-(L+1), relative to others (SPEC 3.3).
    Geometric,
}

impl LevelLaw {
    /// Relative weight of a level.
    fn weight(self, level: u32) -> f64 {
        match self {
            Self::Fixed(fixed) => f64::from(u8::from(level == fixed)),
            Self::Uniform => 1.0,
            Self::Geometric => (-f64::from(level) - 1.0).exp2(),
        }
    }
}

/// Reads that LDPC decodes. What raises the level of a page beside that of its new block is off with 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ldpc {
    /// Levels of new blocks.
    pub law: LevelLaw,
    /// For draws of levels.
    pub seed: u64,
    /// Pages above this level cannot be corrected.
    pub highest: u32,
    /// By so much the sensing of each attempt is longer than that of the one before.
    pub step_ns: u64,
    /// Decoding of each attempt, after its transfer.
    pub decode_ns: u64,
    /// P/E cycles of a block that raise its level by one.
    pub erases: u32,
    /// The time since the first program into a block that raises its level by one.
    pub retention_ns: u64,
    /// Attempts to read pages of a block since its erase that raise its level by one.
    pub reads: u32,
    /// How long before time began everything was programmed that the device holds then.
    pub stored_ns: u64,
}

impl Ldpc {
    /// Whether pages may come to a level above the highest.
    pub fn can_fail(&self) -> bool {
        self.erases > 0 || self.retention_ns > 0 || self.reads > 0
    }
}

/// Times of the cell array as functions of operation, page and level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellTimes {
    /// By type, of the first attempt.
    read_ns: [u64; MOST_TYPES],
    program_ns: [u64; MOST_TYPES],
    types: u32,
    erase_ns: u64,
    ldpc: Option<Ldpc>,
    /// Of reads, programs and erases.
    mean_ns: [u64; 3],
}

impl CellTimes {
    /// Cells with one type of pages, of which every read, every program and every erase takes this long in the array.
    pub fn new(read_ns: u64, program_ns: u64, erase_ns: u64) -> Self {
        let (reads_ns, programs_ns) = ([read_ns; MOST_TYPES], [program_ns; MOST_TYPES]);
        Self { read_ns: reads_ns, program_ns: programs_ns, types: 1, erase_ns, ldpc: None, mean_ns: [read_ns, program_ns, erase_ns] }
    }

    /// The same with so many types more as there are times in the longer list, `MOST_TYPES` with the first at most. An empty list stands for types that
    /// take as long as the first.
    pub fn with_types(mut self, read_ns: &[u64], program_ns: &[u64]) -> Self {
        self.types = 1 + read_ns.len().max(program_ns.len()) as u32;
        self.read_ns[1..=read_ns.len()].copy_from_slice(read_ns);
        self.program_ns[1..=program_ns.len()].copy_from_slice(program_ns);
        self.with_means()
    }

    /// The same with reads that LDPC decodes.
    pub fn with_ldpc(self, ldpc: Ldpc) -> Self {
        Self { ldpc: Some(ldpc), ..self }.with_means()
    }

    fn with_means(self) -> Self {
        let mean = |of: &dyn Fn(usize) -> u64| (0..self.types as usize).map(of).sum::<u64>() / u64::from(self.types);
        let mean_ns = [mean(&|of| self.mean_attempts_ns(of)), mean(&|of| self.program_ns[of]), self.erase_ns];
        Self { mean_ns, ..self }
    }

    /// Types of pages: so many pages share their cells.
    pub fn page_types(&self) -> u32 {
        self.types
    }

    /// LDPC, if reads are decoded by it.
    #[inline]
    pub fn ldpc(&self) -> Option<&Ldpc> {
        self.ldpc.as_ref()
    }

    #[inline]
    fn type_of(&self, page_in_block: impl FnOnce() -> u32) -> usize {
        if self.types == 1 { 0 } else { (page_in_block() % self.types) as usize }
    }

    /// Sensing of one attempt to read a page, the first of which is 0.
    #[inline]
    pub(crate) fn sense_ns(&self, page_in_block: impl FnOnce() -> u32, attempt: u32) -> u64 {
        let first_ns = self.read_ns[self.type_of(page_in_block)];
        match &self.ldpc {
            Some(ldpc) if attempt > 0 => first_ns + u64::from(attempt) * ldpc.step_ns,
            _ => first_ns,
        }
    }

    /// Program of a page.
    #[inline]
    pub(crate) fn program_ns(&self, page_in_block: impl FnOnce() -> u32) -> u64 {
        self.program_ns[self.type_of(page_in_block)]
    }

    /// Erase of a block.
    #[inline]
    pub(crate) fn erase_ns(&self) -> u64 {
        self.erase_ns
    }

    /// All attempts that a page of this level takes, each with its decoding, without transfers; of a page that cannot be corrected, all that there are.
    pub(crate) fn read_ns(&self, page_in_block: impl FnOnce() -> u32, level: u32) -> u64 {
        self.attempts_ns(self.type_of(page_in_block), level)
    }

    fn attempts_ns(&self, page_type: usize, level: u32) -> u64 {
        let first_ns = self.read_ns[page_type];
        let Some(Ldpc { highest, step_ns, decode_ns, .. }) = self.ldpc else { return first_ns };
        let attempts = u64::from(level.min(highest)) + 1;
        attempts * (first_ns + decode_ns) + step_ns * (attempts * (attempts - 1) / 2)
    }

    /// Attempts that a read takes at most.
    pub fn most_attempts(&self) -> u64 {
        self.ldpc.map_or(1, |ldpc| u64::from(ldpc.highest) + 1)
    }

    /// The longest time that `operation` takes on any page or block at any age: for bounds.
    pub fn longest_ns(&self, operation: CellOperation) -> u64 {
        let types = 0..self.types as usize;
        match operation {
            CellOperation::Read => types.map(|of| self.attempts_ns(of, MOST_LEVEL)).max().expect("one type at least"),
            CellOperation::Program => types.map(|of| self.program_ns[of]).max().expect("one type at least"),
            CellOperation::Erase => self.erase_ns,
        }
    }

    /// The mean time of `operation` over the pages of new blocks: for what work is expected to take.
    #[inline]
    pub fn mean_ns(&self, operation: CellOperation) -> u64 {
        self.mean_ns[operation as usize]
    }

    fn mean_attempts_ns(&self, page_type: usize) -> u64 {
        let Some(Ldpc { law, highest, .. }) = self.ldpc else { return self.read_ns[page_type] };
        let weighed = (0..=highest).map(|level| law.weight(level) * self.attempts_ns(page_type, level) as f64);
        (weighed.sum::<f64>() / (0..=highest).map(|level| law.weight(level)).sum::<f64>()).round() as u64
    }

    /// The mean time of so many reads and programs, one after the other: for what moves and commits cost.
    #[inline]
    pub fn mean_cost_ns(&self, reads: u64, programs: u64) -> u64 {
        reads * self.mean_ns(CellOperation::Read) + programs * self.mean_ns(CellOperation::Program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LDPC: Ldpc = Ldpc {
        law: LevelLaw::Geometric,
        seed: 0,
        highest: 6,
        step_ns: 24_000,
        decode_ns: 0,
        erases: 0,
        retention_ns: 0,
        reads: 0,
        stored_ns: 0,
    };

    fn cells(ldpc: Ldpc) -> CellTimes {
        CellTimes::new(45_000, 700_000, 3_500_000).with_ldpc(ldpc)
    }

    #[test]
    fn read_times_by_level_are_those_of_the_paper() {
        let times_us = (0..7).map(|level| cells(LDPC).read_ns(|| 0, level) / 1000);
        assert_eq!(times_us.collect::<Vec<_>>(), [45, 114, 207, 324, 465, 630, 819]);
        assert_eq!(cells(LDPC).read_ns(|| 0, 7), 819_000, "a page that cannot be corrected has all attempts");
        assert_eq!(cells(Ldpc { decode_ns: 1_000, ..LDPC }).read_ns(|| 0, 2), 210_000);
        let attempts_us = (0..3).map(|attempt| cells(LDPC).sense_ns(|| 0, attempt) / 1000);
        assert_eq!(attempts_us.collect::<Vec<_>>(), [45, 69, 93]);
    }

    /// SPEC 3.3: 64, 32, 16, 8, 4, 2 and 1 of 127 blocks.
    #[test]
    fn mean_read_time_follows_the_law() {
        let of_127 = 64 * 45 + 32 * 114 + 16 * 207 + 8 * 324 + 4 * 465 + 2 * 630 + 819;
        assert_eq!(cells(LDPC).mean_ns(CellOperation::Read), (f64::from(of_127) / 127.0 * 1000.0).round() as u64);
        assert_eq!(cells(Ldpc { law: LevelLaw::Uniform, ..LDPC }).mean_ns(CellOperation::Read), 2_604_000 / 7);
        assert_eq!(cells(Ldpc { law: LevelLaw::Fixed(3), ..LDPC }).mean_ns(CellOperation::Read), 324_000);
        assert_eq!(cells(LDPC).longest_ns(CellOperation::Read), 819_000);
        assert_eq!(cells(LDPC).mean_cost_ns(2, 3), 2 * 128_906 + 3 * 700_000);
    }

    #[test]
    fn types_of_pages_alternate() {
        let cells = CellTimes::new(50, 200, 3_000).with_types(&[70, 110], &[600, 900]);
        let times = |page: u32| (cells.sense_ns(|| page, 0), cells.program_ns(|| page));
        assert_eq!([0, 1, 2, 3, 7, 383].map(times), [(50, 200), (70, 600), (110, 900), (50, 200), (70, 600), (110, 900)]);
        assert_eq!([CellOperation::Read, CellOperation::Program].map(|of| cells.mean_ns(of)), [76, 566]);
        assert_eq!([CellOperation::Read, CellOperation::Program].map(|of| cells.longest_ns(of)), [110, 900]);
        let same = CellTimes::new(50, 200, 3_000).with_types(&[], &[400]);
        assert_eq!((same.sense_ns(|| 1, 0), same.program_ns(|| 1), same.program_ns(|| 2)), (50, 400, 200));
    }
}
