#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make selinux-test: the SELinux module over the policies of Debian 12, which has no containers, and of Debian 13, which has:
# semodule takes it, sesearch says what it lets nrtd do and what not, and in a virtual machine whose kernel enforces the policy
# nrtd publishes, answers, is reloaded and asks the API server, as the service and as the pod, and the kernel denies nothing.
# The policies are in roots of their own, build/roots, made once; this machine's is not touched. With TARBALL=1 (make tarball-test)
# the service is also that of the tarball, in /opt/nrtd with its own libraries, and a TLS server is there. Each check is a line, the last
# line is "N passed, N failed"; "skipped:" and 0 where something is not available.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
# shellcheck source=tests/install/confined.sh
. tests/install/confined.sh

# make_policy RELEASE: $root, the least system of it with its policy, in a version that the kernel of the test knows
make_policy() {
	root=$(packaging/root.sh make "$1" selinux policycoreutils selinux-policy-default) || return 1
	grep -qx 'policy-version = 33' "$root/etc/selinux/semanage.conf" || echo 'policy-version = 33' >>"$root/etc/selinux/semanage.conf"
}
inside() { packaging/root.sh enter "$root" "$@"; }
installed() { # installed FOLDER: its nrtd.cil
	ROOT_MOUNT=$1 inside semodule -n -s default -X 400 -i /mnt/nrtd.cil
}
quietly_installed() {
	installed "$PWD/packaging/selinux" >"$work/semodule" 2>&1 && ! grep -v '^libsemanage.add_user' "$work/semodule"
}
refused() {
	mkdir -p "$work/broken" && sed "$1" packaging/selinux/nrtd.cil >"$work/broken/nrtd.cil" &&
		! cmp -s packaging/selinux/nrtd.cil "$work/broken/nrtd.cil" && ! installed "$work/broken"
}
# may and may_not CONDITION...: what sesearch finds of it; a name that the policy does not have is no answer
may() { grep -q '^allow' <(sesearch -A "$@" "$policy"); }
may_not() { [ -z "$(sesearch -A "$@" "$policy" || echo unknown)" ]; }
becomes() { sesearch -T -s "$1" -t nrtd_exec_t -c process "$policy" | grep -qx "type_transition $1 nrtd_exec_t:process nrtd_t;"; }
labelled() { inside matchpathcon -n -f /etc/selinux/default/contexts/files/file_contexts "$1" | grep -qx "system_u:object_r:$2:s0"; }
# writes DOMAIN: the types of the files that it may write
writes() { sesearch -A -s "$1" -c file -p write "$policy" | sed -nE 's/^allow [^ ]+ ([^ :]+):.*/\1/p' | sort -u | tr '\n' ' '; }
only_the_lock() { [ "$(writes nrtd_t | tee /dev/stderr)" = "nrtd_runtime_t nrtd_t nrtd_tmpfs_t " ]; }
makes_folder() { sesearch -T -s "$1" -t var_run_t -c dir "$policy" | grep -qx "type_transition $1 var_run_t:dir nrtd_runtime_t nrtd;"; }
has_containers() { seinfo -t container_var_lib_t "$policy" | grep -q '^ *container_var_lib_t'; }

