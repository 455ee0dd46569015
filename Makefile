# Every target installs what it needs once: stamp files in .venv say what is there already. Bytecode is compiled then
# too, so that commands start as fast where Python is told not to write it.
.POSIX:

PYTHON = python3
BIN = .venv/bin
RUNTIME = .venv/.runtime
TESTING = .venv/.testing
FUZZER = "atheris>=3,<4"
CLUSTER = .venv/.cluster

.PHONY: run cluster test test-all check docs bench bench-ratios bench-fuzz audit ui lock

run: $(RUNTIME)
	@$(BIN)/rackrecon refresh

# What the machines of a cluster need beside the rest.
cluster: $(CLUSTER)

test: $(TESTING)
	$(BIN)/pytest -m "not server" -n 2

test-all: $(TESTING)
	$(BIN)/pytest -n 2

check: $(TESTING)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/sqlfluff lint sql
	$(BIN)/rackrecon reference --check

docs: $(RUNTIME)
	$(BIN)/rackrecon reference

bench: $(TESTING)
	$(BIN)/python -m tests.bench

bench-ratios: $(TESTING)
	$(BIN)/python -m tests.bench.ratios

# RACKRECON_FUZZ_SECONDS is the time of each of some two dozen targets, 30 by default.
bench-fuzz: $(TESTING)
	@$(BIN)/python -c "import atheris" 2>/dev/null || if command -v uv >/dev/null 2>&1; then \
		uv pip install --quiet --python $(BIN)/python $(FUZZER); \
	else $(BIN)/python -m pip install --quiet --disable-pip-version-check $(FUZZER); fi
	$(BIN)/python -m tests.bench.fuzz

# Asks a service on the network about every locked version; one that it cannot tell about fails the audit too.
audit:
	@[ -x .venv/audit/bin/pip-audit ] || { $(PYTHON) -m venv .venv/audit && .venv/audit/bin/pip install --quiet pip-audit; }
	.venv/audit/bin/pip-audit --strict --require-hashes --disable-pip --progress-spinner off \
		-r requirements.lock -r requirements-test.lock

ui: $(RUNTIME)
	@$(BIN)/rackrecon ui

# --no-strip-extras: without it pip refuses the hashes of packages that are asked for with extras.
COMPILE = pip compile --quiet --no-strip-extras --generate-hashes --no-emit-index-url --no-annotate --no-header \
	--python-version 3.11 --universal --upgrade pyproject.toml

lock:
	@uv=$$(command -v uv) || { $(PYTHON) -m venv .venv/lock && .venv/lock/bin/pip install --quiet uv && uv=.venv/lock/bin/uv; }; \
	$$uv $(COMPILE) --extra build --output-file requirements.lock && \
	$$uv $(COMPILE) --extra cluster --extra build --constraint requirements.lock \
		--output-file requirements-cluster.lock && \
	$$uv $(COMPILE) --extra test --constraint requirements-cluster.lock --output-file requirements-test.lock

$(RUNTIME): requirements.lock pyproject.toml
	@if command -v uv >/dev/null 2>&1; then \
		uv venv --quiet --allow-existing --python $(PYTHON) .venv && \
		uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements.lock && \
		uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e . ; \
	else \
		$(PYTHON) -m venv .venv && \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock && \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . ; \
	fi
	@$(BIN)/python -m compileall -q pipelines
	@touch $(RUNTIME)

$(CLUSTER): $(RUNTIME) requirements-cluster.lock
	@if command -v uv >/dev/null 2>&1; then \
		uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements-cluster.lock; \
	else \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-cluster.lock; \
	fi
	@touch $(CLUSTER)

$(TESTING): $(RUNTIME) requirements-test.lock
	@if command -v uv >/dev/null 2>&1; then \
		uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements-test.lock; \
	else \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-test.lock; \
	fi
	@touch $(TESTING)
