# Footplate: `make help` lists what can be done; `make run` and `make test` are all a newcomer needs.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
AGENTS := tests/agents/node_modules
PAGE := src/footplate/interfaces/http/page
PAGE_SOURCES := $(shell find web/src web/worker web/public web/index.html web/vite.config.ts web/tsconfig.json -type f 2>/dev/null)
PYTEST := $(BIN)/python -m pytest
# Half of their time is waiting: for timeouts, for child processes.
QUICK := $(PYTEST) tests/unit tests/contract tests/simulation -n 4 -m 'not e2e and not long'
# What one process compiled the next need not compile again, whatever the shell says: a third of the time of the quick tests.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help run page wheel demo try test test-all test-kills test-fresh test-fast simulate check format reference docs bench clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("Footplate needs Python 3.11 or newer; this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

$(AGENTS)/.ready: tests/agents/package.json tests/agents/package-lock.json
	cd tests/agents && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

web/node_modules/.ready: web/package.json web/package-lock.json
	cd web && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

ifneq ($(shell command -v npm),)
$(PAGE)/.ready: web/node_modules/.ready $(PAGE_SOURCES)
	cd web && npm run --silent build
	@touch $@
else
$(PAGE)/.ready:
	@echo "npm is not installed: the web page is left out, the server says how to get it"
endif

page: $(PAGE)/.ready ## the web page, built into the package (only when its sources changed)

run: $(VENV)/.ready $(PAGE)/.ready ## the server, with a new token: prints its address and link, opens nothing
	@$(BIN)/footplate serve --new-token $(ARGS)

wheel: $(VENV)/.ready ## the package with the page inside, in dist/: the same sources give the same bytes
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct 2>/dev/null || echo 1700000000) $(BIN)/python -m hatchling build -d dist

demo: $(VENV)/.ready ## a guided tour with the built-in mock agent, in this terminal
	@$(BIN)/footplate run --engine mock demo

try: $(VENV)/.ready $(AGENTS)/.ready ## the real Claude CLI on a scripted model, in a closed environment: make try ARGS='run "hello"'
	@$(BIN)/python scripts/try.py $(ARGS)

BWRAP := command -v bwrap >/dev/null || [ "$$(id -u)" != 0 ] || { apt-get update -q && apt-get install -y -q bubblewrap; }

CHROMIUM := command -v chromium >/dev/null || [ "$$(id -u)" != 0 ] || { apt-get update -q && apt-get install -y -q --no-install-recommends chromium fonts-dejavu-core; }

test: $(VENV)/.ready $(AGENTS)/.ready $(PAGE)/.ready ## the whole suite (the real CLI end to end; the older one where it matters)
	@$(BWRAP)
	@$(CHROMIUM)
	$(QUICK)
	$(PYTEST) tests -n 2 -m 'e2e or long'

test-all: $(VENV)/.ready $(AGENTS)/.ready $(PAGE)/.ready ## every end-to-end test on every Claude CLI version, and the long form of tests/e2e/test_readers.py
	@$(BWRAP)
	@$(CHROMIUM)
	$(QUICK)
	FOOTPLATE_READERS=200 $(PYTEST) tests -n 2 -m 'e2e or long' --all-versions

test-kills: $(VENV)/.ready $(AGENTS)/.ready ## a thousand random kills over mock sessions and fifty over real ones (an hour)
	FOOTPLATE_KILLS=1000 FOOTPLATE_KILLS_CLAUDE=50 $(PYTEST) tests/e2e/test_random_kills.py -n 2 -s

test-fresh: $(VENV)/.ready ## the README's first minute in a new clone in which everything is installed (minutes, from the network)
	FOOTPLATE_FRESH=1 $(PYTEST) tests/e2e/test_first_minute.py -k clone

test-fast: $(VENV)/.ready $(AGENTS)/.ready ## unit and contract tests only
	$(QUICK)

SEEDS ?= 20000
FIRST ?= $(shell date +%y%m%d)00000
simulate: $(VENV)/.ready ## run the simulator, with new seeds each day: make simulate SEEDS=20000
	$(BIN)/python -m tests.simulation --seeds $(FIRST):$$(( $(FIRST) + $(SEEDS) )) --jobs 2 --shrink

check: $(VENV)/.ready web/node_modules/.ready ## ruff, mypy --strict, import-linter, the page's type check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	cd web && npm run --silent check

format: $(VENV)/.ready ## let ruff put the code in order
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

reference: $(VENV)/.ready ## write the generated pages of docs/reference anew
	$(BIN)/python scripts/schema.py
	$(BIN)/python scripts/reference.py
	$(BIN)/python scripts/page_types.py
	$(BIN)/python scripts/dependencies.py
	$(BIN)/python scripts/api_pages.py

docs: $(VENV)/.ready ## the documentation as a site, in site/ (links are checked)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[docs]'
	$(BIN)/mkdocs build --quiet --strict

bench: $(VENV)/.ready ## speed and memory as ratios against peers, in one run: make bench ARGS='--quick'
	$(BIN)/python -m bench $(ARGS)

clean: ## remove everything that the targets above made
	rm -rf $(VENV) $(AGENTS) $(PAGE) web/node_modules bench/peers/.venv bench/peers/node_modules bench/peers/server/node_modules bench/peers/editor/node_modules dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
