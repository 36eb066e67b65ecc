//! What is written is read again as it was.

use crate::support::{options, own_folder, read, request};
use flashraid_vocabulary::HostOp::{Flush, Read, Trim, Write, WriteZeroes};
use flashraid_vocabulary::HostRequest;
use flashraid_workload::{DeviceLayout, TraceOptions, TraceSlice, convert, formats, write_trace};
use std::fs;
use std::path::PathBuf;

fn written(name: &str, format: &str, requests: &[HostRequest]) -> Result<PathBuf, String> {
    let path = own_folder().join(name);
    let format = formats::find(format).unwrap();
    let count = write_trace(&path, format, false, requests.iter().copied(), &mut |_, _| true).map_err(|error| error.to_string())?;
    assert_eq!(count, requests.len() as u64);
    Ok(path)
}

/// Requests of every kind that a format may hold: whole sectors, whole microseconds, several devices by order of appearance.
fn every_kind(devices: &[u32], with_zeroes: bool) -> Vec<HostRequest> {
    let mut requests = Vec::new();
    for round in 0..2000_u64 {
        let source = devices[round as usize * devices.len() / 2000];
        let arrival_ns = round * round * 1000;
        let sectors = 1 + round * 7919 % 4096;
        let offset_bytes = round * 104_729 % 1_000_003 * 512;
        let op = match round % 5 {
            0 => Read,
            1 => Flush,
            2 => Trim,
            3 if with_zeroes => WriteZeroes,
            _ => Write,
        };
        let is_flush = op == Flush;
        requests.push(request(arrival_ns, op, if is_flush { 0 } else { offset_bytes }, if is_flush { 0 } else { sectors * 512 }, source));
    }
    requests
}

fn assert_round_trip(format: &str, requests: &[HostRequest]) {
    let path = written(&format!("round-trip.{format}"), format, requests).unwrap();
    let apart = TraceOptions { layout: DeviceLayout::Apart, ..options(format) };
    assert_eq!(read(&path, &apart).unwrap().0, requests, "{format}");
}

#[test]
fn round_trips() {
    assert_round_trip("flashraid", &every_kind(&[0], true));
    assert_round_trip("blkparse", &every_kind(&[0, 8 << 20 | 16, 7, u32::MAX], true));
    assert_round_trip("fio", &every_kind(&[0, 1, 2], false));
    let plain: Vec<HostRequest> = every_kind(&[0, 5, 77], false).into_iter().filter(|request| matches!(request.op, Read | Write)).collect();
    assert_round_trip("ssdsim", &plain);
}

#[test]
fn blkparse_text() {
    let requests = [
        request(4001, Read, 1_048_576, 4096, 8 << 20 | 16),
        request(1_000_000_000, Flush, 0, 0, 8 << 20 | 16),
        request(12_345_678_901_234, WriteZeroes, 512, 1024, 259 << 20 | 2),
    ];
    let expected = "  8,16   0        1     0.000004001     0  D   R 2048 + 8 [flashraid]
  8,16   0        2     1.000000000     0  D  FN [flashraid]
259,2    0        3 12345.678901234     0  D   N 1 + 2 [flashraid]
";
    assert_eq!(fs::read_to_string(written("text.blkparse", "blkparse", &requests).unwrap()).unwrap(), expected);
    assert_eq!(
        written("refused.blkparse", "blkparse", &[request(0, Write, 100, 512, 0)]).unwrap_err(),
        "request 1 cannot be written as 'blkparse': 512 bytes at 100; expected whole sectors of 512 bytes"
    );
}

#[test]
fn fio_text() {
    let requests = [
        request(1999, Read, 100, 4096, 3),
        request(2000, Flush, 0, 0, 3),
        request(2001, Write, 0, 512, 9),
        request(3_000_500, Trim, 0, 4_294_967_295, 3),
    ];
    let expected = "fio version 3 iolog
1 device3 add
1 device3 open
1 device3 read 100 4096
2 device3 sync 0 0
2 device9 add
2 device9 open
2 device9 write 0 512
3000 device3 trim 0 4294967295
3000 device3 close
3000 device9 close
";
    assert_eq!(fs::read_to_string(written("text.iolog", "fio", &requests).unwrap()).unwrap(), expected);
    assert_eq!(
        written("refused.iolog", "fio", &[requests[0], request(5, WriteZeroes, 0, 512, 0)]).unwrap_err(),
        "request 2 cannot be written as 'fio': it is a WriteZeroes; expected reads, writes, trims and flushes"
    );
    assert_eq!(
        written("refused.iolog", "fio", &[request(5, Trim, 0, 1 << 32, 0)]).unwrap_err(),
        "request 1 cannot be written as 'fio': a length of 4294967296 bytes; expected at most 4294967295"
    );
}

/// Our own format has a column for write streams where requests may name some; other formats lose them, and say of how many.
#[test]
fn streams_are_kept_where_there_is_a_column_for_them() {
    let folder = own_folder();
    let (input, output) = (folder.join("streams-in.csv"), folder.join("streams-out.csv"));
    let lines = "0,W,0,4096,,,\n1,W,4096,4096,,,7\n2,F,0,0,,,65535\n";
    let text = format!("ts_us,op,offset,size,flags,latency_us,stream\n{lines}");
    fs::write(&input, &text).unwrap();
    let (requests, _) = read(&input, &TraceOptions::default()).unwrap();
    assert_eq!(requests.iter().map(|request| request.stream).collect::<Vec<_>>(), [0, 7, 65535]);
    let to = |name: &str| {
        let format = formats::find(name).unwrap();
        convert(&input, &TraceOptions::default(), &TraceSlice::default(), &output, format, &mut |_, _| true).unwrap()
    };
    assert_eq!(to("flashraid").streams_lost, 0);
    assert_eq!(fs::read_to_string(&output).unwrap(), text);
    assert_eq!(to("blkparse").streams_lost, 2);
    assert!(fs::read_to_string(&output).unwrap().lines().count() >= 3);
    for wrong in ["x", "-1", "65536"] {
        fs::write(&input, text.replace("65535", wrong)).unwrap();
        let error = read(&input, &TraceOptions::default()).unwrap_err().to_string();
        assert!(error.contains(&format!(":4:11: stream is '{wrong}'; expected a whole number from 0 to 65535 or nothing")), "{error}");
    }
    // Without the column a file is as it was.
    fs::write(&input, "ts_us,op,offset,size\n0,W,0,4096\n").unwrap();
    to("flashraid");
    assert_eq!(fs::read_to_string(&output).unwrap(), "ts_us,op,offset,size,flags,latency_us\n0,W,0,4096,,\n");
}
