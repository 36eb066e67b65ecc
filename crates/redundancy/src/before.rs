//! What configurations of older versions mean.

/// What a result or a drive means that lacks a setting: this value, if a version before this one has written it.
#[derive(Clone, Copy, Debug)]
pub struct Before {
    /// The first version of which it is not so: that has the setting, with another default.
    pub version: &'static str,
    /// The value, as text.
    pub value: &'static str,
}
