//! The profiles that come with flashraid: files under profiles/, each shaped by a published table.

/// One of them.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    /// The name to ask for.
    pub name: &'static str,
    /// Its file.
    pub text: &'static str,
}

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        /// Every shipped profile.
        pub const SHIPPED: &[Shipped] = &[
            $(Shipped { name: $name, text: include_str!(concat!("../../../../profiles/", $name, ".toml")) }),*
        ];
    };
}

shipped!["cr5m-uniform",];
