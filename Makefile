# okstra: `make help` says what there is.
GO      ?= go
PREFIX  ?= /usr/local
DESTDIR ?=
FUZZTIME ?= 10s
# What is built: the version itself stands in cmd/okstra/cli/version.go.
REVISION ?= $(shell git describe --always --dirty --abbrev=40 --exclude='*' 2>/dev/null)
LDFLAGS := -s -w -X github.com/okstra/okstra/cmd/okstra/cli.revision=$(REVISION)

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/okstra
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/okstra ./cmd/okstra

.PHONY: demo
demo: build ## run the main job on an example and show what happened
	@./examples/demo.sh

.PHONY: test
test: tmux ## run every test with the race detector (installs tmux where it is missing)
	OKSTRA_REQUIRE_TMUX=1 GORACE=atexit_sleep_ms=0 $(GO) test -race -count=1 -timeout 20m ./...

.PHONY: tmux
tmux:
	@./.ci/need tmux git

.PHONY: lint
lint: ## formatting, vet, and the directions of import
	@bad=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$bad" || { echo "not gofmt'ed: $$bad"; exit 1; }
	$(GO) vet ./...
	GOOS=darwin $(GO) vet ./...
	$(GO) test -count=1 -run 'TestArchitecture' ./testscripts

.PHONY: fmt
fmt: ## format the Go code and the examples
	gofmt -w $$(git ls-files '*.go')
	$(GO) run ./cmd/okstra fmt $$(git ls-files 'examples/*.hcl')

.PHONY: bench
bench: ## measure against real rivals; prints ratios
	./.ci/bench

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME each
	./.ci/fuzz $(FUZZTIME)

.PHONY: examples
examples: build ## run every example that needs no account
	@./examples/run-all.sh

.PHONY: test-clis
test-clis: build ## run the stories with the real worker CLIs (npm, a network namespace)
	./testscripts/clis/run.sh

.PHONY: update
update: ## rewrite golden files and generated docs
	OKSTRA_UPDATE=1 $(GO) test -count=1 ./...

.PHONY: install
install: build ## install okstra and its completions under PREFIX
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/bash-completion/completions $(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	install -m 0755 bin/okstra $(DESTDIR)$(PREFIX)/bin/okstra
	bin/okstra completion bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/okstra
	bin/okstra completion zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_okstra
	bin/okstra completion fish > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/okstra.fish

.PHONY: clean
clean: ## remove what make built
	rm -rf bin dist
