# SPDX-License-Identifier: Apache-2.0
# ---- packages, archives and images of the committed tree
.PHONY: deb rpm chart image-all tarball release repository dist
own_architecture = $(if $(CROSS),$(error make $@ is not for other architectures))
##release deb: build the Debian packages into build/deb
deb:
	$(own_architecture)
	@packaging/install-deps.sh deb
	@packaging/make-deb.sh build/deb

##release rpm: build the RPM packages into build/rpm
rpm:
	$(own_architecture)
	@packaging/install-deps.sh rpm
	@packaging/make-rpm.sh build/rpm

##release chart: pack the Helm chart into build/chart (helm or Go)
chart:
	@packaging/make-chart.sh build/chart

##release image-all: build an OCI archive for four architectures into build/image-all (buildah)
image-all:
	@packaging/make-image.sh build/image-all $(ARCH)

##release tarball: pack nrtd with its libraries (root, Debian; ARCH=arm64)
tarball:
	@packaging/install-deps.sh roots
	@packaging/make-tarball.sh build/tarball $(ARCH)

##release release: build all packages with SBOMs and checksums (root, Debian; RELEASE_URL, SIGN_KEY)
release:
	$(own_architecture)
	@for group in deb rpm repository roots container; do packaging/install-deps.sh $$group || exit 1; done
	@packaging/make-release.sh build/release

##release repository: add build/release to the apt and dnf repositories in REPOSITORY (SIGN_KEY)
repository:
	$(if $(REPOSITORY),,$(error make repository needs REPOSITORY=FOLDER))
	@packaging/install-deps.sh repository
	@packaging/make-repository.sh "$(REPOSITORY)" build/release "$(SIGN_KEY)"

##release dist: pack the committed tree as build/nrtd-VERSION.tar.gz
dist:
	@packaging/make-source.sh build
