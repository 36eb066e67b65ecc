//! RAID-6, rule by rule (SPEC 8.16). On 6+2 stripe 0 has P on member 7, Q on member 0, and data strip i on member i + 1; on 3+2 P is on member 4. All cases of small
//! devices are in `degraded_all`.

use crate::degraded::only;
use crate::flash::{Course, PAGE};
use crate::host::{Host, on, scheme};
use crate::waves::{background_waves, waves};
use flashraid_redundancy::{Failure, Method, Source, Step};
use flashraid_vocabulary::galois::{multiply, power, scale};
use flashraid_vocabulary::{Change, HostOp, Lpn, MemberId, MemberPage, Version};

/// Filled, on so many members, with what these held lost. Programs find a place on them.
fn filled(members: u16, lost: &[u16]) -> Host {
    let mut host = Host::new(scheme("raid6", members, 8, &[])).filled();
    lost.iter().for_each(|member| host.flash.replace(MemberId(*member)));
    host
}

/// How many pages each wave has.
fn sizes(course: &Course) -> Vec<usize> {
    course.waves.iter().map(Vec::len).collect()
}

/// SPEC 8.16 (a) and (b): what flash holds of a stripe of the fill.
#[test]
fn both_parities_are_sums_of_the_strips() {
    let host = filled(5, &[]);
    for stripe in 0..8u64 {
        let content = |member: u64| host.flash.current(MemberPage::new((member % 5) as u16, stripe as u32)).unwrap();
        let p = 4 + 5 - stripe % 5;
        let strips = [2, 3, 4].map(|distance| content(p + distance));
        assert_eq!(content(p), strips[0] ^ strips[1] ^ strips[2], "stripe {stripe}");
        assert_eq!(content(p + 1), strips[0] ^ scale(strips[1], 2) ^ scale(strips[2], 4), "stripe {stripe}");
    }
}

#[test]
fn a_full_stripe_needs_no_pre_read() {
    let mut host = filled(5, &[]);
    let course = only(host.write(0, 3));
    assert_eq!((course.operation.method, course.end), (Method::FullStripe, Step::Last));
    let programs = [
        "program host 1/0 4096 = host 0",
        "program host 2/0 4096 = host 1",
        "program host 3/0 4096 = host 2",
        "program parity 4/0 4096 = host 012",
        "program parity 0/0 4096 = host 012",
    ];
    assert_eq!(waves(&course), [programs]);
    host.check();
}

#[test]
fn rmw_reads_the_old_versions_and_both_parities() {
    let mut host = filled(8, &[]);
    let course = only(host.write(1, 1));
    assert_eq!(course.operation.method, Method::Rmw);
    let reads = vec!["read pre_read 2/0 4096", "read pre_read 7/0 4096", "read pre_read 0/0 4096"];
    let programs = vec![
        "program host 2/0 4096 = host 1",
        "program parity 7/0 4096 = host 1 ^ reads 01",
        "program parity 0/0 4096 = host 1 ^ reads 02",
    ];
    assert_eq!(waves(&course), [reads, programs]);
    host.check();
}

#[test]
fn rcw_reads_what_does_not_change() {
    let mut host = filled(5, &[]);
    let course = only(host.write(0, 1));
    assert_eq!(course.operation.method, Method::Rcw, "2 pre-reads against 3");
    let reads = vec!["read pre_read 2/0 4096", "read pre_read 3/0 4096"];
    let programs = vec![
        "program host 1/0 4096 = host 0",
        "program parity 4/0 4096 = host 0 ^ reads 01",
        "program parity 0/0 4096 = host 0 ^ reads 01",
    ];
    assert_eq!(waves(&course), [reads, programs]);
    host.check();
}

