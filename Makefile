# Everything happens in .venv. Stamp files in it remember what is installed, so that a second call of a target
# installs nothing and needs no network; they are older than pyproject.toml only when that has changed.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:

PYTHON ?= python3
GPU ?=
TEST_MODELS ?= qwen2.5-coder-0.5b qwen2.5-coder-1.5b
COVERAGE_FLOOR ?= 90

VENV := .venv
PY := $(VENV)/bin/python
RAGJUDGE := $(PY) -m ragjudge
PIP := $(PY) -m pip install -q --disable-pip-version-check --no-input --retries 3
export PIP_DEFAULT_TIMEOUT ?= 60

# --- what llama.cpp is built for ------------------------------------------------------------------------------

BACKENDS := cpu cuda metal vulkan
FLAGS_cpu :=
FLAGS_cuda := -DGGML_CUDA=on
FLAGS_metal := -DGGML_METAL=on
FLAGS_vulkan := -DGGML_VULKAN=on

# Without GPU= the build that is there stays: `make install GPU=cuda`, then `make demo`, keeps CUDA.
BUILT := $(shell cat $(VENV)/.backend 2>/dev/null)
BACKEND := $(or $(GPU),$(BUILT),cpu)
ifeq ($(filter $(BACKEND),$(BACKENDS)),)
$(error GPU=$(BACKEND) is not known; accepted are cuda, metal, vulkan, and cpu for none)
endif
ifeq ($(BACKEND),metal)
ifneq ($(shell uname -s),Darwin)
$(error GPU=metal works on macOS only; accepted here are cuda, vulkan, and cpu for none)
endif
endif

# Two parts of llama.cpp are left out, since nothing here uses them and they take two thirds of the build: the
# multimodal one, by its option; and the helpers of its command-line tools, whose option llama-cpp-python forces on,
# by a file that CMake reads right after llama.cpp's own project() call.
LEAN := $(VENV)/lean-llama.cmake
CMAKE_FLAGS = -DLLAVA_BUILD=OFF '-DCMAKE_PROJECT_llama.cpp_INCLUDE=$(CURDIR)/$(LEAN)' $(FLAGS_$(BACKEND))
LLAMA_REQUIREMENT = $(shell sed -n 's/^llama = \["\(llama-cpp-python==[^"]*\)"\]$$/\1/p' pyproject.toml)

INSTALLED := $(VENV)/.installed-$(BACKEND)
DEVELOPING := $(VENV)/.dev

# A Python named on the command line must be the one that is used.
ifeq ($(origin PYTHON)$(filter clean help,$(MAKECMDGOALS)),command line)
ifneq ($(wildcard $(PY)),)
ifneq ($(shell $(PYTHON) -V 2>&1),$(shell $(PY) -V 2>&1))
$(error $(VENV) holds $(shell $(PY) -V 2>&1), not $(PYTHON); run `make clean` first)
endif
endif
endif

# --- what must be there before anything starts -----------------------------------------------------------------

define need_python
$(PYTHON) -c 'import sys' 2>/dev/null || { \
  echo 'Python is missing: "$(PYTHON)" cannot be run. Install Python 3.10 to 3.13, or name one: make PYTHON=python3.12' >&2; \
  exit 1; }; \
$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' || { \
  echo "$$($(PYTHON) -V) is not supported: ragjudge needs Python 3.10 to 3.13. Name one: make PYTHON=python3.12" >&2; \
  exit 1; }; \
$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
  echo '$(PYTHON) cannot make virtual environments. On Debian and Ubuntu: apt install python3-venv' >&2; \
  exit 1; }
endef

define need_compiler
for compiler in $$CXX c++ g++ clang++; do command -v "$$compiler" >/dev/null 2>&1 && found=1; done; \
test -n "$$found" || { \
  echo 'A C++ compiler is missing: llama.cpp is built from source. Looked for: $$CXX c++ g++ clang++.' >&2; \
  echo 'Get one with: apt install g++ (Debian, Ubuntu) | dnf install gcc-c++ (Fedora) | xcode-select --install (macOS)' >&2; \
  exit 1; }
endef

define need_gpu_compiler
case $(BACKEND) in \
cuda) command -v "$${CUDACXX:-nvcc}" >/dev/null 2>&1 || { \
  echo 'GPU=cuda needs the CUDA compiler: neither $$CUDACXX nor nvcc is on the PATH. Install the CUDA toolkit' \
       '(often: export PATH=/usr/local/cuda/bin:$$PATH).' >&2; exit 1; };; \
vulkan) command -v glslc >/dev/null 2>&1 || { \
  echo 'GPU=vulkan needs the shader compiler glslc. Get it with: apt install glslc libvulkan-dev | the Vulkan SDK' >&2; \
  exit 1; };; \
esac
endef

