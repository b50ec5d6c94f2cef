# `make` or `make help` lists what there is to do.

.DEFAULT_GOAL := help
.PHONY: help run test lint mistakes pages liars bench-load ladder older bench-bodies bench-memory bench-robots bench-closed elsewhere hosts measure picture check-programs check-servers check-durability false-alarms calibrate calibrate-programs simulate instructions fuzz

target := $(or $(CARGO_TARGET_DIR),target)
bakeoff := $(target)/release/bakeoff
proof := $(target)/release/proof
store := studies/kv/store

help: ## this list
	@sed -n 's/^\([a-z-]*\):.* ## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 22

STUDY ?= web
run: ## install what is missing, build, and run the web study, quick (STUDY=messages: another)
	@setup/install build
	@# What contenders need comes over the network while bakeoff is built.
	@$(MAKE) --no-print-directory --jobs=2 contenders program
	@# 3 says that all ran and no figure stands, as on a busy machine: the report tells why.
	$(bakeoff) run $(STUDY) --quick || [ $$? -eq 3 ]

.PHONY: contenders program
contenders:
	@setup/install run $(STUDY) quick

program:
	cargo build --locked --release -p bakeoff

SHOW ?= --quiet
test: ## install what is missing, lint, and run the tests (of contenders those of one of each kind)
	@setup/install test
	@if cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1; then \
		$(MAKE) --no-print-directory lint-own; \
	fi
	@# Tests wait for servers, clients and windows most of the time: twice as many as cores.
	.ci/tests $(SHOW) --test-threads=$$(($$(nproc) * 2))
	@# The store of studies/kv is no member. Its engines that are crates take a minute to compile.
	$(test-store) "$$($(store)/buildable | grep -vxe fjall -e postgres -e redb | paste -sd,)" -- --quiet

# Its own tests are those of the engines that this machine has.
test-store := cargo test --locked --manifest-path $(store)/Cargo.toml --target-dir $(target)/contenders --features

mistakes: ## make every known mistake again, and see whether its check names it (more than a quarter of an hour)
	@setup/install mistakes
	cargo build --locked --release -p bakeoff
	@# 3 says that all that could be made was caught, but not all could be made here.
	@# Only all of them are kept.
	$(bakeoff) mistakes $(or $(ARGS),--write docs/measured/mistakes.md) || [ $$? -eq 3 ]

PROFILE ?= quick
# A run of the profile `quick` or `then` is a study's README.md, and one of another a page beside it.
kept = $(STUDY)$(addprefix .,$(filter-out quick then,$(PROFILE)))
measure: ## run a study, keep the run, and write what came out into its page (STUDY=messages; PROFILE=then)
	@setup/install run $(STUDY) $(PROFILE)
	cargo build --locked --release -p bakeoff
	$(bakeoff) run $(STUDY) --profile $(PROFILE)
	@mkdir -p docs/measured/runs
	gzip -9nc runs/latest/run.json >docs/measured/runs/$(kept).json.gz
	setup/page $(kept) $(bakeoff)

