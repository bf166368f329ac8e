# Everything this project does from a clone. Needs Python 3.11 or newer and make; `make help` lists the targets.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
LOCK = $(UV) pip compile --quiet --generate-hashes --no-emit-index-url --python-version 3.11 $(LOCK_OPTIONS)
RESULTS := .test-output/spec
RUN_TESTS = $(BIN)/python -m tests.support.groups --workers $(WORKERS)
WORKERS ?= auto
SOURCES := $(shell find apps clients deploy project tests templates static locale docs requirements manage.py pyproject.toml \
             frontend/package-lock.json -type f -not -name '*.pyc' -not -name '*.mo' -not -path '*/node_modules/*' 2>/dev/null)

# Dozens of Python processes start in a test run: they compile every module once, and not each of them.
unexport PYTHONDONTWRITEBYTECODE

# The libraries of the chat page come through npm; where there is none, it is installed into the virtual environment.
NPM := $(or $(shell command -v npm),$(BIN)/npm)
NPM_INSTALLED := $(if $(filter $(BIN)/npm,$(NPM)),$(VENV)/.npm)
LIBRARIES := frontend/node_modules/.installed

CLIENT_LOCKS := tests/clients/requirements
CLIENTS := $(basename $(notdir $(wildcard $(CLIENT_LOCKS)/*.in)))

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run upgrade test test-long test-clients test-install test-image test-unit test-e2e test-llm audit check lint types \
        schema spec lock browser pictures typescript

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

run: $(VENV)/.installed ## start everything (PORT and HOST choose the address) until Ctrl-C
	@exec $(BIN)/python manage.py up

# The backup first, with what is installed: the new lock may bring another PostgreSQL.
upgrade: ## bring an installation to this version: a backup, the locked requirements, migrations
	@backed_up=; \
	if [ -x $(BIN)/python ] && [ -f $(VENV)/.installed ]; then \
	  $(BIN)/python -m apps.backup.upgrading || exit; backed_up=--backed-up; \
	fi; \
	$(MAKE) --no-print-directory $(VENV)/.installed || exit; \
	exec $(BIN)/python manage.py upgrade $$backed_up

# Besides a passing run each target leaves a stamp, for `make spec`; a part of a run takes it away.
test: $(VENV)/.installed-dev ## run the quick tests: unit, browser and model tests beside each other
	@rm -f .test-output/tested
	$(RUN_TESTS)
	@touch .test-output/tested

test-long: $(VENV)/.installed-dev ## run the long tests: every case, killed processes, large data, most browser tests
	@rm -f .test-output/tested-long
	$(RUN_TESTS) --long
	@touch .test-output/tested-long

test-clients: $(VENV)/.installed-dev ## run real clients against `make run`'s stack; installs them in .test-output/clients
	$(RUN_TESTS) --group clients

test-install: $(VENV)/.installed-dev ## go from nothing to a conversation on clean machines (Debian's mmdebstrap, root)
	$(RUN_TESTS) --group install

test-image: $(VENV)/.installed-dev ## build the container image on bases of Debian's packages, and run it and compose (podman)
	$(RUN_TESTS) --group image

test-unit test-e2e test-llm: test-%: $(VENV)/.installed-dev
	@rm -f .test-output/tested
	$(RUN_TESTS) --group $*

# What is found fails; a service that cannot be asked is told in one line.
audit: $(VENV)/.installed-dev $(NPM_INSTALLED) ## look up known vulnerabilities of what is locked
	@$(BIN)/python -m tests.support.audit --npm $(NPM)

check: lint types schema test ## lint, types, imports, migrations, API schema, and `make test`

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/.installed-dev
	$(BIN)/mypy
	$(BIN)/mypy --config-file clients/python/pyproject.toml

schema: $(VENV)/.installed-dev ## write what the API says about itself to .test-output/openapi.yaml, validated
	$(BIN)/python manage.py makemigrations --check --dry-run
	@mkdir -p .test-output
	$(BIN)/python manage.py spectacular --validate --fail-on-warn --file .test-output/openapi.yaml

# Uses the results of the last `make test` and `make test-long` if nothing has changed since; a failing run still gets
# its table, which then fails.
spec: $(VENV)/.installed-dev ## print which tests prove which requirement
	@$(MAKE) --no-print-directory --keep-going .test-output/tested .test-output/tested-long || true
	@$(BIN)/python -m tests.support.spec_report $(RESULTS)

.test-output/tested: $(SOURCES)
	@rm -f $(addprefix $(RESULTS)/,unit.json e2e.json llm.json)
	@$(MAKE) --no-print-directory test

.test-output/tested-long: $(SOURCES)
	@rm -f $(RESULTS)/long-*.json
	@$(MAKE) --no-print-directory test-long

typescript: schema $(NPM_INSTALLED) ## build the TypeScript client (clients/typescript) from the API's schema
	$(NPM) ci --prefix clients/typescript --no-audit --no-fund --loglevel=error
	$(NPM) run build --prefix clients/typescript

pictures: $(VENV)/.installed-dev browser ## take the pictures of the documentation again (docs/screenshots)
	$(BIN)/python -m pytest -m e2e tests/e2e/panel/pictures/take.py

# What people install is locked for every Python and system: 3.11.2 needs a package that 3.11.3 does not.
lock: $(VENV)/.uv $(NPM_INSTALLED) ## lock the requirements with hashes (LOCK_OPTIONS=--upgrade for newer versions)
	$(LOCK) --universal requirements/installer.in -o requirements/installer.txt
	$(LOCK) --universal requirements/base.in -o requirements/base.txt
	$(LOCK) --universal requirements/tracing.in -o requirements/tracing.txt --constraint requirements/base.txt
	$(LOCK) --universal requirements/dev.in -o requirements/dev.txt --constraint requirements/base.txt
	$(LOCK) --universal requirements/npm.in -o requirements/npm.txt
	$(LOCK) --universal requirements/model.in -o requirements/model.txt --no-deps
	$(LOCK) requirements/mem0.in -o requirements/mem0.txt --constraint requirements/base.txt
	for name in $(CLIENTS); do \
	  overrides=$(CLIENT_LOCKS)/$$name.overrides; [ -f $$overrides ] || overrides=/dev/null; \
	  $(LOCK) --overrides $$overrides $(CLIENT_LOCKS)/$$name.in -o $(CLIENT_LOCKS)/$$name.txt || exit; \
	done
	for folder in frontend clients/typescript $(addprefix tests/clients/,js librechat claude_code codex mcp_conformance); do \
	  $(NPM) install --package-lock-only --prefix $$folder || exit; \
	done

browser: $(VENV)/.installed-dev
	@$(BIN)/python -m tests.support.browser

# Installing. uv is quick but does not read pip's configuration (a mirror, say); where it fails, pip takes over.
# The stamps keep this from happening again until a lock file changes.
$(VENV)/.uv: requirements/installer.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/installer.txt
	@touch $@

$(VENV)/.npm: requirements/npm.txt $(VENV)/.uv
	$(call install,-r requirements/npm.txt)
	@touch $@

$(LIBRARIES): frontend/package-lock.json $(NPM_INSTALLED)
	$(NPM) ci --prefix frontend --ignore-scripts --no-audit --no-fund --omit=dev --no-update-notifier --loglevel=error
	@touch $@

$(VENV)/.installed: requirements/base.txt $(VENV)/.uv $(LIBRARIES)
	$(call install,-r requirements/base.txt)
	@touch $@

$(VENV)/.installed-dev: requirements/dev.txt requirements/model.txt $(VENV)/.installed
	$(call install,-r requirements/dev.txt)
	$(call install,--no-deps -r requirements/model.txt)
	@touch $@

define install
$(UV) pip install --quiet --python $(BIN)/python --require-hashes $(1) \
  || $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes $(1)
endef
