# make run      the daemon on the default seed, on http://localhost:9099
# make example  the same, and a web app on http://localhost:3000 that signs in with each provider
# make test     all tests
# They set up what they need on a machine that has only Swift and git: Debian's packages, or Homebrew's on a Mac, without asking.

PREFIX ?= /usr/local
SEED ?= seed-data/default.json
# Optimized for size: a clean build takes a tenth less than for speed across modules, a sign-in a tenth more.
RELEASE = swift build -c release --product understudy -Xswiftc -Osize $(LINKED)
BINARY = .build/release/understudy
SUDO = $(shell [ "$$(id -u)" = 0 ] || echo sudo)

ifeq ($(shell uname),Darwin)
# Swift's libraries are the system's.
LINKED =
PACKAGES = jansson libmicrohttpd openssl@3 pkgconf
# What else targets ask for is there, or is for Debian only.
need = @missing=; for p in $(filter $(PACKAGES),$(1)); do brew list $$p > /dev/null 2>&1 || missing="$$missing $$p"; done; \
	[ -z "$$missing" ] || brew install $$missing
else
# Linked at a fixed address: 40,000 relocations less at every start.
LINKED = --static-swift-stdlib -Xswiftc -Xclang-linker -Xswiftc -no-pie
PACKAGES = libjansson-dev libmicrohttpd-dev libsqlite3-dev libssl-dev openssl
# $(call need,PACKAGES): installs those of Debian's packages that are missing, one target at a time.
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

# The daemon on port 9099, and on port 3000 a web app that signs in with each provider.
example: build
	$(call need,openssl python3)
	$(BINARY) exec --port 9099 -- python3 -B examples/web/app.py

build: setup
	$(RELEASE)

setup:
	$(call need,$(PACKAGES))

# STORE=checked: the same on a store that tries whatever stores rely on; STORE=sqlite: each daemon has a file of its own;
# STORE=postgresql: each has a schema of its own, at a server that is started for it; with REPLICAS=2, too, each daemon is two,
# behind a balancer. POSTGRESQL=1: in memory, and the tests of stores have a PostgreSQL. FILTER=…: only those tests.
test: setup $(if $(filter postgresql:,$(STORE))$(POSTGRESQL),stores)
	$(call need,curl openssl python3 python3-cryptography python3-jwt)
	$(if $(STORE),Tests/Stores/with $(STORE) $(REPLICAS) --,$(if $(POSTGRESQL),Tests/Stores/with conformance --)) \
		Tests/suite $(if $(FILTER),--filter '$(FILTER)')

# What stores are tried with. Where no PostgreSQL was, Debian's package is kept from starting one on port 5432.
stores:
	$(if $(wildcard /usr/lib/postgresql),,$(call need,postgresql-common))
	$(if $(wildcard /usr/lib/postgresql),,[ ! -e /etc/postgresql-common/createcluster.conf ] || \
		$(SUDO) sed -i 's/^#* *create_main_cluster.*/create_main_cluster = off/' /etc/postgresql-common/createcluster.conf)
	$(call need,haproxy openssl postgresql python3)

# The sign-in pages in a real browser: cookies, keyboard, no scripts, both widths.
test-browser: build
	$(call need,chromium chromium-driver libnss3-tools python3-venv)
	Tests/Browser/run $(BINARY)

# docs/inspector: a picture of each page of the inspector at both widths.
screenshots: build
	$(call need,chromium chromium-driver curl python3-venv)
	mkdir -p docs/inspector
	Tests/Browser/run $(BINARY) docs/inspector screenshots.py

# Real client libraries, GitHub CLI behind TLS, an Apache whose people sign in by OpenID Connect, and what sends and takes mail.
# Postfix is installed without a configuration, so that it doesn't become the machine's mail server.
test-clients: build
	@[ -x /usr/sbin/postfix ] || [ "$$(uname)" != Linux ] || \
		echo 'postfix postfix/main_mailer_type select No configuration' | $(SUDO) debconf-set-selections
	$(call need,gh socat openssl python3-venv golang-go golang-github-coreos-go-oidc-dev \
		golang-golang-x-oauth2-dev iproute2 util-linux apache2-bin libapache2-mod-auth-openidc ruby-omniauth-github \
		curl swaks libio-socket-ssl-perl msmtp nodejs node-nodemailer ruby-mail postfix)
	Tests/Clients/run $(BINARY)

# ID tokens at a server in Swift. jwt-kit brings a cryptographic library of its own, which takes minutes to compile.
test-jwt-kit: build
	$(call need,python3-venv)
	Tests/Clients/run $(BINARY) test_swift.py

