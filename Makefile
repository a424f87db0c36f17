# `make help` lists the commands. Each sets up .venv by itself.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
VENDOR := book/_static/vendor
BOOK := _build/html
STAGES := lint unit slow stored book browser

# One thread a process: results repeat on a machine, and two workers use two cores.
ALONE := OMP_NUM_THREADS=1
# Without nbval, whose import takes each process two seconds.
PYTEST := $(ALONE) $(BIN)/pytest -q -n 2 --dist worksteal -p no:nbval
# The limit of a cell is for one that hangs: beside other work, some take minutes.
NBVAL := $(ALONE) $(BIN)/pytest -q --nbval --nbval-current-env --nbval-cell-timeout=900 \
  --nbval-sanitize-with notebooks/nbval_sanitize.cfg -n 2 --dist loadscope --no-loadscope-reorder
# One notebook of each paper, a quick one.
QUICK := $(addprefix notebooks/,esbn/1_tasks.ipynb scan/2_streams.ipynb functions/2_differences.ipynb \
  kanerva/1_bayesian_memory.ipynb)
export PYDEVD_DISABLE_FILE_VALIDATION := 1

.DEFAULT_GOAL := help
.PHONY: help book zip check test lab notebooks lint format unit slow stress seeds stored browser pages vendor clean

help:
	@echo "make book       build the book and print where to open it"
	@echo "make zip        the book as one file that opens from the disk, with no network"
	@echo "make check      style, quick tests and a notebook of each paper: two minutes"
	@echo "make test       style, unit tests, slow tests, notebooks, the book and a browser reading it"
	@echo "make lab        JupyterLab on the notebooks"
	@echo "make notebooks  execute the notebooks again, in place"
	@echo "make lint | format | unit | slow | stress | seeds | stored | browser | clean"

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c "import sys; sys.version_info >= (3, 11) or sys.exit('Python 3.11 or newer is needed; try make PYTHON=python3.12')"
	$(PYTHON) -m venv .venv
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

# MathJax, checked against the hash in package-lock.json. Without npm, or without a network, the book asks a CDN for it.
$(VENDOR)/.ready: package-lock.json
	@rm -rf $(VENDOR) && mkdir -p $(VENDOR)/mathjax/output
	@if ! command -v npm > /dev/null; then echo "npm is not here: the book will load MathJax from a CDN"; \
	elif npm ci --silent --ignore-scripts --omit=dev --no-audit --no-fund; then \
	  cp node_modules/mathjax/es5/tex-mml-chtml.js $(VENDOR)/mathjax/ && \
	  cp -R node_modules/mathjax/es5/output/chtml $(VENDOR)/mathjax/output/ && \
	  cp node_modules/mathjax/LICENSE $(VENDOR)/mathjax/ && \
	  touch $@; \
	else echo "npm could not fetch MathJax: the book will load it from a CDN"; fi

pages: $(READY)
	@mkdir -p book/generated
	$(ALONE) $(BIN)/python tools/pages.py

book: $(READY) $(VENDOR)/.ready pages
	@if [ -f $(VENDOR)/.ready ]; then cp book/_config.yml book/generated/config.yml; \
	else sed '/# vendored$$/d' book/_config.yml > book/generated/config.yml; fi
	@echo "Building the pages: a minute the first time, half of one afterwards"
	$(ALONE) $(BIN)/jupyter-book build . --config book/generated/config.yml --toc book/_toc.yml -q -W -n --keep-going
	@echo "The book is at file://$(CURDIR)/$(BOOK)/index.html"

# Without MathJax beside it, a book would ask a CDN for it.
zip: book
	@test -f $(VENDOR)/.ready || { echo "make zip: npm is needed, for a book that opens with no network" >&2; exit 1; }
	@rm -rf _build/structure-apart-from-content _build/structure-apart-from-content.zip
	@cp -R $(BOOK) _build/structure-apart-from-content
	cd _build && $(CURDIR)/$(BIN)/python -m zipfile -c structure-apart-from-content.zip structure-apart-from-content
	@rm -rf _build/structure-apart-from-content
	@echo "Unpack $(CURDIR)/_build/structure-apart-from-content.zip and open index.html in it"

test: $(READY)
	@report=""; for stage in $(STAGES); do \
	  echo "== $$stage"; start=$$(date +%s); \
	  if [ $$stage = browser ]; then printf "== seconds:$$report (browser: below)\n"; fi; \
	  $(MAKE) --no-print-directory $$stage || { echo "make test: $$stage failed" >&2; exit 1; }; \
	  report="$$report $$stage $$(( $$(date +%s) - start )),"; \
	done

check: lint unit
	$(NBVAL) $(QUICK)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# With the doctests, which need the same imports.
unit: $(READY)
	$(PYTEST) -m "not slow" --doctest-modules --ignore=tests/browser tests mini_lib

# Of the files that mark a test so: to load all of them takes longer than many a test.
slow: $(READY)
	$(PYTEST) -m slow $$(grep -rl 'mark\.slow' tests --include='test_*.py' | sort)

# Kills the command at fifty random moments; takes about ten minutes. Not in `make test`, which kills it once.
stress: $(READY)
	MINI_LIB_KILLS=50 $(ALONE) $(BIN)/pytest -q tests/reproduction/test_cli.py -k killed

# The notebooks with other seeds, half an hour: which of their statements hold for one network alone. Not in `make test`.
seeds: $(READY)
	$(ALONE) $(BIN)/python tools/notebooks.py --seeds-by 100

stored: $(READY)
	$(NBVAL) notebooks

browser: $(READY)
	$(PYTEST) -m browser tests/browser

lab: $(READY)
	$(ALONE) $(BIN)/jupyter lab notebooks

notebooks: $(READY)
	$(ALONE) $(BIN)/python tools/notebooks.py

clean:
	rm -rf _build book/generated $(VENDOR) node_modules .pytest_cache .ruff_cache
