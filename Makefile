# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The commands of README. Each does what it needs first (set-up, build), which
# costs well under a second when nothing changed.

PRESET ?= dev
BUILD := $(if $(filter dev,$(PRESET)),build,build-$(PRESET))

.PHONY: help setup build demo test gpu-test wheel format lint tidy tidy-diff docs clean

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

setup: ## Install what is missing on Debian 12
	@scripts/setup.sh

$(BUILD)/build.ninja: CMakePresets.json | setup
	@cmake --preset $(PRESET)

build: setup $(BUILD)/build.ninja ## Build the tools into build/bin (PRESET=dev or asan)
	@cmake --build $(BUILD)

demo: build ## Compile the example models, run one, and show what happened
	@scripts/demo.sh $(BUILD)

test: build ## Run every test that needs no GPU
	@scripts/run_tests.py $(BUILD)

gpu-test: build ## Run the tests that need an NVIDIA GPU
	@scripts/run_tests.py $(BUILD) --gpu

wheel: build ## Pack the Python package into dist/*.whl
	@.deps/venv/bin/python scripts/build_wheel.py $(BUILD) dist

format: setup ## Format C++ and Python
	@git ls-files -co --exclude-standard '*.h' '*.c' '*.cpp' | xargs -r clang-format-22 -i
	@.deps/venv/bin/ruff format -q . && .deps/venv/bin/ruff check -q --fix .

lint: setup ## Check format, spelling, licence headers and Python
	@scripts/lint.sh

tidy: build ## Run clang-tidy over lib and tools (an hour)
	@run-clang-tidy-22 -quiet -warnings-as-errors='*' -p $(BUILD) '$(CURDIR)/(lib|tools)/.*'

tidy-diff: build ## Run clang-tidy over the lines that changed since SINCE=HEAD~1
	@git diff -U0 $(or $(SINCE),HEAD~1) -- 'lib/*.cpp' 'tools/*.cpp' | \
	  clang-tidy-diff-22.py -p1 -quiet -warnings-as-errors='*' -only-check-in-db -clang-tidy-binary clang-tidy-22 -j2 -path $(BUILD)

docs: build ## Refresh docs/reference from the .td files
	@scripts/generate_docs.py

clean: ## Remove what was built (.deps stays)
	@rm -rf build build-asan
