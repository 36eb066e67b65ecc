//! Readers of records of one size: oracleGeneral, lcs, vscsi.

use crate::support::{file, in_repository, message, options, read, request, sample, sample_with};
use flashraid_vocabulary::HostOp::{Flush, Read, Write};
use flashraid_workload::{MissingOp, OnError, TraceOptions};
use std::fs;

const MAGIC: u64 = 0x1234_5678_9ABC_DEF0;
const SECOND: u64 = 1_000_000_000;

fn sample_bytes(name: &str) -> Vec<u8> {
    fs::read(in_repository("samples/formats").join(name)).unwrap()
}

#[test]
fn oracle_general_sample() {
    let reads = TraceOptions { missing_op: Some(MissingOp::Read), ..TraceOptions::default() };
    let (requests, summary) = sample_with("example.oracleGeneral.bin", &reads);
    assert_eq!(
        requests,
        [
            request(0, Read, 1 << 30, 4096, 0),
            request(333_333_333, Read, (1 << 30) + 4096, 4096, 0),
            request(666_666_666, Read, 1 << 30, 4096, 0),
            request(SECOND, Read, 28672, 4096, 0),
            request(3 * SECOND, Read, 1 << 32, 4096, 0),
        ]
    );
    assert_eq!(summary.format, "oracle-general");
    let writes = TraceOptions { missing_op: Some(MissingOp::Write), ..TraceOptions::default() };
    assert!(sample_with("example.oracleGeneral.bin", &writes).0.iter().all(|request| request.op == Write));
}

#[test]
fn missing_operations_must_be_given() {
    let error = message("oracle-general", &sample_bytes("example.oracleGeneral.bin"));
    assert_eq!(error, "FILE: record 1: no operation is recorded; expected --op read, --op write or --op mix:X (X: share of reads)");
}

/// The share is met, and the same requests are read every time.
#[test]
fn mixed_operations() {
    let mut bytes = Vec::new();
    for number in 0..20_000_u64 {
        bytes.extend((number as u32 / 100).to_le_bytes());
        bytes.extend(number.to_le_bytes());
        bytes.extend(4096_u32.to_le_bytes());
        bytes.extend((-1_i64).to_le_bytes());
    }
    let path = file("mix.oracleGeneral", &bytes);
    let mix = TraceOptions { missing_op: Some(MissingOp::Mix(0.3)), ..TraceOptions::default() };
    let (requests, _) = read(&path, &mix).unwrap();
    let share = requests.iter().filter(|request| request.op == Read).count() as f64 / 20_000.0;
    assert!((share - 0.3).abs() < 0.015, "{share}");
    assert_eq!(read(&path, &mix).unwrap().0, requests);
    assert_eq!(requests[150].arrival_ns, SECOND + SECOND / 2);
}

#[test]
fn malformed_oracle_general() {
    let good = sample_bytes("example.oracleGeneral.bin");
    let mut size = good.clone();
    size[24 + 12] = 1;
    let expected = "FILE: record 2: a size of 4097 bytes; expected 4096, as in a block trace of 4 KiB blocks (--object-bytes sets another distance between objects)";
    let options = TraceOptions { missing_op: Some(MissingOp::Read), ..options("oracle-general") };
    assert_eq!(crate::support::message_with(&options, &size), expected);
    let mut object = good.clone();
    object[24 + 11] = 0x80;
    let expected = "FILE: record 2: object 9223372036855037953; expected a block number, below 2^64 bytes (hashed keys are not addresses)";
    assert_eq!(crate::support::message_with(&options, &object), expected);
    let sectors = TraceOptions { object_bytes: Some(512), ..options.clone() };
    let (requests, _) = read(&file("sectors.oracleGeneral", &size), &sectors).unwrap();
    let (blocks, _) = read(&file("blocks.oracleGeneral", &good), &options).unwrap();
    assert_eq!((requests[1].offset_bytes, requests[1].size_bytes), (blocks[1].offset_bytes / 8, 4097));
    // The last record is cut off: it is left out.
    let (requests, summary) = read(&file("cut.oracleGeneral", &good[..119]), &options).unwrap();
    assert_eq!((requests.len(), summary.truncated, summary.skipped), (4, 1, 0));
    assert_eq!(crate::support::message_with(&options, b""), "FILE: an empty file; expected at least one request");
    let skip = TraceOptions { on_error: OnError::Skip, ..options };
    let (requests, summary) = read(&file("skip.oracleGeneral", &size[..119]), &skip).unwrap();
    assert_eq!((requests.len(), summary.skipped, summary.truncated), (3, 1, 1));
}

