//! What can go wrong with flash.

use std::fmt;

/// A part of an SSD, by the numbers of its levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // each level is numbered within the one above
pub enum Part {
    /// All of it.
    Device,
    /// A member, whatever the device configures as member.
    Member(u32),
    Channel(u32),
    Chip {
        channel: u32,
        chip: u32,
    },
    Die {
        channel: u32,
        chip: u32,
        die: u32,
    },
    Plane {
        channel: u32,
        chip: u32,
        die: u32,
        plane: u32,
    },
    Block {
        channel: u32,
        chip: u32,
        die: u32,
        plane: u32,
        block: u32,
    },
    /// A word line of a block, whose pages share their cells or are programmed together; or that one and the next.
    WordLine {
        channel: u32,
        chip: u32,
        die: u32,
        plane: u32,
        block: u32,
        line: u32,
        and_next: bool,
    },
    Page {
        channel: u32,
        chip: u32,
        die: u32,
        plane: u32,
        block: u32,
        page: u32,
    },
}

impl Part {
    /// Number in its plane of the block that it is or lies in. `None` for larger parts.
    pub fn block(&self) -> Option<u32> {
        match *self {
            Self::Block { block, .. } | Self::WordLine { block, .. } | Self::Page { block, .. } => Some(block),
            _ => None,
        }
    }
}

/// Something that goes wrong at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The part can be read no more, and is programmed no more: a page until its block is erased, a block, plane, die, chip, channel or
    /// member for good.
    Loss(Part),
    /// The next program that ends in the part fails: it is repeated elsewhere, and its block, once its live pages are moved, is retired.
    /// Here and below, a page stands for its block.
    Program(Part),
    /// The next erase that ends in the part fails: the block is retired.
    Erase(Part),
    /// The NVRAM that holds deferred parities loses them all; what it buffers for the host is kept twice and stays (SPEC 4.4).
    ParityCache,
}

/// A fault, and of which SSD of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeviceFault {
    /// Number of the SSD; none if there is only one, or if the fault concerns no SSD.
    pub device: Option<u32>,
    /// What goes wrong in it.
    pub fault: Fault,
}

impl From<Fault> for DeviceFault {
    /// Of the only SSD, or of none.
    fn from(fault: Fault) -> Self {
        Self { device: None, fault }
    }
}

impl fmt::Display for DeviceFault {
    /// As `Fault`, and in an array with the SSD before the part: `device:3`, `device:3/chip:0.1`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(device) = self.device else { return self.fault.fmt(formatter) };
        let (what, part) = match self.fault {
            Fault::Loss(part) => ("", part),
            Fault::Program(part) => ("program in ", part),
            Fault::Erase(part) => ("erase in ", part),
            Fault::ParityCache => return self.fault.fmt(formatter),
        };
        match part {
            Part::Device => write!(formatter, "{what}device:{device}"),
            _ => write!(formatter, "{what}device:{device}/{part}"),
        }
    }
}

impl fmt::Display for Part {
    /// As in the configuration: `chip:0.1`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Device => formatter.write_str("device"),
            Self::Member(member) => write!(formatter, "member:{member}"),
            Self::Channel(channel) => write!(formatter, "channel:{channel}"),
            Self::Chip { channel, chip } => write!(formatter, "chip:{channel}.{chip}"),
            Self::Die { channel, chip, die } => write!(formatter, "die:{channel}.{chip}.{die}"),
            Self::Plane { channel, chip, die, plane } => write!(formatter, "plane:{channel}.{chip}.{die}.{plane}"),
            Self::Block { channel, chip, die, plane, block } => write!(formatter, "block:{channel}.{chip}.{die}.{plane}.{block}"),
            Self::WordLine { channel, chip, die, plane, block, line, and_next } => {
                let name = if and_next { "wordline_pair" } else { "wordline" };
                write!(formatter, "{name}:{channel}.{chip}.{die}.{plane}.{block}.{line}")
            }
            Self::Page { channel, chip, die, plane, block, page } => {
                write!(formatter, "page:{channel}.{chip}.{die}.{plane}.{block}.{page}")
            }
        }
    }
}

impl fmt::Display for Fault {
    /// As `Part`, preceded by what fails there unless it is the part itself: `program in chip:0.1`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loss(part) => part.fmt(formatter),
            Self::Program(part) => write!(formatter, "program in {part}"),
            Self::Erase(part) => write!(formatter, "erase in {part}"),
            Self::ParityCache => formatter.write_str("parity-cache"),
        }
    }
}
