# CausalViz: `make run` and `make test` do everything on a machine that has Python 3.11 to 3.13, venv and make.
# What is installed goes into .venv; another Python: `make run PYTHON=python3.12`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Or every process would compile anew what it imports.
unexport PYTHONDONTWRITEBYTECODE
# Four at a time: browser tests wait too. A file's tests stay together: they share what they set up;
# files come in the order of tests/conftest.py.
PYTEST := $(BIN)/pytest -n 4 --dist loadfile --no-loadscope-reorder -rR
PIP_INSTALL := $(BIN)/python -m pip install --disable-pip-version-check --no-compile
# By all processors; pip would compile one file after the other. Not what is hardly ever imported; and what some packages
# hold is no Python.
COMPILE := $(BIN)/python -W ignore -m compileall -qq -j 0 -x '/(tests|sympy|_inductor|transformers/models)/' $(VENV)/lib || true

# What `make fuzz` tries; files that fail are kept in .venv.
MUTANTS ?= 20000
SEED ?= $(shell date +%s)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run setup setup-tests lint check test browser bench themes fuzz golden evaluate clean

help: ## list what can be done
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: setup ## start the web app on http://127.0.0.1:7860
	$(BIN)/python app.py

setup: $(VENV)/installed.txt ## install what the software needs
setup-tests: $(VENV)/installed-tests.txt ## install what the tests need as well

lint: setup-tests ## style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict .
	$(BIN)/lint-imports --no-logo

check: lint ## lint, and every test that needs no browser
	$(PYTEST) -m "not browser"

test: setup-tests ## everything
	@$(MAKE) --no-print-directory -j 2 lint browser
	$(PYTEST)

browser: setup-tests
	@tests/browser/install_browser.sh $(BIN)/python

bench: browser ## timings, as a table
	$(BIN)/python -m benchmarks

themes: setup ## write sample_kb/themes.jsonl from the sample's documents
	$(BIN)/python sample_kb/make_themes.py

fuzz: setup-tests ## damaged files and random cases by the thousand: make fuzz MUTANTS=50000 SEED=7
	CAUSALVIZ_MUTANTS=$(MUTANTS) CAUSALVIZ_SEED=$(SEED) CAUSALVIZ_MUTANTS_KEPT=$(VENV) \
		$(BIN)/pytest tests/documents/test_mutants.py
	CAUSALVIZ_EXAMPLES=40 $(PYTEST) tests/test_partition.py tests/test_score.py tests/test_rank.py \
		tests/test_trace.py tests/test_dag.py tests/test_any_arguments.py tests/test_keywords.py tests/documents/test_cleaning.py \
		tests/documents/test_chunking.py tests/documents/readers/test_any_bytes.py

golden: setup-tests ## write the golden files anew; read their diff before committing it
	$(BIN)/pytest -m golden --golden=write

evaluate: setup ## the paper's diagnostic table on the sample knowledge base
	$(BIN)/python -m causalviz diagnose

clean: ## remove what make and the tools made
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The virtual environment: made anew when it was left half-made.
$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null || { \
		echo "CausalViz needs Python 3.11, 3.12 or 3.13, but $(PYTHON) is" \
			"$$($(PYTHON) --version 2>/dev/null || echo "not to be found"); name another: make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

# What is installed, by content: a new date of a requirements file alone installs nothing.
$(VENV)/installed.txt: requirements.txt | $(VENV)/.made
	@cmp -s requirements.txt $@ || { $(PIP_INSTALL) -r requirements.txt && cp requirements.txt $@ && { $(COMPILE); }; }
	@touch $@

$(VENV)/installed-tests.txt: requirements.txt tests/requirements.txt | $(VENV)/.made
	@cat $^ | cmp -s - $@ || { $(PIP_INSTALL) -r tests/requirements.txt && cp requirements.txt $(VENV)/installed.txt && \
		cat $^ > $@ && { $(COMPILE); }; }
	@touch $@
