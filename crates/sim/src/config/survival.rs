//! Which parts of a device may die under a scheme without loss, in the same unit for all schemes: chips and channels.

use super::built::survived;
use super::{Array, Config, Mapping, Member, find_scheme};
use flashraid_ftl::Placement;
use flashraid_redundancy::{Protects, Scheme};
use schemars::JsonSchema;
use serde::Serialize;

/// The units that can fail at any time without loss of data, as long as nothing else has failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Survival {
    /// Whether any one chip can fail without loss.
    pub chip: bool,
    /// Whether any one channel can fail, with all its chips, without loss.
    pub channel: bool,
    /// Whether any one SSD of an array can fail without loss. Present only for arrays.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub device: Option<bool>,
    /// What is lost in spite of this. Present only if something is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "&str")]
    pub but: Option<&'static str>,
    /// A summary in words, such as `any one channel`.
    pub text: String,
}

impl Survival {
    /// What of a device, or array, may die under `scheme`.
    pub fn of(config: &Config, scheme: &dyn Scheme) -> Self {
        let of_parts = Under { config, scheme }.survival_of_parts();
        if config.array.is_single() {
            return of_parts;
        }
        // A chip or a channel is a part of one SSD.
        let text = of_parts.text.replacen("channel", "device", 1);
        Self { device: Some(of_parts.channel), text, ..of_parts }
    }

    /// With so many chips, or channels, of which any may fail.
    fn new(chips: u32, channels: u32, but: Option<&'static str>) -> Self {
        let (of_chips, of_channels) = (Protects::Chip.survives(chips), Protects::Channel.survives(channels));
        let what = match (chips, channels) {
            (0, 0) => Protects::None.survives(0),
            (_, 0) => of_chips,
            _ if chips > channels => format!("{of_channels}, or {of_chips}"),
            _ => of_channels,
        };
        let but = but.filter(|_| chips > 0 || channels > 0);
        let text = but.map_or_else(|| what.clone(), |but| format!("{what}, but for {but}"));
        Self { chip: chips > 0, channel: channels > 0, device: None, but, text }
    }
}

/// A device, or array, under a scheme.
#[derive(Clone, Copy)]
struct Under<'a> {
    config: &'a Config,
    scheme: &'a dyn Scheme,
}

impl Under<'_> {
    fn survival_of_parts(self) -> Survival {
        let entry = find_scheme(&self.config.scheme.name);
        let has_window = entry.as_ref().is_ok_and(|entry| entry.has_window);
        let is_early = entry.is_ok_and(|entry| entry.completes_early.is_some_and(|choice| self.config.scheme.makes(choice)));
        let but = match (has_window, is_early) {
            (true, _) => Some("pages whose parity is still to be made"),
            (_, true) => Some("acknowledged writes of which one copy is not yet programmed"),
            _ => None,
        };
        match self.scheme.protects() {
            Protects::None => Survival::new(0, 0, None),
            Protects::Chip => Survival::new(1, 0, but),
            Protects::Channel | Protects::Member | Protects::Device => {
                Survival::new(self.survived(LostPart::Chip), self.survived(LostPart::Channel), but)
            }
        }
    }

    /// How many parts of this kind may fail, whichever they are, so that the scheme recovers what they may hold.
    fn survived(self, part: LostPart) -> u32 {
        let (device, members) = (&self.config.device, u32::from(self.config.members()));
        let is_several_members = device.member == Member::Chip && device.chips_per_channel > 1 && part == LostPart::Channel;
        // The two copies of a translation page are on members next to each other.
        if is_several_members && device.mapping == Mapping::Dftl {
            return 0;
        }
        let size = match self.config.placement(self.scheme) {
            // Pages of any member of the instance may lie on the part.
            Placement::Groups(groups) => members / groups,
            _ if is_several_members => device.chips_per_channel,
            _ => 1,
        };
        survived(self.scheme, size, members)
    }
}

impl Array {
    /// The unit that a scheme protects, as results name it: a member of an array is an SSD.
    pub fn protects(&self, scheme: &dyn Scheme) -> &'static str {
        match scheme.protects() {
            Protects::None => Protects::None.name(),
            _ if !self.is_single() => "device",
            unit => unit.name(),
        }
    }
}

/// What dies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LostPart {
    Chip,
    Channel,
}
