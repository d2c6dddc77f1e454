# SPDX-License-Identifier: Apache-2.0
# Builds, tests and checks nrtd. `make help` lists the targets of all makefiles.

VERSION := 0.2.0

include packaging/cross.mk
# ccache reuses objects of earlier builds, also of other directories. CCACHE= or setting CC turns it off.
ifeq ($(origin CCACHE),undefined)
CCACHE := $(if $(filter default file,$(origin CC)),$(shell command -v ccache))
endif
CC ?= cc
PKG_CONFIG ?= pkg-config
CFLAGS ?= -O2 -g
LIBS := hwloc libcjson yaml-0.1 libxxhash libnghttp2 libprotobuf-c libcurl libsystemd libmicrohttpd
TEST_LIBS := cmocka

# ---- variants: each combination of CROSS, SANITIZE, COVERAGE and ANALYZE builds in its own directory; the default is build/
empty :=
comma := ,
variant := $(if $(CROSS),-$(ARCH))$(if $(SANITIZE),-san-$(subst $(comma),-,$(SANITIZE)))$(if $(COVERAGE),-cov)$(if $(ANALYZE),-analyze)
B := build$(if $(variant),/variant$(variant))

NRTD_CPPFLAGS = -I. -I$(B)/gen -D_GNU_SOURCE -DNRTD_VERSION='"$(VERSION)"' -include common/banned.h
# Without tables to unwind the stack, which the debug symbols have.
NRTD_CFLAGS = -std=gnu11 -fstack-protector-strong -fPIE -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables -Wall -Wextra
NRTD_LDFLAGS = -pie -Wl,-z,relro,-z,now -Wl,--as-needed -Wl,--gc-sections
# nrtd check loads libnuma, which calls these functions of nrtd instead of libnuma's.
NRTD_LDFLAGS += -Wl,--export-dynamic-symbol=numa_error -Wl,--export-dynamic-symbol=numa_warn
WERROR := -Werror -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes -Wold-style-definition \
	-Wmissing-prototypes -Wredundant-decls -Wpointer-arith -Wcast-qual -Wcast-align=strict -Wwrite-strings \
	-Wundef -Wvla -Wformat=2 -Wformat-signedness -Wnull-dereference -Wdouble-promotion \
	-Wimplicit-fallthrough=5 -Wswitch-enum -Wduplicated-cond -Wduplicated-branches -Wlogical-op -Walloca
ifdef SANITIZE
NRTD_CFLAGS += -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer
NRTD_LDFLAGS += -fsanitize=$(SANITIZE)
else
NRTD_CPPFLAGS += $(if $(findstring -O0,$(CFLAGS)),,-D_FORTIFY_SOURCE=2)
endif
ifdef COVERAGE
# Atomic counters: a lost update of a thread makes a branch's counter negative, which gcovr rejects.
NRTD_CFLAGS += --coverage -fprofile-update=atomic -O0
NRTD_LDFLAGS += --coverage
else
# Reproducible in any directory: paths in the debug information begin with "." (not with COVERAGE: gcov needs the full path).
NRTD_CFLAGS += -ffile-prefix-map=$(CURDIR)=.
endif
ifdef ANALYZE
# gcc 12 reports a false leak for a pointer stored in an array at an unknown index; valgrind and LeakSanitizer check for leaks.
NRTD_CFLAGS += -fanalyzer -Wno-analyzer-malloc-leak
endif

# -Os for commands and for I/O-bound code, -O2 for the rest.
SMALL := agent/% common/kube/% common/http/% cli/%
optimized = $(if $(filter $(SMALL),$<),$(CFLAGS:-O2=-Os),$(CFLAGS))
# Packed relocations have a twentieth of the size. They require glibc 2.36 or later at run time, and a linker that writes them (in 2023 only
# those for x86). To run with an older glibc, build with PACK_RELOCATIONS=.
ifneq ($(filter x86_64%,$(shell $(CC) -dumpmachine)),)
PACK_RELOCATIONS := $(shell getconf GNU_LIBC_VERSION 2>/dev/null | \
	awk -F '[ .]' '$$2 > 2 || $$3 >= 36 { print "-Wl,-z,pack-relative-relocs" }')
NRTD_LDFLAGS += $(PACK_RELOCATIONS)
endif

LIB_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(LIBS) 2>/dev/null)
LIB_LIBS := $(shell $(PKG_CONFIG) --libs $(LIBS) 2>/dev/null)
TEST_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(TEST_LIBS) 2>/dev/null)
TEST_LDLIBS := $(shell $(PKG_CONFIG) --libs $(TEST_LIBS) 2>/dev/null)