pages: ## the page of each run that is kept, written anew as the judge of today has it
	cargo build --locked --release -p bakeoff
	@for run in docs/measured/runs/*.json.gz; do setup/page "$$(basename "$$run" .json.gz)" $(bakeoff); done

picture: ## the head of the last run's report, as README.md shows it
	@setup/install test
	chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1200,330 \
		--screenshot=docs/report.png file://$(CURDIR)/runs/latest/report.html

check-programs: ## every contender of studies of programs does each kind of its work (half an hour)
	@setup/install run
	cargo build --locked --release -p bakeoff
	@rm -f $(target)/unkept
	@set -e; for study in $$(grep -l '^kind = "program"' studies/*/study.toml | xargs -n1 dirname | xargs -n1 basename); do \
		for contender in $$(ls -d studies/$$study/*/contender.toml | xargs -n1 dirname | xargs -n1 basename); do \
			$(bakeoff) check $$study/$$contender || echo "^ $$study/$$contender" >>$(target)/unkept; \
		done; \
	done
	cargo test --locked -p bakeoff --test studies codecs:: -- --ignored
	@if [ -s $(target)/unkept ]; then cat $(target)/unkept; rm $(target)/unkept; exit 1; fi

check-servers: ## every contender that serves keeps its contract, and bears what no client of its study sends (ten minutes)
	@setup/install test
	cargo test --locked -p bakeoff --test command contenders:: -- --ignored
	cargo test --locked -p bakeoff --test studies -- --ignored web:: gateway::
	$(test-store) "$$($(store)/buildable | paste -sd,)"

liars: ## servers, programs, stores and gateways that lie, each beside what is said to find it out, a line each (ten minutes; LIARS=del-keeps,once-wrong: these alone)
	@setup/install test
	cargo test --locked -p bakeoff --test command liars:: -- --ignored --nocapture --test-threads=1

check-durability: ## stores that lose what comes between two moments are found out (some minutes)
	@setup/install test
	cargo test --locked -p bakeoff --test command durability:: -- --ignored

.PHONY: lint-own
lint: lint-own ## formatting and clippy, warnings denied: of all that is written in Rust here
	@# Contenders in Rust are no members: what they depend on is their own affair.
	@set -e; for manifest in studies/*/*/Cargo.toml; do \
		echo "$$manifest: clippy"; \
		cargo clippy --locked --manifest-path $$manifest --target-dir $(target)/contenders -- -D warnings; \
	done
	cargo clippy --locked --manifest-path $(store)/Cargo.toml --target-dir $(target)/contenders --features "$$($(store)/buildable | paste -sd,)" --all-targets -- -D warnings

# What `make test` has of it: what contenders depend on takes longer than all else.
lint-own:
	cargo fmt --all --check
	@set -e; for manifest in studies/*/*/Cargo.toml fuzz/Cargo.toml; do cargo fmt --check --manifest-path $$manifest; done
	cargo clippy --locked --workspace --all-targets -- -D warnings
	@# Nothing is linked here, so libFuzzer, which takes a C++ compiler, need not be built.
	CUSTOM_LIBFUZZER_PATH=/dev/null cargo clippy --locked --manifest-path fuzz/Cargo.toml --target-dir $(target) -- -D warnings

.PHONY: proof
proof:
	@setup/install bench
	cargo build --locked --release -p bakeoff -p proof

bench-load: proof ## CPU a request beside wrk, ab, h2load, hey, oha, gcannon and the bare loop, on stores beside redis-benchmark (ARGS=--quick)
	$(proof) speed $(or $(ARGS),--write docs/measured/speed.md)

ladder: proof ## what each step of a request costs: the bare loop, with stamps, with requests under way, with books, bakeoff
	$(proof) speed --ladder $(or $(ARGS),--rounds 15 --connections 30,1000,5000 --write docs/measured/ladder.md)

older: ## bakeoff as it was at REV, for `make bench-load ARGS='--older target/older/REV'` (REV=HEAD~10)
	@test -n "$(REV)" || { echo "make older REV=REVISION" >&2; exit 2; }
	@mkdir -p $(target)/older
	git worktree add --force --detach $(target)/older/source $(REV)
	@trap 'git worktree remove --force $(target)/older/source' EXIT; set -e; \
		cargo build --locked --release -p bakeoff --manifest-path $(target)/older/source/Cargo.toml \
			--target-dir $(target)/older/build; \
		cp $(target)/older/build/release/bakeoff $(target)/older/$(subst /,-,$(REV))

bench-bodies: proof ## bytes a second beside wrk: bodies of 4 KB, 64 KB and 1 MB
	$(proof) bodies $(or $(ARGS),--write docs/measured/bodies.md)

bench-memory: proof ## memory a connection, up to 10,000 connections
	$(proof) memory $(or $(ARGS),--write docs/measured/memory.md)

bench-robots: proof ## CPU a delivery and memory of thousands of robots in rooms, on one core
	$(proof) robots $(or $(ARGS),--write docs/measured/robots.md)

bench-closed: proof ## a connection a request, 5,000 at once, for a minute: no port runs short
	$(proof) closed $(or $(ARGS),--write docs/measured/closed.md)

elsewhere: proof ## what a busy processor costs work on another core (half a minute)
	$(proof) elsewhere $(or $(ARGS),--write docs/measured/elsewhere.md)

hosts: ## load from several hosts by ssh, Slurm and a stand-in for kubectl, and all ways to fail (as root; ten minutes)
	@setup/install hosts
	cargo build --locked --release -p bakeoff -p proof
	$(proof) hosts $(or $(ARGS),--write docs/measured/hosts.md)

SEED ?= 0
simulate: RUNS ?= 100000
simulate: ## RUNS=100000 simulated runs of the generator from SEED=0 on, each held to what truly happened (a minute)
	cargo run --locked --release -p load --features simulator --bin simulate -- $(RUNS) $(SEED)

instructions: ## instructions a request of the generator, as released (valgrind; a minute)
	cargo build --locked --release -p load --features simulator --bin instructions
	@for load in closed pipelined open gets sets; do \
		for requests in 20000 60000; do \
			valgrind --tool=callgrind --callgrind-out-file=/dev/null \
				$(target)/release/instructions $$load $$requests 2>&1 | \
				sed -n 's/.*Collected : *//p'; \
		done | paste -sd' ' | awk -v load=$$load '{ printf "%-10s %.1f\n", load, ($$2 - $$1) / 40000 }'; \
	done

fuzz: ## feed each decoder anything for five minutes (needs `cargo install --locked cargo-fuzz`)
	fuzz/run

false-alarms: RUNS ?= 20
false-alarms: proof ## the quick profile RUNS=20 times, and what the checks said (nearly two hours)
	@setup/install run web
	@# Runs of another time, or of one that was stopped, are no part of this tally.
	@rm -rf $(target)/false-alarms
	@for run in $$(seq $(RUNS)); do \
		echo "run $$run of $(RUNS)"; \
		$(bakeoff) run web --quick --runs $(target)/false-alarms >$(target)/false-alarms.log \
			|| [ $$? -eq 3 ] || { cat $(target)/false-alarms.log; exit 1; }; \
	done
	$(proof) alarms $$(find $(target)/false-alarms -mindepth 1 -maxdepth 1 -type d)

calibrate: proof ## times, rates and counts beside a server that knows its own, and queueing theory
	@# Only all of it, in full, is kept.
	$(proof) truth $(or $(ARGS),--write docs/measured/calibration.md)

calibrate-programs: ## what the lab measures of programs, beside JMH (a quarter of an hour)
	@setup/install run codecs
	cargo build --locked --release -p bakeoff -p proof
	$(proof) programs codecs $(or $(ARGS),--write docs/measured/programs.md)