# What new users would do first, each within a minute: a Django site, a suite on four workers, Node, a class, and more.
test-walks: build
	$(call need,nodejs openssl python3-venv util-linux)
	Tests/Walks/run $(BINARY)

# What is made for other programs and languages, each built, installed and tried on a daemon as its users do.
test-kits: build
	$(call need,golang-go node-typescript nodejs python3-venv)
	Clients/python/run $(BINARY)
	Clients/javascript/run $(BINARY)
	Tests/Kits/run $(BINARY)
	Tests/MCP/run $(BINARY)

# The hostile input again, under Address and Thread Sanitizer. Leaks aren't looked for: the leak checker doesn't see
# through the tagged pointers with which Swift keeps its globals, and reports every one of them. The sanitizers need /proc,
# which some hostile surroundings lack, and have a malloc of their own, which gives nothing back.
test-sanitizers: setup
	$(call need,curl openssl python3 python3-cryptography python3-jwt)
	ASAN_OPTIONS=detect_leaks=0:suppressions=$(CURDIR)/Tests/asan-suppressions.txt \
	swift test --disable-xctest --sanitize=address --scratch-path .build/asan --skip 'HostileSurroundings|FreedMemory' --filter 'Hostile|EmulatorCore|LibraryTests|AppleTests|GitHubTests|FirebaseTests|ControlTests|CommandLineToolTests'
	TSAN_OPTIONS=suppressions=$(CURDIR)/Tests/tsan-suppressions.txt \
	swift test --disable-xctest --sanitize=thread --scratch-path .build/tsan --skip 'HostileSurroundings|FreedMemory' --filter 'Hostile|EmulatorCore|LibraryTests|AppleTests|GitHubTests|FirebaseTests|ControlTests|CommandLineToolTests'

# Every boundary value for every name at every endpoint, where `make test` takes some for each: a quarter of an hour.
test-boundaries: setup
	UNDERSTUDY_ALL_BOUNDARIES=1 swift test --disable-xctest --filter Boundary

# A table of a million rows in each store, files and PostgreSQL included, where `make test` has fourteen thousand: three minutes.
ROWS ?= 1000000
test-rows:
	UNDERSTUDY_ROWS=$(ROWS) $(MAKE) test POSTGRESQL=1 FILTER=ManyRowsTests

# Floods of connections: half-sent requests, delayed answers, more than there are descriptors for; then fifty clients
# that use one thing at once, for each kind of thing that works once. Some minutes.
test-stress: build
	$(call need,python3)
	Tests/Stress/connections $(BINARY)
	Tests/Stress/redeem $(BINARY)

# A daemon whose worlds lie in a file is ended by SIGKILL, KILLS times under load, and the file is locked by another program: two
# minutes.
KILLS ?= 100
test-kills: build
	$(call need,python3)
	Tests/Stress/kills $(BINARY) $(KILLS)
	Tests/Stress/locked $(BINARY) 2
	UNDERSTUDY_STORE=sqlite:#temporary Tests/Stress/redeem $(BINARY) 10

# Two daemons on one PostgreSQL: fifty clients use one thing at both, for each kind of thing that works once; one daemon is ended by
# SIGKILL, KILLS times under load; PostgreSQL is stopped and started; both daemons are restarted in turn behind haproxy. Ten minutes,
# and with SHORT=1 a minute.
test-replicas: build stores
	Tests/Stress/redeem $(BINARY) $(if $(SHORT),10,200) replicas
	Tests/Stress/kills $(BINARY) $(if $(SHORT),10,$(KILLS)) postgresql
	Tests/Stress/outage $(BINARY) $(if $(SHORT),2,10)
	Tests/Stress/rolling $(BINARY) $(if $(SHORT),1,10)

# What takes long and rarely fails: three quarters of an hour. FUZZ_SECONDS for the fuzzer over HTTP. The container needs root.
FUZZ_SECONDS ?= 60
test-long: build stores
	$(MAKE) test-stress
	$(MAKE) test-kills KILLS=20
	$(MAKE) test-replicas SHORT=1
	$(MAKE) test-walks
	$(MAKE) test-boundaries
	$(MAKE) test-openapi CALLS=1000
	$(MAKE) test-jwt-kit
	[ "$$(id -u)" != 0 ] || $(MAKE) test-container
	$(MAKE) fuzz-http SECONDS=$(FUZZ_SECONDS)

