#![no_main]

#[path = "../checks/configuration.rs"]
mod configuration;

libfuzzer_sys::fuzz_target!(|data: &[u8]| configuration::check(data));
