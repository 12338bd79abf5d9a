# What a contributor needs, by name. `make help` lists it. Runs with any POSIX make.
.POSIX:

CARGO = cargo
# Where Cargo puts what it builds.
TARGET = $${CARGO_TARGET_DIR:-target}
# Seconds that each fuzzer runs.
FUZZ_SECONDS = 60
# Arguments of the trainer and of the bench: see CONTRIBUTING.md.
TRAIN =
BENCH =

# (help prints what stands behind ##.)
help: ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-6s %s\n", $$1, $$2 }' Makefile

demo: need-cargo ## build the program and show what one file can do, with a real photograph
	$(CARGO) build --locked --release --features cli
	@sh tests/demo.sh "$(TARGET)/release/stepwell" "$(TARGET)/demo"

test: need-cargo lint doc build ## everything that has to pass before a commit
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && sh tests/demo.sh "$(TARGET)/debug/stepwell" "$$dir"
	$(CARGO) test --locked --features cli --doc
	$(CARGO) test --locked --features cli --lib --bins --tests

build: need-cargo
	$(CARGO) build --locked --features cli

fmt: need-cargo ## format all Rust code
	$(CARGO) fmt
	$(CARGO) fmt --manifest-path tests/train/Cargo.toml
	$(CARGO) fmt --manifest-path tests/fuzz/Cargo.toml

lint: need-cargo ## formatting, clippy with and without the program, links in the documents
	$(CARGO) fmt --check
	$(CARGO) fmt --check --manifest-path tests/train/Cargo.toml
	$(CARGO) fmt --check --manifest-path tests/fuzz/Cargo.toml
	$(CARGO) clippy --locked --all-targets --features cli -- -D warnings
	$(CARGO) clippy --locked --all-targets --no-default-features -- -D warnings
	$(CARGO) clippy --locked --all-targets --no-default-features --features cli -- -D warnings
	$(CARGO) check --locked --manifest-path tests/train/Cargo.toml --target-dir "$(TARGET)"
	sh tests/links.sh

doc: need-cargo ## build the documentation of the library
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --no-deps --features cli

bench: need-cargo ## measure sizes, quality and speed beside other codecs (long; see tests/bench/README.md)
	$(CARGO) build --locked --release --features cli
	python3 -m venv target/bench/venv
	target/bench/venv/bin/pip install --quiet -r tests/bench/requirements.txt
	target/bench/venv/bin/python tests/bench/photos.py
	target/bench/venv/bin/python tests/bench/run.py $(BENCH)

fuzz: need-cargo ## run every fuzzer for FUZZ_SECONDS (60); see tests/fuzz/README.md
	@for t in index decode round_trip; do sh tests/fuzz/run.sh $$t $(FUZZ_SECONDS) || exit 1; done

train: need-cargo ## fit the trained constants anew: make train TRAIN="PICTURES src"; see CONTRIBUTING.md
	$(CARGO) run --locked --release --manifest-path tests/train/Cargo.toml --target-dir "$(TARGET)" -- $(TRAIN)

clean: ## remove everything that was built
	$(CARGO) clean
	rm -rf tests/train/target tests/fuzz/target

need-cargo:
	@command -v $(CARGO) >/dev/null || { \
	    echo 'Stepwell is built with cargo, which is not installed. Install Rust 1.88 or later from https://rustup.rs,'; \
	    echo 'and what it links with:'; \
	    echo '    Debian, Ubuntu:  sudo apt-get install gcc libc6-dev'; \
	    echo '    macOS:           xcode-select --install'; \
	    exit 1; } >&2

.PHONY: help demo test build fmt lint doc bench fuzz train clean need-cargo
