# SPDX-License-Identifier: Apache-2.0
# ---- the compiler for another architecture
# ARCH=arm64, ppc64le or s390x: build nrtd with Debian's cross compilers and libraries, and run the tests with QEMU. Only ARCH on make's
# command line counts, because other programs use an environment variable of this name.
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
