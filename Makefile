# A thin front: CMakePresets.json says how to build, tools/ does the work.
#
#   JOBS=4           compile jobs at once (default: one per core)
#   SETUP=:          do not look for, or install, Debian packages
#   BASE=COMMIT      what lint and check compare with (default: where HEAD left
#                    origin/main)
JOBS ?= $(shell nproc)
SETUP ?= tools/setup
SEEDS ?= 1000
FUZZ ?= frame
TIME ?= 60

# $(call build,PRESET[,TARGETS]): all targets unless some are named.
build = cmake --preset $(1) >/dev/null && \
        cmake --build --preset $(1) -j $(JOBS) $(if $(2),--target $(2))

.DEFAULT_GOAL := help
.PHONY: help demo test test-formats test-slurm test-torch2 debug asan tsan \
        simulate chaos bench bench-tensorflow fuzz format lint check \
        build-report clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-17s%s\n", $$1, $$2}' \
	  $(MAKEFILE_LIST)

demo: ## Fashion-MNIST on a local cluster, whose tasks are killed meanwhile
	@$(SETUP)
	@$(call build,release,capstan fashion_mnist)
	@tools/demo build/release/bin

test: ## build and run every test (release)
	@$(SETUP)
	@tools/test release -j $(JOBS)

test-slurm: ## jobs under a real Slurm, which it installs if need be
	@$(SETUP)
	@$(call build,release,capstan hello_cluster)
	@tools/test_slurm

test-formats: ## our files against TensorBoard, safetensors, tfrecord of PyPI
	@$(SETUP)
	@$(call build,release,formats)
	@tools/test_formats

test-torch2: ## what uses libtorch, with PyPI's torch 2 (540 MB)
	@$(SETUP)
	@tools/test_torch2 -j $(JOBS)

debug: ## the tests without optimisation
	@$(SETUP)
	@tools/test debug -j $(JOBS)

asan: ## the tests under AddressSanitizer and UBSan
	@$(SETUP)
	@tools/test asan -j $(JOBS)

tsan: ## the tests under ThreadSanitizer
	@$(SETUP)
	@tools/test tsan -j $(JOBS)

simulate: ## seeded faults in virtual time (SEEDS=1000 SCENARIO=file)
	@$(SETUP)
	@$(call build,release,simulate)
	@build/release/bin/simulate --seeds $(SEEDS) \
	  $(if $(SCENARIO),--scenario $(SCENARIO))

chaos: ## real processes killed at random (TIME=600 seconds)
	@$(SETUP)
	@$(call build,release,capstan custom_loop train_program)
	@tools/chaos build/release/bin $(if $(filter command line,$(origin TIME)),\
	  --time $(TIME))

bench-tensorflow: ## beside TensorFlow 2.15, which it gets from PyPI
	@$(SETUP)
	@$(call build,release,bench_train bench_dispatch)
	@tools/bench_tensorflow --docs

bench: ## the benchmarks; figures in runs/bench/*.json
	@$(SETUP)
	@$(call build,release,benchmarks)
	@mkdir -p runs/bench
	@set -e; for program in build/release/bin/bench_*; do \
	  echo "$$program"; \
	  $$program --json runs/bench/$$(basename $$program).json; \
	done

fuzz: ## libFuzzer (FUZZ=frame TIME=60); new inputs in build/fuzz/corpus
	@$(SETUP) --fuzz
	@$(call build,fuzz,fuzz_$(FUZZ))
	@mkdir -p build/fuzz/corpus/$(FUZZ)
	@build/fuzz/bin/fuzz_$(FUZZ) -max_total_time=$(TIME) \
	  -print_final_stats=1 -artifact_prefix=build/fuzz/$(FUZZ)- \
	  build/fuzz/corpus/$(FUZZ) fuzz/corpus/$(FUZZ)

format: ## format all sources
	@$(SETUP) --lint
	@tools/format

lint: ## format, clang, clang-tidy of what changed (BASE=commit, ALL=1)
	@$(SETUP) --lint
	@tools/lint -j $(JOBS) \
	  $(if $(ALL),--all,$(if $(BASE),--since $(BASE)))

check: ## before sending: lint, and tests of what changed under asan, tsan
	@$(SETUP) --lint
	@tools/check -j $(JOBS) $(if $(BASE),--since $(BASE))

build-report: ## where the time of the release build went
	@tools/build_report

clean: ## delete build/
	@rm -rf build
