//! Traces in other formats: round trips through every format that can be written, compression, slices, and what cannot be written.

use crate::support::{file, in_repository, options, own_folder, read};
use flashraid_vocabulary::SplitMix64;
use flashraid_vocabulary::{HostOp, HostRequest};
use flashraid_workload::formats::{self, FORMATS, Format};
use flashraid_workload::{Converted, Pieces, TraceError, TraceOptions, TraceSlice, TraceWriter, anonymise, convert};
use std::fs;
use std::path::{Path, PathBuf};

fn request(arrival_ns: u64, op: HostOp, offset_bytes: u64, size_bytes: u64, source: u32) -> HostRequest {
    HostRequest { arrival_ns, offset_bytes, size_bytes, op, stream: 0, source }
}

/// Requests of all kinds, on sectors and off them, at times down to the nanosecond, of three devices in order of appearance.
fn random_requests(seed: u64, count: usize) -> Vec<HostRequest> {
    let mut random = SplitMix64::new(seed);
    let mut arrival_ns = 0;
    let make = |index: usize| {
        let mut below = |limit: u64| random.next_u64() % limit;
        let op = [HostOp::Read, HostOp::Write, HostOp::Trim, HostOp::WriteZeroes, HostOp::Flush][below(5) as usize];
        let unit = [1, 512, 4096][below(3) as usize];
        let (offset, size) = (below(1 << 30) * unit, (1 + below(1 << 10)) * unit);
        let (offset, size) = if op == HostOp::Flush { (0, 0) } else { (offset, size) };
        let source = below(3).min(index as u64) as u32;
        let made = request(arrival_ns, op, offset, size, source);
        arrival_ns += [0, 1, 999, 1_000_000, 7_654_321_012][below(5) as usize];
        made
    };
    (0..count).map(make).collect()
}

/// Writes what the format can hold, and returns that, at the times that it can hold.
fn write(path: &Path, format: &'static Format, requests: &[HostRequest]) -> Vec<HostRequest> {
    let mut writer = TraceWriter::create(path, format, false).unwrap();
    let is_written = |request: &&HostRequest| match writer.write(request) {
        Ok(()) => true,
        Err(TraceError::Unwritable { .. }) => false,
        Err(error) => panic!("{error}"),
    };
    let held = |request: &HostRequest| HostRequest { arrival_ns: request.arrival_ns / format.tick_ns() * format.tick_ns(), ..*request };
    let written: Vec<HostRequest> = requests.iter().filter(is_written).map(held).collect();
    writer.finish().unwrap();
    written
}

fn writable() -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().filter(|format| format.is_writable())
}

fn converted(input: &Path, reading: &TraceOptions, slice: &TraceSlice, output: &Path, format: &str) -> Result<Converted, TraceError> {
    convert(input, reading, slice, output, formats::find(format).unwrap(), &mut |_, _| true)
}

#[test]
fn what_is_written_is_read_again() {
    for format in writable() {
        for seed in 0..20 {
            let requests = random_requests(seed, 400);
            // A clock that starts with the trace may be lost; the first request of these is at 0, if the format can hold it.
            for ending in ["", ".gz", ".zst", ".xz"] {
                let path = file(&format!("written-again-{}{ending}", format.name), b"");
                let written = write(&path, format, &requests);
                assert!(written.len() > 40, "{}: {} of 400 requests", format.name, written.len());
                let first_ns = written[0].arrival_ns;
                let apart = TraceOptions { layout: flashraid_workload::DeviceLayout::Apart, ..options(format.name) };
                let (mut again, _) = read(&path, &apart).unwrap();
                let again_ns = again[0].arrival_ns;
                again.iter_mut().for_each(|request| request.arrival_ns = request.arrival_ns - again_ns + first_ns);
                let strip = |request: &HostRequest| HostRequest { source: 0, stream: 0, ..*request };
                let same = again.iter().map(strip).eq(written.iter().map(strip));
                assert!(same, "{}{ending}, seed {seed}", format.name);
                assert_eq!(partition(&again), partition(&written), "{}{ending}, seed {seed}", format.name);
            }
        }
    }
}

/// Which requests are of one device, whatever its number.
fn partition(requests: &[HostRequest]) -> Vec<usize> {
    let mut seen: Vec<u32> = Vec::new();
    let number = |request: &HostRequest| {
        seen.iter().position(|source| *source == request.source).unwrap_or_else(|| {
            seen.push(request.source);
            seen.len() - 1
        })
    };
    requests.iter().map(number).collect()
}

