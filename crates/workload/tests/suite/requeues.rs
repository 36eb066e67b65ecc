//! Requests that a device gave back: each counts once, at its first issue, wherever in the file the records of it stand.

use crate::support::{file, options, read, request};
use flashraid_vocabulary::HostOp::{Flush, Read, Write};
use flashraid_vocabulary::HostRequest;
use flashraid_workload::{DeviceLayout, Trace, TraceOptions, TraceSummary};
use std::path::Path;

/// An event of one of the processors.
#[derive(Clone, Copy, Debug)]
struct Event {
    cpu: u64,
    time_us: u64,
    action: char,
    letters: &'static str,
    device: u32,
    sector: u64,
}

const fn event(cpu: u64, time_us: u64, action: char, sector: u64) -> Event {
    Event { cpu, time_us, action, letters: "WS", device: 0, sector }
}

fn blkparse(of: &Event) -> String {
    let Event { cpu, time_us, action, letters, device, sector } = of;
    format!("8,{device} {cpu} 1 {}.{:06} 9 {action} {letters} {sector} + 8 [a]\n", time_us / 1_000_000, time_us % 1_000_000)
}

fn tracefs(of: &Event) -> String {
    let Event { cpu, time_us, action, letters, device, sector } = of;
    let (name, bytes) = if *action == 'D' { ("issue", "4096 ") } else { ("requeue", "") };
    let (seconds, micros) = (time_us / 1_000_000, time_us % 1_000_000);
    format!(" a-9 [{cpu:03}] ..... {seconds}.{micros:06}: block_rq_{name}: 8,{device} {letters} {bytes}() {sector} + 8 none,0,0 [a]\n")
}

fn blktrace(of: &Event) -> Vec<u8> {
    let Event { cpu, time_us, action, letters, device, sector } = of;
    let categories = (1 << 17) | if letters.starts_with("FW") { 1 << 18 } else { 0 } | if letters.ends_with('F') { 1 << 31 } else { 0 };
    let mut record = Vec::new();
    [0x6561_7407_u32, 0].iter().for_each(|value| record.extend(value.to_le_bytes()));
    [time_us * 1000, *sector].iter().for_each(|value| record.extend(value.to_le_bytes()));
    let action = categories | if *action == 'D' { 7 } else { 6 };
    [4096, action, 9, 8 << 20 | device, *cpu as u32, 0].iter().for_each(|value| record.extend(value.to_le_bytes()));
    record
}

/// The three recordings that have requeues.
fn recordings(name: &str, events: &[Event]) -> [(std::path::PathBuf, TraceOptions); 3] {
    let text = |line: fn(&Event) -> String| events.iter().map(line).collect::<String>();
    let binary: Vec<u8> = events.iter().flat_map(blktrace).collect();
    [("blkparse", text(blkparse).into_bytes()), ("tracefs", text(tracefs).into_bytes()), ("blktrace", binary)]
        .map(|(format, content)| (file(&format!("{name}.{format}.requeues"), &content), options(format)))
}

/// Read as recorded, and sorted from the start, as a pipe is.
fn both(path: &Path, options: &TraceOptions) -> (Vec<HostRequest>, TraceSummary) {
    let found = read(path, options).unwrap();
    let mut trace = Trace::open_sorted(path, options).unwrap();
    let mut requests = Vec::new();
    while trace.read_batch(&mut requests).unwrap() > 0 {}
    assert!(requests == found.0, "{}: {} and {} requests", path.display(), requests.len(), found.0.len());
    assert_eq!(trace.finish().unwrap(), found.1);
    found
}

fn times_us(requests: &[HostRequest]) -> Vec<u64> {
    requests.iter().map(|request| request.arrival_ns / 1000).collect()
}

