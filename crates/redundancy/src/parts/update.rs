//! How a partial-stripe write gets the parity: by read-modify-write or by reconstruct write (SPEC 0.6).

use crate::{Build, Draws, Method, Parameter, ParameterError, Values};

/// Rule that chooses between RMW and RCW.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateRule {
    /// RMW if it needs strictly fewer pre-reads, else RCW.
    Fewest,
    /// Always RMW.
    Rmw,
    /// Always RCW.
    Rcw,
}

impl UpdateRule {
    /// The parameter that sets it.
    pub const PARAMETER: Parameter = Parameter {
        name: "update",
        unit: "",
        values: Values::Words(&["fewest", "rmw", "rcw"]),
        needs: None,
        only_in_gc: false,
        draws: Draws::Words,
        about: "How partial-stripe writes compute the parity: by whatever needs fewer pre-reads (a tie goes to rcw), \
                or always by read-modify-write, or always by reconstruct write. Pre-reads are counted by the numbers of strips alone, as if \
                all strips had been written and whole pages changed: a strip that was never written is read from nowhere and still \
                counts, and the read of a page of which only a part is written does not count.",
    };

    /// The rule that the user asked for.
    pub fn from_build(build: &Build) -> Result<Self, ParameterError> {
        Ok(match build.choice(&Self::PARAMETER)? {
            "rmw" => Self::Rmw,
            "rcw" => Self::Rcw,
            _ => Self::Fewest,
        })
    }

    /// The method for a change of `changed` out of `width` data strips.
    ///
    /// Counts pre-reads by SPEC 0.6 whether or not all strips were ever written (SPEC 0.3 step 5), and without the update
    /// reads of sub-page writes.
    #[inline]
    pub fn method(self, changed: u32, width: u32) -> Method {
        debug_assert!(changed >= 1 && changed <= width);
        if changed == width {
            return Method::FullStripe;
        }
        let rmw = match self {
            Self::Fewest => changed + 1 < width - changed,
            Self::Rmw => true,
            Self::Rcw => false,
        };
        if rmw { Method::Rmw } else { Method::Rcw }
    }
}
