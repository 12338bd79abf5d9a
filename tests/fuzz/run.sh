#!/bin/sh
# Runs a fuzzer with the stable toolchain: run.sh index|decode|round_trip [seconds] [more libFuzzer options].
#
# `cargo fuzz run decode` from this folder does the same where cargo-fuzz and a nightly toolchain are at hand, with
# AddressSanitizer on top. This needs neither: the flags below are the coverage that libFuzzer looks at, and the codec
# has no unsafe code that a sanitizer could catch.
set -eu
cd "$(dirname "$0")"
target=$1
seconds=${2:-60}
shift $(($# < 2 ? $# : 2))
case $target in
round_trip) mkdir -p corpus/round_trip ;;
*) [ -d "corpus/$target" ] || cargo run --release --bin seeds -- "corpus/$target" ;;
esac
# The host is named, so that the flags reach neither build scripts nor macros.
host=$(rustc -vV | sed -n 's/^host: //p')
export RUSTFLAGS="--cfg fuzzing -Ccodegen-units=1 -Cpasses=sancov-module \
  -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
  -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"
cargo build --release --target "$host" --bin "$target"
mkdir -p "artifacts/$target"
# One thread: coverage of one input must not be taken for another's.
export RAYON_NUM_THREADS=1
exec "${CARGO_TARGET_DIR:-target}/$host/release/$target" "corpus/$target" -artifact_prefix="artifacts/$target/" \
  -max_total_time="$seconds" -timeout=20 -rss_limit_mb=1024 -max_len=20000 "$@"
