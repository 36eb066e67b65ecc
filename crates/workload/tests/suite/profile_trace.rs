//! A profile read as if it were a trace.

use crate::support::{file, options, read};
use flashraid_vocabulary::HostRequest;
use flashraid_workload::{Profile, TraceOptions, profile::SHIPPED};
use std::path::Path;

const TEXT: &str = r#"
requests = 3000
seed = 5
space_bytes = 1048576
arrivals = { law = "poisson", mean_ns = 1000 }

[[streams]]
ops = { read = 1, write = 1 }
sizes = { law = "fixed", bytes = 8192 }
"#;

#[test]
fn a_profile_is_the_trace_that_it_describes() {
    let expected: Vec<HostRequest> = Profile::parse(TEXT, "").unwrap().requests().unwrap().collect();
    assert_eq!(expected.len(), 3000);
    let (requests, summary) = read(&file("workload.toml", TEXT.as_bytes()), &TraceOptions::default()).unwrap();
    assert_eq!(requests, expected);
    assert_eq!((summary.format, summary.requests, summary.sha256.len()), ("profile", 3000, 64));
    let limited = TraceOptions { limit: 1500, ..options("profile") };
    assert_eq!(read(&file("any-name", TEXT.as_bytes()), &limited).unwrap().0, expected[..1500]);
}

#[test]
fn shipped_profiles_are_traces_by_name() {
    for shipped in SHIPPED {
        let options = TraceOptions { limit: 500, ..TraceOptions::default() };
        let name = format!("profile:{}", shipped.name);
        let (requests, summary) = read(Path::new(&name), &options).unwrap();
        let expected: Vec<_> = Profile::parse(shipped.text, "").unwrap().requests().unwrap().take(500).collect();
        assert_eq!(requests, expected, "{name}");
        assert_eq!((summary.name, summary.format), (name, "profile"));
    }
}

#[test]
fn what_is_wrong_is_said_in_a_line() {
    let message = |path: &Path| read(path, &TraceOptions::default()).unwrap_err().to_string();
    let of_text = |name: &str, text: &str| {
        let path = file(name, text.as_bytes());
        message(&path).replace(&path.display().to_string(), "FILE")
    };
    assert_eq!(
        of_text("key.toml", &TEXT.replace("seed", "sed")),
        "FILE:3:1: unknown field `sed`, expected one of `about`, `seed`, `requests`, `duration_ns`, `space_bytes`, `page_bytes`, \
         `arrivals`, `diurnal`, `streams`, `twin`; the nearest is seed"
    );
    assert!(of_text("value.toml", &TEXT.replace("3000", "0")).starts_with("FILE: requests = 0: allowed is at least 1"));
    assert!(message(Path::new("profile:nonsense")).starts_with("unknown profile nonsense; there are adaptive-ali_0"));
    assert!(message(Path::new("profile:cr5m-unform")).starts_with("unknown profile cr5m-unform; the nearest is cr5m-uniform"));
    assert!(of_text("nul.toml", "\u{0}").starts_with("FILE:1:"));
    let path = file("bytes.toml", b"\xff");
    assert_eq!(message(&path), format!("{}: not UTF-8 text, as TOML is", path.display()));
}
