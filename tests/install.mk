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

# ---- packages and archives of the committed tree, and the systems that it is built on (tests/install)
# RELEASES and ARCHS: only these
.PHONY: rpm-test releases-test managers-test release-test
rpm-test releases-test managers-test release-test:
	@tests/install/$(@:-test=).sh

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

# ---- the archive with its libraries, in the least systems of several releases (tests/install); ROOTS: their names
.PHONY: tarball-test
tarball-test:
	@packaging/install-deps.sh build
	@$(MAKE) --no-print-directory $(B)/nrtd $(B)/tests/scenario/pod_resources $(MACHINES)
	@B=$(B) tests/install/tarball.sh
	@tests/install/tarball_service.sh
	@TARBALL=1 B=$(B) tests/install/selinux.sh
