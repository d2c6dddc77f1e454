# SPDX-License-Identifier: Apache-2.0
# Fuzz targets need clang. They use separate objects, with coverage and both sanitizers. New inputs stay in build/.
FUZZ := $(patsubst tests/fuzz/%.c,build/fuzz/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
FUZZ_CC ?= clang
FUZZ_SECONDS ?= 30
FUZZ_SEED ?= 0
FUZZ_FLAGS = $(NRTD_CPPFLAGS) $(LIB_CFLAGS) -std=gnu11 -g -O1 -fno-omit-frame-pointer -fno-sanitize-recover=all -Werror=incompatible-pointer-types -Wno-error=incompatible-pointer-types-discards-qualifiers
FUZZ_OBJ := $(SRC:%.c=build/fuzz/obj/%.o) $(PROTO:%.proto=build/fuzz/obj/%.pb-c.o)
$(SRC:%.c=build/fuzz/obj/%.o): | $(PROTO:%.proto=$(B)/gen/%.pb-c.h)
build/fuzz/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,FUZZ-CC)
	$(Q)$(CCACHE) $(FUZZ_CC) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link,address,undefined -MMD -MP -MF $(@:.o=.d) -c -o $@ $<
build/fuzz/obj/%.pb-c.o: $(B)/gen/%.pb-c.c
	@mkdir -p $(@D)
	$(call say,FUZZ-CC)
	$(Q)$(FUZZ_CC) $(FUZZ_FLAGS) -w -fsanitize=fuzzer-no-link,address,undefined -c -o $@ $<
build/fuzz/libnrtd.a: $(FUZZ_OBJ)
	$(Q)rm -f $@ && ar rcs $@ $^
build/fuzz/%: build/fuzz/obj/tests/fuzz/%.o build/fuzz/libnrtd.a
	$(call say,LINK)
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer,address,undefined -o $@ $^ $(LIB_LIBS) $(LIBC_LIBS)
.PHONY: fuzz fuzz-smoke
fuzz: $(FUZZ)
##daily fuzz-smoke: run every fuzz target for FUZZ_SECONDS (clang; default: 30; FUZZ_SEED=0: a random seed)
fuzz-smoke: fuzz
	@printf '%s\n' $(notdir $(FUZZ)) | xargs -P $$(nproc) -n 1 tests/fuzz/smoke.sh $(FUZZ_SECONDS) $(FUZZ_SEED)
