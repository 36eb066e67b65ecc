//! What holds for a profile of a synthetic workload, whatever its file holds. Used by the fuzz target, and by the test that replays its
//! corpus.

use flashraid_vocabulary::HostOp;
use flashraid_workload::Profile;

/// Requests looked at of each.
const LIMIT: usize = 2_000;

/// Takes `data` as a profile.
///
/// # Panics
///
/// If an accepted profile does not come back the same from its own text, or makes requests that cannot be.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let profile = match Profile::parse(text, "profile.toml") {
        Ok(profile) => profile,
        Err(error) => return check_message(&error.to_string()),
    };
    let requests = match profile.requests() {
        Ok(requests) => requests,
        Err(error) => return check_message(&error.to_string()),
    };
    let again = Profile::parse(&profile.to_toml(), "again.toml").expect("what was written can be read");
    assert_eq!(again, profile);
    let mut latest_ns = 0;
    for request in requests.take(LIMIT) {
        assert!(request.arrival_ns >= latest_ns && request.arrival_ns <= 1 << 63, "{request:?}");
        latest_ns = request.arrival_ns;
        assert_eq!(request.op == HostOp::Flush, request.size_bytes == 0, "{request:?}");
        let end = request.offset_bytes.checked_add(request.size_bytes);
        assert!(end.is_some_and(|end| end <= profile.space_bytes), "{request:?}");
    }
}

/// One line of a sensible length.
fn check_message(message: &str) {
    assert!(!message.contains('\n') && message.len() < 4000, "{message}");
}
