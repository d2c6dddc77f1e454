# SPDX-License-Identifier: Apache-2.0
# nrtd. `make run` and `make test` are the two commands; `make help` lists the rest.

VERSION := 0.1.0
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
SBINDIR ?= $(PREFIX)/sbin
MANDIR ?= $(PREFIX)/share/man
DOCDIR ?= $(PREFIX)/share/doc/nrtd
SYSCONFDIR ?= /etc
SYSTEMDUNITDIR ?= $(PREFIX)/lib/systemd/system
BASHCOMPDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHCOMPDIR ?= $(PREFIX)/share/zsh/site-functions
FISHCOMPDIR ?= $(PREFIX)/share/fish/vendor_completions.d
MANIFESTDIR ?= $(PREFIX)/share/nrtd/kubernetes
SELINUXDIR ?= $(PREFIX)/share/nrtd/selinux

# ARCH=arm64, ppc64le or s390x on another machine: Debian's cross compilers and libraries build it, and QEMU runs the tests.
# An ARCH of the environment is for something else.
CROSS :=
ifneq ($(origin ARCH),command line)
ARCH :=
else
override ARCH := $(or $(firstword $(shell packaging/arch.sh $(ARCH))),$(error ARCH=$(ARCH)))
ifneq ($(ARCH),$(firstword $(shell packaging/arch.sh)))
CROSS := $(word 3,$(shell packaging/arch.sh $(ARCH)))
SYSROOT := $(CURDIR)/build/sysroot/$(ARCH)
CC := $(CROSS)-gcc --sysroot=$(SYSROOT)
AR := $(CROSS)-ar
PKG_CONFIG := PKG_CONFIG_SYSROOT_DIR=$(SYSROOT) PKG_CONFIG_PATH= \
	PKG_CONFIG_LIBDIR=$(SYSROOT)/usr/lib/$(CROSS)/pkgconfig:$(SYSROOT)/usr/share/pkgconfig pkg-config
EMULATOR := tests/lib/emulate.sh $(ARCH)
endif
endif
CC ?= cc
PKG_CONFIG ?= pkg-config
CFLAGS ?= -O2 -g
LIBS := hwloc libcjson yaml-0.1 libxxhash libnghttp2 libprotobuf-c libcurl libsystemd libmicrohttpd
TEST_LIBS := cmocka

# ---- variants: each set of knobs builds in its own folder; without knobs in build/
empty :=
comma := ,
variant := $(if $(CROSS),-$(ARCH))$(if $(SANITIZE),-san-$(subst $(comma),-,$(SANITIZE)))$(if $(COVERAGE),-cov)$(if $(ANALYZE),-analyze)
B := build$(if $(variant),/variant$(variant))

NRTD_CPPFLAGS = -I. -I$(B)/gen -D_GNU_SOURCE -DNRTD_VERSION='"$(VERSION)"' -include common/banned.h
NRTD_CFLAGS = -std=gnu11 -fstack-protector-strong -fPIE -ffunction-sections -fdata-sections -Wall -Wextra
NRTD_LDFLAGS = -pie -Wl,-z,relro,-z,now -Wl,--as-needed -Wl,--gc-sections
# libnuma, which nrtd check loads, calls these in place of its own.
NRTD_LDFLAGS += -Wl,--export-dynamic-symbol=numa_error -Wl,--export-dynamic-symbol=numa_warn
WERROR := -Werror -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes -Wold-style-definition \
	-Wmissing-prototypes -Wredundant-decls -Wpointer-arith -Wcast-qual -Wcast-align=strict -Wwrite-strings \
	-Wundef -Wvla -Wformat=2 -Wformat-signedness -Wnull-dereference -Wdouble-promotion \
	-Wimplicit-fallthrough=5 -Wswitch-enum -Wduplicated-cond -Wduplicated-branches -Wlogical-op -Walloca
