# SPDX-License-Identifier: Apache-2.0
# What a container runtime makes of a Pod's first container: the OCI runtime configuration (config.json of runc), in the
# network that it is started in. Arguments: root (the image's files), image (its configuration), account (the folder with
# the service account's files), profiles (a list of the runtime's default seccomp profile), service (host and port of the API server).
def bytes: capture("^(?<n>[0-9]+)(?<unit>[KMG]i)?$") | (.n | tonumber) * ({Ki: 1024, Mi: 1048576, Gi: 1073741824}[.unit // ""] // 1);
def millis: if endswith("m") then rtrimstr("m") | tonumber else tonumber * 1000 end;
# what containerd and CRI-O give a container that says nothing else
def usual: ["CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID",
	"SYS_CHROOT"];
# the profile's rules for this architecture and these capabilities, without what only the profile's own format has
def filter($profile; $caps): {
	defaultAction: $profile.defaultAction, defaultErrnoRet: $profile.defaultErrnoRet,
	architectures: ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
	syscalls: [$profile.syscalls[]
		| select((.includes.arches // ["amd64"]) | index("amd64"))
		| select((.includes.caps // []) - $caps == [])
		| select([(.excludes.caps // [])[] | select(IN($caps[]))] == [])
		| {names, action, args: (.args // [])} + (if .errnoRet then {errnoRet} else {} end)]
};
.metadata as $meta | .spec as $pod | .spec.containers[0] as $c | ($c.securityContext // {}) as $security
| (($security.capabilities // {}) as $asked
	| (if (($asked.drop // []) | index("ALL")) then [] else usual - ($asked.drop // []) end) + ($asked.add // [])
	| map("CAP_" + .)) as $caps
| {
	ociVersion: "1.0.2",
	hostname: $meta.name,
	root: {path: $root, readonly: ($security.readOnlyRootFilesystem // false)},
	process: {
		cwd: "/",
		user: {
			uid: ($security.runAsUser // ($image.User // "0" | split(":")[0] | tonumber)),
			gid: ($security.runAsGroup // ($image.User // "0:0" | split(":")[1] // "0" | tonumber))
		},
		args: (($c.command // $image.Entrypoint) + ($c.args // $image.Cmd)),
		env: (($image.Env // []) + ["KUBERNETES_SERVICE_HOST=" + ($service | split(":")[0]),
			"KUBERNETES_SERVICE_PORT=" + ($service | split(":")[1])] + [($c.env // [])[]
			| .name + "=" + (if .valueFrom then {"spec.nodeName": $pod.nodeName, "metadata.name": $meta.name}[.valueFrom.fieldRef.fieldPath]
				else .value end)]),
		capabilities: {bounding: $caps, effective: $caps, permitted: $caps},
		noNewPrivileges: ($security.allowPrivilegeEscalation == false)
	},
	mounts: ([
		{destination: "/proc", type: "proc", source: "proc"},
		{destination: "/dev", type: "tmpfs", source: "tmpfs", options: ["nosuid", "strictatime", "mode=755", "size=65536k"]},
		{destination: "/sys", type: "sysfs", source: "sysfs", options: ["nosuid", "noexec", "nodev", "ro"]}
	] + [$c.volumeMounts[] | . as $mount | ($pod.volumes[] | select(.name == $mount.name)) | {
		destination: $mount.mountPath,
		type: "bind",
		source: (if .hostPath then .hostPath.path elif .projected then $account else error("a volume of another kind: " + .name) end),
		options: ["rbind", if $mount.readOnly then "ro" else "rw" end,
			{HostToContainer: "rslave", Bidirectional: "rshared"}[$mount.mountPropagation // ""] // "rprivate"]
	}]),
	linux: {
		namespaces: [{type: "mount"}, {type: "pid"}, {type: "ipc"}, {type: "uts"}],
		resources: {
			memory: {limit: ($c.resources.limits.memory | bytes)},
			cpu: {shares: (($c.resources.requests.cpu | millis) * 1024 / 1000 | floor)}
		},
		maskedPaths: ["/proc/kcore", "/proc/keys", "/proc/timer_list", "/sys/firmware"],
		readonlyPaths: ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]
	}
} | if ($security.seccompProfile // $pod.securityContext.seccompProfile).type == "RuntimeDefault" then
	.linux.seccomp = filter($profiles[0]; $caps) else . end
