# make run      the daemon on the default seed, on http://localhost:9099
# make example  the daemon, and a web app on http://localhost:3000 that signs in with each provider
# make test     all tests
# On a machine that has only Swift and git, they install what they need, Debian's packages or Homebrew's, without
# asking.

PREFIX ?= /usr/local
SEED ?= seed-data/default.json
# The code is optimized for size: a clean build takes a tenth less time than with optimization for speed across modules,
# and a sign-in a tenth more.
RELEASE = swift build -c release --product understudy -Xswiftc -Osize $(LINKED)
BINARY = .build/release/understudy
SUDO = $(shell [ "$$(id -u)" = 0 ] || echo sudo)

ifeq ($(shell uname),Darwin)
# On macOS, Swift's libraries belong to the system.
LINKED =
PACKAGES = jansson libmicrohttpd openssl@3 pkgconf
# The other packages that targets need are part of macOS, or are needed on Debian only.
need = @missing=; for p in $(filter $(PACKAGES),$(1)); do brew list $$p > /dev/null 2>&1 || missing="$$missing $$p"; done; \
	[ -z "$$missing" ] || brew install $$missing
else
# The executable is linked at a fixed address, which saves 40,000 relocations at every start.
LINKED = --static-swift-stdlib -Xswiftc -Xclang-linker -Xswiftc -no-pie
PACKAGES = libjansson-dev libmicrohttpd-dev libsqlite3-dev libssl-dev openssl
# $(call need,PACKAGES) installs those of Debian's packages that are missing, one target at a time.
need = @missing=; for p in $(1); do dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'install ok installed' \
	|| missing="$$missing $$p"; done; [ -z "$$missing" ] || $(SUDO) flock /run/lock/understudy-apt sh -c \
	"apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing"
endif

.PHONY: run example test build setup stores format lint schema evidence scenarios install uninstall deb release clean
.PHONY: bench bench-growth bench-instructions bench-mail bench-stores bench-worst fuzz fuzz-runner fuzz-http
.PHONY: screenshots test-browser test-clients test-jwt-kit test-kits test-walks test-docs test-release test-container test-image test-fresh
.PHONY: test-long test-boot test-boundaries test-sanitizers test-stress test-kills test-replicas test-growth test-openapi test-rows

run: build
	$(BINARY) serve --seed $(SEED)

# This target runs the daemon on port 9099, and on port 3000 a web app that signs in with each provider.
example: build
	$(call need,openssl python3)
	$(BINARY) exec --port 9099 -- python3 -B examples/web/app.py

build: setup
	$(RELEASE)

setup:
	$(call need,$(PACKAGES))

# STORE=checked runs all tests on a store that checks the assumptions of stores. With STORE=sqlite each daemon has its
# own file, and with STORE=postgresql its own schema at a server that is started for the tests. With REPLICAS=2 in
# addition, each daemon is two behind a balancer. POSTGRESQL=1 keeps worlds in memory, and starts a PostgreSQL for the
# tests of stores. FILTER=… runs only the tests that match.
test: setup $(if $(filter postgresql:,$(STORE))$(POSTGRESQL),stores)
	$(call need,curl openssl python3 python3-cryptography python3-jwt)
	$(if $(STORE),Tests/Stores/with $(STORE) $(REPLICAS) --,$(if $(POSTGRESQL),Tests/Stores/with conformance --)) \
		Tests/suite $(if $(FILTER),--filter '$(FILTER)')

# This installs the databases for the tests of stores. If there was no PostgreSQL before, Debian's package is kept from
# starting one on port 5432.
stores:
	$(if $(wildcard /usr/lib/postgresql),,$(call need,postgresql-common))
	$(if $(wildcard /usr/lib/postgresql),,[ ! -e /etc/postgresql-common/createcluster.conf ] || \
		$(SUDO) sed -i 's/^#* *create_main_cluster.*/create_main_cluster = off/' /etc/postgresql-common/createcluster.conf)
	$(call need,haproxy openssl postgresql python3)