/// SPEC 8.16 (c): fewest reads, RCW on a tie. Of N = 6: 3, 4, 3, 2, 1, 0 reads; of N = 4: 3, 2, 1, 0.
#[test]
fn the_method_is_the_one_with_fewest_reads() {
    for width in 2..=10u64 {
        let mut host = filled(width as u16 + 2, &[]);
        for (changed, first) in (1..=width).flat_map(|changed| (0..=width - changed).map(move |first| (changed, first))) {
            let course = only(host.write(first, changed));
            let expected = match (changed + 2).cmp(&(width - changed)) {
                _ if changed == width => (Method::FullStripe, 0),
                std::cmp::Ordering::Less => (Method::Rmw, changed + 2),
                _ => (Method::Rcw, width - changed),
            };
            let reads = if course.waves.len() == 2 { course.waves[0].len() as u64 } else { 0 };
            assert_eq!((course.operation.method, reads), expected, "{changed} of {width}");
            assert_eq!(course.waves.last().unwrap().len() as u64, changed + 2);
            host.check();
        }
    }
    let reads =
        |width: u64| (1..=width).map(|changed| if 2 * changed + 2 < width { changed + 2 } else { width - changed }).collect::<Vec<_>>();
    assert_eq!((reads(6), reads(4)), (vec![3, 4, 3, 2, 1, 0], vec![3, 2, 1, 0]));
}

#[test]
fn unwritten_strips_are_zero_and_never_read() {
    let mut host = Host::new(scheme("raid6", 8, 8, &[]));
    let course = only(host.write(1, 1));
    assert_eq!((course.operation.method, sizes(&course)), (Method::Rmw, vec![3]), "the nominal numbers decide");
    let course = only(host.write(4, 1));
    assert_eq!(sizes(&course), [2, 3], "both parities are written now");
    host.check();
}

/// One read serves both ends; another method reads the old page beside.
#[test]
fn a_partly_written_page_is_read_once() {
    let mut host = filled(8, &[]);
    let course = only(host.write_part(1, 512));
    let reads = ["read pre_read 2/0 4096 for strip 1", "read pre_read 7/0 4096", "read pre_read 0/0 4096"];
    assert_eq!(waves(&course)[0], reads);
    host.check();
    let mut host = filled(5, &[]);
    let course = only(host.write_part(1, 512));
    let reads = ["read pre_read 1/0 4096", "read update_read 2/0 4096 for strip 1", "read pre_read 3/0 4096"];
    assert_eq!(waves(&course)[0], reads);
    host.check();
}

#[test]
fn a_trim_programs_both_parities_and_none_of_an_empty_stripe() {
    let mut host = filled(8, &[]);
    let course = only(host.trim(1, 1));
    assert_eq!((course.operation.method, sizes(&course)), (Method::Rmw, vec![3, 2]));
    assert_eq!(course.changes, [Change::Unmap(MemberPage::new(2, 0))]);
    host.check();
    let course = only(host.trim(0, 6));
    assert_eq!((course.end, course.waves.len(), course.changes.len()), (Step::Done, 0, 7));
    host.check();
}

/// SPEC 8.16 (h): only written strips are changed by a trim, and read. Every trim of every stripe of 6+2.
#[test]
fn a_trim_changes_the_written_strips_alone() {
    let trims = (0..6u64).flat_map(|first| (1..=6 - first).map(move |count| (first, count)));
    for (written, (first, count)) in trims.flat_map(|trim| (1..64u64).map(move |written| (written, trim))) {
        let mut host = Host::new(scheme("raid6", 8, 1, &[]));
        (0..6).filter(|strip| written >> strip & 1 == 1).for_each(|strip| _ = host.write(strip, 1));
        let trimmed = written & (((1 << count) - 1) << first);
        let [changed, kept] = [trimmed, written & !trimmed].map(|strips| strips.count_ones() as usize);
        let course = only(host.trim(first, count));
        let (end, method, pages) = match (changed, kept) {
            (0, _) => (Step::Nothing, Method::None, vec![]),
            (_, 0) => (Step::Done, Method::None, vec![]),
            (1, _) => (Step::Last, Method::Rmw, vec![3, 2]),
            _ => (Step::Last, Method::Rcw, vec![kept, 2]),
        };
        let case = format!("{count} from {first} of {written:b}");
        assert_eq!((course.end, course.operation.method, sizes(&course)), (end, method, pages), "{case}");
        host.check();
    }
}