#[test]
fn to_each_format_and_back() {
    let sample = in_repository("samples/sqlite-transactions.csv.gz");
    let all = TraceSlice { limit: 20_000, ..TraceSlice::default() };
    for format in writable() {
        let skip = TraceOptions { on_error: flashraid_workload::OnError::Skip, ..TraceOptions::default() };
        let path = |name: &str| file(&format!("back-{name}-{}", format.name), b"");
        let (there, back, direct) = (path("there.xz"), path("back"), path("direct"));
        let first = converted(&sample, &skip, &all, &there, format.name).unwrap();
        let second = converted(&there, &options(format.name), &TraceSlice::default(), &back, "flashraid").unwrap();
        assert_eq!((first.written + first.unwritable, second.written), (20_000, first.written), "{}", format.name);
        // The same requests, written without the detour.
        let (requests, _) = read(&sample, &TraceOptions { limit: 20_000, ..TraceOptions::default() }).unwrap();
        let held = write(&path("held"), format, &requests);
        write(&direct, formats::find("flashraid").unwrap(), &held);
        let (one, two) = (read(&back, &TraceOptions::default()).unwrap().0, read(&direct, &TraceOptions::default()).unwrap().0);
        let rebased = |requests: &[HostRequest]| -> Vec<HostRequest> {
            requests.iter().map(|each| HostRequest { arrival_ns: each.arrival_ns - requests[0].arrival_ns, ..*each }).collect()
        };
        assert_eq!(rebased(&one), rebased(&two), "{}", format.name);
    }
}

#[test]
fn equal_requests_make_equal_files() {
    let requests = random_requests(1, 1000);
    for ending in ["csv", "csv.gz", "csv.zst", "csv.xz"] {
        let make = |name: &str| {
            let path = file(&format!("{name}.{ending}"), b"");
            write(&path, formats::find("flashraid").unwrap(), &requests);
            fs::read(path).unwrap()
        };
        assert_eq!(make("equal-one"), make("equal-two"), "{ending}");
    }
}

/// Reads the lines of our own format after a conversion.
fn sliced(name: &str, input: &Path, slice: &TraceSlice) -> (Vec<String>, Converted) {
    let output: PathBuf = file(name, b"");
    let report = converted(input, &TraceOptions::default(), slice, &output, "flashraid").unwrap();
    (fs::read_to_string(output).unwrap().lines().skip(1).map(|line| line.trim_end_matches(',').to_owned()).collect(), report)
}

#[test]
fn slices() {
    let text = b"ts_us,op,offset,size,flags,latency_us\n10,W,0,4096,,\n20,W,4096,4096,,\n30,F,0,0,,\n40,R,6144,4096,,\n50,D,8192,8192,,\n60,R,20480,512,,\n";
    let path = file("slices.csv", text);
    let slice = TraceSlice { time_ns: 20_000..50_000, ..TraceSlice::default() };
    let (lines, report) = sliced("slices-time", &path, &slice);
    assert_eq!(lines, ["20,W,4096,4096", "30,F,0,0", "40,R,6144,4096"]);
    assert_eq!((report.source.requests, report.written, report.left_out.time), (4, 3, 1));
    assert_eq!(
        sliced("slices-rebased", &path, &TraceSlice { rebase_time: true, ..slice }).0,
        ["0,W,4096,4096", "10,F,0,0", "20,R,6144,4096"]
    );
    // The read of 6144 to 10240 straddles the start; flushes have no address; an end is exclusive.
    let slice = TraceSlice { address_bytes: 8192..16_384, ..TraceSlice::default() };
    let (lines, report) = sliced("slices-address", &path, &slice);
    assert_eq!(lines, ["30,F,0,0", "50,D,8192,8192"]);
    assert_eq!((report.left_out.address, report.left_out.straddling, report.source.requests), (3, 1, 6));
    assert_eq!(sliced("slices-moved", &path, &TraceSlice { rebase_address: true, ..slice.clone() }).0, ["30,F,0,0", "50,D,0,8192"]);
    // Counts are of what the other conditions leave.
    let (lines, report) = sliced("slices-count", &path, &TraceSlice { skip: 1, limit: 1, ..slice });
    assert_eq!((lines, report.left_out.skipped), (vec!["50,D,8192,8192".to_owned()], 1));
    // Of every three requests two. The third one's time is left out: what follows it comes as long after its predecessor as it did.
    let pieces = Some(Pieces { taken: 2, each: 3 });
    let (lines, report) = sliced("slices-pieces", &path, &TraceSlice { pieces, ..TraceSlice::default() });
    assert_eq!(lines, ["10,W,0,4096", "20,W,4096,4096", "30,R,6144,4096", "40,D,8192,8192"]);
    assert_eq!((report.left_out.skipped, report.source.requests), (2, 6));
    let skipping = TraceSlice { pieces, skip: 1, limit: 3, rebase_time: true, ..TraceSlice::default() };
    assert_eq!(sliced("slices-skipped-pieces", &path, &skipping).0, ["0,W,4096,4096", "10,F,0,0", "20,D,8192,8192"]);
    let none = TraceSlice { pieces: Some(Pieces { taken: 3, each: 2 }), ..TraceSlice::default() };
    assert!(converted(&path, &TraceOptions::default(), &none, &file("slices-no-pieces", b""), "flashraid").is_err());
    let nothing = TraceSlice { time_ns: 70_000..80_000, ..TraceSlice::default() };
    let error = converted(&path, &TraceOptions::default(), &nothing, &file("slices-none", b"old"), "flashraid").unwrap_err().to_string();
    assert!(error.ends_with("none of the 6 requests read was selected; expected a part of the trace with at least one request"), "{error}");
    assert_eq!(fs::read(own_folder().join("slices-none")).unwrap(), b"old");
}