ifdef DEVELOPER
NRTD_CFLAGS += $(WERROR)
endif
ifdef SANITIZE
NRTD_CFLAGS += -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer
NRTD_LDFLAGS += -fsanitize=$(SANITIZE)
else
NRTD_CPPFLAGS += $(if $(findstring -O0,$(CFLAGS)),,-D_FORTIFY_SOURCE=2)
endif
ifdef COVERAGE
# Threads count what they reach: an update that is lost makes a branch's number negative, which gcovr refuses.
NRTD_CFLAGS += --coverage -fprofile-update=atomic -O0
NRTD_LDFLAGS += --coverage
else
# The same bytes in whatever folder it is built: what describes it to a debugger begins with "." (gcov needs the whole name).
NRTD_CFLAGS += -ffile-prefix-map=$(CURDIR)=.
endif
ifdef ANALYZE
# gcc 12 loses sight of a pointer stored in an array whose index it does not know and calls it a leak; valgrind and
# LeakSanitizer gate leaks.
NRTD_CFLAGS += -fanalyzer -Wno-analyzer-malloc-leak
endif

# What a person waits for, and what itself waits for the kernel or a server, is made small; the rest is made fast.
SMALL := $(addprefix agent/,observe/% publish/% daemon/% show/% check/% cli/%)
optimized = $(if $(filter $(SMALL),$<),$(CFLAGS:-O2=-Os),$(CFLAGS))
# The loader of glibc 2.36 reads a table of relocations that is a twentieth as large; of 2023's linkers those for x86 write it.
# PACK_RELOCATIONS= for a program that is to run with an older one.
ifneq ($(filter x86_64%,$(shell $(CC) -dumpmachine)),)
PACK_RELOCATIONS := $(shell getconf GNU_LIBC_VERSION 2>/dev/null | \
	awk -F '[ .]' '$$2 > 2 || $$3 >= 36 { print "-Wl,-z,pack-relative-relocs" }')
NRTD_LDFLAGS += $(PACK_RELOCATIONS)
endif

LIB_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(LIBS) 2>/dev/null)
LIB_LIBS := $(shell $(PKG_CONFIG) --libs $(LIBS) 2>/dev/null)
TEST_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(TEST_LIBS) 2>/dev/null)
TEST_LDLIBS := $(shell $(PKG_CONFIG) --libs $(TEST_LIBS) 2>/dev/null)

# Parts of glibc: on their own before 2.34.
LIBC_LIBS := -lm -ldl -lpthread -lutil