// ---- after failures ----

/// With d_0 and d_1 lost, d_0 = (Q' + 2 P') / 3, which is what the sources add up to.
#[test]
fn two_lost_strips_are_sums_of_the_rest_and_both_parities() {
    let host = filled(5, &[]);
    let mut sources = Vec::new();
    assert!(host.scheme.recover(Lpn(0), &on(0b00110), &mut sources));
    let third = (1..=255).find(|inverse| multiply(3, *inverse) == 1).unwrap();
    let factor = |member: u16, factor: u8| Source { page: MemberPage::new(member, 0), version: Version::Current, factor };
    let of_strip_2 = multiply(third, power(2) ^ 2);
    assert_eq!(sources, [factor(3, of_strip_2), factor(4, multiply(third, 2)), factor(0, third)]);
    assert!(!host.scheme.recover(Lpn(0), &on(0b01110), &mut sources), "three are lost for good");
}

/// SPEC 8.16 (d): one lost strip is read from the others and P; with P lost too, and Q; two from the others and both.
#[test]
fn degraded_reads_need_the_fewest_equations() {
    for (lost, members) in [(&[1][..], [2, 3, 4]), (&[1, 4], [2, 3, 0]), (&[1, 0], [2, 3, 4]), (&[1, 2], [3, 4, 0])] {
        let mut host = filled(5, lost);
        let course = only(host.read(0, 1));
        let reads: Vec<_> = members.iter().map(|member| format!("read reconstruct {member}/0 4096")).collect();
        assert_eq!(waves(&course), [reads], "{lost:?}");
    }
    let mut host = filled(5, &[1, 2, 3]);
    assert_eq!(only(host.read(0, 1)).end, Step::Failed(Failure::Lost));
}

/// SPEC 8.16 (e): a lost strip that is written takes RCW; a living one beside a lost one takes RMW; a lost parity is not read, and made anew where all is known.
#[test]
fn degraded_writes_read_nothing_that_is_lost() {
    let method = |members: u16, lost: &[u16], strip: u64| {
        let mut host = filled(members, lost);
        let course = only(host.write(strip, 1));
        assert_eq!(host.check_degraded(), 0);
        (course.operation.method, sizes(&course))
    };
    assert_eq!(method(8, &[2], 1), (Method::Rcw, vec![5, 3]), "N - 1 reads");
    assert_eq!(method(5, &[1], 1), (Method::Rmw, vec![3, 3]), "the changed one and both parities");
    assert_eq!(method(8, &[7], 1), (Method::Rmw, vec![2, 2]), "without P");
    assert_eq!(method(8, &[0], 1), (Method::Rmw, vec![2, 2]), "without Q");
    assert_eq!(method(8, &[0, 7], 1), (Method::Rcw, vec![5, 3]), "both parities are made anew");
    assert_eq!(method(5, &[1, 4], 1), (Method::Rmw, vec![2, 2]), "of Q alone");
    // On 4+2, where RMW would read as much as RCW if both parities were left.
    assert_eq!(method(6, &[5], 1), (Method::Rmw, vec![2, 2]), "a lost parity is no read");
    assert_eq!(method(6, &[0], 1), (Method::Rmw, vec![2, 2]), "a lost parity is no read");
    assert_eq!(method(5, &[1, 2], 2), (Method::Rmw, vec![3, 3]));
    assert_eq!(method(5, &[1, 2], 0), (Method::Rcw, vec![3, 3]), "what is lost beside it is computed of all that is left");
}

