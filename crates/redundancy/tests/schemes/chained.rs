//! Chained declustering, rule by rule.

use crate::flash::Course;
use crate::host::{Host, build};
use crate::waves::{background_waves, waves};
use flashraid_redundancy::testing::chained::ENTRY;
use flashraid_redundancy::{Damage, Step};
use flashraid_vocabulary::{Change, MemberId, MemberPage, StripeId};

/// Four members of eight pages: host page 5 is at 1/1 (member/page), and its copy at 2/5.
fn host(parameters: &[(&str, &str)]) -> Host {
    Host::new(ENTRY.build(&build(4, 8, parameters)).unwrap())
}

fn only(courses: Vec<Course>) -> Course {
    let [course] = <[Course; 1]>::try_from(courses).unwrap();
    course
}

#[test]
fn a_write_programs_both_copies() {
    let mut host = host(&[]);
    assert_eq!(host.scheme.user_pages(), 16);
    assert_eq!(waves(&only(host.write(5, 1))), [["program host 1/1 4096 = host 0", "program mirror 2/5 4096 = host 0"]]);
    assert_eq!(waves(&only(host.write(7, 1))), [["program host 3/1 4096 = host 0", "program mirror 0/5 4096 = host 0"]], "the ring closes");
    host.check();
}

#[test]
fn a_part_of_a_written_page_is_laid_over_the_old_page() {
    let mut host = host(&[]);
    assert_eq!(waves(&only(host.write_part(5, 512)))[0][0], "program host 1/1 512 = host 0");
    let programs = vec!["program host 1/1 4096 = host 0", "program mirror 2/5 4096 = host 0"];
    assert_eq!(waves(&only(host.write_part(5, 512))), [vec!["read update_read 1/1 4096 for strip 0"], programs]);
    host.check();
}

#[test]
fn a_read_takes_the_less_busy_copy_or_the_primary_one() {
    for (read_copy, source) in [("less_busy", "2/5"), ("primary", "1/1")] {
        let mut host = host(&[("read_copy", read_copy)]).filled();
        assert_eq!(waves(&only(host.read(5, 1))), [["read host 1/1 4096 for strip 0"]], "both are idle");
        host.flash.loads.insert(MemberPage::new(1, 1), 1);
        assert_eq!(waves(&only(host.read(5, 1))), [[format!("read host {source} 4096 for strip 0")]]);
    }
}

#[test]
fn a_trim_drops_both_copies() {
    let mut host = host(&[]).filled();
    let trim = only(host.trim(5, 1));
    assert_eq!(trim.changes, [MemberPage::new(1, 1), MemberPage::new(2, 5)].map(Change::Unmap));
    assert_eq!((trim.end, only(host.trim(5, 1)).end), (Step::Done, Step::Nothing));
    host.check();
}

#[test]
fn a_lost_member_is_read_from_its_neighbors_and_rebuilt() {
    for read_copy in ["less_busy", "primary"] {
        let mut host = host(&[("read_copy", read_copy)]).filled();
        host.flash.replace(MemberId(1));
        assert_eq!(waves(&only(host.read(5, 1))), [["read host 2/5 4096 for strip 0"]]);
        assert_eq!(host.scheme.damage(StripeId(5), &host.flash), Damage::Copy);
        let repairs = host.repair_all();
        assert_eq!(repairs.len(), 8, "four primary and four second copies");
        let of_page_5 = repairs.iter().find(|course| course.operation.stripe == StripeId(5)).unwrap();
        assert_eq!(background_waves(of_page_5), [["read rebuild 2/5 4096"], ["program rebuild 1/1 4096 = reads 0"]]);
        host.check();
    }
}
