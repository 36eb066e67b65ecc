//! The test-only schemes and the job: that they use what they are there to prove.

use crate::flash::{Flash, PAGE};
use crate::host::Host;
use flashraid_redundancy::testing::{CommitsAnotherFirst, CopyWhenIdle};
use flashraid_redundancy::{Job, Lock, Method, OperationKind, Scheme, Step};
use flashraid_vocabulary::{Action, Cause, Change, GcAdvisor, MemberId, MemberPage, Priority, SemivalidAction, StripeId};
use std::collections::BTreeMap;

#[test]
fn a_write_of_another_stripe_requires_a_commit() {
    let mut host = Host::new(Box::new(CommitsAnotherFirst::new(4, 8, PAGE))).filled();
    assert_eq!(host.write(0, 1).len(), 1);
    assert_eq!(host.write(1, 1).len(), 1, "the same stripe again");
    let courses = host.write(3, 1);
    let [commit, write] = [courses[0].operation, courses[1].operation];
    assert_eq!((commit.kind, commit.stripe, commit.space), (OperationKind::Commit, StripeId(0), 0b1000));
    assert_eq!((write.kind, write.stripe, write.requires), (OperationKind::Write, StripeId(1), Some(0)));
    let causes: Vec<_> = courses[0].waves.iter().flatten().map(|operation| (operation.action, operation.cause)).collect();
    let read = (Action::Read, Cause::Commit);
    assert_eq!(causes, [read, read, read, (Action::Program, Cause::Commit)]);
    assert_eq!(courses[0].changes, [MemberPage::new(0, 0), MemberPage::new(1, 0)].map(Change::ReleaseBase));
    let counted = host.scheme.parity_updates();
    assert_eq!((counted.deferred, counted.committed), (3, 1));
    host.check();
}

#[test]
fn the_base_stays_until_a_commit_that_the_gc_may_ask_for() {
    let mut host = Host::new(Box::new(CommitsAnotherFirst::new(4, 8, PAGE))).filled();
    let page = MemberPage::new(0, 0);
    let old = host.flash.current(page);
    host.write(0, 1);
    host.write(0, 1);
    assert_eq!((host.flash.base(page), host.flash.garbage), (old, 1), "the parity covers the version before the first write");
    assert_eq!(host.scheme.rule(page), SemivalidAction::CommitFirst);
    assert_eq!(host.scheme.rule(MemberPage::new(1, 0)), SemivalidAction::Free);
    let commit = host.deferring_mut().commit_for_gc(page, true).unwrap();
    assert_eq!(commit.lock, Lock::Exclusive);
    host.run(commit);
    assert_eq!((host.flash.base(page), host.scheme.rule(page)), (None, SemivalidAction::Free));
    // The stripe was clean when the commit that the next write requires came to run.
    assert_eq!(host.write(3, 1)[0].end, Step::Nothing);
}

#[test]
fn a_full_stripe_or_a_trim_releases_the_bases() {
    for trim in [false, true] {
        let mut host = Host::new(Box::new(CommitsAnotherFirst::new(4, 8, PAGE))).filled();
        host.write(0, 2);
        let course = if trim { host.trim(2, 1).remove(0) } else { host.write(0, 3).remove(0) };
        let released = [MemberPage::new(0, 0), MemberPage::new(1, 0)].map(Change::ReleaseBase);
        assert!(released.iter().all(|change| course.changes.contains(change)));
        assert_eq!(host.scheme.dirty(StripeId(0)), 0);
        assert_eq!(course.operation.method, if trim { Method::Rcw } else { Method::FullStripe });
    }
}

#[test]
fn the_job_copies_each_written_page_of_an_idle_member_once() {
    let mut host = Host::raid5(4, 8);
    host.write(0, 3);
    host.write(6, 1);
    let mut flash: Flash = host.flash;
    let mut scheme = host.scheme;
    // Only member 0 is ever idle.
    flash.queued.extend((1..4).map(|member| (MemberId(member), (1, 0))));
    let mut job = CopyWhenIdle::new(4, 8, PAGE, |page| StripeId(page.page.0));
    flash.queued.insert(MemberId(0), (1, 0));
    assert!(job.next(&*scheme, &flash).is_none(), "the member is busy");
    flash.queued.remove(&MemberId(0));
    let mut copied = Vec::new();
    while let Some(operation) = job.next(&*scheme, &flash) {
        let before = flash.current(MemberPage::new(0, operation.stripe.0));
        let course = flash.execute(operation, &BTreeMap::new(), |operation, outcomes, view, wave| {
            job.step(&mut *scheme, operation, outcomes, view, wave)
        });
        assert!(course.waves.iter().flatten().all(|page| page.priority == Priority::Migration && page.cause == Cause::Migration));
        assert_eq!(flash.current(MemberPage::new(0, operation.stripe.0)), before);
        copied.push(operation.stripe.0);
    }
    assert_eq!(copied, [0, 2]);
    assert_eq!(flash.garbage, 2);
}

#[test]
fn the_job_leaves_a_page_alone_that_was_trimmed_meanwhile() {
    let mut host = Host::raid5(4, 8);
    host.write(0, 1);
    let mut job = CopyWhenIdle::new(4, 8, PAGE, |page| StripeId(page.page.0));
    let operation = job.next(&*host.scheme, &host.flash).unwrap();
    host.trim(0, 1);
    let course = host.flash.execute(operation, &BTreeMap::new(), |operation, outcomes, view, wave| {
        job.step(&mut *host.scheme, operation, outcomes, view, wave)
    });
    assert_eq!(course.end, Step::Nothing);
}
