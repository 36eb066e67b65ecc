//! CR5M when bases or copies have no room left: which stripe is consolidated (SPEC 1.6).

use crate::cr5m::{bases_and_copies, busy, method, started, with_credit};
use crate::host::{Host, build};
use crate::waves::background_waves;
use flashraid_redundancy::{Build, Lock, Method, OperationKind, Step, find};
use flashraid_vocabulary::{Change, MemberPage, StripeId};

#[test]
fn want_of_credit_consolidates_the_least_recent_stripe_of_that_channel() {
    for mut host in [with_credit(2, 8), with_credit(8, 2)] {
        host.write(1, 1); // stripe 0, channel 1
        host.write(3, 1); // stripe 1, channel 0
        host.write(4, 1); // stripe 1, channel 1
        host.write(6, 1); // stripe 2, channel 0
        host.write(3, 1); // refused: want of credit on channel 0, RCW makes stripe 1 plain
        assert_eq!(host.background.len(), 1);
        let commit = host.background.remove(0);
        assert_eq!((commit.kind, commit.lock, commit.stripe), (OperationKind::Commit, Lock::Exclusive, StripeId(1)));
        assert_eq!(host.run(commit).end, Step::Nothing, "nothing is mirrored there any more");
        assert_eq!(host.scheme.parity_updates().committed, 0);
        host.write(9, 1); // channel 1: has room again
        host.write(12, 1); // stripe 4, channel 0: the second
        host.write(15, 1); // refused: stripe 2 is the least recent on channel 0, though stripe 0 is older
        let commit = host.background.remove(0);
        assert_eq!((commit.stripe, commit.space), (StripeId(2), 0b0010), "its parity is on channel 1");
        let course = host.run(commit);
        let reads = vec!["read commit 0/2 4096", "read commit 2/2 4096", "read commit 3/2 4096"];
        assert_eq!(background_waves(&course), [reads, vec!["program commit 1/2 4096 = reads 012"]]);
        let page = MemberPage::new(0, 2);
        assert_eq!(course.changes, [Change::ReleaseBase(page), Change::ReleaseCopy(page)]);
        assert_eq!(host.scheme.parity_updates().committed, 1);
        assert_eq!([18, 6].map(|lpn| method(host.write(lpn, 1))), [Method::Mirrored, Method::Rcw], "room for one");
        host.check();
    }
}

#[test]
fn one_consolidation_a_channel_at_a_time() {
    let mut host = with_credit(1, 8);
    host.write(0, 2); // stripe 0 on channels 0 and 1
    host.write(3, 1);
    assert_eq!(host.background.len(), 1);
    host.write(6, 1);
    assert_eq!(host.background.len(), 1, "channel 0 is being relieved");
    host.write(4, 1);
    assert_eq!(host.background.len(), 1, "that stripe relieves channel 1 too");
    let commit = host.background.remove(0);
    host.run(commit);
    assert_eq!(bases_and_copies(&host), (vec![], vec![]));
    host.write(3, 2);
    host.write(6, 1);
    host.write(7, 1);
    assert_eq!(host.background.len(), 1, "and both may want again");
    host.check();
}

#[test]
fn consolidations_under_pressure_are_no_host_caused_programs() {
    // mw_limit 3 on 3 data chips. Stripe 1's parity is on channel 2, where each commit programs.
    let mut host = Host::new(find("cr5m").unwrap().build(&Build { pages_held: 9, ..build(4, 8, &[("mw_limit", "3")]) }).unwrap()).filled();
    host.write(3, 1);
    host.write(0, 1);
    let commit = host.background.remove(0);
    assert_eq!((commit.stripe, host.run(commit).end), (StripeId(1), Step::Last));
    assert_eq!(started(&mut host, 7).0.method, Method::Mirrored);
    assert_eq!(started(&mut host, 7).0.method, Method::Rcw, "channel 2 counts no program");
}

#[test]
fn what_refuses_for_another_reason_consolidates_nothing() {
    let mut host = with_credit(1, 8);
    host.write(0, 1);
    busy(&mut host, &[0]);
    host.write(3, 1);
    busy(&mut host, &[1]);
    host.write(3, 2);
    assert!(host.background.is_empty());
    busy(&mut host, &[]);
    host.write(6, 1);
    assert_eq!(host.background.len(), 1);
}

#[test]
fn recency_is_that_of_the_last_mirrored_write_of_the_stripe() {
    let mut host = with_credit(2, 8);
    host.write(0, 1); // stripe 0, channel 0
    host.write(3, 1); // stripe 1, channel 0
    host.write(1, 1); // stripe 0 again, by channel 1
    host.write(6, 1); // wants credit on channel 0
    assert_eq!(host.background[0].stripe, StripeId(1));
}
