//! What can go wrong with flash.

/// A part of the device, by the numbers of its levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // each level is numbered within the one above
pub enum Part {
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
    Page {
        channel: u32,
        chip: u32,
        die: u32,
        plane: u32,
        block: u32,
        page: u32,
    },
}

/// Something that goes wrong at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The part can be read no more, and is programmed no more: a page until its block is erased, a block, plane, die, chip, channel or
    /// member for good.
    Loss(Part),
    /// The next program that ends in the part fails: it is repeated elsewhere, and its block, once its live pages are moved, is retired.
    Program(Part),
    /// The next erase that ends in the part fails: the block is retired.
    Erase(Part),
}