#[test]
fn devices_apart_or_side_by_side() {
    let path = file("devices.ssdsim", b"0 7 0 8 0\n5 3 0 8 1\n9 7 16 8 1\n");
    let (apart, beside) = (file("devices-apart", b""), file("devices-beside", b""));
    let report = converted(&path, &options("ssdsim"), &TraceSlice::default(), &apart, "ssdsim").unwrap();
    assert_eq!((fs::read(&apart).unwrap(), report.devices_apart), (fs::read(&path).unwrap(), true));
    let report = converted(&path, &options("ssdsim"), &TraceSlice::default(), &beside, "flashraid").unwrap();
    let text = "ts_us,op,offset,size,flags,latency_us\n0,W,0,4096,,\n0.005,R,1048576,4096,,\n0.009,R,8192,4096,,\n";
    assert_eq!(fs::read_to_string(&beside).unwrap(), text);
    let bases: Vec<_> = report.source.device_list.iter().map(|device| (device.name.as_str(), device.base_bytes)).collect();
    assert_eq!((report.devices_apart, bases), (false, vec![("7", 0), ("3", 1 << 20)]));
}

#[test]
fn what_a_format_cannot_hold() {
    let path = file("unwritable.csv", b"ts_us,op,offset,size,flags,latency_us\n1,W,0,512,,\n2,R,100,512,,\n3,D,0,512,,\n4,R,0,512,,\n");
    let output = file("unwritable", b"old");
    let error = converted(&path, &TraceOptions::default(), &TraceSlice::default(), &output, "ssdsim").unwrap_err().to_string();
    assert_eq!(error, "request 2 cannot be written as 'ssdsim': 512 bytes at 100; expected whole sectors of 512 bytes");
    assert_eq!(fs::read(&output).unwrap(), b"old");
    let skip = TraceOptions { on_error: flashraid_workload::OnError::Skip, ..TraceOptions::default() };
    let report = converted(&path, &skip, &TraceSlice::default(), &output, "ssdsim").unwrap();
    assert_eq!((report.written, report.unwritable, report.first_unwritable.unwrap()), (2, 2, error));
    assert_eq!(fs::read_to_string(&output).unwrap(), "1000 0 0 1 0\n4000 0 0 1 1\n");
}

#[test]
fn times_are_rounded_down_and_counted() {
    let path = file("rounded.csv", b"ts_us,op,offset,size,flags,latency_us\n1,W,0,512,,\n2.999,R,512,512,,\n");
    let output = file("rounded.fio", b"");
    let report = converted(&path, &TraceOptions::default(), &TraceSlice::default(), &output, "fio").unwrap();
    assert_eq!((report.written, report.rounded, report.tick_ns), (2, 1, 1000));
    assert_eq!(read(&output, &TraceOptions::default()).unwrap().0[1].arrival_ns, 2000);
}

