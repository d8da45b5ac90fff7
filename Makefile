# Two commands are all a newcomer needs: make demo, make test. Both set everything up in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo demo-engine reproduce test test-long test-oracles check docs clean

demo: $(VENV)/.installed
	$(BIN)/hitpath demo

# Starts the engine on a small random model, sends it cold and warm requests, prints both paths.
demo-engine: $(VENV)/.live
	$(BIN)/python examples/demo_engine.py

# The experiment behind "57x": nine seeds of four schedulers, beside what was measured.
reproduce: $(VENV)/.installed
	$(BIN)/python examples/llmd_73_capacity.py --rows

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 -m "not long"

# Peaks of memory, errors of samples, kernels without a cache folder, large pages, generators of forms: three minutes.
test-long: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 -m long

# The engine models against the engines' own cache managers (downloads about 1 GB, an hour or more).
test-oracles: .oracles/.installed
	HITPATH_ORACLES=.oracles HITPATH_ORACLE_OPERATIONS=100000 \
	  $(BIN)/python -m pytest tests/models/test_oracles.py --timeout 7200

.oracles/.installed: tests/models/install_oracles.py $(VENV)/.dev
	$(BIN)/python tests/models/install_oracles.py .oracles
	@touch $@

check: $(VENV)/.dev
	$(BIN)/ruff format --check src tests bench examples
	$(BIN)/ruff check src tests bench examples
	$(BIN)/mypy
	$(BIN)/lint-imports

# What is generated in the docs: the picture in the README and the command's help page.
docs: $(VENV)/.installed
	$(BIN)/hitpath demo --svg docs/demo.svg > /dev/null
	$(BIN)/python docs/generate.py

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit("hitpath needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: $(VENV)/.created pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/.live: $(VENV)/.created pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[live]'
	@touch $@ $(VENV)/.installed

$(VENV)/.dev: $(VENV)/.created pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@ $(VENV)/.installed $(VENV)/.live

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