/// An issue, a requeue and the second issue in all orders that files of processors can be joined in.
#[test]
fn the_second_issue_counts_once_whatever_the_order_of_the_records() {
    let [issue, requeue, again] = [event(0, 1, 'D', 8), event(1, 3, 'R', 8), event(2, 5, 'D', 8)];
    let other = event(0, 9, 'D', 64);
    for order in [
        [issue, requeue, again],
        [issue, again, requeue],
        [requeue, issue, again],
        [requeue, again, issue],
        [again, issue, requeue],
        [again, requeue, issue],
    ] {
        for (path, options) in recordings("orders", &[&order[..], &[other]].concat()) {
            let (requests, summary) = both(&path, &options);
            let first_us = if options.format == "blkparse" { 1 } else { 0 };
            assert_eq!(times_us(&requests), [first_us, first_us + 8], "{}: {order:?}", options.format);
            let of_device = &summary.device_list[0];
            assert_eq!((summary.reissued, summary.requests, of_device.requests, summary.devices), (1, 2, 2, 1), "{}", options.format);
            assert_eq!(summary.ignored.iter().map(|(_, count)| count).sum::<u64>(), 1, "the requeue is no request");
            let warned =
                "1 requests were issued again after the device had given them back (requeue): each counts once, at its first issue";
            assert!(summary.warnings(false).contains(&warned.to_owned()), "{:?}", summary.warnings(false));
        }
    }
    // At equal times the order of the file is the order of the events.
    for (order, expected) in [("DRD", 1), ("RDD", 1), ("DDR", 2)] {
        let events: Vec<Event> = order.chars().map(|action| event(0, 7, action, 8)).collect();
        let (requests, summary) = both(&recordings("ties", &events)[0].0, &options("blkparse"));
        assert_eq!((requests.len(), summary.reissued), (expected, 2 - expected as u64), "{order}");
    }
}

/// Other sectors, devices and operations are other requests, and so is what is issued once more without another requeue.
#[test]
fn only_the_same_request_is_issued_again() {
    let requeue = event(0, 3, 'R', 8);
    let of_read = Event { letters: "RS", ..event(0, 5, 'D', 8) };
    let of_device = Event { device: 1, ..event(0, 6, 'D', 8) };
    let events = [event(0, 1, 'D', 8), event(0, 4, 'D', 16), of_read, of_device, event(0, 7, 'D', 8), event(0, 8, 'D', 8), requeue];
    let apart = TraceOptions { layout: DeviceLayout::Apart, ..options("blkparse") };
    let (requests, summary) = both(&recordings("same", &events)[0].0, &apart);
    assert_eq!((times_us(&requests), summary.reissued), (vec![1, 4, 5, 6, 8], 1));
    assert_eq!(requests.iter().filter(|request| request.op == Read).count(), 1);
    // Both of two that overlap were given back; a flush has no address.
    let text = "8,0 0 1 0.7 9 D FN [a]\n8,0 0 1 0.6 9 R FN [0]\n8,0 0 1 0.5 9 D FN [a]\n8,0 0 1 0.4 9 D W 8 + 8 [a]\n8,0 0 1 0.3 9 D W 8 + 8 [a]\n\
                8,0 0 1 0.2 9 R W 8 + 8 [0]\n8,0 0 1 0.2 9 R W 8 + 8 [0]\n8,0 0 1 0.1 9 D W 8 + 8 [a]\n8,0 0 1 0.1 9 D W 8 + 8 [a]\n";
    let (requests, summary) = both(&file("backwards.blkparse.txt", text.as_bytes()), &options("blkparse"));
    assert_eq!(
        requests,
        [
            request(100_000_000, Write, 4096, 4096, 8 << 20),
            request(100_000_000, Write, 4096, 4096, 8 << 20),
            request(500_000_000, Flush, 0, 0, 8 << 20)
        ]
    );
    assert_eq!(summary.reissued, 3);
}

