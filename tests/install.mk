# SPDX-License-Identifier: Apache-2.0
# ---- virtual machines with chosen NUMA layouts, and with too little memory for the service (tests/vm)
.PHONY: vm-test run-vm-test service-test
##judges vm-test: run nrtd in virtual machines with chosen NUMA layouts (x86_64, QEMU)
vm-test:
	@packaging/install-deps.sh build
	@$(MAKE) --no-print-directory run-vm-test
run-vm-test: $(B)/nrtd
	@B=$(B) tests/vm/run.sh
##judges service-test: run the unit in a virtual machine while memory runs out (root, Debian, x86_64, QEMU)
service-test:
	@packaging/install-deps.sh build
	@$(MAKE) --no-print-directory $(B)/nrtd $(MACHINES)
	@B=$(B) tests/vm/service.sh

# ---- container image, manifests and chart (tests/install)
.PHONY: image-test images-test manifests-test
##release image-test: build the container image and run it as the DaemonSet's pod with runc (root, Go)
##release images-test: build the images of image-all twice, compare the bytes, run them under QEMU (root)
##judges manifests-test: apply the manifests and the Helm chart to a real API server (Go)
image-test images-test manifests-test:
	@packaging/install-deps.sh build
	@$(MAKE) --no-print-directory $(PRODUCT)
	@B=$(B) tests/install/$(@:-test=).sh

# ---- the committed tree's Debian packages, installed and run (tests/install)
.PHONY: install-test
##release install-test: install and run the Debian packages under a booted systemd (root, Debian, Go)
install-test:
	@tests/install/systemd.sh

# ---- packages and archives of the committed tree, and the systems that nrtd is built on (tests/install)
# RELEASES and ARCHS limit a test to these releases and architectures.
.PHONY: rpm-test releases-test managers-test release-test repository-test ansible-test readme-test
##release rpm-test: install and run the RPM packages under a booted systemd (root, Debian, Go)
##release releases-test: build, and run the unit tests, on other distributions (root, Debian; RELEASES="trixie")
##release managers-test: run install-deps.sh with the real dnf and zypper (root, Debian)
##release release-test: run make release twice, compare, sign, push, install (root, Debian, Go; ARCHS)
##release repository-test: use a signed repository with apt, dnf and zypper (root, Debian)
##release ansible-test: install by the Ansible role with Debian 12's ansible-core (root, Debian)
##judges readme-test: run the commands of README.md on a new minimal Debian and a real API server (root, Go)
rpm-test releases-test managers-test release-test repository-test ansible-test readme-test:
	@tests/install/$(@:-test=).sh

# ---- the AppArmor profile and the SELinux module, in virtual machines (tests/install)
.PHONY: apparmor-test selinux-test
##release apparmor-test: run the service in its AppArmor profile, in a virtual machine (x86_64, QEMU)
##release selinux-test: test the SELinux module in enforcing virtual machines (root, Debian, x86_64, QEMU)
apparmor-test selinux-test:
	@packaging/install-deps.sh build
	@$(MAKE) --no-print-directory $(B)/nrtd $(B)/tests/scenario/pod_resources
	@B=$(B) tests/install/$(@:-test=).sh

# ---- a virtual machine with systemd, containerd and a real kubelet (tests/node); NODE_STEPS: groups of steps
.PHONY: node-test
##judges node-test: compare nrtd with a real kubelet's cgroups in a virtual machine (root, Debian, QEMU, Go)
node-test:
	@tests/node/run.sh $(NODE_STEPS)

# ---- rules and dashboard on a real Prometheus that scrapes agents and an extender (tests/monitoring)
.PHONY: monitoring-test
##judges monitoring-test: run the queries of rules and dashboard on a real Prometheus (Go)
monitoring-test:
	@packaging/install-deps.sh build
	@$(MAKE) --no-print-directory $(PRODUCT)
	@B=$(B) tests/monitoring/run.sh

# ---- the commands of doc/recipes (tests/recipes); RECIPES: names of recipes
.PHONY: recipes-test
##judges recipes-test: run the commands of doc/recipes and doc/operate.md (root, Go; RECIPES="NAME ...")
recipes-test: $(PRODUCT)
	@B=$(B) tests/recipes/run.sh $(RECIPES)

# ---- the tarball with its libraries, in minimal systems of several releases (tests/install); ROOTS: names of releases
.PHONY: tarball-test
##release tarball-test: build the tarball twice, run it on several distributions (root, Debian, QEMU, Go; ROOTS)
tarball-test:
	@packaging/install-deps.sh build
	@$(MAKE) --no-print-directory $(B)/nrtd $(B)/tests/scenario/pod_resources $(MACHINES)
	@B=$(B) tests/install/tarball.sh
	@tests/install/tarball_service.sh
	@TARBALL=1 B=$(B) tests/install/selinux.sh
