#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make apparmor-test: the service's AppArmor profile: apparmor_parser takes it, and in a virtual machine whose kernel has
# AppArmor nrtd publishes, answers, is reloaded and asks the API server in it, as it is shipped and enforced, and the kernel has
# nothing to say. Each check is a line, the last line is "N passed, N failed"; "skipped:" and 0 where something cannot be had.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
cache=build/vm
profile=packaging/debian/nrtd-service.apparmor
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
# shellcheck source=tests/lib/checks.sh
. tests/lib/checks.sh
# shellcheck source=tests/vm/kernel.sh
. tests/vm/kernel.sh
# compiled PROFILE: for the kernels of Debian 12, whatever this one has
compiled() { apparmor_parser --skip-cache --stdout --features-file /etc/apparmor.d/abi/3.0 "$@"; }

# The service beside nrtd: what systemd hears, and a process that is named as the kubelet is.
helpers() {
	cat >"$work/service.c" <<-'END'
		#include <stdio.h>
		#include <sys/socket.h>
		#include <sys/un.h>
		int main(void)
		{
			struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/run/systemd/notify"};
			int s = socket(AF_UNIX, SOCK_DGRAM, 0);
			char text[4096];
			if (s < 0 || bind(s, (struct sockaddr *)&address, sizeof(address)) < 0)
				return 1;
			for (ssize_t n = 0; n >= 0; n = recv(s, text, sizeof(text), 0)) {
				if (n == 0)
					fputs("bound", stdout);
				fwrite(text, 1, (size_t)n, stdout);
				putchar('\n');
				fflush(stdout);
			}
		}
	END
	printf '#include <unistd.h>\nint main(void) { for (;;) pause(); }\n' >"$work/kubelet.c"
	cc -o "$work/root/bin/notified" "$work/service.c" && cc -o "$work/root/bin/kubelet" "$work/kubelet.c"
}
make_root() {
	local library
	mkdir -p "$work"/root/{bin,usr/sbin,dev,proc,sys,tmp,etc/kubernetes,run/nrtd,run/nrtd-proc,run/systemd,var/lib/kubelet/pod-resources} &&
		cp "$B/nrtd" "$work/root/usr/sbin/" && cp "$(command -v busybox)" "$B/tests/scenario/pod_resources" "$work/root/bin/" &&
		cp tests/install/apparmor-init "$work/root/init" && helpers || return 1
	libraries "$B/nrtd" "$(command -v busybox)" "$B/tests/scenario/pod_resources" | sort -u | while read -r library; do
		mkdir -p "$work/root${library%/*}" && cp -L "$library" "$work/root$library" || return 1
	done
	# what it loads when it needs it
	ldconfig -p | sed -nE 's/^[[:space:]]*(libmicrohttpd|libcurl|libnuma)\.so\.[0-9]+ \(.*\) => (.*)/\2/p' | sort -u | while read -r library; do
		mkdir -p "$work/root${library%/*}" && cp -L "$library" "$work/root$library"
		libraries "$library" | while read -r library; do
			mkdir -p "$work/root${library%/*}" && cp -L "$library" "$work/root$library"
		done
	done
	printf '#!/bin/busybox sh\necho "exec nrtd-service" >/proc/self/attr/exec\nexec "$@"\n' >"$work/root/bin/confined"
	chmod +x "$work/root/bin/confined"
	printf '%s\n' 'apiVersion: kubelet.config.k8s.io/v1beta1' 'kind: KubeletConfiguration' 'cpuManagerPolicy: static' 'reservedSystemCPUs: "0"' \
		>"$work/root/var/lib/kubelet/config.yaml"
	echo '{"policyName":"static","defaultCpuSet":"0-1","checksum":0}' >"$work/root/var/lib/kubelet/cpu_manager_state"
	printf '%s\n' 'apiVersion: v1' 'kind: Config' 'current-context: a' 'contexts: [{name: a, context: {cluster: a, user: a}}]' \
		'clusters: [{name: a, cluster: {server: "https://127.0.0.1:6443"}}]' 'users: [{name: a, user: {token: t}}]' >"$work/root/etc/kubernetes/kubelet.conf"
	echo 'root:*:1::::::' >"$work/root/etc/shadow"
	echo 'root:x:0:0::/:/bin/sh' >"$work/root/etc/passwd"
	compiled $profile >"$work/root/profile.complain" &&
		compiled <(sed 's/,complain)/)/' $profile) >"$work/root/profile.enforce"
}
boot() {
	(cd "$work/root" && find . | cpio -o -H newc -R 0:0 --quiet) >"$work/initrd" && timeout 300 qemu-system-x86_64 -accel tcg -M q35 -nodefaults \
		-no-user-config -no-reboot -display none -smp 2 -m 768M -serial "file:$work/console" -serial "file:$work/told" -kernel "$kernel" \
		-initrd "$work/initrd" -append "console=ttyS0 quiet panic=-1 rdinit=/init apparmor=1 security=apparmor" >"$work/qemu" 2>&1
}

answer=$(packaging/install-deps.sh apparmor 2>&1) || skip "$(printf '%s\n' "$answer" | tail -n 1)"
compiled $profile --warn=all --Werror >/dev/null
result "apparmor_parser takes the profile" $?
! compiled <(sed 's/network netlink raw/network netlink any/' $profile) >/dev/null 2>&1
result "but not one with a misspelt rule" $?
[ "$(uname -m)" = x86_64 ] || skip "the virtual machine is x86_64, this machine is not"
get_kernel || skip "Debian's package linux-image-cloud-amd64 is not available here"
make_root || exit 1
boot
tr -d '\r' <"$work/told" >"$work/lines"
! grep -qx 'no AppArmor' "$work/lines" || skip "the kernel $kernel has no AppArmor"
while read -r verdict name; do
	[ "$verdict" = ok ]
	result "$name" $?
done < <(sed '/^== end/,$d' "$work/lines" | grep -E '^(ok|FAIL) ')
grep -q '^== end' "$work/lines"
result "the machine ran to its end" $?
[ $failed -eq 0 ] || tail -n 60 "$work/lines" "$work/console" "$work/qemu" | sed 's/^/	/'
tally