/// A number that a place decides, as if at random.
fn mixed(place: u64) -> u64 {
    (place + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
}

/// Requests of two devices, every seventh of which is given back and issued again, one of them twice, in order of time; and those that count.
fn given_back(count: u64) -> (Vec<Event>, Vec<(u64, u32, u64)>) {
    let (mut events, mut expected) = (Vec::new(), Vec::new());
    for number in 0..count {
        let (time_us, device, sector) = (number * 100, (number % 3 == 2) as u32, mixed(number) % 1000 * 8);
        let letters = if number % 14 == 0 { "FWF" } else { "W" };
        let at = |place, action| Event { cpu: mixed(number * 10 + place) % 2, time_us: time_us + place, action, letters, device, sector };
        events.push(at(0, 'D'));
        expected.push((time_us, device, sector));
        let requeues = if number % 91 == 0 { 2 } else { u64::from(number % 7 == 0) };
        (0..requeues).for_each(|again| events.extend([at(20 * again + 1, 'R'), at(20 * again + 11, 'D')]));
    }
    (events, expected)
}

/// As many as are held back, and as many as make the reader sort; devices side by side and apart; all of them, some and one device.
#[test]
fn logs_of_processors_that_were_joined_are_the_recording_in_order() {
    for count in [600, 9000] {
        let (events, expected) = given_back(count);
        let of_cpu = |cpu| events.iter().copied().filter(move |event: &Event| event.cpu == cpu);
        let joined: Vec<Event> = of_cpu(1).chain(of_cpu(0)).collect();
        let mut every = options("blkparse");
        let mut one = every.clone();
        one.set("device_filter", "8:1").unwrap();
        every.layout = DeviceLayout::Apart;
        let side_by_side = TraceOptions { layout: DeviceLayout::SideBySide, ..every.clone() };
        let some = TraceOptions { limit: 501, layout: DeviceLayout::SideBySide, ..every.clone() };
        let paths = [&events, &joined].map(|events| recordings(&format!("joined-{count}"), events)[0].0.clone());
        let sorted = file(&format!("in-order-{count}.blkparse"), events.iter().map(blkparse).collect::<String>().as_bytes());
        for (name, options) in [("every", &every), ("one", &one), ("side by side", &side_by_side), ("some", &some)] {
            let (requests, of_joined) = both(&paths[1], options);
            let (in_order, of_sorted) = both(&sorted, options);
            // A limit takes what is early among what is read: of so many joined logs, only the first.
            if name != "some" || count == 600 {
                assert!(requests == in_order, "{name}, {count}: {} and {} requests", requests.len(), in_order.len());
                assert_eq!(of_joined.reissued, of_sorted.reissued, "{name}");
                assert_eq!(of_joined.device_list, of_sorted.device_list, "{name}");
            }
            if name == "every" {
                let found = requests.iter().map(|of| (of.arrival_ns / 1000, of.source & 1, of.offset_bytes / 512));
                assert!(found.eq(expected.iter().copied()), "{count}");
                let reissued = events.iter().filter(|event| event.action == 'R').count() as u64;
                assert_eq!((of_joined.reissued, of_joined.requests), (reissued, count));
                let written_through = (0..count).filter(|number| number % 14 == 0).count() as u64;
                let flags = [
                    ("flushes attached to writes (FW); the writes are kept", written_through),
                    ("forced unit access (WF); the writes are kept", written_through),
                ];
                assert_eq!((&of_joined.unsupported[..], &of_sorted.unsupported[..]), (&flags[..], &flags[..]));
                assert_eq!(of_joined.ignored, [("R events", reissued)]);
            }
            if name == "some" {
                assert_eq!((requests.len(), in_order.len()), (501, 501));
                assert_eq!(in_order.last().unwrap().arrival_ns, 500 * 100_000);
            }
        }
    }
}

/// More requeues than requests are delivered at a time do not look like the end, and a limit is reached.
#[test]
fn many_requeues_between_two_requests() {
    let mut events = vec![event(0, 0, 'D', 8)];
    events.extend((0..9000).map(|number| event(0, 1 + number, 'R', 16 + 8 * number)));
    events.push(event(0, 9500, 'D', 8));
    events.extend((0..9000).map(|number| event(0, 10_000 + number, 'D', 16 + 8 * number)));
    events.extend([event(0, 30_000, 'D', 8), event(0, 30_001, 'D', 8)]);
    for (path, options) in recordings("many", &events) {
        let (requests, summary) = both(&path, &options);
        assert_eq!((times_us(&requests), summary.reissued), (vec![0, 9500, 30_000, 30_001], 9000), "{}", options.format);
        let (requests, summary) = both(&path, &TraceOptions { limit: 3, ..options });
        assert_eq!((times_us(&requests), summary.requests), (vec![0, 9500, 30_000], 3));
    }
}

/// The requeue of a line that is cut off has a sector that may lack digits.
#[test]
fn a_requeue_that_is_cut_off_is_left_out() {
    let text = "8,0 0 1 0.1 9 D W 8 + 8 [a]\n8,0 0 1 0.5 9 D W 8 + 8 [a]\n8,0 1 1 0.3 9 R W 8";
    let (requests, summary) = both(&file("cut-requeue.blkparse.txt", text.as_bytes()), &options("blkparse"));
    assert_eq!((requests.len(), summary.reissued, summary.truncated, summary.ignored.len()), (2, 0, 1, 0));
}