# These tests use the sign-in pages and the inspector in a real browser: with cookies, by keyboard, without scripts, at
# both widths. FILES chooses some: FILES='test_inspector_*.py'.
FILES ?= test_*.py
test-browser: build
	$(call need,chromium chromium-driver libnss3-tools python3-venv)
	Tests/Browser/run $(BINARY) '' '$(FILES)'

# This makes the pictures in docs/inspector: one of each page of the inspector at both widths.
screenshots: build
	$(call need,chromium chromium-driver curl python3-venv)
	mkdir -p docs/inspector
	Tests/Browser/run $(BINARY) docs/inspector screenshots.py

# These tests use real client libraries, GitHub CLI behind TLS, an Apache whose people sign in by OpenID Connect, and
# programs that send and receive mail. CLIENTS="test_mcp.py test_github.py" chooses some.
# Postfix is installed without a configuration, so that it doesn't become the machine's mail server.
test-clients: build
	@[ -x /usr/sbin/postfix ] || [ "$$(uname)" != Linux ] || \
		echo 'postfix postfix/main_mailer_type select No configuration' | $(SUDO) debconf-set-selections
	$(call need,gh socat openssl python3-venv golang-go golang-github-coreos-go-oidc-dev \
		golang-golang-x-oauth2-dev iproute2 util-linux apache2-bin libapache2-mod-auth-openidc ruby-omniauth-github \
		curl swaks libio-socket-ssl-perl msmtp nodejs node-nodemailer ruby-mail postfix)
	Tests/Clients/run $(BINARY) $(CLIENTS)

# These tests verify ID tokens in a server in Swift. jwt-kit has its own cryptographic library, which takes minutes to
# compile.
test-jwt-kit: build
	$(call need,python3-venv)
	Tests/Clients/run $(BINARY) test_swift.py

# These tests do what new users do first, each within a minute: a Django site, a suite on four workers, Node, and more.
test-walks: build
	$(call need,nodejs openssl python3-venv util-linux)
	Tests/Walks/run $(BINARY)

# These tests build and install the kits and the other parts for users, and try them on a daemon as users do.
test-kits: build
	$(call need,golang-go node-typescript nodejs python3-venv)
	Clients/python/run $(BINARY)
	Clients/javascript/run $(BINARY)
	Tests/Kits/run $(BINARY)
	Tests/MCP/run $(BINARY)

# These tests send the hostile input again, with Address and Thread Sanitizer. The leak checker is off, since it doesn't
# follow the tagged pointers in which Swift keeps its globals, and reports every one of them. Tests of surroundings
# without /proc and of memory that is given back are left out: the sanitizers need /proc, and their malloc gives nothing
# back.
test-sanitizers: setup
	$(call need,curl openssl python3 python3-cryptography python3-jwt)
	ASAN_OPTIONS=detect_leaks=0:suppressions=$(CURDIR)/Tests/asan-suppressions.txt \
	swift test --disable-xctest --sanitize=address --scratch-path .build/asan --skip 'HostileSurroundings|FreedMemory' --filter 'Hostile|EmulatorCore|LibraryTests|AppleTests|GitHubTests|FirebaseTests|ControlTests|CommandLineToolTests'
	TSAN_OPTIONS=suppressions=$(CURDIR)/Tests/tsan-suppressions.txt \
	swift test --disable-xctest --sanitize=thread --scratch-path .build/tsan --skip 'HostileSurroundings|FreedMemory' --filter 'Hostile|EmulatorCore|LibraryTests|AppleTests|GitHubTests|FirebaseTests|ControlTests|CommandLineToolTests'

# These tests send every boundary value for every name at every endpoint. `make test` sends some for each. They take a
# quarter of an hour.
test-boundaries: setup
	UNDERSTUDY_ALL_BOUNDARIES=1 swift test --disable-xctest --filter Boundary

# These tests use a table of a million rows in each store. `make test` has fourteen thousand. They take three minutes.
ROWS ?= 1000000
test-rows:
	UNDERSTUDY_ROWS=$(ROWS) $(MAKE) test POSTGRESQL=1 FILTER=ManyRowsTests

# These tests flood the daemon with connections: half-sent requests, delayed answers, and more connections than
# descriptors. Then fifty clients use one thing at once, for each kind of thing that works once. They take some minutes.
test-stress: build
	$(call need,python3)
	Tests/Stress/connections $(BINARY)
	Tests/Stress/redeem $(BINARY)

