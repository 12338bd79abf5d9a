#![no_main]

#[path = "../../it/repair.rs"]
mod repair;
#[path = "../../it/targets.rs"]
#[expect(dead_code, reason = "each fuzzer has a target of its own")]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    targets::round_trip(data);
});
