//! The units of which failures are survived.

/// What a scheme survives failures of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protects {
    /// Nothing.
    None,
    /// One chip.
    Chip,
    /// One channel.
    Channel,
    /// One member, whatever the device configures as member.
    Member,
    /// One SSD of an array.
    Device,
}

impl Protects {
    /// All of them.
    pub const ALL: [Self; 5] = [Protects::None, Protects::Chip, Protects::Channel, Protects::Member, Protects::Device];

    /// The word used in results and tables.
    pub fn name(self) -> &'static str {
        match self {
            Protects::None => "none",
            Protects::Chip => "chip",
            Protects::Channel => "channel",
            Protects::Member => "member",
            Protects::Device => "device",
        }
    }

    /// What a device survives the loss of, in words: with a member for each channel, as devices have unless each chip is a member.
    pub fn survives(self, failures: u32) -> String {
        let unit = match self {
            Protects::None => return "nothing".into(),
            Protects::Chip => "chip",
            Protects::Channel | Protects::Member => "channel",
            Protects::Device => "SSD",
        };
        if failures == 1 { format!("any one {unit}") } else { format!("any two {unit}s") }
    }
}
