//! How a partial-stripe write gets the parity: by read-modify-write or by reconstruct write (SPEC 0.6).

use crate::{Build, Method, Parameter, ParameterError, Values};

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
        values: Values::Words(&["fewest", "rmw", "rcw"]),
        about: "How a partial-stripe write computes the parity: fewest chooses the method with fewer pre-reads (rcw on a tie), rmw always uses \
                read-modify-write, rcw always uses reconstruct write. The choice counts strips only, as if all strips had been written before \
                and whole pages changed: a strip that was never written needs no read but counts, and the update read of a partly \
                written page does not count.",
        ..Parameter::PLAIN
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
