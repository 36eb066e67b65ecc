#![no_main]

#[path = "../checks/profile.rs"]
mod profile;

libfuzzer_sys::fuzz_target!(|data: &[u8]| profile::check(data));
