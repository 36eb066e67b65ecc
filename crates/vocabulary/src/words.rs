//! Settings whose value is a word from a closed list, and those of them that layers below the configuration read.

/// A setting with a closed list of words. The doc comment of a variant is what users read about it.
#[macro_export]
macro_rules! word {
    ($(#[doc = $about:literal])+ $name:ident { $($(#[doc = $doc:literal])+ $variant:ident = $word:literal,)+ }) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $name { $($(#[doc = $doc])+ #[serde(rename = $word)] $variant,)+ }

        impl $name {
            /// Each word and what it means.
            pub const WORDS: &'static [(&'static str, &'static str)] = &[$(($word, concat!($($doc),+).trim_ascii()),)+];

            /// The word in configurations and results.
            pub fn name(self) -> &'static str {
                Self::WORDS[self as usize].0
            }
        }
    };
}

word! {
    /// The unit that serves no host operations while a GC run moves pages.
    GcBlockingScope {
        /// None: GC competes with host operations by priority.
        None = "none",
        /// The LUN of the victim block (a die, or a chip with `lun = chip`).
        Lun = "lun",
        /// The chip of the victim block.
        Chip = "chip",
        /// The channel of the victim block.
        Channel = "channel",
    }
}

word! {
    /// When the sub-requests of one request start (SPEC 0.3 step 2).
    SerialSubrequests {
        /// A sub-request starts when the page operations of the previous one are queued.
        Queued = "queued",
        /// A sub-request starts when the previous one has ended.
        Strict = "strict",
        /// All sub-requests start at once.
        Off = "off",
    }
}
