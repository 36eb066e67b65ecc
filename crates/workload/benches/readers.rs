//! Nanoseconds a line of every reader, file reading and SHA-256 included:
//! `cargo bench -p flashraid-workload --bench readers [-- WORD...]`. Words (`ssdsim plain`) choose the rows printed.
//!
//! Each file holds the same million requests (70 % reads of 4 to 16 KiB); the fastest of five passes counts, as what
//! disturbs a pass can only slow it down.

use flashraid_vocabulary::{HostOp, HostRequest};
use flashraid_workload::{Arrivals, Synth, Trace, TraceOptions, formats, write_trace};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

const REQUESTS: u64 = 1_000_000;
const PASSES: u32 = 5;

fn main() {
    let folder = std::env::temp_dir().join(format!("flashraid-readers-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a temporary folder");
    let synth = Synth {
        requests: REQUESTS,
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
    for format in formats::FORMATS {
        let path = folder.join(format.name);
        match write_trace(&path, format, requests.iter().copied(), &mut |_, _| true) {
            Ok(_) => {}
            Err(_) => fs::write(&path, text_of(format.name, &requests)).expect("the trace is written"),
        }
        if is_chosen(format.name, "plain") {
            measure(&path, format.name, "plain");
        }
        for (program, suffix) in [("gzip", "gz"), ("zstd", "zst"), ("xz", "xz")] {
            if !is_chosen(format.name, program) {
                continue;
            }
            let packed = folder.join(format!("{}.{suffix}", format.name));
            let output = fs::File::create(&packed).expect("a file for the packed trace");
            match Command::new(program).arg("-1c").arg(&path).stdout(output).status() {
                Ok(status) if status.success() => measure(&packed, format.name, program),
                _ => println!("{:<10} {program:<6} left out: no {program} command", format.name),
            }
        }
    }
    fs::remove_dir_all(&folder).expect("the temporary folder can be removed");
}

/// Whether the words of the command line, if there are any, all name this row.
fn is_chosen(format: &str, compression: &str) -> bool {
    let mut words = std::env::args().skip(1).filter(|word| !word.starts_with("--"));
    words.all(|word| word == format || word == compression)
}

/// The formats that flashraid only reads.
fn text_of(format: &str, requests: &[HostRequest]) -> String {
    let mut text = String::new();
    for request in requests {
        let HostRequest { arrival_ns, offset_bytes, size_bytes, op, .. } = *request;
        let is_read = op == HostOp::Read;
        let written = match format {
            "spc" => {
                let (seconds, micros, kind) = (arrival_ns / 1_000_000_000, arrival_ns / 1000 % 1_000_000, if is_read { 'r' } else { 'w' });
                writeln!(text, "0,{},{size_bytes},{kind},{seconds}.{micros:06}", offset_bytes / 512)
            }
            "msr" => {
                let (ticks, kind) = (128_166_372_000_000_000 + arrival_ns / 100, if is_read { "Read" } else { "Write" });
                writeln!(text, "{ticks},host,0,{kind},{offset_bytes},{size_bytes},4321")
            }
            other => panic!("no writer for {other}: add one here"),
        };
        written.expect("a string takes every byte");
    }
    text
}

fn measure(path: &Path, format: &str, compression: &str) {
    let options = TraceOptions { format: format.to_owned(), ..TraceOptions::default() };
    let mut batch = Vec::new();
    let mut best_ns = u128::MAX;
    for _ in 0..PASSES {
        let start = Instant::now();
        let mut trace = Trace::open(path, &options).expect("the trace opens");
        while trace.read_batch(&mut batch).expect("every line is good") > 0 {
            batch.clear();
        }
        let summary = trace.finish().expect("the trace ends well");
        best_ns = best_ns.min(start.elapsed().as_nanos());
        assert_eq!(summary.requests, REQUESTS);
    }
    let bytes = fs::metadata(path).expect("the file is there").len();
    println!(
        "{format:<10} {compression:<6} {:>6.1} ns/line {:>6.1} bytes/line",
        best_ns as f64 / REQUESTS as f64,
        bytes as f64 / REQUESTS as f64
    );
}