# These tests end a daemon that keeps its worlds in a file by SIGKILL, KILLS times under load, and lock the file by
# another program. They take two minutes.
KILLS ?= 100
test-kills: build
	$(call need,python3)
	Tests/Stress/kills $(BINARY) $(KILLS)
	Tests/Stress/locked $(BINARY) 2
	UNDERSTUDY_STORE=sqlite:#temporary Tests/Stress/redeem $(BINARY) 10

# These tests use two daemons on one PostgreSQL. Fifty clients use one thing at both, for each kind of thing that works
# once. One daemon is ended by SIGKILL, KILLS times under load. PostgreSQL is stopped and started. Both daemons are
# restarted in turn behind haproxy. They take ten minutes, and with SHORT=1 a minute.
test-replicas: build stores
	Tests/Stress/redeem $(BINARY) $(if $(SHORT),10,200) replicas
	Tests/Stress/kills $(BINARY) $(if $(SHORT),10,$(KILLS)) postgresql
	Tests/Stress/outage $(BINARY) $(if $(SHORT),2,10)
	Tests/Stress/rolling $(BINARY) $(if $(SHORT),1,10)

# These tests take long and rarely fail: more than an hour. FUZZ_SECONDS is the time of the fuzzer over HTTP.
# The container needs root.
FUZZ_SECONDS ?= 60
test-long: build stores
	$(MAKE) test-stress
	$(MAKE) test-kills KILLS=20
	$(MAKE) test-replicas SHORT=1
	$(MAKE) test-walks
	$(MAKE) test-boundaries
	$(MAKE) test-openapi CALLS=1000
	$(MAKE) test-jwt-kit
	$(MAKE) test-clients
	$(MAKE) test-kits
	$(MAKE) test-browser
	$(MAKE) test-release
	[ "$$(id -u)" != 0 ] || $(MAKE) test-container
	$(MAKE) fuzz-http SECONDS=$(FUZZ_SECONDS)

# This measures the daemon's memory when clients make it keep things. It takes a minute, and with GROWTH=, which tries
# everything, ten minutes.
GROWTH ?= --short
test-growth: build
	$(call need,python3)
	Tests/Stress/growth $(BINARY) $(GROWTH)

# SECONDS is the time for all targets of libFuzzer together, and again for the fuzzer over HTTP. Each run uses another
# random seed, unless UNDERSTUDY_FUZZ_SEED is set. TARGETS="http seeds" runs only these targets.
SECONDS = 20
FUZZER = .build/fuzz/release/FuzzRunner

fuzz: fuzz-runner
	Tests/Fuzz/run $(FUZZER) $(SECONDS) $(TARGETS)
	$(MAKE) fuzz-http SECONDS=$(SECONDS)

fuzz-runner: setup
	UNDERSTUDY_FUZZ=1 swift build -c release --sanitize=fuzzer $(FUZZ_FLAGS) --product FuzzRunner --scratch-path .build/fuzz \
		-Xswiftc -gline-tables-only

fuzz-http: build
	$(call need,python3-venv)
	Tests/Fuzz/http/run $(BINARY) $(SECONDS)

# This test sends calls of the control API that are generated from its OpenAPI document. CALLS=600 always sends the
# same.
CALLS ?= 10000
test-openapi: build
	$(call need,python3-venv)
	Tests/OpenAPI/run $(BINARY) $(CALLS)

# This test runs every command block of the documentation exactly as printed, and follows every link in it.
PAGES = README.md $(wildcard docs/*.md docs/*/*.md docs/*/*/*.md) docs/llms.txt
test-docs: build
	$(call need,curl python3)
	Tests/Evidence/pages $(BINARY) --check
	Tests/Docs/run $(BINARY) $(PAGES)

format:
	swift format --in-place --recursive Package.swift Plugins Sources Tests

lint:
	swift format lint --strict --recursive Package.swift Plugins Sources Tests

# This measures the cost of a sign-in when much is stored. It takes ten minutes.
bench-growth: build
	$(call need,wrk curl perl python3)
	Benchmarks/growth $(BINARY)

