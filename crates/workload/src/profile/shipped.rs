//! The profiles that come with flashraid: files under profiles/, each shaped by published figures.

use super::error::ProfileError;
use flashraid_vocabulary::names::nearest;

/// One of them.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    /// The name to ask for.
    pub name: &'static str,
    /// Its file.
    pub text: &'static str,
}

impl Shipped {
    /// The one of this name.
    pub fn find(name: &str) -> Result<&'static Self, ProfileError> {
        let names = || SHIPPED.iter().map(|shipped| shipped.name);
        SHIPPED.iter().find(|shipped| shipped.name == name).ok_or_else(|| ProfileError::Unknown {
            name: name.to_owned(),
            nearest: nearest(name, names()),
            known: names().collect::<Vec<_>>().join(", "),
        })
    }
}

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        /// Every shipped profile.
        pub const SHIPPED: &[Shipped] = &[
            $(Shipped { name: $name, text: include_str!(concat!("../../../../profiles/", $name, ".toml")) }),*
        ];
    };
}

shipped![
    "adaptive-ali_0",
    "adaptive-ali_1",
    "adaptive-hm_0",
    "adaptive-lun0",
    "adaptive-lun1",
    "adaptive-lun2",
    "cloud-block",
    "cr5m-atto",
    "cr5m-build",
    "cr5m-exchange",
    "cr5m-exchange-slice",
    "cr5m-fin2",
    "cr5m-radius",
    "cr5m-uniform",
    "database-flush",
    "hotswap-random",
    "hotswap-reads",
    "mixed-70-30-4k",
    "ppc-financial",
    "ppc-iozone",
    "ppc-osdb",
    "ppc-postmark",
    "random-write-4k",
    "sirf1-build",
    "sirf1-exchange",
    "sirf1-fin1",
    "sirf1-fin2",
    "sirf1-tpcc",
    "sirf1-tpcc-shape",
];