# Separate libraries before glibc 2.34.
LIBC_LIBS := -lm -ldl -lpthread -lutil

# ---- sources, objects and programs
TOP_FOLDERS := agent cli cluster common scoring
MAINS := $(sort $(wildcard cli/*/main_*.c))
SRC := $(filter-out $(MAINS),$(sort $(wildcard $(addsuffix /*.c,$(TOP_FOLDERS) $(addsuffix /*,$(TOP_FOLDERS))))))
PROTO := $(sort $(wildcard agent/*/*.proto))
# kubectl-numa is built without the daemons' folders, so that it can be built on other systems than Linux (doc/platforms.md).
NUMA_SRC := $(filter-out agent/% common/http/% cluster/extender/% cli/nrtd/% cli/extender/% common/kube/backoff.c,$(SRC))
OBJ := $(SRC:%.c=$(B)/%.o) $(PROTO:%.proto=$(B)/gen/%.pb-c.o)
TESTLIB_OBJ := $(patsubst %.c,$(B)/%.o,$(sort $(wildcard tests/lib/*.c)))
UNIT := $(patsubst tests/unit/%.c,$(B)/tests/unit/%,$(sort $(wildcard tests/unit/test_*.c)))
VECTORS_OBJ := $(patsubst %.c,$(B)/%.o,$(sort $(wildcard tests/vectors/*.c)))
BENCH := $(patsubst tests/bench/%.c,$(B)/tests/bench/%,$(sort $(wildcard tests/bench/bench_*.c)))
PICTURES := $(B)/tests/pictures/make_pictures
# Programs with a single source file: tests link cmocka, the others do not.
SERVER := $(B)/tests/scenario/pod_resources
CMOCKA_PROGRAMS := $(UNIT) $(PICTURES) $(SERVER)
PLAIN_PROGRAMS := $(BENCH) $(B)/tests/bench/upstream $(B)/tests/upstream/follow $(B)/tests/upstream/steps $(B)/tests/upstream/verdict \
	$(B)/tests/upstream/extender_api $(B)/tests/upstream/documents
PRODUCT := $(B)/nrtd $(B)/nrtd-extender $(B)/kubectl-numa
PROGRAMS := $(PRODUCT) $(B)/vectors $(CMOCKA_PROGRAMS) $(PLAIN_PROGRAMS)

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-7s %s\n' $(1) $@)

# run, demo, test and coverage build with one job per CPU unless -j is given.
parallel = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))
.DEFAULT_GOAL := all
.PHONY: all run test units check check-unit coverage lint nightly map clean help
.SECONDARY:
.DELETE_ON_ERROR:

##daily run: install missing packages, build, print this machine's NodeResourceTopology
run:
	@packaging/install-deps.sh build
	@packaging/run.sh build $(B) $(MAKE) $(parallel) --no-print-directory $(B)/nrtd
	@packaging/run.sh show $(B)/nrtd

##daily test: install missing packages, build, run every test that requires no cluster
##daily ARCH=arm64 test: cross-build for arm64, ppc64le or s390x, test under QEMU (Debian)
test:
	@packaging/install-deps.sh test $(ARCH)
	@$(MAKE) $(parallel) --no-print-directory check

##daily all: build nrtd, and build/vectors, which replays decisions of the real Kubernetes code
##daily DEVELOPER=1 all: turn warnings into errors; other variables: CC, CFLAGS, CCACHE, V=1 (print commands)
all: $(PRODUCT) $(if $(VECTORS_OBJ),$(B)/vectors)

##daily lint: check formatting, spelling, manuals, layers; run clang-tidy and gcc -fanalyzer
lint:
	@packaging/install-deps.sh lint
	@tests/check/lint.sh

##judges nightly: run the tests that are too long for .ci/run (root, Debian, QEMU, Go; NIGHTLY="arm64")
nightly:
	@tests/nightly.sh

##daily map: print a line for each module: what it does
map:
	@tests/check/map.sh

# A line "##PART TARGET: text" in any makefile becomes a line of `make help`.
help:
	@awk 'sub(/^##/, "") { part = $$1; at = index($$0, ": "); name = substr($$0, length(part) + 2, at - length(part) - 2); \
		text[part] = text[part] sprintf("  %-18s %s\n", name, substr($$0, at + 2)) } \
		END { printf "make [VARIABLE=VALUE] TARGET. In parentheses: requirements; variables.\n\ndaily:\n%s\ncomparisons with the real Kubernetes code, and measurements:\n%s\nrelease:\n%s", \
		text["daily"], text["judges"], text["release"] }' $(makefiles)

# ---- flags file: a change of the flags rebuilds the objects
FLAGS := $(CC) $(CFLAGS) $(SMALL) $(WERROR) $(NRTD_CFLAGS) $(NRTD_CPPFLAGS) $(NRTD_LDFLAGS) $(LDFLAGS) $(LIB_CFLAGS) $(LIB_LIBS)
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(FLAGS))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(FLAGS))' > $@
.PHONY: FORCE

# Warnings do not change machine code, so builds with and without DEVELOPER share a directory. $(B)/unchecked lists the objects that were
# compiled without warnings; a build with DEVELOPER compiles these objects again.
ifdef DEVELOPER
warnings := $(WERROR)
$(shell [ ! -e $(B)/unchecked ] || { xargs rm -f $(B)/libnrtd.a $(PRODUCT) <$(B)/unchecked && rm $(B)/unchecked && \
	find $(B)/tests -type f -perm -u+x -delete 2>/dev/null; })
endif
$(B)/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC)
	$(if $(DEVELOPER),,@echo $@ >>$(B)/unchecked)
	$(Q)$(CCACHE) $(CC) $(NRTD_CPPFLAGS) $(CPPFLAGS) $(LIB_CFLAGS) $(if $(filter tests/%,$<),$(TEST_CFLAGS)) $(NRTD_CFLAGS) $(warnings) \
		$(optimized) -MMD -MP -MF $(@:.o=.d) -c -o $@ $<

# ---- protobuf messages: generated code is compiled without warnings
$(B)/gen/%.pb-c.c $(B)/gen/%.pb-c.h: %.proto
	@mkdir -p $(@D)
	$(call say,PROTOC)
	$(Q)protoc-c --proto_path=. --c_out=$(B)/gen $<
$(B)/gen/%.pb-c.o: $(B)/gen/%.pb-c.c $(B)/flags
	$(call say,CC)
	$(Q)$(CC) $(NRTD_CPPFLAGS) $(CPPFLAGS) $(LIB_CFLAGS) $(filter-out -W%,$(NRTD_CFLAGS)) $(CFLAGS) -w -c -o $@ $<
$(filter $(B)/agent/%,$(OBJ)): | $(PROTO:%.proto=$(B)/gen/%.pb-c.h)

$(B)/libnrtd.a: $(OBJ)
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(B)/nrtd: $(B)/cli/nrtd/main_nrtd.o
$(B)/nrtd-extender: $(B)/cli/extender/main_extender.o
$(B)/kubectl-numa: $(B)/cli/numa/main_numa.o $(NUMA_SRC:%.c=$(B)/%.o)
$(B)/vectors: $(VECTORS_OBJ) $(B)/tests/lib/peers.o
$(CMOCKA_PROGRAMS) $(PLAIN_PROGRAMS): %: %.o
$(CMOCKA_PROGRAMS) $(BENCH) $(B)/tests/bench/upstream: $(TESTLIB_OBJ)
$(CMOCKA_PROGRAMS) $(BENCH) $(B)/tests/bench/upstream: PROGRAM_LIBS = $(TEST_LDLIBS)
$(filter-out $(B)/kubectl-numa,$(PROGRAMS)): $(B)/libnrtd.a
$(PROGRAMS):
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
# check also builds the benchmarks, so that they stay buildable.
##daily check: run the tests of make test without installing packages
##daily SANITIZE=address,undefined check: run the same tests under ASan and UBSan
check: all units $(BENCH)
	@B=$(B) $(EMULATOR) tests/check/run-tests.sh
##daily check-unit: run the unit tests only; make build/tests/unit/test_nrt builds one of them
check-unit: units
	@B=$(B) $(EMULATOR) tests/check/run-tests.sh unit

##daily coverage: print the lines and branches that the tests reach
coverage:
	@packaging/install-deps.sh lint
	@$(MAKE) $(parallel) --no-print-directory COVERAGE=1 CFLAGS='-O0 -g' check
	@tests/check/coverage.sh

makefiles := Makefile $(sort $(wildcard packaging/*.mk tests/*.mk))
include $(filter-out Makefile packaging/cross.mk,$(makefiles))

##daily clean: remove build/
clean:
	rm -rf build

-include $(shell find $(addprefix $(B)/,$(TOP_FOLDERS) tests) build/fuzz/obj -name '*.d' 2>/dev/null)
