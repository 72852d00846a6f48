# Every target sets up what it needs in .venv; nothing has to be installed by hand.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
JOBS ?= 2
FIGURES ?= fig1 fig3a fig4a fig6a  # those of drawn samples, which need no files
export OMP_NUM_THREADS ?= 1
export MPLBACKEND := Agg
unexport PYTHONDONTWRITEBYTECODE  # every agent of a test is a process; each would compile the package again

.PHONY: help setup test lint format types layers unit fast failures attacks coverage docs linkcheck demo paper dist bench clean
.PHONY: network-results network-reach network-attacks network-site network-failures

help: ## List the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

# Most files of the packages are never imported: those are compiled here that many processes will want at once
SHARED := nvflare numpy polars scipy sklearn

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --no-compile --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	$(BIN)/python -m compileall -q -j $(JOBS) $(addprefix $(VENV)/lib/python3*/site-packages/,$(SHARED))
	touch $@

setup: $(STAMP) ## Create .venv with the package and its development tools

test: $(STAMP) ## Everything CI runs, side by side: networks wait much while others compute
	$(MAKE) --jobs 4 --output-sync fast docs $(NETWORKS) types lint layers

# Programs write the pages of evidence and the figures of the paper, or tables in them
PAGES = $(shell git ls-files '*.md' ':!docs/evidence' ':!src' ':!bench' ':!paper' ':!tests')  # programs write into the others

lint: $(STAMP) ## Style of code, docstrings and pages, and spelling
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mdformat --check $(PAGES)
	$(BIN)/typos --format brief .github bench deploy docs paper src tests *.md

format: $(STAMP) ## Put right what lint says of style, where a program can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/mdformat $(PAGES)

types: $(STAMP) ## Static types
	$(BIN)/mypy

layers: $(STAMP) ## Which package may import which
	$(BIN)/lint-imports

unit: fast ## Tests and doctests; then those with a real network, three networks at a time
	$(MAKE) --jobs 3 --output-sync $(NETWORKS)

fast: $(STAMP) ## Tests and doctests without a network
	$(BIN)/pytest -q -n $(JOBS) --dist worksteal -m "not network and not slow"

NETWORKS := network-reach network-results network-attacks network-failures network-site
NETWORK := $(BIN)/pytest -q -m "network and not slow"

network-reach: $(STAMP)
	$(NETWORK) tests/reach --ignore tests/reach/test_live_site.py --ignore tests/reach/test_live_results.py

network-results: $(STAMP)
	$(NETWORK) tests/reach/test_live_results.py

network-attacks: $(STAMP)
	$(NETWORK) tests/attacks

network-site: $(STAMP)
	$(NETWORK) tests/reach/test_live_site.py

network-failures: $(STAMP)
	$(NETWORK) tests/failures

failures: $(STAMP) ## Slow tests of real networks: what is killed, cut, spoiled or refused (many minutes)
	$(BIN)/pytest -q -m slow

attacks: $(STAMP) ## What a dishonest member, relay, initiator, helper or local process tries, all of it
	$(BIN)/pytest -q -m "" tests/attacks

coverage: $(STAMP) ## Tests and doctests, with the branches they do not reach
	$(BIN)/pytest -q -n $(JOBS) --cov --cov-report=term-missing:skip-covered

docs: $(STAMP) ## Documentation, its tutorials run, warnings as errors
	$(BIN)/sphinx-build -q -W --keep-going -j $(JOBS) -b html docs docs/_build/html

linkcheck: $(STAMP) ## Ask every address that the documentation links to (needs a network)
	ASSISTLEARN_NOTEBOOKS=off ASSISTLEARN_ONLINE=1 $(BIN)/sphinx-build -q -j $(JOBS) -b linkcheck docs docs/_build/linkcheck

demo: $(STAMP) ## Three agents on real data: a table and a picture in out/
	$(BIN)/python -m paper.demo --out out

paper: $(STAMP) ## The paper's figures in their small form, with a page in out/paper (FIGURES=all: with real data)
	$(BIN)/python -m paper $(FIGURES) --quick --replications 5 --out out/paper --page out/paper/reproduction.md

dist: $(STAMP) ## Wheel and sdist, installed and tried in fresh environments: without extras, and with each
	$(BIN)/python -m bench.dist

bench: $(STAMP) ## Speed and memory, side by side with AdaBoostClassifier and pooled boosting (half an hour)
	$(BIN)/python -m bench.overhead
	$(BIN)/python -m bench.adaboost
	$(BIN)/python -m bench.scale --out out/scale

clean: ## Remove what the targets made
	rm -rf $(VENV) out dist docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