#[test]
fn lcs_sample() {
    let (requests, summary) = sample("example.lcs");
    assert_eq!(
        requests,
        [
            request(0, Read, 1 << 30, 4096, 5),
            request(333_333_333, Write, (1 << 30) + 4096, 4096, 5),
            request(666_666_666, Read, 1 << 30, 4096, 5),
            // Tenant 6 lies behind tenant 5, which ends 8 KiB behind 1 GiB.
            request(SECOND, Write, (1 << 30) + (1 << 20) + 28672, 4096, 6),
        ]
    );
    assert_eq!(summary.unsupported, [("lcs operations other than READ and WRITE", 1)]);
    assert_eq!((summary.format, summary.devices), ("lcs", 2));
}

/// A header of this version and length, and one record: block 9, written by tenant 3 in second 7.
fn lcs(version: u64, header_bytes: usize, operation: u8) -> Vec<u8> {
    let mut bytes = vec![0; header_bytes];
    bytes[..8].copy_from_slice(&MAGIC.to_le_bytes());
    bytes[8..16].copy_from_slice(&version.to_le_bytes());
    bytes[header_bytes - 8..].copy_from_slice(&MAGIC.to_le_bytes());
    bytes.extend(7_u32.to_le_bytes());
    bytes.extend(9_u64.to_le_bytes());
    if version < 3 {
        bytes.extend(4096_u32.to_le_bytes());
    } else {
        bytes.extend(4096_i64.to_le_bytes());
    }
    if version > 1 {
        bytes.extend((u32::from(operation) | 3 << 8).to_le_bytes());
    }
    if version > 2 {
        bytes.extend(60_u32.to_le_bytes());
    }
    bytes.extend((-1_i64).to_le_bytes());
    let features = [0, 0, 0, 0, 1, 2, 4, 8, 16].get(version as usize).copied().unwrap_or(0);
    bytes.extend(vec![0xFF; 4 * features]);
    bytes
}

#[test]
fn lcs_versions() {
    let writes = TraceOptions { missing_op: Some(MissingOp::Write), ..TraceOptions::default() };
    for version in 1..=8 {
        for header_bytes in [1024, 8192] {
            for operation in [13, 0, 255] {
                let path = file(&format!("v{version}-{header_bytes}-{operation}.bin"), &lcs(version, header_bytes, operation));
                let (requests, summary) = read(&path, &writes).unwrap();
                assert_eq!(requests, [request(0, Write, 36864, 4096, if version == 1 { 0 } else { 3 })], "version {version}");
                assert_eq!(summary.format, "lcs");
            }
        }
    }
    let two = [lcs(5, 8192, 12), lcs(5, 8192, 13)[8192..].to_vec()].concat();
    let (requests, _) = read(&file("two.lcs", &two), &TraceOptions::default()).unwrap();
    assert_eq!(requests, [request(0, Read, 36864, 4096, 3), request(SECOND / 2, Write, 36864, 4096, 3)]);
}

#[test]
fn malformed_lcs() {
    for (bytes, expected) in [
        (lcs(9, 8192, 12), "FILE: lcs version 9; expected 1 to 8"),
        (lcs(0, 1024, 12), "FILE: lcs version 0; expected 1 to 8"),
        (lcs(u64::MAX, 1024, 12), "FILE: lcs version 18446744073709551615; expected 1 to 8"),
        (lcs(2, 4096, 12), "FILE: no complete lcs header; expected the magic number 123456789abcdef0 at both ends of it"),
        (lcs(2, 8192, 12)[..8191].to_vec(), "FILE: no complete lcs header; expected the magic number 123456789abcdef0 at both ends of it"),
        (Vec::new(), "FILE: an empty file; expected at least one request"),
        (lcs(2, 1024, 12)[..1050].to_vec(), "FILE: record 1: the file ends inside a record (26 of 28 bytes); expected whole records"),
        (lcs(2, 1024, 0), "FILE: record 1: no operation is recorded; expected --op read, --op write or --op mix:X (X: share of reads)"),
        (lcs(2, 1024, 12)[..1024].to_vec(), "FILE: no request in the file; expected at least one request"),
    ] {
        assert_eq!(message("lcs", &bytes), expected);
    }
}

