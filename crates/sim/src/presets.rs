//! The devices that come with flashraid: data files under devices/, each number with its source.

use crate::ConfigError;
use flashraid_vocabulary::names::nearest;

/// One device that comes with flashraid.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The name to ask for.
    pub name: &'static str,
    /// One sentence.
    pub about: &'static str,
    /// Its file, of the form of a configuration file with a `device` table alone.
    pub text: &'static str,
}

macro_rules! preset {
    ($name:literal, $about:literal) => {
        Preset { name: $name, about: $about, text: include_str!(concat!("../../../devices/", $name, ".toml")) }
    };
}

/// Every preset.
pub const PRESETS: &[Preset] = &[
    preset!("ssd1", "CR5M's default drive: 4 channels of 4 chips, 64 GiB, 4 KiB pages"),
    preset!("ssd2", "CR5M's SSD2: 8 channels of 4 chips, 128 GiB"),
    preset!("ssd3", "CR5M's SSD3: 4 channels of 8 chips, 128 GiB"),
    preset!("sirf-1c64", "SIRF-1's test pair 1 without mirror: 1 channel, 64 GiB"),
    preset!("sirf-1c64-2k", "sirf-1c64 with pages of 2 KiB: 32 GiB"),
    preset!("sirf-1c64-8k", "sirf-1c64 with pages of 8 KiB: 128 GiB"),
    preset!("sirf-2c64", "SIRF-1's test pair 2 without mirror: 2 channels, 64 GiB"),
    preset!("sirf-2c128", "SIRF-1's test pair 1 with mirror: 2 channels, 128 GiB"),
    preset!("sirf-2c128-2k", "sirf-2c128 with pages of 2 KiB: 64 GiB"),
    preset!("sirf-2c128-8k", "sirf-2c128 with pages of 8 KiB: 256 GiB"),
    preset!("sirf-4c32", "SIRF-1's test pair 4 without mirror: 4 channels, 32 GiB"),
    preset!("sirf-4c64", "SIRF-1's test pairs 3 and 5 without mirror: 4 channels, 64 GiB"),
    preset!("sirf-4c128", "SIRF-1's test pair 2 with mirror, and 6 without: 4 channels, 128 GiB"),
    preset!("sirf-8c64", "SIRF-1's test pair 4 with mirror: 8 channels, 64 GiB"),
    preset!("sirf-8c128", "SIRF-1's test pairs 3 and 5 with mirror: 8 channels, 128 GiB"),
    preset!("sirf-8c256", "SIRF-1's test pair 6 with mirror: 8 channels, 256 GiB"),
    preset!("adaptive-5p1", "Adaptive's smaller drive: 6 channels of 4 chips, 48 GiB, 8 KiB pages, LDPC, transfers free"),
    preset!("adaptive-7p1", "Adaptive's larger drive: 8 channels of 4 chips, 64 GiB, 8 KiB pages, LDPC, transfers free"),
    preset!("ppc-4p1", "PPC's drive: 5 chips, each with its own controller, 2 KiB pages"),
    preset!("ppc-5p1", "PPC's drive with 6 chips"),
    preset!("ppc-6p1", "PPC's drive with 7 chips"),
    preset!("ppc-7p1", "PPC's drive with 8 chips"),
    preset!("ppc-8p1", "PPC's drive with 9 chips"),
    preset!("array-5x", "Hot swapping's array: 5 SSDs of one chip, 256 MiB each, and 5 spare ones"),
    preset!("array-8x", "8 SSDs of 1 TB with pages of 16 KiB, and 2 spare ones"),
    preset!(
        "nvme-2026",
        "A small NVMe drive of today: 4-KiB units, one-shot programs, suspension, paced GC; 8 channels of one die, 138 GB"
    ),
    preset!(
        "nvme-tlc-8t",
        "An NVMe drive of TLC with 7.68 TB for data centres: 8 channels of 16 dies, of which one of 16 slices is simulated"
    ),
    preset!("nvme-tlc-1t", "An NVMe drive of TLC with 1 TB for data centres: 8 channels of 2 dies, of which 6 program at a time"),
    preset!("tlc", "A drive of TLC, with times of lower, middle and upper pages: 8 channels of 2 chips, 192 GiB"),
    preset!("qlc", "A drive of QLC, with times of its four page types: 8 channels of 2 chips, 256 GiB"),
    preset!("tiny", "A small drive for teaching and tests: 4 channels of 1 chip, 128 MiB, times of ssd1"),
];

/// The preset called `name`, or an error that names one that is near, and all.
pub fn find(name: &str) -> Result<&'static Preset, ConfigError> {
    PRESETS.iter().find(|preset| preset.name == name).ok_or_else(|| {
        let near = nearest(name, PRESETS.iter().map(|preset| preset.name));
        ConfigError(format!("unknown device {name}{near}; presets are {} (or give a TOML file)", names()))
    })
}

/// The names of all presets, for messages.
pub(crate) fn names() -> String {
    PRESETS.iter().map(|preset| preset.name).collect::<Vec<_>>().join(", ")
}