rules() {
	local domain program starters=init_t folder=var_lib_t
	! has_containers || { starters="init_t kubelet_t" && folder=container_var_lib_t; }
	check "init starts it in its domain" becomes init_t
	check "although it gains no privileges" may -s init_t -t nrtd_t -c process2 -p nnp_transition
	for program in /usr/sbin/nrtd /usr/local/sbin/nrtd /opt/nrtd/bin/nrtd; do
		check "$program has its label" labelled $program nrtd_exec_t
	done
	check "its lock has its label" labelled /run/nrtd/nrtd.lock nrtd_runtime_t
	for domain in $starters; do
		check "$domain makes the lock's folder with that label" makes_folder "$domain"
		check "$domain may" may -s "$domain" -t nrtd_runtime_t -c dir -p create
	done
	check "the service writes its lock only, and its own memory" only_the_lock
	check "it runs no shell" may_not -s nrtd_t -t shell_exec_t -c file -p execute
	check "it traces nobody" may_not -s nrtd_t -t init_t -c process -p ptrace
	check "it looks names up" may -s nrtd_t -t net_conf_t -c file -p read
	for domain in nrtd_t nrtd_container_t; do
		check "$domain reads the kubelet's files" may -s $domain -t $folder -c file -p read
		check "$domain writes none of them" may_not -s $domain -t $folder -c file -p write,append,create,unlink,setattr
		check "$domain makes none" may_not -s $domain -t $folder -c dir -p write,add_name,remove_name
		check "$domain uses the socket" may -s $domain -t $folder -c sock_file -p write
		check "$domain does not read passwords" may_not -s $domain -t shadow_t -c file -p read
		check "$domain loads no modules" may_not -s $domain -t $domain -c capability -p sys_module
	done
}
# with_tarball: /opt/nrtd as install.sh makes it, and a TLS server for it
with_tarball() {
	local to=$work/root
	mkdir -p "$to/opt" && tar -xzf "$work"/tarball/nrtd-*.tar.gz -C "$to/opt" && mv "$to"/opt/nrtd-* "$to/opt/nrtd" &&
		ldd "$to/opt/nrtd/bin/nrtd" "$to"/opt/nrtd/lib/*.so* | sed -nE 's#.* => (/(usr/)?lib/[^ ]*) .*#\1#p' | sort -u | while read -r library; do
		mkdir -p "$to${library%/*}" && cp -L "$library" "$to$library" || return 1
	done || return 1
	cp "$(command -v openssl)" "$to/usr/bin/" && with_libraries "$to" "$(command -v openssl)" &&
		openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=ca -addext subjectAltName=IP:127.0.0.1 \
			-keyout "$to/etc/kubernetes/server.key" -out "$to/etc/kubernetes/ca.crt" 2>"$work/openssl" &&
		printf '%s\n' 'apiVersion: v1' 'kind: Config' 'current-context: a' 'contexts: [{name: a, context: {cluster: a, user: a}}]' \
			'clusters: [{name: a, cluster: {server: "https://127.0.0.1:6444", certificate-authority: ca.crt}}]' \
			'users: [{name: a, user: {token: t}}]' >"$to/etc/kubernetes/with-ca.conf"
}
machine() {
	rm -rf "$work/root"
	make_root tests/install/selinux-init || return 1
	mkdir -p "$work"/root/{sys/fs/selinux,var/lib/kubelet/pods/{own,other}}
	cp "$policy" "$work/root/policy"
	cp "$root/etc/selinux/default/contexts/files/file_contexts" "$root/etc/selinux/default/contexts/files/file_contexts.subs_dist" "$work/root/"
	[ -z "${TARBALL:-}" ] || with_tarball || return 1
	cp "$(command -v setfiles)" "$work/root/usr/sbin/" && with_libraries "$work/root" "$(command -v setfiles)"
	has_containers || return 0
	mkdir -p "$work"/root/pod/{usr/sbin,etc/kubernetes,proc,sys,dev,tmp,host/proc,run/nrtd,var/lib/kubelet} &&
		cp "$B/nrtd" "$work/root/pod/usr/sbin/" && with_libraries "$work/root/pod" "$B/nrtd" || return 1
	echo token | tee "$work/root/var/lib/kubelet/pods/own/token" >"$work/root/var/lib/kubelet/pods/other/token"
	printf '%s(/.*)?	system_u:object_r:container_file_t:%s\n' /pod s0:c1,c2 /var/lib/kubelet/pods/own s0:c1,c2 \
		/var/lib/kubelet/pods/other s0:c3,c4 >>"$work/root/file_contexts"
}

answer=$(packaging/install-deps.sh selinux 2>&1) || skip "$(printf '%s\n' "$answer" | tail -n 1)"
[ "$(id -u)" -eq 0 ] || skip "root is needed, for the policies' roots"
[ -z "${TARBALL:-}" ] || packaging/make-tarball.sh "$work/tarball" 2>&1 || exit 1
for subject in bookworm trixie; do
	make_policy "$subject" || skip "Debian's $subject cannot be made"
	policy=$root/etc/selinux/default/policy/policy.33
	check "semodule takes it, without a word" quietly_installed
	check "but not one with a misspelt permission" refused 's/(file (entrypoint execute map))/(file (entrypoint exekute map))/'
	rules
	[ "$(uname -m)" = x86_64 ] || continue
	get_kernel || skip "Debian's package linux-image-cloud-amd64 is not available here"
	machine || { echo "FAIL $subject: the machine's files" && exit 1; }
	boot security=selinux selinux=1 enforcing=0
	! grep -qx 'no SELinux' "$work/lines" || skip "the kernel $kernel has no SELinux"
	guest_results
	[ -z "${TARBALL:-}" ] || check "that of the tarball was tried, too" grep "^ok *tarball: the API server's CA" "$work/lines"
done
subject=
tally
