# SPDX-License-Identifier: Apache-2.0
# ---- mutation tests: the tests must detect wrong code (tests/check/mutate.sh)
.PHONY: mutate
##judges mutate: break the code on purpose; the tests must fail (MUTANTS=200 PART=scoring)
mutate:
	@tests/check/mutate.sh

# Programs that load nrtd's code as a shared library, and before it libmutant.so, which replaces one source file by a mutant.
SHARED_PROGRAMS := $(patsubst $(B)/%,$(B)/shared/%,$(UNIT) $(B)/nrtd $(B)/vectors)
.PHONY: shared mutant-commands
shared: $(SHARED_PROGRAMS)
$(B)/shared/libnrtd.so: $(B)/libnrtd.a
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) -shared $(filter -fsanitize%,$(NRTD_LDFLAGS)) -o $@ -Wl,--whole-archive $< -Wl,--no-whole-archive $(LIB_LIBS) $(LIBC_LIBS)
$(B)/shared/libmutant.so:
	@mkdir -p $(@D)
	$(Q)$(CC) -shared -o $@ -x c /dev/null
$(B)/shared/nrtd: $(MAIN:%.c=$(B)/%.o)
$(B)/shared/vectors: $(VECTORS_OBJ) $(B)/tests/lib/peers.o
$(patsubst $(B)/%,$(B)/shared/%,$(UNIT)): $(B)/shared/%: $(B)/%.o $(TESTLIB_OBJ)
$(SHARED_PROGRAMS): $(B)/shared/libnrtd.so $(B)/shared/libmutant.so
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) -pie $(filter -fsanitize%,$(NRTD_LDFLAGS)) -o $@ $(filter %.o,$^) -Wl,--no-as-needed -L$(B)/shared -lmutant -lnrtd \
		$(LIB_LIBS) $(TEST_LDLIBS) $(LIBC_LIBS)
# Prints two lines: the command that compiles a file, and the command that links libmutant.so.
mutant-commands:
	@printf '%s\n' '$(subst ','\'',$(CC) $(NRTD_CPPFLAGS) $(CPPFLAGS) $(LIB_CFLAGS) $(NRTD_CFLAGS) $(CFLAGS) -w -c)' \
		'$(subst ','\'',$(CC) -shared $(filter -fsanitize%,$(NRTD_LDFLAGS)))'
