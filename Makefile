# SPDX-License-Identifier: Apache-2.0
# Makefile: the main entry point; every target is a short list of commands that also work by hand (see
# CMakePresets.json).

# AUTO builds CUDA if nvcc and an NVIDIA driver are both found; ON forces it, OFF omits it.
UPSWEEP_CUDA ?= AUTO
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 20
FOLDERS ?= apps bench docs python src tests

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup configure build tour test test-python test-all test-asan test-tsan test-tsan-python test-fuzz test-large cuda bundle wheel docs lint format clean

help:  ## what can be made
	@awk -F ':.*## ' '/^[a-z%-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

setup:  ## install what is missing: Debian packages, and .venv for what comes from PyPI
	@bash tools/setup.sh $(EXTRA)

configure: setup
	cmake --preset cpu-release -DUPSWEEP_CUDA=$(UPSWEEP_CUDA)

build: configure  ## build everything into build/; the command is build/bin/upsweep, .venv imports upsweep from there
	cmake --build build --parallel $(JOBS)
	@bash tools/python_path.sh

tour:  ## build, make real data, climb the ladders on it, and draw what was measured
	@bash tools/setup.sh --tour $(EXTRA)
	cmake --preset cpu-release -DUPSWEEP_CUDA=$(UPSWEEP_CUDA)
	cmake --build build --parallel $(JOBS) --target upsweep_command
	build/bin/upsweep ladder scan --sizes 1e7 --types int64
	cmake --build build --parallel $(JOBS) --target upsweep_python_package
	@bash tools/python_path.sh
	bash tools/tour.sh

test: build  ## the release build, and every test of it
	ctest --preset cpu-release --parallel $(JOBS)

# AREA: a problem, such as scan or segmented_reduce; or api, awkward, climb, io, sql.
area-%: configure  ## area-AREA: compiles what the tests of one area need, and runs these
	cmake --build build --parallel $(JOBS) --target $@

test-python: build  ## Awkward Array's own tests with upsweep's kernels, and the long tests of the Python package
	JOBS=$(JOBS) bash tools/test_python.sh

test-all: test test-python test-asan test-tsan test-fuzz  ## these, the sanitizer builds, and a minute of fuzzing

# Sanitizer builds contain only the tests that tests/*.cmake mark with SANITIZE.
test-asan:  ## tests under AddressSanitizer and UndefinedBehaviorSanitizer
test-tsan:  ## tests with threads under ThreadSanitizer
test-asan test-tsan: test-%: setup
	cmake --preset cpu-$*
	cmake --build build-$* --parallel $(JOBS)
	ctest --preset cpu-$* --parallel $(JOBS)

# libtsan must be loaded before Python's own libraries. pytest shows its reports only with -s.
test-tsan-python: setup  ## the Python package under ThreadSanitizer: calls of several threads, and those that a signal ends
	cmake --preset cpu-tsan -DUPSWEEP_PYTHON=ON
	cmake --build build-tsan --parallel $(JOBS) --target upsweep_python upsweep_python_query upsweep_python_files upsweep_python_plans
	LD_PRELOAD=$$(g++ -print-file-name=libtsan.so) TSAN_OPTIONS=suppressions=$(CURDIR)/tests/tsan_python.txt \
	  PYTHONPATH=$(CURDIR)/build-tsan/python setarch -R .venv/bin/python tests/run_pytest.py \
	  tests/python/test_calls.py tests/python/test_options.py tests/python/test_query.py -s -k "threads or signal or interrupt"

test-fuzz: setup  ## SQL, Parquet files and expressions made by libFuzzer, FUZZ_SECONDS of each; needs Clang
	cmake --preset cpu-fuzz -DUPSWEEP_FUZZ_SECONDS=$(FUZZ_SECONDS)
	cmake --build build-fuzz --parallel $(JOBS)
	ctest --preset cpu-fuzz --parallel $(JOBS)

# Compiles without a GPU; the tests that need one are then skipped.
cuda: setup  ## everything that has a CUDA half, into build-cuda/, and its tests; needs nvcc
	cmake --preset cuda-release
	cmake --build build-cuda --parallel $(JOBS) --target upsweep_command cuda_tests
	ctest --preset cuda-release -R '^cuda_'

bundle: setup  ## dist/: the command, the tests and their libraries, for a machine with only the driver; needs nvcc
	bash tools/bundle.sh

wheel: setup  ## dist/: wheels of upsweep, for 3.11 and for all later ones, and of upsweep-report; tested in clean environments
	CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) bash tools/wheel.sh

test-large: build  ## only the tests past 2^31 and 2^32 elements: up to 12 GB of memory, on a GPU 60
	ctest --output-on-failure --no-tests=error --test-dir build -L large

docs: configure  ## the guide, from build/docs/html/index.html on, with the API; warnings are errors
	cmake --build build --parallel $(JOBS) --target upsweep_python_package
	bash tools/docs.sh

lint: configure  ## clang-format, file headers, and clang-tidy of FOLDERS; warnings are errors
	bash tools/lint.sh $(FOLDERS)

format: setup  ## bring every C++ file into the format
	bash tools/format.sh

clean:  ## remove the build folders
	rm -rf build build-asan build-tsan build-fuzz build-debug build-cuda build-bundle build-bundle.away build-wheel dist
