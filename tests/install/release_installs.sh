#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# release_installs.sh [FOLDER]: install what `make release` has built in FOLDER (default: build/release), for this machine's architecture: the
# Debian packages from the folder's repository, the RPM packages, the tarball, the image, the chart and the plugin. Each part runs once and says the release's
# version; the tests of each part do the rest (install-test, rpm-test, tarball-test, image-test, manifests-test). release.sh runs this. Each
# check is a line, the last line is "N passed, N failed". What is not available here is said by "skipped:", and the end is 0.
set -u
export LC_ALL=C
release=$(cd "${1:-$(dirname "$0")/../../build/release}" && pwd) || exit 1
cd "$(dirname "$0")/../.." || exit 1
version=$(sed -n 's/^VERSION := //p' Makefile)
arch=$(packaging/arch.sh | cut -d' ' -f1)
work=$(mktemp -d)
root=
clean_up() {
	[ ! -e "$work/cluster/controlplane.pid" ] || tests/upstream/cluster.sh stop "$work/cluster"
	[ ! -e "$cache/storage" ] || b rm --all >/dev/null 2>&1
	for root in "$work"/*/root; do ! mountpoint -q "$root" || umount "$root"; done
	rm -rf "$work"
}
# shellcheck source=tests/lib/checks.sh
. tests/lib/checks.sh
# shellcheck source=tests/install/base.sh
. tests/install/base.sh
trap clean_up EXIT
trap 'exit 1' INT TERM

inside() { ROOT_MOUNT=$release packaging/root.sh enter "$root" "$@"; }
# fresh NAME: $root, a minimal Debian whose changes go with $work
fresh() {
	root=$work/$1/root
	mkdir -p "$root" "$work/$1/upper" "$work/$1/changes" &&
		mount -t overlay -o "lowerdir=$base,upperdir=$work/$1/upper,workdir=$work/$1/changes" overlay "$root" && cp /etc/resolv.conf "$root/etc/"
}
# runs [FOLDER]: the three programs, of FOLDER/bin or of the packages' folders, are of this release, and read a machine
runs() {
	local sbin=${1:+$1/bin} bin=${1:+$1/bin}
	[ "$(inside "${sbin:-/usr/sbin}/nrtd" --version)" = "nrtd $version" ] &&
		[ "$(inside "${sbin:-/usr/sbin}/nrtd-extender" --version)" = "nrtd-extender $version" ] &&
		[ "$(inside "${bin:-/usr/bin}/kubectl-numa" --version)" = "kubectl-numa $version" ] &&
		inside "${sbin:-/usr/sbin}/nrtd" dump --node-name n --pod-resources none --state-files none 2>/dev/null | grep -x 'kind: NodeResourceTopology'
}
gone() { ! inside sh -c 'command -v nrtd || command -v nrtd-extender || command -v kubectl-numa'; }

from_repository() {
	echo "deb [trusted=yes] file:/mnt/repository/apt ./" >"$root/etc/apt/sources.list.d/nrtd.list"
	inside sh -ec 'apt-get update && apt-get install -y --no-install-recommends nrtd nrtd-extender kubectl-numa'
}
purged() { inside apt-get purge -y nrtd nrtd-extender kubectl-numa && gone; }
# by_rpm: on the libraries of the Debian packages, which rpm does not know
by_rpm() {
	local packages
	packages=$(cd "$release" && printf '/mnt/%s ' {nrtd,nrtd-extender,kubectl-numa}"-$version-1.$(uname -m).rpm")
	# shellcheck disable=SC2086 # words
	inside sh -ec 'apt-get install -y --no-install-recommends rpm && rpm --install --nodeps "$@"' sh $packages
}
erased() { inside rpm --erase --nodeps nrtd nrtd-extender kubectl-numa && gone; }
from_tarball() { inside sh -ec "cd /root && tar -xzf /mnt/nrtd-$version-linux-$arch.tar.gz && nrtd-$version/install.sh"; }
unit() { grep -x 'ExecStart=/opt/nrtd/bin/nrtd run' "$root/etc/systemd/system/nrtd.service"; }

# image: both programs in a container of the image
image() {
	local container program
	container=$(b from --pull-never "oci-archive:$release/nrtd-$version.oci.tar") || return 1
	for program in nrtd nrtd-extender; do
		[ "$(b run --isolation chroot "$container" -- "/usr/sbin/$program" --version)" = "$program $version" ] || return 1
	done
}
programs() {
	status=0
	tests/upstream/build.sh controlplane kubectl || status=$?
	[ "$status" -eq 0 ] || return "$status"
	helm=$(tests/upstream/helm.sh) || { status=$? && echo "$helm" && return "$status"; }
}
kubectl() { build/upstream/kubectl --kubeconfig "$work/cluster/admin.kubeconfig" "$@"; }
chart() {
	HELM_CACHE_HOME=$work/helm HELM_CONFIG_HOME=$work/helm HELM_DATA_HOME=$work/helm "$helm" install nrtd "$release/nrtd-$version.tgz" \
		--kubeconfig "$work/cluster/admin.kubeconfig" -n nrtd --create-namespace --set image.repository=registry.example/nrtd &&
		kubectl wait --for condition=established --timeout 60s crd/noderesourcetopologies.topology.node.k8s.io &&
		[ "$(kubectl get daemonset nrtd -n nrtd -o 'jsonpath={.spec.template.spec.containers[0].image}')" = "registry.example/nrtd:$version" ]
}
plugin() {
	"$bin/validate-krew-manifest" -manifest "$release/numa.yaml" -skip-install &&
		env KREW_OS=linux KREW_ARCH="$arch" KREW_ROOT="$work/krew" HOME="$work" "$bin/krew" install --manifest="$release/numa.yaml" \
			--archive="$release/nrtd-$version-linux-$arch.tar.gz" && [ "$(env -i PATH=/usr/bin:/bin "$work/krew/bin/kubectl-numa" --version)" = "kubectl-numa $version" ]
}

[ "$(id -u)" -eq 0 ] || skip "a root needs root"
for group in roots container; do
	answer=$(packaging/install-deps.sh $group 2>&1) || skip "$(printf '%s\n' "$answer" | tail -n 1)"
done
base=$(packaging/root.sh make bookworm 2>"$work/out") || skip "$(tail -n 1 "$work/out")"
chmod a+rx "$work"
mkdir -p "$cache"
check "a minimal Debian" fresh packages
[ "$failed" -eq 0 ] || { tally || exit; }
check "apt installs the packages from the repository" from_repository
check "they run" runs
check "they are purged" purged
check "rpm installs the packages" by_rpm
check "they run" runs
check "they are erased" erased
check "another minimal Debian" fresh tarball
check "the tarball's install.sh" from_tarball
check "it runs with its own libraries" runs /opt/nrtd
check "the unit starts it" unit
check "the programs of the image run" image
status=0
programs >"$work/out" 2>&1 || status=$?
case $status in
0)
	check "a control plane" tests/upstream/cluster.sh start "$work/cluster" -nodes worker-1 -manifests "" -scheduler "" -agent tests/agent
	check "helm installs the chart" chart
	;;
77) tail -n 1 "$work/out" ;;
*) check "the programs of tests/upstream" false ;;
esac
status=0
tests/upstream/build_module.sh krew tool >"$work/out" 2>&1 || status=$?
case $status in
0) bin=$PWD/build/upstream && check "krew installs the plugin" plugin ;;
77) tail -n 1 "$work/out" ;;
*) check "krew is built" false ;;
esac
tally
