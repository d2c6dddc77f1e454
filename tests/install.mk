# SPDX-License-Identifier: Apache-2.0
# ---- virtual machines whose NUMA layout is chosen (tests/vm)
.PHONY: vm-test run-vm-test
vm-test:
	@packaging/install-deps.sh build
	@$(MAKE) --no-print-directory run-vm-test
run-vm-test: $(B)/nrtd
	@B=$(B) tests/vm/run.sh

# ---- what clusters install (tests/install)
.PHONY: image-test images-test manifests-test
image-test images-test manifests-test:
	@packaging/install-deps.sh build
	@$(MAKE) --no-print-directory $(B)/nrtd
	@B=$(B) tests/install/$(@:-test=).sh

# ---- the committed tree's Debian package, installed and run (tests/install)
.PHONY: install-test
install-test:
	@tests/install/systemd.sh

# ---- its RPM packages, built twice, installed and run (tests/install)
.PHONY: rpm-test
rpm-test:
	@tests/install/rpm.sh

# ---- the AppArmor profile, and the SELinux module, in virtual machines whose kernels have them (tests/install)
.PHONY: apparmor-test selinux-test
apparmor-test selinux-test:
	@packaging/install-deps.sh build
	@$(MAKE) --no-print-directory $(B)/nrtd $(B)/tests/scenario/pod_resources
	@B=$(B) tests/install/$(@:-test=).sh

# ---- a virtual machine with systemd, containerd and a real kubelet (tests/node); NODE_STEPS: groups of them
.PHONY: node-test
node-test:
	@tests/node/run.sh $(NODE_STEPS)

# ---- rules and dashboard over a real Prometheus that scrapes agents and an extender (tests/monitoring)
.PHONY: monitoring-test
monitoring-test:
	@packaging/install-deps.sh build
	@$(MAKE) --no-print-directory $(B)/nrtd
	@B=$(B) tests/monitoring/run.sh

# ---- doc/recipes, by their own commands (tests/recipes); RECIPES: names
.PHONY: recipes-test
recipes-test: $(B)/nrtd
	@B=$(B) tests/recipes/run.sh $(RECIPES)

# ---- built with other releases' compilers and libraries (tests/install); RELEASES: their names
.PHONY: releases-test
releases-test:
	@tests/install/releases.sh

# ---- install-deps.sh with dnf and zypper (tests/install)
.PHONY: managers-test
managers-test:
	@tests/install/managers.sh

# ---- what make release makes, twice, and what is done with it (tests/install); ARCHS: only these
.PHONY: release-test
release-test:
	@tests/install/release.sh

# ---- the archive with its libraries, in the least systems of several releases (tests/install); ROOTS: their names
.PHONY: tarball-test
tarball-test:
	@packaging/install-deps.sh build
	@$(MAKE) --no-print-directory $(B)/nrtd $(MACHINES)
	@B=$(B) tests/install/tarball.sh