# This measures the same sign-ins on each store: how many there are in a second, and the cost of each.
# GRANTS="1000 100000 1000000" measures them with these numbers of stored grants, which takes some minutes for each
# store.
bench-stores: build stores
	$(call need,wrk)
	Benchmarks/stores $(BINARY) $(if $(GRANTS),--grants $(GRANTS))

# This counts instructions for the same sign-ins, to show changes that are smaller than the difference between two runs.
bench-instructions: build
	$(call need,binutils python3 valgrind)
	Benchmarks/instructions $(BINARY) memory sqlite

bench: build
	$(call need,wrk curl perl)
	Benchmarks/run $(BINARY)

# This measures mail, and compares it with aiosmtpd, and with Mailpit if that is installed.
bench-mail: build
	$(call need,python3-venv)
	[ -x .build/bench-venv/bin/python ] || python3 -m venv .build/bench-venv
	.build/bench-venv/bin/pip install --quiet --disable-pip-version-check 'aiosmtpd==1.*'
	.build/bench-venv/bin/python Benchmarks/mail $(BINARY)

# This measures the cost of the most expensive requests of 1 MB.
bench-worst: build
	$(call need,python3)
	Benchmarks/worst $(BINARY)

# Run this after a change of the seed's format.
schema: build
	$(BINARY) seed schema > seed-data/schema.json
	$(BINARY) seed schema --markdown > docs/seed.md

# Run this after a change of an evidence.tsv, or of a test's name.
evidence: build
	$(call need,python3)
	Tests/Evidence/pages $(BINARY)

# Run this after a change of a scenario's texts.
scenarios: build
	$(BINARY) seed scenarios > seed-data/scenarios/README.md

install: build
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 755 -s $(BINARY) $(DESTDIR)$(PREFIX)/bin/understudy
	packaging/shared $(BINARY) $(DESTDIR)$(PREFIX)/share
	set -e; [ "$$(uname)" = Linux ] || exit 0; for unit in understudy.service understudy.socket; do \
		install -d $(DESTDIR)$(PREFIX)/lib/systemd/system; \
		sed 's|@PREFIX@|$(PREFIX)|' packaging/$$unit > $(DESTDIR)$(PREFIX)/lib/systemd/system/$$unit; \
	done

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/understudy
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/share/,man/man1/understudy.1.gz bash-completion/completions/understudy \
		zsh/site-functions/_understudy fish/vendor_completions.d/understudy.fish)
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/lib/systemd/system/,understudy.service understudy.socket)

# This makes .build/understudy_VERSION_ARCHITECTURE.deb.
deb: build
	$(call need,dpkg-dev)
	packaging/deb $(BINARY)

# This makes .build/release-VERSION on Linux: the executable in an archive, the Debian package, the sources, and their
# checksums.
release: build
	$(call need,dpkg-dev)
	packaging/release $(BINARY)

# This test checks that the release is the same when it is made again, that it runs, and the steps of action.yml with
# it. With REBUILD=1 it also checks that a build in another folder gives the same executable, which takes ten minutes.
test-release: build
	$(call need,curl dpkg-dev python3 python3-yaml)
	Tests/Release/reproducible $(BINARY) $(if $(REBUILD),--rebuild)
	Tests/Release/action $(BINARY)

# This test installs the package in a separate Debian, and runs docker-compose.yml's services on a separate network,
# without a container engine. It needs root.
test-container: deb
	$(call need,debootstrap curl docker-compose iproute2 python3 python3-yaml)
	Tests/Container/package .build/understudy_*.deb
	Tests/Container/image $(BINARY)

# This test does the same, and also runs the Dockerfile's build stage, which builds the product once more.
test-image: setup
	$(call need,debootstrap curl docker-compose iproute2 python3 python3-yaml)
	Tests/Container/image

# This test runs the two commands on the committed sources in a Debian that has only Swift, git and make.
test-fresh: setup
	$(call need,debootstrap python3)
	Tests/Container/fresh

# This test runs the package under a real systemd in a virtual machine.
test-boot: deb
	$(call need,debootstrap e2fsprogs python3 qemu-system-x86)
	Tests/Container/boot .build/understudy_*.deb

clean:
	rm -rf .build