define make_venv
test -x $(PY) || { echo 'Making $(VENV) with $(PYTHON) ...'; $(PYTHON) -m venv $(VENV); }
endef

# --- targets ---------------------------------------------------------------------------------------------------

.PHONY: help install demo test check lint format typecheck cov bench build clean test-models

help: ## show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

install: $(INSTALLED) ## install ragjudge and the local judge into .venv; GPU=cuda|metal|vulkan for a GPU (cpu: back to none)

# llama-cpp-python is installed first and by itself: it alone is compiled, and compiled anew for another GPU.
# pip's store of built wheels does not tell one build from another, so a build for a GPU stays away from it.
NO_CACHE = $(if $(filter cpu,$(BACKEND)),,--no-cache-dir)
ANEW = $(if $(filter $(BACKEND),$(or $(BUILT),cpu)),,--force-reinstall --no-deps)

$(INSTALLED): pyproject.toml
	@$(need_python)
	@$(need_compiler)
	@$(need_gpu_compiler)
	@$(make_venv)
	@test -n "$(LLAMA_REQUIREMENT)" || { echo 'pyproject.toml has no line: llama = ["llama-cpp-python==..."]' >&2; exit 1; }
	@rm -f $(VENV)/.installed-*
	@echo 'Installing $(LLAMA_REQUIREMENT) for $(BACKEND): compiles llama.cpp unless that is done already' \
	     '($(if $(filter cpu,$(BACKEND)),about 3 minutes on 2 cores,for a GPU much longer than the 3 minutes for the CPU)) ...'
	@echo 'set(LLAMA_BUILD_COMMON OFF)' > $(LEAN)
	@CMAKE_ARGS="$(CMAKE_FLAGS) $$CMAKE_ARGS" $(PIP) $(NO_CACHE) $(ANEW) '$(LLAMA_REQUIREMENT)'
	@echo $(BACKEND) > $(VENV)/.backend
	@echo 'Installing ragjudge and what it needs (about 20 seconds) ...'
	@$(PIP) -e '.[llama,hub]'
	@touch $@

$(DEVELOPING): pyproject.toml
	@$(need_python)
	@$(make_venv)
	@echo 'Installing the development tools (about 30 seconds) ...'
	@$(PIP) -e '.[dev]'
	@touch $@

demo: $(INSTALLED) ## grade the example suite with the default model; on a fresh machine installs and gets everything first
	@echo 'Looking for the default model (1.1 GB, downloaded once) ...'
	@$(RAGJUDGE) models pull
	@test -f demo/suite.yaml || { echo 'Writing the example suite into demo/ ...'; $(RAGJUDGE) init demo >/dev/null; }
	@code=0; $(RAGJUDGE) run demo/suite.yaml || code=$$?; test $$code -le 1 || exit $$code

test-models: $(INSTALLED)
	@for model in $(TEST_MODELS); do \
	  echo "Looking for the test model $$model (downloaded once) ..."; \
	  $(RAGJUDGE) models pull "$$model" || exit; \
	done

PYTEST := RAGJUDGE_REQUIRE_NATIVE=1 RAGJUDGE_REQUIRE_MODEL=1 $(PY) -m pytest --cov

test: $(INSTALLED) $(DEVELOPING) test-models ## run all tests, with a real small model, and hold branch coverage to its floor
	@$(PYTEST) -q --cov-report=term-missing:skip-covered --cov-fail-under=$(COVERAGE_FLOOR)

check: lint typecheck test ## everything that must hold: lint, types, tests

lint: $(DEVELOPING) ## report what ruff finds, and what is not formatted
	@$(PY) -m ruff check
	@$(PY) -m ruff format --check

format: $(DEVELOPING) ## mend what ruff can mend, and format
	@$(PY) -m ruff check --fix
	@$(PY) -m ruff format

typecheck: $(DEVELOPING) ## check the types of package and tests (mypy, strict)
	@$(PY) -m mypy

cov: $(INSTALLED) $(DEVELOPING) test-models ## run all tests and show which lines and branches they miss (also in htmlcov/)
	@$(PYTEST) -q --cov-report=term-missing --cov-report=html

bench: $(INSTALLED) $(DEVELOPING) ## measure the figures of the README
	@$(PY) -m tests.benchmarks

build: $(DEVELOPING) ## build the source archive and the wheel into dist/, and check what is in them
	@rm -rf dist
	@echo 'Building the source archive, and the wheel from it ...'
	@log=$$($(PY) -m build --no-isolation --outdir dist . 2>&1) || { echo "$$log" >&2; exit 1; }
	@$(PY) -m tests.project.archives dist

clean: ## remove .venv, build results and tool caches; never models, demo/ or cached answers
	@rm -rf $(VENV) build dist htmlcov .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@rm -rf *.egg-info
	@find ragjudge tests -type d -name __pycache__ -prune -exec rm -rf {} +