#[test]
fn vscsi_samples() {
    for name in ["example.v1.vscsi", "example.v2.vscsi"] {
        let (requests, summary) = sample(name);
        assert_eq!(
            requests,
            [
                request(0, Write, 42_932_745 * 512, 4096, 0),
                request(500_000, Read, 1_048_576, 65536, 0),
                request(1_000_000, Write, 3584, 512, 0),
            ]
        );
        assert_eq!(summary.ignored, [("SCSI commands other than reads, writes and flushes", 1)]);
        assert_eq!(summary.format, "vscsi");
    }
    let one = &sample_bytes("example.v1.vscsi")[..32];
    assert_eq!(read(&file("one.vscsi", one), &TraceOptions::default()).unwrap().0.len(), 1);
    let one = &sample_bytes("example.v2.vscsi")[..40];
    assert_eq!(read(&file("one.vscsi2", one), &TraceOptions::default()).unwrap().0.len(), 1);
}

/// Every operation code that moves data, of both directions.
#[test]
fn vscsi_commands() {
    for (command, expected) in [(0x08, Some(Read)), (0x28, Some(Read)), (0x88, Some(Read)), (0xA8, Some(Read)), (0x0A, Some(Write))]
        .into_iter()
        .chain([(0x2A, Some(Write)), (0x8A, Some(Write)), (0xAA, Some(Write)), (0x35, Some(Flush)), (0x12, None)])
    {
        let mut bytes = sample_bytes("example.v1.vscsi")[..64].to_vec();
        bytes[32 + 12] = command;
        let (requests, _) = read(&file("command.vscsi", &bytes), &TraceOptions::default()).unwrap();
        assert_eq!(requests.get(1).map(|request| request.op), expected, "{command:#x}");
    }
    for (command, expected) in [
        (0x42, "discards of SCSI (UNMAP)"),
        (0x93, "writes of one block to many of SCSI (WRITE SAME)"),
        (0x89, "other SCSI commands that change data"),
    ] {
        let mut bytes = sample_bytes("example.v1.vscsi")[..64].to_vec();
        bytes[32 + 12] = command;
        let (_, summary) = read(&file("changes.vscsi", &bytes), &TraceOptions::default()).unwrap();
        assert_eq!((&summary.unsupported[..], summary.ignored.len()), (&[(expected, 1)][..], 0));
    }
}

#[test]
fn malformed_vscsi() {
    let good = sample_bytes("example.v2.vscsi");
    let mut version = good.clone();
    version[80 + 3] = 1;
    assert_eq!(message("vscsi", &version), "FILE: record 3: version 1; expected the version of the first record");
    let (requests, summary) = read(&file("cut.vscsi2", &good[..70]), &options("vscsi")).unwrap();
    assert_eq!((requests.len(), summary.truncated), (1, 1));
    let expected = "FILE: neither version 1 nor version 2 of vscsi records begins here; expected records of 32 or 40 bytes";
    assert_eq!(message("vscsi", &good[..31]), expected);
    assert_eq!(message("vscsi", &[0x55; 400]), expected);
    let mut block = good.clone();
    block[16 + 7] = 0xFF;
    assert!(message("vscsi", &block).starts_with("FILE: record 1: block 18374686479714556425; expected at most 2^54"));
    let mut time = good.clone();
    time[24 + 7] = 0xFF;
    assert!(message("vscsi", &time).ends_with("; expected a time that fits 64 bits in nanoseconds"));
    let skip = TraceOptions { on_error: OnError::Skip, ..options("vscsi") };
    let (requests, summary) = read(&file("skip.vscsi", &[block, version].concat()), &skip).unwrap();
    assert_eq!((requests.len(), summary.skipped), (5, 2));
}