/// Endings alone decide, and what is written under such a name is read as what it is.
#[test]
fn names_of_outputs() {
    let original = file("names.csv", b"ts_us,op,offset,size,flags,latency_us\n0,R,0,4096,,\n5,W,4096,4096,,\n");
    for (name, expected) in [
        ("x.csv", "flashraid"),
        ("hm_0.csv.gz", "flashraid"),
        ("ycsb.csv", "flashraid"),
        ("tencent-volume.csv.gz", "flashraid"),
        ("vscsi-converted.csv", "flashraid"),
        ("x.ssdsim.trace.xz", "ssdsim"),
        ("heimdall.ssdsim.trace", "ssdsim"),
        ("x.ssdsim", "ssdsim"),
        ("x.blkparse.txt.gz", "blkparse"),
        ("fiu-alibaba.blkparse.txt", "blkparse"),
        ("hm_0.fio.log", "fio"),
        ("x.iolog", "fio"),
    ] {
        let format = formats::for_output(Path::new(name)).unwrap();
        assert_eq!(format.name, expected, "{name}");
        let path = file(&format!("{}.d-{name}", expected), b"");
        convert(&original, &TraceOptions::default(), &TraceSlice::default(), &path, format, &mut |_, _| true).unwrap();
        let (requests, summary) = read(&path, &TraceOptions::default()).unwrap();
        assert_eq!((requests.len(), summary.format), (2, expected), "{name}");
    }
    assert_eq!(formats::for_output(Path::new("-")).unwrap().name, "flashraid");
    for name in ["x.dat", "x.blkparse", "x.ascii", "x.trace", "x.spc", "x.ssdsim-us.trace", "ycsb.txt", "fio.txt"] {
        let error = formats::for_output(Path::new(name)).err().unwrap().to_string();
        assert!(error.starts_with(&format!("{name}: the file name implies no format to write; expected --to flashraid")), "{error}");
    }
}

#[test]
fn a_trace_is_not_written_over() {
    let content = b"ts_us,op,offset,size,flags,latency_us\n0,R,0,4096,,\n";
    let original = file("same.csv", content);
    let (link, hard) = (own_folder().join("same-link.csv"), own_folder().join("same-hard.csv"));
    std::os::unix::fs::symlink(&original, &link).unwrap();
    fs::hard_link(&original, &hard).unwrap();
    let format = formats::find("flashraid").unwrap();
    for output in [&original, &link, &hard] {
        let options = TraceOptions::default();
        let converted = convert(&original, &options, &TraceSlice::default(), output, format, &mut |_, _| true).map(drop);
        let anonymised = anonymise(&original, &options, 1, output, format, &mut |_, _| true).map(drop);
        for result in [converted, anonymised] {
            let error = result.unwrap_err().to_string();
            let should = format!("{}: the same file as the trace, {}; expected another one", output.display(), original.display());
            assert_eq!(error, should);
        }
    }
    assert_eq!(fs::read(&original).unwrap(), content);
}

#[test]
fn interrupted_or_in_the_way() {
    let folder = own_folder();
    let output = folder.join("out.csv.gz");
    let sample = in_repository("samples/pgbench-transactions.csv.gz");
    let format = formats::find("flashraid").unwrap();
    let error = convert(&sample, &TraceOptions::default(), &TraceSlice::default(), &output, format, &mut |_, _| false).unwrap_err();
    assert!(matches!(error, TraceError::Interrupted));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    let error = converted(&sample, &TraceOptions::default(), &TraceSlice::default(), &folder, "flashraid").unwrap_err().to_string();
    assert!(error.ends_with("not a regular file; expected the name of one, or - for standard output"), "{error}");
    let missing = folder.join("no/such/folder");
    assert!(matches!(
        converted(&sample, &TraceOptions::default(), &TraceSlice::default(), &missing, "flashraid"),
        Err(TraceError::Io { .. })
    ));
    #[cfg(unix)]
    {
        // A link stays, and what it points at is replaced.
        std::os::unix::fs::symlink("target.csv", folder.join("link.csv")).unwrap();
        fs::write(folder.join("target.csv"), "old").unwrap();
        converted(&sample, &TraceOptions::default(), &TraceSlice::default(), &folder.join("link.csv"), "flashraid").unwrap();
        assert!(fs::symlink_metadata(folder.join("link.csv")).unwrap().is_symlink());
        assert!(fs::read_to_string(folder.join("target.csv")).unwrap().starts_with("ts_us,"));
    }
}
