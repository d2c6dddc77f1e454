# SPDX-License-Identifier: Apache-2.0
# ---- the compiler for another architecture
# ARCH=arm64, ppc64le or s390x: Debian's cross compilers and libraries build nrtd, and QEMU runs the tests. Only an ARCH of the
# command line counts: in the environment, other programs use that name.
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