# What the daemon takes when somebody makes it keep things: a minute; everything with GROWTH= (ten minutes).
GROWTH ?= --short
test-growth: build
	$(call need,python3)
	Tests/Stress/growth $(BINARY) $(GROWTH)

# SECONDS for all targets of libFuzzer together, then as many for the fuzzer over HTTP. Each run begins elsewhere, unless
# UNDERSTUDY_FUZZ_SEED is set. TARGETS="http seeds": only these.
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

# Calls of the control API, generated from its OpenAPI document; CALLS=600: always the same ones.
CALLS ?= 10000
test-openapi: build
	$(call need,python3-venv)
	Tests/OpenAPI/run $(BINARY) $(CALLS)

# Every command block of the documentation, run exactly as printed, and every link in it followed.
PAGES = README.md $(wildcard docs/*.md docs/*/*.md docs/*/*/*.md) docs/llms.txt
test-docs: build
	$(call need,curl python3)
	Tests/Evidence/pages $(BINARY) --check
	Tests/Docs/run $(BINARY) $(PAGES)

format:
	swift format --in-place --recursive Package.swift Plugins Sources Tests

lint:
	swift format lint --strict --recursive Package.swift Plugins Sources Tests

# What a sign-in costs when much is stored: ten minutes.
bench-growth: build
	$(call need,wrk curl perl python3)
	Benchmarks/growth $(BINARY)

# The same sign-ins on each store, beside one another: what a second brings and what each costs. GRANTS="1000 100000 1000000":
# with so many grants stored, which takes some minutes for each store.
bench-stores: build stores
	$(call need,wrk)
	Benchmarks/stores $(BINARY) $(if $(GRANTS),--grants $(GRANTS))

# The same in instructions, for changes that are smaller than what two runs differ by.
bench-instructions: build
	$(call need,binutils python3 valgrind)
	Benchmarks/instructions $(BINARY) memory sqlite

bench: build
	$(call need,wrk curl perl)
	Benchmarks/run $(BINARY)

# Mail, beside aiosmtpd, and Mailpit where it is installed.
bench-mail: build
	$(call need,python3-venv)
	[ -x .build/bench-venv/bin/python ] || python3 -m venv .build/bench-venv
	.build/bench-venv/bin/pip install --quiet --disable-pip-version-check 'aiosmtpd==1.*'
	.build/bench-venv/bin/python Benchmarks/mail $(BINARY)

# The worst requests of 1 MB, and what each costs.
bench-worst: build
	$(call need,python3)
	Benchmarks/worst $(BINARY)

# After a change of what a seed can hold.
schema: build
	$(BINARY) seed schema > seed-data/schema.json
	$(BINARY) seed schema --markdown > docs/seed.md

# After a change of what is known of a provider, or of a test's name.
evidence: build
	$(call need,python3)
	Tests/Evidence/pages $(BINARY)

# After a change of a scenario's texts.
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

# .build/understudy_VERSION_ARCHITECTURE.deb
deb: build
	$(call need,dpkg-dev)
	packaging/deb $(BINARY)

# .build/release-VERSION: the executable in an archive, the Debian package, the sources, and their checksums. On Linux.
release: build
	$(call need,dpkg-dev)
	packaging/release $(BINARY)

# Whether the release is the same when it is made again, whether it runs, and the steps of action.yml on it. With REBUILD=1, also
# whether another build in another folder gives the same executable: ten minutes.
test-release: build
	$(call need,curl dpkg-dev python3 python3-yaml)
	Tests/Release/reproducible $(BINARY) $(if $(REBUILD),--rebuild)
	Tests/Release/action $(BINARY)

# The package in a Debian of its own, and docker-compose.yml's services on a network of their own, without an engine. Root.
test-container: deb
	$(call need,debootstrap curl docker-compose iproute2 python3 python3-yaml)
	Tests/Container/package .build/understudy_*.deb
	Tests/Container/image $(BINARY)

# The same with the Dockerfile's build stage, which builds the product once more.
test-image: setup
	$(call need,debootstrap curl docker-compose iproute2 python3 python3-yaml)
	Tests/Container/image

# The two commands in a Debian that has Swift, git and make only, on what is committed.
test-fresh: setup
	$(call need,debootstrap python3)
	Tests/Container/fresh

# The package under a real systemd, in a virtual machine.
test-boot: deb
	$(call need,debootstrap e2fsprogs python3 qemu-system-x86)
	Tests/Container/boot .build/understudy_*.deb

clean:
	rm -rf .build
