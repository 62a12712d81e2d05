# Everything a fresh machine needs is installed by the targets themselves.
#
#   make demo          a whole survey of 6,366 people in a minute (EXIT=1 ends by itself)
#   make test          the tests, in a real browser and on real processes
#   make quick         in less than a minute: the parts that break most easily; no browser
#   make test-thorough the costliest tests: more states, every page, whole walks; CI calls both
#   make test-spark    Spark on a cluster of this machine's own; installs it, and Java
#   make test-next-uvicorn  the tests of connections, on the newest uvicorn
#   make soak          long repetitions: each simulated case, 1,000 new examples of each property,
#                      1,000 kills, 100,000 requests
#   make crash         1,000 kills at random instants, on SQLite and PostgreSQL (KILLS=, SEED=)
#   make mutants       changes in modules that promise something, which their tests have to notice
#                      (ONLY="poisoning ledger" for some); half an hour on two busy cores
#   make lint          formatting, lint and types (ruff, mypy, pyright, tsc)
#   make serve         a server on 127.0.0.1:8000 with its data in deniably.db
#   make fuzz          100,000 hostile requests: no fault, no change (COUNT=1000 for fewer)
#   make bench         speed and accuracy, measured side by side with the alternatives
#   make load          a steady load for ten minutes: latency, and memory that stays flat (MINUTES=)
#   make release       wheel, source distribution and container file, tried out (VERSION=)
#   make lock          choose the versions to install (constraints.txt)
#   make vectors       write shared/vectors again from the reference
#   make handbook      write the handbook's reference pages from what they describe
#   make screenshots   take the pictures of every page and state (WHAT="pages form" for some)

