//! Speed of every reader, file reading and SHA-256 included:
//! `cargo bench -p flashraid-workload --bench readers [-- WORD...]`. Words (`ssdsim plain`) choose the rows printed; `quick` reads
//! little, once, to see that all of them run.
//!
//! Each file holds the same million requests (70 % reads of 4 to 16 KiB); the fastest of five passes counts, as what
//! disturbs a pass can only slow it down. MB are of text, unpacked; targets are for files that are not packed.

use flashraid_vocabulary::{HostOp, HostRequest};
use flashraid_workload::{Arrivals, MissingOp, Synth, Trace, TraceOptions, formats, write_trace};
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

const QUICK: &str = "quick";
const REQUESTS: u64 = 1_000_000;
const QUICK_REQUESTS: u64 = 2_000;
const PASSES: u32 = 5;

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let synth = Synth {
        requests: if is_quick() { QUICK_REQUESTS } else { REQUESTS },
        seed: 2,
        space_bytes: 16 << 30,
        page_bytes: 4096,
        read_share: 0.7,
        min_pages: 1,
        max_pages: 4,
        interval_ns: 100_000,
        arrivals: Arrivals::Fixed,
    };
    let requests: Vec<HostRequest> = synth.requests().expect("a valid workload").collect();
    // A profile is no file of requests.
    for format in formats::FORMATS.iter().filter(|format| format.name != "profile") {
        let path = folder.path().join(format.name);
        match write_trace(&path, format, false, requests.iter().copied(), &mut |_, _| true) {
            Ok(_) => {}
            Err(_) => fs::write(&path, text_of(format.name, &requests)).expect("the trace is written"),
        }
        let text_bytes = fs::metadata(&path).expect("the file is there").len();
        if is_chosen(format.name, "plain") {
            measure(&path, text_bytes, format.name, "plain", requests.len());
        }
        for (program, suffix) in [("gzip", "gz"), ("zstd", "zst"), ("xz", "xz")] {
            if !is_chosen(format.name, program) {
                continue;
            }
            let packed = folder.path().join(format!("{}.{suffix}", format.name));
            let output = fs::File::create(&packed).expect("a file for the packed trace");
            match Command::new(program).arg("-1c").arg(&path).stdout(output).status() {
                Ok(status) if status.success() => measure(&packed, text_bytes, format.name, program, requests.len()),
                _ => println!("{:<12} {program:<6} left out: no {program} command", format.name),
            }
        }
    }
}

/// Whether the words of the command line, if there are any, all name this row.
fn is_chosen(format: &str, compression: &str) -> bool {
    let mut words = std::env::args().skip(1).filter(|word| !word.starts_with("--") && word != QUICK);
    words.all(|word| word == format || word == compression)
}

fn is_quick() -> bool {
    std::env::args().any(|word| word == QUICK)
}

/// The formats that flashraid only reads.
fn text_of(format: &str, requests: &[HostRequest]) -> Vec<u8> {
    let mut text = header_of(format);
    for request in requests {
        write_line(&mut text, format, request).expect("a vector takes every byte");
    }
    text
}

fn header_of(format: &str) -> Vec<u8> {
    let header = match format {
        "systor" => "Timestamp,Response,IOType,LUN,Offset,Size\n",
        "cloudphysics" => "version,time,op,size,lbn\n",
        "etw" => {
            "BeginHeader\n\
             DiskRead, TimeStamp, Process Name ( PID), ThreadID, IrpPtr, ByteOffset, IOSize, ElapsedTime, DiskNum, IrpFlags, FileName\n\
             DiskWrite, TimeStamp, Process Name ( PID), ThreadID, IrpPtr, ByteOffset, IOSize, ElapsedTime, DiskNum, IrpFlags, FileName\n\
             EndHeader\n"
        }
        "lcs" => {
            let magic = 0x1234_5678_9ABC_DEF0_u64.to_le_bytes();
            return [&magic[..], &2_u64.to_le_bytes(), &[0; 1000], &magic].concat();
        }
        "biosnoop" => "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES   LAT(ms)\n",
        "iosnoop" => "STARTs         ENDs           COMM             PID    TYPE DEV      BLOCK        BYTES     LATms\n",
        _ => "",
    };
    header.as_bytes().to_vec()
}

