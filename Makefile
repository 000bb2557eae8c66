# Everything a person or CI types. Each target sets up what it needs; `make help` lists them.

PYTHON ?= python3.11
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
LOCKED := --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-annotate

.DEFAULT_GOAL := help
.PHONY: help run test control-plane cluster check bench lock clean

help:  ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(READY)  ## start the server over the embedded demo cluster
	@$(BIN)/gpuclass-apiserver demo $(ARGS)

test: $(READY)  ## run all tests, with coverage
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest $(ARGS)
	@$(BIN)/coverage combine -q
	@echo "coverage of the pure rooms, all of it required:"
	@$(BIN)/coverage report --include='storage/model/*,storage/pool/*' --fail-under=100 --skip-covered
	@echo "coverage of everything, at least 90 % required:"
	@$(BIN)/coverage report --fail-under=90 --skip-covered

control-plane: $(READY)  ## build etcd and Kubernetes for the cluster tier, once, into a cache
	@PYTHONPATH=tests $(BIN)/python -m cluster.control_plane.build

cluster: control-plane  ## start a control plane with the server registered, to play with
	@PYTHONPATH=tests $(BIN)/python -m cluster.playground $(ARGS)

check: $(READY)  ## format, lint, types, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: $(READY)  ## the performance bars, each as a figure and a ratio
	@$(BIN)/python tests/bench/run.py $(ARGS)

lock:  ## resolve the lock files anew (needs uv on the PATH)
	uv pip compile -q pyproject.toml --group dev $(LOCKED) --upgrade -o .ci/requirements.lock
	uv pip compile -q pyproject.toml $(LOCKED) -c .ci/requirements.lock -o .ci/runtime.lock

clean:  ## remove the environment and what the tools leave behind
	rm -rf $(VENV) .demo .cluster dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage*

# The environment holds exactly what the lock names, each file by its hash.
$(READY): .ci/requirements.lock pyproject.toml
	@echo "setting up $(VENV)"
	@$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r .ci/requirements.lock
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