# The distribution's Python, where it is new enough and can make environments: it is built with
# profile-guided optimisation, which a version manager's seldom is, and a suite takes a sixth less
# time. Another one: make PYTHON=/path/to/python3.12
SYSTEM := /usr/bin/python3
PYTHON ?= $(shell $(SYSTEM) -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' \
  2>/dev/null && echo $(SYSTEM) || echo python3)
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8000
# One more than two cores: there are tests that wait for real servers and clocks.
JOBS ?= 3

# Python keeps what it has compiled, also where the environment says otherwise, as in containers:
# a suite starts many processes, and pytest would rewrite 5,000 assertions at each run.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test test-thorough test-spark test-next-uvicorn quick soak crash mutants lint serve bench load fuzz lock vectors handbook screenshots release clean
.DELETE_ON_ERROR:

demo: $(VENV)/.server
	$(BIN)/deniably demo --port $(PORT) $(if $(EXIT),--exit)

serve: $(VENV)/.server
	$(BIN)/deniably serve --open --port $(PORT)

# Threads within a product of matrices or a clustering only get in the way of tests side by side.
ALONE := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1

# Report sets by address are read from an S3 server of this machine's own, in an environment of its own.
S3 := .venv-s3

test: $(VENV)/.dev $(VENV)/.chromium $(VENV)/.proxies $(VENV)/.papers $(VENV)/.r $(S3)/.installed client/node_modules/.installed
	$(ALONE) $(BIN)/pytest -n $(JOBS) --dist worksteal $(ARGS)

# The exact numbers, the mechanisms, the vectors in both languages, the definition, the device's
# memory, and what the server takes, keeps and shows.
QUICK := core mechanisms survey trust device wording authoring results \
  vectors/test_vectors_python.py vectors/test_vectors_javascript.py house/test_arrows.py \
  server/test_surveys.py server/test_reports.py server/test_results.py

quick: $(VENV)/.dev
	$(ALONE) $(BIN)/pytest -n $(JOBS) --dist worksteal -m "not browser and not slow and not soak and not thorough" \
	  $(QUICK:%=tests/%) $(ARGS)

# The costliest tests; a change has to pass both.
test-thorough: $(VENV)/.dev $(VENV)/.chromium $(VENV)/.proxies $(VENV)/.papers $(VENV)/.r client/node_modules/.installed
	$(ALONE) $(BIN)/pytest -n $(JOBS) --dist worksteal -m "thorough and not soak" $(ARGS)

test-spark: $(VENV)/.dev $(VENV)/.spark $(S3)/.installed
	$(ALONE) $(BIN)/pytest -m spark $(ARGS)

# wire/patience.py builds on uvicorn's inside, so pyproject.toml names the first release that it was
# not tried with. This tries that: the newest release alone, laid over the environment.
UVICORN ?= uvicorn
NEXT := $(CURDIR)/.venv-next-uvicorn
CONNECTIONS := $(patsubst %,tests/server/test_%.py,request_heads serving slow)

VERSION_OF := $(BIN)/python -c 'import uvicorn; print(uvicorn.__version__)'

test-next-uvicorn: $(VENV)/.dev
	rm -rf $(NEXT)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --target $(NEXT) $(UVICORN)
	@if [ "$$(PYTHONPATH=$(NEXT) $(VERSION_OF))" = "$$($(VERSION_OF))" ]; \
	  then echo "uvicorn $$($(VERSION_OF)) is the newest, and make test tries it"; \
	  else echo "uvicorn $$(PYTHONPATH=$(NEXT) $(VERSION_OF)) instead of $$($(VERSION_OF)):"; \
	    PYTHONPATH=$(NEXT) $(ALONE) $(BIN)/pytest -q -n $(JOBS) -m "not soak" $(CONNECTIONS) $(ARGS); fi

soak: $(VENV)/.dev client/node_modules/.installed
	$(ALONE) $(BIN)/pytest -n $(JOBS) --dist worksteal --timeout 7200 -m soak $(ARGS)
	HYPOTHESIS_PROFILE=soak $(ALONE) $(BIN)/pytest -n $(JOBS) --dist worksteal --timeout 7200 \
	  -m "hypothesis and not soak and not browser" $(ARGS)
	$(MAKE) crash
	$(MAKE) fuzz

crash: $(VENV)/.dev
	@[ "$(or $(KILLS),1000)" -ge 4 ] 2>/dev/null || { echo "KILLS is a number from 4 up, and not $(KILLS)"; exit 1; }
	DENIABLY_TEST_KILLS=$(or $(KILLS),1000) DENIABLY_TEST_SEED=$(or $(SEED),$$(od -An -N6 -tx1 /dev/urandom | tr -d ' ')) \
	  $(BIN)/pytest -s --timeout 7200 tests/server/test_crash.py tests/server/test_mixer_crash.py $(ARGS)

# What is mutated, by which tests it has to be noticed, and what no test can notice is written in
# .ci/mutants.toml.
mutants: $(VENV)/.dev $(VENV)/.mutants
	$(ALONE) $(BIN)/python .ci/mutants.py $(ONLY)

lint: $(VENV)/.dev client/node_modules/.installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	client/node_modules/.bin/pyright
	cd client && node_modules/.bin/tsc -p .

bench: $(VENV)/.dev $(VENV)/.chromium
	$(BIN)/python tests/bench/run.py $(ARGS)

load: $(VENV)/.dev
	$(BIN)/python tests/bench/steady.py --minutes $(or $(MINUTES),10) $(if $(RATE),--rate $(RATE))

fuzz: $(VENV)/.dev
	cd tests && ../$(BIN)/python -m support.fuzz $(COUNT)

release: $(VENV)/.dev
	$(BIN)/python .ci/release.py $(VERSION)

# Exact versions of all that is installed, newly chosen: in an environment that has nothing else.
lock:
	rm -rf .venv-lock
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/pip install --quiet --disable-pip-version-check '.[dev,mutants,spark]'
	{ echo '# The versions that make installs. Made by make lock.'; \
	  .venv-lock/bin/pip freeze --disable-pip-version-check --exclude deniably; } > constraints.txt
	rm -rf .venv-lock

vectors: $(VENV)/.dev
	cd tests && ../$(BIN)/python -m spec

handbook: $(VENV)/.dev
	cd tests && ../$(BIN)/python -m support.reference

screenshots: $(VENV)/.dev $(VENV)/.chromium
	$(BIN)/python tests/browser/screenshots.py $(WHAT)

clean:
	rm -rf $(VENV) $(S3) .venv-peers client/node_modules build dist

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Deniably needs Python 3.11 or later; call make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.server: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[server]'
	touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@ $(VENV)/.server

$(VENV)/.mutants: pyproject.toml constraints.txt $(VENV)/.dev
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[mutants]'
	touch $@

$(S3)/.installed: tests/support/s3_server.txt
	$(PYTHON) -m venv --clear $(S3)
	$(S3)/bin/pip install --quiet --disable-pip-version-check --no-deps --requirement $<
	touch $@

# Spark is 450 MB, and needs a Java that no other test does.
$(VENV)/.spark: pyproject.toml constraints.txt $(VENV)/.dev
	@command -v java >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && apt-get update -qq && apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless; } \
	  || { echo "Spark needs Java and could not install it: as root, run 'apt-get install openjdk-17-jre-headless', then make again."; exit 1; }
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[spark]'
	touch $@