fn write_line(text: &mut Vec<u8>, format: &str, request: &HostRequest) -> io::Result<()> {
    let HostRequest { arrival_ns, offset_bytes, size_bytes, op, .. } = *request;
    let is_read = op == HostOp::Read;
    let (letter, word, zero_is_write) = if is_read { ('R', "Read", 1) } else { ('W', "Write", 0) };
    let (seconds, nanos, micros) = (arrival_ns / 1_000_000_000, arrival_ns % 1_000_000_000, arrival_ns / 1000);
    let (millis, in_milli) = (micros / 1000, micros % 1000);
    let (lba, sectors) = (offset_bytes / 512, size_bytes / 512);
    match format {
        "spc" => writeln!(text, "0,{lba},{size_bytes},{letter},{seconds}.{:06}", nanos / 1000),
        "msr" => {
            let ticks = 128_166_372_000_000_000 + arrival_ns / 100;
            writeln!(text, "{ticks},host,0,{word},{offset_bytes},{size_bytes},4321")
        }
        "systor" => {
            writeln!(text, "{}.{nanos:09},0.000806000,{letter},0,{offset_bytes},{size_bytes}", 1_456_095_145 + seconds)
        }
        "alibaba" => writeln!(text, "{},{letter},{offset_bytes},{size_bytes},{}", lba % 100, 1_577_808_144_000_000 + micros),
        "tencent" => writeln!(text, "{},{lba},{sectors},{},{}", 1_538_323_200 + seconds, u8::from(!is_read), lba % 100 + 1000),
        "etw" => writeln!(
            text,
            "{:>19}, {micros:>10}, mail store (4242), {:>10}, 0xfffffa80{:08x}, 0x{offset_bytes:010x}, 0x{size_bytes:08x}, {:>11}, \
             {:>8}, 0x000043, \"C:\\data\\index\"",
            format!("Disk{word}"),
            160,
            lba,
            1000,
            0
        ),
        "fiu" => writeln!(text, "{} 4253 nfsd {lba} {sectors} {letter} 6 0 {:032x}", 89_966_000_000_000 + arrival_ns, lba + 1),
        "heimdall" => writeln!(text, "{millis}.{in_milli:03} 0 {offset_bytes} {size_bytes} {zero_is_write}"),
        "disksim" => writeln!(text, "{millis}.{in_milli:03} 0 {lba} {sectors} {zero_is_write}"),
        "diskmon" => writeln!(text, "{}\t{seconds}.{:06}\t0.00073433\t0\t{word}\t{lba}\t{sectors}\t\r", lba % 1000, nanos / 1000),
        "cloudphysics" => {
            writeln!(text, "1,{},{},{size_bytes},{lba}", 5_633_000_000_000 + micros, if is_read { "28" } else { "2a" })
        }
        "blkreplay" => writeln!(text, "{seconds:>7}.{nanos:09} ; {lba:>12} ; {sectors:>4} ; {letter} ; 0.0 ; 0.0"),
        "tracefs" => writeln!(
            text,
            "        postgres-1201    [001] ..... {:>5}.{:06}: block_rq_issue: 7,0 {letter}S {size_bytes} () {lba} + {sectors} none,0,0 [postgres]",
            81_233 + seconds,
            nanos / 1000
        ),
        "nvme" => writeln!(
            text,
            "        postgres-1201    [001] ..... {:>5}.{:06}: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=2, cmdid=217, nsid=1, flags=0x0, meta=0x0, \
             cmd=(nvme_cmd_{} slba={lba}, len={}, ctrl=0x0, dsmgmt=0, reftag=0)",
            81_233 + seconds,
            nanos / 1000,
            word.to_ascii_lowercase(),
            sectors - 1
        ),
        "biosnoop" => writeln!(
            text,
            "{:<11} {:<14} {:<7} {:<9} {letter} {lba:<10} {size_bytes:<7}{:>7}",
            format!("{seconds}.{:06}", nanos / 1000),
            "postgres",
            1201,
            "nvme0n1",
            "0.12"
        ),
        "iosnoop" => writeln!(
            text,
            "{:<14} {:<14} {:<16} {:<6} {letter:<4} {:<8} {lba:<12} {size_bytes:<6} {:>8}",
            format!("{}.{:06}", 81_233 + seconds, nanos / 1000),
            format!("{}.{:06}", 81_233 + seconds, nanos / 1000 + 120),
            "postgres",
            1201,
            "259,0",
            "0.12"
        ),
        "fio-log" => writeln!(text, "{millis}, 112333, {}, {size_bytes}, {offset_bytes}, 0", u8::from(!is_read)),
        "columns" => writeln!(text, "{seconds}.{nanos:09},1201,{letter},{offset_bytes},{size_bytes}"),
        "blktrace" => {
            let event = (1_u32 << 22 | 7) | if is_read { 1 << 16 } else { 1 << 17 };
            text.write_all(&0x6561_7407_u32.to_le_bytes())?;
            text.write_all(&((arrival_ns / 100_000) as u32).to_le_bytes())?;
            text.write_all(&arrival_ns.to_le_bytes())?;
            text.write_all(&lba.to_le_bytes())?;
            [size_bytes as u32, event, 1201, 8 << 20, 0, 0].iter().try_for_each(|word| text.write_all(&word.to_le_bytes()))
        }
        "oracle-general" => {
            text.write_all(&(seconds as u32).to_le_bytes())?;
            text.write_all(&(lba / 8).to_le_bytes())?;
            text.write_all(&4096_u32.to_le_bytes())?;
            text.write_all(&(-1_i64).to_le_bytes())
        }
        "lcs" => {
            text.write_all(&(seconds as u32).to_le_bytes())?;
            text.write_all(&(lba / 8).to_le_bytes())?;
            text.write_all(&4096_u32.to_le_bytes())?;
            text.write_all(&if is_read { 12_u32 } else { 13 }.to_le_bytes())?;
            text.write_all(&(-1_i64).to_le_bytes())
        }
        "vscsi" => {
            text.write_all(&(lba as u32).to_le_bytes())?;
            text.write_all(&(size_bytes as u32).to_le_bytes())?;
            text.write_all(&1_u32.to_le_bytes())?;
            text.write_all(&if is_read { 0x28_u16 } else { 0x2A }.to_le_bytes())?;
            text.write_all(&0x0100_u16.to_le_bytes())?;
            text.write_all(&lba.to_le_bytes())?;
            text.write_all(&(5_633_000_000_000 + micros).to_le_bytes())
        }
        other => panic!("no writer for {other}: add one here"),
    }
}

