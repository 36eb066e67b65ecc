//! The cost model of Adaptive: the time that the pre-reads of a method take, and by which they delay programs that are queued (section III-B of its
//! paper, see `schemes::adaptive`).
//!
//! Notation of the paper: for each channel i of the method, R_i and W_i are its queued reads and writes, t_R the time of the read, with all its
//! attempts, and TGC_i what its GC run still takes. The channel of a page is here the page's member; TGC_i is that of the run that blocks the page's LUN.
//!
//! RMW has the channels of what changes and of the parity, RCW all others (equations 1 and 2). What changes counts also if it has been read already, as only
//! a part of its page is written: the read is not made again, but no equation leaves its channel out.

use crate::Method;
use crate::parts::stripe::Sum;
use crate::stripe_map::Row;
use flashraid_vocabulary::{GcLoad, View};

/// Equation 3, less what has elapsed (SPEC 3.8 item 4): T_GC = (t_R + t_W) * Cntr_Move / Cntr_ER + t_E. Before the first erase of the chip what this
/// run has to move stands for the mean number of moves.
pub fn gc_left_ns(gc: &GcLoad) -> u64 {
    let move_ns = u128::from(gc.read_ns + gc.program_ns);
    let moves_ns = match gc.erases {
        0 => move_ns * u128::from(gc.to_move),
        erases => move_ns * u128::from(gc.moves) / u128::from(erases),
    };
    u64::try_from(moves_ns + u128::from(gc.erase_ns)).unwrap_or(u64::MAX).saturating_sub(gc.elapsed_ns)
}

/// Equations 8 and 9: T = max over i of (t_R (R_i + 1) + TGC_i), which is T_Update (4, 5), + sum over i of t_R W_i, which is T_Delay (6, 7). Pages that
/// are not written are not read.
pub fn cost_ns<R: Row>(reads: &Sum, row: &R, view: &dyn View) -> u64 {
    let (mut update_ns, mut delay_ns) = (0, 0);
    reads.each_version(row, |page, version| {
        if let Some(load) = view.read_load(page, version) {
            let gc_ns = load.gc.as_ref().map_or(0, gc_left_ns);
            update_ns = u64::max(update_ns, load.read_ns * (u64::from(load.reads) + 1) + gc_ns);
            delay_ns += load.read_ns * u64::from(load.programs);
        }
    });
    update_ns + delay_ns
}

/// The method that costs less time (Algorithm 1); `None` if both cost the same.
pub fn cheaper<R: Row>(rmw: &Sum, rcw: &Sum, row: &R, view: &dyn View) -> Option<Method> {
    let [rmw_ns, rcw_ns] = [rmw, rcw].map(|reads| cost_ns(reads, row, view));
    (rmw_ns != rcw_ns).then_some(if rmw_ns > rcw_ns { Method::Rcw } else { Method::Rmw })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: GcLoad =
        GcLoad { elapsed_ns: 0, moves: 0, erases: 0, to_move: 3, read_ns: 45_000, program_ns: 700_000, erase_ns: 3_500_000 };

    #[test]
    fn equation_3_by_hand() {
        // Before the first erase: 3 moves of 0.745 ms, and the erase.
        assert_eq!(gc_left_ns(&RUN), 3 * 745_000 + 3_500_000);
        // 7 moves in 2 erases so far: 3.5 moves are expected.
        let known = GcLoad { moves: 7, erases: 2, ..RUN };
        assert_eq!(gc_left_ns(&known), 2_607_500 + 3_500_000);
        assert_eq!(gc_left_ns(&GcLoad { elapsed_ns: 6_000_000, ..known }), 107_500);
        assert_eq!(gc_left_ns(&GcLoad { elapsed_ns: 7_000_000, ..known }), 0, "a run that takes longer than expected");
    }
}
