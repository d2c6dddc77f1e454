# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A virtual machine in which nrtd runs under a security module, for apparmor.sh and selinux.sh: Debian's kernel, an initrd with
# nrtd and what is beside it on a node, and confined-guest. The caller has $B and $work. Sourced.
# shellcheck disable=SC2154 # $B, $work and $kernel are the caller's
cache=build/vm
# shellcheck source=tests/lib/checks.sh
. tests/lib/checks.sh
# shellcheck source=tests/vm/kernel.sh
. tests/vm/kernel.sh

# What is beside nrtd: of systemd, that it starts a service (after "-u" as nrtd.service says: another user with CAP_DAC_OVERRIDE, and
# no new privileges), hears it and passes signals on; of the kubelet, its name and socket;
# of a container runtime, that it starts a program in a root and context.
helpers() { # helpers FOLDER
	cat >"$work/init.c" <<-'END'
		#include <fcntl.h>
		#include <linux/capability.h>
		#include <poll.h>
		#include <signal.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/prctl.h>
		#include <sys/stat.h>
		#include <sys/socket.h>
		#include <sys/syscall.h>
		#include <sys/un.h>
		#include <sys/wait.h>
		#include <unistd.h>
		static pid_t child;
		static void pass(int number) { kill(child, number); }
		static int become_service(void)
		{
			struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
			__u32 set = 1U << CAP_DAC_OVERRIDE;
			struct __user_cap_data_struct data[2] = {{set, set, set}};
			return prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || setgid(61184) < 0 || setuid(61184) < 0 ||
			       syscall(SYS_capset, &head, data) < 0 ||
			       prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_OVERRIDE, 0, 0) < 0 ||
			       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0;
		}
		int main(int argc, char **argv)
		{
			struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/run/systemd/notify"};
			int output[2], status = 0, heard = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
			char text[4096];
			int service = argc > 1 && strcmp(argv[1], "-u") == 0;
			argv += service;
			argc -= service;
			unlink(address.sun_path);
			if (argc < 2 || bind(heard, (struct sockaddr *)&address, sizeof(address)) < 0 ||
			    chmod(address.sun_path, 0777) < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, output) < 0)
				return 125;
			setenv("NOTIFY_SOCKET", address.sun_path, 1);
			child = fork();
			if (child == 0) {
				dup2(open("/dev/null", O_RDWR | O_CLOEXEC), 0);
				dup2(output[1], 1);
				dup2(output[1], 2);
				if (service && become_service())
					_exit(124);
				execvp(argv[1], argv + 1);
				_exit(127);
			}
			close(output[1]);
			signal(SIGHUP, pass);
			signal(SIGTERM, pass);
			for (struct pollfd fds[2] = {{output[0], POLLIN, 0}, {heard, POLLIN, 0}};;) {
				if (poll(fds, 2, -1) < 0)
					continue;
				ssize_t n = read(fds[fds[1].revents ? 1 : 0].fd, text, sizeof(text) - 1);
				if (n <= 0)
					break;
				if (fds[1].revents)
					text[n++] = '\n';
				if (write(1, text, (size_t)n) < 0)
					break;
			}
			while (waitpid(child, &status, 0) < 0)
				;
			return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
		}
	END
	cat >"$work/kubelet.c" <<-'END'
		#include <unistd.h>
		int main(void)
		{
			int input[2]; /* what is waited for on it never comes */
			if (pipe(input) == 0 && fork() == 0)
				return dup2(input[0], 0) < 0 || close(input[1]) < 0 ||
				       execl("/bin/pod_resources", "pod_resources", "/var/lib/kubelet/pod-resources/kubelet.sock", "", "",
					     NULL);
			for (;;)
				pause();
		}
	END
	cat >"$work/runc.c" <<-'END'
		#include <fcntl.h>
		#include <string.h>
		#include <unistd.h>
		int main(int argc, char **argv)
		{
			if (argc < 4 || chroot(argv[1]) < 0 || chdir("/") < 0)
				return 125;
			int fd = open("/proc/self/attr/exec", O_WRONLY | O_CLOEXEC);
			if (write(fd, argv[2], strlen(argv[2])) < 0)
				return 126;
			execvp(argv[3], argv + 3);
			return 127;
		}
	END
	cc -Wall -o "$1/usr/sbin/init" "$work/init.c" && cc -Wall -o "$1/usr/bin/kubelet" "$work/kubelet.c" &&
		cc -Wall -o "$1/usr/bin/runc" "$work/runc.c"
}
# make_root INIT: $work/root, whose /init it is
make_root() {
	local root=$work/root
	mkdir -p "$root"/{bin,usr/bin,usr/sbin,dev,proc,sys,tmp,etc/kubernetes,run/nrtd,run/nrtd-proc,run/systemd,var/lib/kubelet/pod-resources} &&
		cp "$B/nrtd" "$root/usr/sbin/" && cp "$(command -v busybox)" "$B/tests/scenario/pod_resources" "$root/bin/" &&
		cp "$1" "$root/init" && cp tests/install/confined-guest "$root/" && helpers "$root" &&
		with_libraries "$root" "$B/nrtd" "$(command -v busybox)" "$B/tests/scenario/pod_resources" || return 1
	printf '%s\n' 'apiVersion: kubelet.config.k8s.io/v1beta1' 'kind: KubeletConfiguration' 'cpuManagerPolicy: static' 'reservedSystemCPUs: "0"' \
		>"$root/var/lib/kubelet/config.yaml"
	echo '{"policyName":"static","defaultCpuSet":"0-1","checksum":0}' >"$root/var/lib/kubelet/cpu_manager_state"
	printf '%s\n' 'apiVersion: v1' 'kind: Config' 'current-context: a' 'contexts: [{name: a, context: {cluster: a, user: a}}]' \
		'clusters: [{name: a, cluster: {server: "https://127.0.0.1:6443"}}]' 'users: [{name: a, user: {token: t}}]' >"$root/etc/kubernetes/kubelet.conf"
	echo 'root:*:1::::::' >"$root/etc/shadow"
	chmod 600 "$root"/{var/lib/kubelet/{config.yaml,cpu_manager_state},etc/kubernetes/kubelet.conf,etc/shadow}
	echo 'root:x:0:0::/:/bin/sh' >"$root/etc/passwd"
}
# boot OPTION...: of the kernel; what the guest says is $work/lines
boot() {
	(cd "$work/root" && find . | cpio -o -H newc -R 0:0 --quiet) >"$work/initrd" && timeout 300 qemu-system-x86_64 -accel tcg -M q35 -nodefaults \
		-no-user-config -no-reboot -display none -smp 2 -m 768M -serial "file:$work/console" -serial "file:$work/told" -kernel "$kernel" \
		-initrd "$work/initrd" -append "console=ttyS0 quiet panic=-1 cryptomgr.notests rdinit=/init $*" >"$work/qemu" 2>&1
	tr -d '\r' <"$work/told" >"$work/lines"
}
# guest_results: the guest's checks, and that it came to its end
guest_results() {
	local verdict name before=$failed
	while read -r verdict name; do
		[ "$verdict" = ok ]
		result "$name" $?
	done < <(sed '/^== end/,$d' "$work/lines" | grep -E '^(ok|FAIL) ')
	grep -q '^== end' "$work/lines"
	result "the machine ran to its end" $?
	[ "$failed" -eq "$before" ] || tail -n 60 "$work/lines" "$work/console" "$work/qemu" | sed 's/^/	/'
}