/// Megabytes of text a second that a reader must reach.
fn target_of(format: &str) -> u32 {
    if matches!(format, "flashraid" | "ssdsim" | "msr") { 500 } else { 200 }
}

fn measure(path: &Path, text_bytes: u64, format: &str, compression: &str, requests: usize) {
    let mut options = TraceOptions { format: format.to_owned(), missing_op: Some(MissingOp::Mix(0.7)), ..TraceOptions::default() };
    if format == "columns" {
        options.set("columns", "time:s,pid,op,offset,size").expect("these are columns");
    }
    let mut batch = Vec::new();
    let mut best_ns = u128::MAX;
    for _ in 0..if is_quick() { 1 } else { PASSES } {
        #[expect(clippy::disallowed_methods, reason = "it measures real time")]
        let start = Instant::now();
        let mut trace = Trace::open(path, &options).expect("the trace opens");
        while trace.read_batch(&mut batch).expect("every line is good") > 0 {
            batch.clear();
        }
        let summary = trace.finish().expect("the trace ends well");
        best_ns = best_ns.min(start.elapsed().as_nanos());
        assert_eq!(summary.requests, requests as u64);
    }
    let megabytes_per_second = text_bytes as f64 * 1e3 / best_ns as f64;
    let target = target_of(format);
    let verdict = match compression {
        "plain" if megabytes_per_second < f64::from(target) => format!("target {target}: MISSED"),
        "plain" => format!("target {target}"),
        _ => String::new(),
    };
    println!(
        "{format:<12} {compression:<6} {:>6.1} ns/line {:>6.1} bytes/line {megabytes_per_second:>6.0} MB/s  {verdict}",
        best_ns as f64 / requests as f64,
        text_bytes as f64 / requests as f64,
    );
}
