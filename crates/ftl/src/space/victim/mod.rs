//! GC policies: which of a plane's closed blocks is the next victim.
//!
//! A policy is one file here and one line of `policies!`; docs/writing-a-gc-policy.md tells how. Reading order: `fifo`, the shortest; `queue`, the order of
//! age that it shares with `windowed`; then `greedy`, `d_choices` and `cost_benefit`.

mod queue;

use super::blocks::Block;
use flashraid_vocabulary::Persistent;
use std::fmt::Debug;
use std::io::{self, Read, Write};

/// What a policy remembers of closed blocks, and how it chooses among them.
///
/// Blocks have numbers in their plane, and `blocks` are those of that plane. A victim must have garbage (`Block::has_garbage`), or a GC run would gain
/// nothing: with that, and a victim whenever any closed block has garbage, GC always makes progress (`most_logical_pages` in the configuration).
pub trait Policy: Clone + Debug + Persistent {
    /// All pages of the block are programmed and none is in flight: it can be chosen from now on.
    fn closed(&mut self, plane: u32, block: u16, blocks: &mut [Block]);

    /// The counts of a closed block have changed; `before` is what it was.
    fn changed(&mut self, plane: u32, block: u16, before: Block, blocks: &mut [Block]);

    /// The block can be chosen no more: GC collects it, or it failed.
    fn taken(&mut self, plane: u32, block: u16, blocks: &mut [Block]);

    /// The block to collect next, if any closed one has garbage. It stays closed until it is `taken`.
    fn choose(&mut self, plane: u32, blocks: &mut [Block]) -> Option<u16>;

    /// A page of the host, or of the redundancy that comes with it, is programmed somewhere in the SSD: what age is counted in.
    #[inline]
    fn programmed(&mut self) {}

    /// Closed blocks that `choose` leaves out, as their cost also depends on stripes: the layer above compares them with its choice.
    #[inline]
    fn pinned(&self, _plane: u32) -> &[u16] {
        &[]
    }

    /// Checks what it remembers of a plane. For tests.
    fn check(&self, plane: u32, blocks: &[Block]) -> Result<(), String>;
}

/// How much there is to choose from.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Planes of the SSD.
    pub planes: u32,
    /// Most blocks of a plane.
    pub blocks_per_plane: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
}

/// A value of the setting `gc_policy`.
#[derive(Debug)]
pub struct GcPolicy {
    /// The value as users give it; K stands for a whole number from 1.
    pub form: &'static str,
    /// The most that K may be, if there is one.
    pub most: Option<u32>,
    /// What it chooses, for users.
    pub about: &'static str,
    /// Whether blocks with semivalid pages compete by what it costs to commit those, and so are `pinned`.
    pub weighs_commits: bool,
    /// Whether hybrid mapping can have it, where a merge takes the log block that was written longest ago.
    pub suits_merges: bool,
    /// Makes what it remembers, with the number given and a seed.
    make: fn(Sizes, u32, u64) -> Victims,
}

/// A policy as a configuration names it.
#[derive(Clone, Copy, Debug)]
pub struct ChosenPolicy {
    /// Which one.
    pub policy: &'static GcPolicy,
    /// K; 0 if there is none.
    pub number: u32,
}

impl PartialEq for ChosenPolicy {
    fn eq(&self, other: &Self) -> bool {
        (self.policy.form, self.number) == (other.policy.form, other.number)
    }
}

impl GcPolicy {
    /// What stands before the number.
    pub fn name(&self) -> &'static str {
        self.form.split(':').next().unwrap_or_default()
    }
}

impl ChosenPolicy {
    /// The policy that a text names, as `greedy` or `d:10`.
    pub fn of(text: &str) -> Option<Self> {
        let (name, number) = text.split_once(':').map_or((text, None), |(name, number)| (name, Some(number)));
        let policy = policies().find(|policy| policy.name() == name)?;
        let number = match (policy.most, number) {
            (None, None) => 0,
            (Some(most), Some(digits)) if !digits.starts_with(['0', '+']) => digits.parse().ok().filter(|number| *number <= most)?,
            _ => return None,
        };
        Some(Self { policy, number })
    }

    /// What it remembers of an SSD that is erased. The seed is that of policies that draw.
    pub fn make(&self, sizes: Sizes, seed: u64) -> Victims {
        (self.policy.make)(sizes, self.number, seed)
    }
}

/// Every policy, in the order of the list.
pub fn policies() -> impl Iterator<Item = &'static GcPolicy> {
    POLICIES.iter().copied().flatten()
}

macro_rules! policies {
    ($($file:ident: $type:ident),+ $(,)?) => {
        $(mod $file;)+

        const POLICIES: &[&[GcPolicy]] = &[$($file::POLICIES),+];

        /// Closed blocks of an SSD, as its policy keeps them.
        #[derive(Clone, Debug)]
        pub enum Victims {
            $(#[doc = concat!("As the file `", stringify!($file), "` says.")] $type($file::$type)),+
        }

        $(impl From<$file::$type> for Victims {
            fn from(policy: $file::$type) -> Self {
                Self::$type(policy)
            }
        })+

        macro_rules! each_policy {
            ($self:expr, $policy:ident => $done:expr) => {
                match $self { $(Victims::$type($policy) => $done),+ }
            };
        }
    };
}

// rustfmt does not find files through a macro: the Makefile names them to it.
policies! {
    greedy: Greedy,
    fifo: Fifo,
    windowed: Windowed,
    d_choices: DChoices,
    cost_benefit: CostBenefit,
}

impl Victims {
    /// See [`Policy::closed`].
    #[inline]
    pub fn close(&mut self, plane: u32, block: u16, blocks: &mut [Block]) {
        blocks[usize::from(block)].listed = true;
        each_policy!(self, policy => policy.closed(plane, block, blocks));
    }

    /// Changes the counts of a closed block.
    #[inline]
    pub fn change(&mut self, plane: u32, block: u16, blocks: &mut [Block], change: impl FnOnce(&mut Block)) {
        let before = blocks[usize::from(block)];
        change(&mut blocks[usize::from(block)]);
        each_policy!(self, policy => policy.changed(plane, block, before, blocks));
    }

    /// See [`Policy::taken`].
    #[inline]
    pub fn take(&mut self, plane: u32, block: u16, blocks: &mut [Block]) {
        each_policy!(self, policy => policy.taken(plane, block, blocks));
        blocks[usize::from(block)].listed = false;
    }

    /// See [`Policy::choose`].
    #[inline]
    pub fn choose(&mut self, plane: u32, blocks: &mut [Block]) -> Option<u16> {
        each_policy!(self, policy => policy.choose(plane, blocks))
    }

    /// See [`Policy::programmed`].
    #[inline]
    pub fn program(&mut self) {
        each_policy!(self, policy => policy.programmed());
    }

    /// See [`Policy::pinned`].
    #[inline]
    pub(crate) fn pinned(&self, plane: u32) -> &[u16] {
        each_policy!(self, policy => policy.pinned(plane))
    }

    /// See [`Policy::check`].
    pub fn check(&self, plane: u32, blocks: &[Block]) -> Result<(), String> {
        each_policy!(self, policy => policy.check(plane, blocks))
    }
}

impl Persistent for Victims {
    fn save(&self, to: &mut dyn Write) -> io::Result<()> {
        each_policy!(self, policy => policy.save(to))
    }

    fn restore(&mut self, from: &mut dyn Read) -> io::Result<()> {
        each_policy!(self, policy => policy.restore(from))
    }
}