/// With more lost than two parities replace, data are written, and both parities are given up.
#[test]
fn what_no_parity_covers_is_written_all_the_same() {
    let mut host = Host::new(scheme("raid6", 5, 1, &[])).filled();
    [1, 2, 4].into_iter().for_each(|member| host.flash.replace(MemberId(member)));
    let course = only(host.write(0, 1));
    assert_eq!(course.operation.method, Method::None);
    assert_eq!(course.changes, [4, 0].map(|member| Change::Lose(MemberPage::new(member, 0))));
    assert_eq!(host.check_degraded(), 1, "strip 1");
}

/// A partly written page that is lost is computed first.
#[test]
fn the_old_content_of_a_lost_page_is_computed() {
    for lost in [&[2][..], &[2, 4], &[2, 0], &[2, 1]] {
        let mut host = filled(5, lost);
        let course = only(host.write_part(1, 512));
        assert_eq!(course.end, Step::Last);
        assert_eq!(host.check_degraded(), 0, "{lost:?}");
    }
}

/// A repair makes all that is lost of its stripe, and reads each page once.
#[test]
fn a_repair_makes_what_is_lost_in_one_go() {
    for (lost, reads) in [(&[1][..], &[2, 3, 4][..]), (&[1, 2], &[3, 4, 0]), (&[4, 0], &[1, 2, 3]), (&[3, 0], &[1, 2, 4])] {
        let mut host = Host::new(scheme("raid6", 5, 1, &[])).filled();
        lost.iter().for_each(|member| host.flash.replace(MemberId(*member)));
        let course = only(host.repair_all());
        let words: Vec<_> = reads.iter().map(|member| format!("read rebuild {member}/0 4096")).collect();
        assert_eq!((background_waves(&course)[0].clone(), sizes(&course)), (words, vec![reads.len(), lost.len()]), "{lost:?}");
        host.check();
    }
}

/// Where one of two lost pages has no place, a repair makes the other.
#[test]
fn a_repair_makes_what_has_a_place() {
    let mut host = Host::new(scheme("raid6", 5, 1, &[])).filled();
    host.flash.replace(MemberId(1));
    host.flash.kill(MemberId(2));
    let course = only(host.repair_all());
    assert_eq!(sizes(&course), [3, 1]);
    assert_eq!(host.check_degraded(), 0);
    host.check_loss(Lpn(0), &on(0b00110));
}

/// The same if it is the first of them that has none.
#[test]
fn a_repair_looks_for_any_place() {
    let mut host = Host::new(scheme("raid6", 5, 1, &[])).filled();
    host.flash.kill(MemberId(1));
    host.flash.replace(MemberId(2));
    assert_eq!(sizes(&only(host.repair_all())), [3, 1]);
    assert_eq!(host.check_degraded(), 0);
}

/// What can be had neither where it is written nor of others fails.
#[test]
fn a_write_without_a_place_fails_if_nothing_holds_it() {
    let mut host = Host::new(scheme("raid6", 5, 1, &[])).filled();
    [1, 2, 3].into_iter().for_each(|member| host.flash.kill(MemberId(member)));
    assert_eq!(only(host.write(0, 1)).end, Step::Failed(Failure::NoSpace));
    let mut host = Host::new(scheme("raid6", 6, 1, &[])).filled();
    host.flash.replace(MemberId(1));
    [2, 3].into_iter().for_each(|member| host.flash.kill(MemberId(member)));
    assert_eq!(only(host.write(0, 2)).end, Step::Failed(Failure::NoSpace), "both parities are given up");
}

/// Requests of several stripes, and groups of a buffer, as under other schemes.
#[test]
fn requests_are_cut_at_stripes() {
    let mut host = filled(5, &[]);
    let methods: Vec<_> = host.submit(HostOp::Write, 2, 5, PAGE, PAGE).iter().map(|course| course.operation.method).collect();
    assert_eq!(methods, [Method::Rcw, Method::FullStripe, Method::Rcw]);
    host.check();
}