# The browser tests run in the Chromium that respondents use, the system's own or Debian's; most of
# them in the same without its windows, where that can be installed, which is quicker. Chinese needs a
# font of its own.
$(VENV)/.chromium: | $(BIN)/python
	@command -v chromium >/dev/null && command -v chromium-headless-shell >/dev/null \
	  && [ -n "$$(fc-list :lang=zh 2>/dev/null)" ] \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq \
	  && apt-get install -y -qq --no-install-recommends chromium chromium-headless-shell \
	    fontconfig fonts-dejavu-core fonts-wqy-microhei; } \
	  || command -v chromium >/dev/null \
	  || { echo "The browser tests need Chromium and could not install it: as root, run 'apt-get install chromium', then make again."; exit 1; }
	touch $@

# The proxies that operators put in front. Their tests are left out where they cannot be installed.
$(VENV)/.proxies: | $(BIN)/python
	@command -v nginx >/dev/null && command -v caddy >/dev/null || { [ "$$(id -u)" = 0 ] \
	  && command -v apt-get >/dev/null && apt-get update -qq \
	  && apt-get install -y -qq --no-install-recommends nginx-light caddy >/dev/null; } \
	  || echo "Without nginx and Caddy their files in server/deploy are not tried."
	touch $@

# What authors and journals open figures with, about 60 MB. Its tests are left out where it cannot be
# installed.
$(VENV)/.papers: | $(BIN)/python
	@command -v rsvg-convert >/dev/null && command -v inkscape >/dev/null && command -v pdflatex >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq \
	  && apt-get install -y -qq --no-install-recommends librsvg2-bin inkscape texlive-latex-base \
	    >/dev/null; } \
	  || echo "Without rsvg-convert, Inkscape and LaTeX the figures for papers are not opened in them."
	touch $@

# R runs the scripts of an export, and is what their figures are compared with.
$(VENV)/.r: | $(BIN)/python
	@command -v Rscript >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && apt-get update -qq && apt-get install -y -qq --no-install-recommends r-base-core r-cran-survey >/dev/null; } \
	  || { echo "The tests of exports need R and could not install it: as root, run 'apt-get install r-base-core r-cran-survey', then make again."; exit 1; }
	touch $@

client/node_modules/.installed: client/package.json client/package-lock.json
	@command -v npm >/dev/null || { echo "The tests need Node.js with npm (for axe-core and the type checkers): as root, run 'apt-get install npm', then make again."; exit 1; }
	cd client && npm ci --no-audit --no-fund --loglevel=error
	touch $@