# ---- what there is
MAIN := agent/cli/main.c
SRC := $(filter-out $(MAIN),$(sort $(wildcard common/*.c scoring/*.c agent/*.c agent/*/*.c)))
PROTO := $(sort $(wildcard agent/*.proto agent/*/*.proto))
OBJ := $(SRC:%.c=$(B)/%.o) $(PROTO:%.proto=$(B)/gen/%.pb-c.o)
TESTLIB_OBJ := $(patsubst %.c,$(B)/%.o,$(sort $(wildcard tests/lib/*.c)))
UNIT := $(patsubst tests/unit/%.c,$(B)/tests/unit/%,$(sort $(wildcard tests/unit/test_*.c)))
VECTORS_OBJ := $(patsubst %.c,$(B)/%.o,$(sort $(wildcard tests/vectors/*.c)))
BENCH := $(patsubst tests/bench/%.c,$(B)/tests/bench/%,$(sort $(wildcard tests/bench/bench_*.c)))
PICTURES := $(B)/tests/pictures/make_pictures
# Programs of one source file: the tests' with cmocka, the others without.
SERVER := $(B)/tests/scenario/pod_resources
CMOCKA_PROGRAMS := $(UNIT) $(PICTURES) $(SERVER)
PLAIN_PROGRAMS := $(BENCH) $(B)/tests/bench/upstream $(B)/tests/upstream/follow $(B)/tests/upstream/steps $(B)/tests/upstream/verdict \
	$(B)/tests/upstream/extender_api
PROGRAMS := $(B)/nrtd $(B)/vectors $(CMOCKA_PROGRAMS) $(PLAIN_PROGRAMS)

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-7s %s\n' $(1) $@)

# What run, test and coverage build, they build with every CPU, unless -j says how many.
parallel = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))
.DEFAULT_GOAL := all
.PHONY: all run test deb rpm tarball image-all release units check check-unit bench coverage lint nightly map chart install dist clean help
.SECONDARY:
.DELETE_ON_ERROR:

all: $(B)/nrtd $(if $(VECTORS_OBJ),$(B)/vectors)

run:
	@packaging/install-deps.sh build
	@$(MAKE) $(parallel) --no-print-directory $(B)/nrtd
	@$(B)/nrtd dump

test:
	@packaging/install-deps.sh test $(ARCH)
	@$(MAKE) $(parallel) --no-print-directory check

bench:
	@packaging/install-deps.sh build
	@$(MAKE) --no-print-directory run-bench

lint:
	@packaging/install-deps.sh lint
	@tests/check/lint.sh

# NIGHTLY: names of its steps
nightly:
	@tests/nightly.sh

map:
	@tests/check/map.sh

own_architecture = $(if $(CROSS),$(error make $@ is not for other architectures))
deb:
	$(own_architecture)
	@packaging/install-deps.sh deb
	@packaging/make-deb.sh build/deb

rpm:
	$(own_architecture)
	@packaging/install-deps.sh rpm
	@packaging/make-rpm.sh build/rpm

chart:
	@packaging/make-chart.sh build/chart

image-all:
	@packaging/make-image.sh build/image-all $(ARCH)

tarball:
	@packaging/install-deps.sh roots
	@packaging/make-tarball.sh build/tarball $(ARCH)

release:
	$(own_architecture)
	@for group in deb rpm roots container; do packaging/install-deps.sh $$group || exit 1; done
	@packaging/make-release.sh build/release

help:
	@sed -n 's/^##//p' Makefile

## make run        install what is missing, build, print this machine's NodeResourceTopology
## make test       install what is missing, build, run every test that needs no cluster
## make all        build build/nrtd and build/vectors
## make bench      measure speed and memory, with the goals beside them
## make bench-upstream  the real Kubernetes code's speed beside nrtd's, on the same questions (needs Go)
## make nightly    every test that takes too long for the gate, .ci/run (root, Debian, x86_64; QEMU, Go; hours; NIGHTLY="valgrind arm64")
## make conformance  compare with the real Kubernetes code, CASES=1000 random cases; RELEASE=1.37 or all: one kubelet; SHORT=1 (needs Go)
## make vm-test    nrtd in virtual machines with chosen NUMA layouts (x86_64; QEMU, about a minute)
## make image-test  build the container image and run it as the DaemonSet's pod says, by runc (root; needs Go)
## make images-test  the images of make image-all, the same bytes twice, their programs run by QEMU (root; ten minutes)
## make manifests-test  the manifests and the Helm chart before the real API server (needs Go)
## make monitoring-test  every query of the rules and the dashboard on a real Prometheus that scrapes agents (needs Go; two minutes)
## make install-test  the Debian package under a booted systemd, against the real API server (root, Debian, Go; two minutes)
## make rpm-test   the RPM package built twice, installed, upgraded and removed under a booted systemd (root, Debian, Go; two minutes)
## make apparmor-test  the service in its AppArmor profile, in a virtual machine (x86_64; QEMU, half a minute)
## make selinux-test  the SELinux module over Debian's policies, in virtual machines that enforce them (root, Debian, x86_64; QEMU, two minutes)
## make releases-test  built, and the unit tests run, with the libraries of Debian 11 and 13 and Ubuntu 22.04 (root, Debian; RELEASES="bullseye")
## make managers-test  install-deps.sh with the real dnf and zypper (root, Debian; two minutes)
## make tarball-test  the archive of make tarball, built twice and run in the least systems of four releases, those for other architectures by QEMU, as a service, and under SELinux (root, Debian, x86_64; QEMU, Go; ROOTS="jammy" ARCHS="arm64")
## make release-test  what make release makes, twice, the same bytes, signed, pushed and installed by krew (root, Debian, Go; half an hour; ARCHS="amd64")
## make node-test  nrtd beside a real kubelet in a virtual machine, its object against the containers' cgroups (root, Debian, QEMU, Go; a quarter of an hour)
## make pictures   draw man/pictures, which doc/examples.md shows
## make cluster    a real API server and scheduler on the loopback, until Ctrl-C (needs Go)
## make outcome    how many pods kubelets refuse under several ways to schedule, a table and a plot (needs Go; OUTCOME="-seeds 3")
## make volcano    Volcano's plugin numaaware beside nrtd: its documentation's examples, random nodes and pods (needs Go; VOLCANO="-cases 10000")
## make volcano-scheduler  the whole Volcano scheduler places the documentation's pods by nrtd's objects (needs Go; half a minute)
## make volcano-exporter  the objects of Volcano's resource-exporter and of nrtd, member by member (needs Go; half a minute)
## make koordinator  Koordinator's plugin on nrtd's objects and on koordlet's, random nodes and pods (needs Go; KOORDINATOR="-cases 5000")
## make bench-extender  how soon nrtd extender answers about a pod with 500 and 5000 nodes (needs Go)
## make scale      what 10, 100, 300, 1000 nodes cost one API server, and its restart (root; needs Go; an hour; SCALE=30 SHORT=1)
## make bench-peers  measure nrtd beside other exporters (needs Go)
## make lint       formatting, spelling, manual pages, layers, analyzers
## make map        write the modules' map in HACKING.md
## make coverage   lines and branches that the tests reach
## make fuzz-smoke run every fuzz target for FUZZ_SECONDS (default 30; needs clang)
## make mutate     programs that are wrong on purpose, which the tests have to notice (MUTANTS=200 PART=scoring: random ones)
## make install    into DESTDIR/PREFIX (default /usr/local)
## make deb        the Debian package, into build/deb
## make rpm        the RPM packages, into build/rpm
## make image-all  the container images for amd64, arm64, ppc64le and s390x as one OCI archive, into build/image-all (buildah)
## make chart      the Helm chart as an archive, into build/chart (needs helm or Go)
## make tarball    the program with its libraries, into build/tarball, for systems with glibc 2.34 or newer (root, Debian; ARCH=arm64)
## make release    all of these with bills of materials and SHA256SUMS, into build/release (root, Debian; RELEASE_URL=https://...; doc/release.md)
## make dist       build/nrtd-VERSION.tar.gz of the committed tree
## knobs: ARCH=arm64, ppc64le or s390x (cross built, tests under QEMU) DEVELOPER=1 (warnings are errors) SANITIZE=address,undefined COVERAGE=1 ANALYZE=1 V=1 CFLAGS=...
## one test: make build/tests/unit/test_quantity && build/tests/unit/test_quantity

# ---- flags file: a change of flags rebuilds
FLAGS := $(CC) $(CFLAGS) $(SMALL) $(NRTD_CFLAGS) $(NRTD_CPPFLAGS) $(NRTD_LDFLAGS) $(LDFLAGS) $(LIB_CFLAGS) $(LIB_LIBS)
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(FLAGS))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(FLAGS))' > $@
.PHONY: FORCE

$(B)/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(NRTD_CPPFLAGS) $(CPPFLAGS) $(LIB_CFLAGS) $(if $(filter tests/%,$<),$(TEST_CFLAGS)) $(NRTD_CFLAGS) $(optimized) \
		-MMD -MP -MF $(@:.o=.d) -c -o $@ $<

# ---- protobuf messages: generated code is not held to our warnings
$(B)/gen/%.pb-c.c $(B)/gen/%.pb-c.h: %.proto
	@mkdir -p $(@D)
	$(call say,PROTOC)
	$(Q)protoc-c --proto_path=. --c_out=$(B)/gen $<
$(B)/gen/%.pb-c.o: $(B)/gen/%.pb-c.c $(B)/flags
	$(call say,CC)
	$(Q)$(CC) $(NRTD_CPPFLAGS) $(CPPFLAGS) $(LIB_CFLAGS) $(filter-out -W%,$(NRTD_CFLAGS)) $(CFLAGS) -w -c -o $@ $<
$(SRC:%.c=$(B)/%.o): | $(PROTO:%.proto=$(B)/gen/%.pb-c.h)

$(B)/libnrtd.a: $(OBJ)
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(B)/nrtd: $(MAIN:%.c=$(B)/%.o)
$(B)/vectors: $(VECTORS_OBJ) $(B)/tests/lib/peers.o
$(CMOCKA_PROGRAMS) $(PLAIN_PROGRAMS): %: %.o
$(CMOCKA_PROGRAMS) $(BENCH) $(B)/tests/bench/upstream: $(TESTLIB_OBJ)
$(CMOCKA_PROGRAMS) $(BENCH) $(B)/tests/bench/upstream: PROGRAM_LIBS = $(TEST_LDLIBS)
$(PROGRAMS): $(B)/libnrtd.a
	$(call say,LINK)
	$(Q)$(CC) $(NRTD_LDFLAGS) $(NRTD_CFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIB_LIBS) \
		$(PROGRAM_LIBS) $(LIBC_LIBS)

# ---- tests
MACHINES := build/fixtures/machines/made
$(MACHINES): $(wildcard tests/fixtures/machines/*.spec tests/fixtures/machines/make.*)
	$(call say,MAKE)
	$(Q)tests/fixtures/machines/make.sh $(@D) && touch $@
$(UNIT): | $(MACHINES)

units: $(UNIT) $(SERVER)
# The benchmarks are built so that they do not rot.
check: all units $(BENCH)
	@B=$(B) $(EMULATOR) tests/check/run-tests.sh
check-unit: units
	@B=$(B) $(EMULATOR) tests/check/run-tests.sh unit

coverage:
	@packaging/install-deps.sh lint
	@$(MAKE) $(parallel) --no-print-directory COVERAGE=1 CFLAGS='-O0 -g' check
	@tests/check/coverage.sh

include $(sort $(wildcard tests/*.mk))

# ---- install
# The program that runs here, and writes the completions.
SELF := $(B)/nrtd
ifdef CROSS
SELF := build/self/nrtd
$(SELF): FORCE
	@$(MAKE) --no-print-directory ARCH= B=$(@D) CFLAGS=-O0 $@
endif
install: all $(SELF)
	install -d $(DESTDIR)$(SBINDIR) $(DESTDIR)$(BINDIR) $(foreach n,1 7 8,$(DESTDIR)$(MANDIR)/man$(n)) $(DESTDIR)$(DOCDIR)/doc \
		$(DESTDIR)$(SYSTEMDUNITDIR) $(DESTDIR)$(BASHCOMPDIR) $(DESTDIR)$(ZSHCOMPDIR) $(DESTDIR)$(FISHCOMPDIR) $(DESTDIR)$(MANIFESTDIR) $(DESTDIR)$(SELINUXDIR)
	install -m 755 $(B)/nrtd $(DESTDIR)$(SBINDIR)/nrtd
	install -m 755 packaging/kubectl-numa packaging/kubectl_complete-numa $(DESTDIR)$(BINDIR)/
	for n in 1 7 8; do install -m 644 man/*.$$n $(DESTDIR)$(MANDIR)/man$$n/ || exit 1; done
	install -m 644 README.md MIGRATING.md $(DESTDIR)$(DOCDIR)/
	install -m 644 doc/*.md $(DESTDIR)$(DOCDIR)/doc/
	echo .so man1/kubectl-numa.1 >$(DESTDIR)$(MANDIR)/man1/kubectl_complete-numa.1
	for unit in systemd/*; do sed 's#/usr/sbin/#$(SBINDIR)/#' $$unit >$(DESTDIR)$(SYSTEMDUNITDIR)/$${unit##*/} || exit 1; done
	install -d $(DESTDIR)$(SYSCONFDIR)/default
	[ -e $(DESTDIR)$(SYSCONFDIR)/default/nrtd ] || install -m 644 packaging/nrtd.default $(DESTDIR)$(SYSCONFDIR)/default/nrtd
	install -m 644 packaging/kubernetes/*.yaml $(DESTDIR)$(MANIFESTDIR)/
	for d in crd extender extender/scheduler monitoring openshift; do install -d $(DESTDIR)$(MANIFESTDIR)/$$d && \
		install -m 644 packaging/kubernetes/$$d/*.yaml $(DESTDIR)$(MANIFESTDIR)/$$d/ || exit 1; done
	install -m 644 packaging/kubernetes/monitoring/dashboard.json packaging/monitoring/rules.yaml $(DESTDIR)$(MANIFESTDIR)/monitoring/
	install -m 644 packaging/selinux/nrtd.cil $(DESTDIR)$(SELINUXDIR)/
	$(SELF) completion bash >$(DESTDIR)$(BASHCOMPDIR)/nrtd
	$(SELF) completion zsh >$(DESTDIR)$(ZSHCOMPDIR)/_nrtd
	$(SELF) completion fish >$(DESTDIR)$(FISHCOMPDIR)/nrtd.fish

dist:
	@packaging/make-source.sh build

clean:
	rm -rf build

-include $(shell find $(addprefix $(B)/,agent common scoring tests) build/fuzz/obj -name '*.d' 2>/dev/null)
