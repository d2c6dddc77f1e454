# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The world of a recipe: a real API server, nodes whose kubelets are the real managers behind kubelet.sh, and what else a
# cluster has that the API server itself is not: controllers of DaemonSets and Deployments, a scheduler, names of Services.
# Sourced by run.sh.
# shellcheck disable=SC2154,SC2015,SC2013 # run.sh's; a check's command may end with || too; names

programs=$here/build/upstream
pids=()

prepare_world() {
	local program
	for program in jq openssl curl unshare chroot; do
		command -v $program >/dev/null || skip "there is no $program here"
	done
	unshare -m true 2>/dev/null || skip "mount namespaces cannot be made here (they need root)"
	if [ -z "${UPSTREAM_BUILT:-}" ]; then
		tests/upstream/build.sh controlplane kubectl managers scheduler && tests/upstream/build_module.sh helm tool &&
			tests/upstream/build_module.sh kubeadm tool &&
			tests/upstream/build_module.sh peers/nfd tool && tests/upstream/build_module.sh peers/rte tool
	fi
	case $? in 0) ;; 77) exit 0 ;; *) exit 1 ;; esac
	tests/fixtures/machines/make.sh "$work/machines" seed-2s-32cpu || exit 1
	mkdir "$work/bin"
	ln -s "$programs/helm" "$here/$B/kubectl-numa" "$here/$B/nrtd" "$here/$B/nrtd-extender" "$work/bin/"
	cp tests/recipes/kubectl.sh "$work/bin/kubectl"
	cp tests/recipes/sudo.sh "$work/bin/sudo"
	cp tests/recipes/sudo.sh "$work/bin/kubeadm"
	export PATH=$work/bin:$PATH HELM_CACHE_HOME=$work/helm HELM_CONFIG_HOME=$work/helm HELM_DATA_HOME=$work/helm
	export PROGRAMS=$programs
}

# until_true COMMAND...: within 30 s
until_true() {
	local end=$((SECONDS + 120))
	until "$@" >"$work/last" 2>&1; do
		[ $SECONDS -lt $end ] || { cat "$work/last" && return 1; }
		sleep 0.1
	done
	cat "$work/last"
}

# certificates: of the extender and of a scheduler, with their Secrets, in the namespace nrtd, by the second scheduler's recipe
certificates() {
	awk '/^```sh/ {on = 1; next} /^```/ {on = 0} on && /openssl|printf|for who|done|secret|from-file/' doc/recipes/second-scheduler.md |
		sed '/^helm/,$d; /^kubectl delete/,$d' >"$WORLD/certificates.sh"
	(cd "$place" && sh -eu "$WORLD/certificates.sh")
}

begin_world() {
	export WORLD=$work/$recipe
	mkdir -p "$WORLD/pods"
	printf '127.0.0.1 localhost\n' >"$WORLD/hosts"
	UPSTREAM_BUILT=1 tests/upstream/cluster.sh start "$WORLD/cluster" -nodes "${nodes:-worker-1,worker-2}" -manifests "" -scheduler "" -agent tests/agent \
		-feature-gates MutatingAdmissionPolicy=true -runtime-config admissionregistration.k8s.io/v1beta1=true >"$WORLD/start" 2>&1 || { cat "$WORLD/start" && exit 1; }
	export KUBECONFIG=$WORLD/cluster/admin.kubeconfig
	kubectl config view --raw -o 'jsonpath={.clusters[0].cluster.certificate-authority-data}' | base64 -d >"$WORLD/ca.crt"
	kubectl delete pods -n tests --all --force --grace-period=0 >/dev/null 2>&1
	kubectl label nodes --all kubernetes.io/os=linux >/dev/null
}
end_world() {
	local pid
	for pid in ${pids[@]+"${pids[@]}"}; do
		kill -KILL -- "-$pid" # its whole group: what runs in its pods too
		wait "$pid"
	done 2>/dev/null
	pids=()
	tests/upstream/cluster.sh stop "$WORLD/cluster"
	unset KUBECONFIG
}
leave_world() { [ ! -e "${WORLD:-}/cluster/controlplane.pid" ] || end_world; }

# node NAME POLICY [ROOT [COMMAND-LINE]]: a machine of two NUMA nodes of 16 CPUs, CPU 0 reserved, and its kubelet; ROOT is the
# kubelet's folder
node() {
	local name=$1 policy=$2 root=${3:-/var/lib/kubelet} folder=$WORLD/$1 boot
	cp -r "$work/machines/seed-2s-32cpu" "$folder"
	mkdir -p "$folder$root" "$folder/proc/1000" "$folder/sys/bus/node/devices" "$folder/sys/fs/cgroup"
	ln -s ../../../devices/system/node/node0 ../../../devices/system/node/node1 "$folder/sys/bus/node/devices/"
	cat >"$folder$root/config.yaml" <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
reservedSystemCPUs: "0"
topologyManagerPolicy: $policy
END
	touch -d '2 hours ago' "$folder$root/config.yaml"
	boot=$(($(date +%s) - 3600))
	printf 'cpu 0\nbtime %d\n' $boot >"$folder/proc/stat"
	printf '1000 (kubelet) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 1000 0 0\n' >"$folder/proc/1000/stat"
	printf 'Name:\tkubelet\nUid:\t0\t0\t0\t0\nNSpid:\t1000\n' >"$folder/proc/1000/status"
	echo '0::/system.slice/kubelet.service' >"$folder/proc/1000/cgroup"
	printf '/usr/bin/kubelet\0--config=%s/config.yaml\0--root-dir=%s\0' "$root" "$root" >"$folder/proc/1000/cmdline"
	setsid tests/recipes/kubelet.sh "$name" "$root" >"$folder/kubelet.log" 2>&1 </dev/null &
	pids+=($!)
	until_true test -e "$folder/ready"
}

# scheduler [FILE]: the real one, by this configuration
scheduler() {
	# It ends at the end of its input, which a pipe that it holds both ends of does not have.
	mkdir -p "$WORLD/scheduler" && rm -f "$WORLD/scheduler/input" && mkfifo "$WORLD/scheduler/input" || return 1
	if [ $# -eq 0 ]; then
		printf 'apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n' >"$WORLD/stock.yaml"
		set -- "$WORLD/stock.yaml"
	fi
	setsid unshare -m sh -c "mount --bind $WORLD/hosts /etc/hosts && exec $programs/scheduler -config $1 -kubeconfig $KUBECONFIG -dir $WORLD/scheduler" \
		>"$WORLD/scheduler/out" 2>&1 0<>"$WORLD/scheduler/input" &
	scheduler_pid=$!
	pids+=("$scheduler_pid")
}

stop_scheduler() {
	kill -KILL -- "-$scheduler_pid"
	wait "$scheduler_pid" 2>/dev/null
}

# held NODE NAME CPUS: a pod that has them exclusively
guaranteed() { # NAME CPUS [FIELD]: its object
	printf '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s","namespace":"default"},"spec":{%s"containers":[{"name":"main","image":"example.com/app","resources":{"limits":{"cpu":"%s","memory":"1Gi"}}}]}}\n' \
		"$1" "${3:-}" "$2"
}
held() {
	guaranteed "$2" "$3" "\"nodeName\":\"$1\"," | kubectl create -f - && runs_on "$2" "$1"
}
phase_is() { [ "$(kubectl get pod "$1" -o 'jsonpath={.status.phase}')" = "$2" ]; }
runs_on() { # POD NODE
	until_true phase_is "$1" Running && [ "$(kubectl get pod "$1" -o 'jsonpath={.spec.nodeName}')" = "$2" ] || { kubectl get pod "$1" -o yaml && return 1; }
}
refused_on() { # POD NODE
	until_true phase_is "$1" Failed && [ "$(kubectl get pod "$1" -o 'jsonpath={.spec.nodeName} {.status.reason}')" = "$2 TopologyAffinityError" ] ||
		{ kubectl get pod "$1" -o yaml && return 1; }
}
# published NODE TEXT: the object has it
published() { kubectl get noderesourcetopologies "$1" -o yaml | grep -F -- "$2"; }
nothing_left() { # of nrtd: no object but the definition, nothing on the Nodes
	! kubectl get daemonsets,deployments -A --no-headers 2>&1 | grep nrtd &&
		! kubectl get noderesourcetopologies --no-headers -o name 2>/dev/null | grep . &&
		! kubectl get nodes -o yaml | grep -F nrtd.dev/ &&
		! kubectl get clusterroles,clusterrolebindings,validatingadmissionpolicies,mutatingadmissionpolicies -o name | grep nrtd
}

# controllers: what the controllers of DaemonSets and Deployments would have made by now. A pod is named after its owner and
# node (or number) and a hash of its template; those of another template or without an owner go first.
controllers() {
	local name
	# shellcheck disable=SC2016 # jq's variables
	local selected='def selected($spec): (.metadata.labels // {}) as $labels | ($labels | contains($spec.nodeSelector // {})) and
		($spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution // {nodeSelectorTerms: [{}]}
			| any(.nodeSelectorTerms[]; all(.matchExpressions[]?; $labels[.key] as $value | any(.values[]; . == $value))));'
	kubectl get daemonsets,deployments,pods,nodes -A -o json >"$WORLD/all.json" || return 1
	jq -c "$selected"'[.items[] | select(.kind == "Node")] as $nodes | .items[] | select(.kind == "DaemonSet" or .kind == "Deployment") | . as $owner
		| (if .kind == "DaemonSet" then $nodes[] | select(selected($owner.spec.template.spec)) | .metadata.name else "r\(range(.spec.replicas // 1))" end) as $place
		| {apiVersion: "v1", kind: "Pod", metadata: (.spec.template.metadata + {namespace: .metadata.namespace,
			name: "\(.metadata.name)-\($place)-\(.metadata.generation)",
			ownerReferences: [{apiVersion: "apps/v1", kind, name: .metadata.name, uid: .metadata.uid, controller: true}]}),
		   spec: (.spec.template.spec + (if .kind == "DaemonSet" then {nodeName: $place} else {} end))}' "$WORLD/all.json" >"$WORLD/wanted"
	jq -r '.metadata | "\(.namespace)/\(.name)"' "$WORLD/wanted" | sort >"$WORLD/wanted.names"
	jq -r '.items[] | select(.kind == "Pod" and any(.metadata.ownerReferences[]?; .kind == "DaemonSet" or .kind == "Deployment")) | .metadata | "\(.namespace)/\(.name)"' "$WORLD/all.json" |
		sort >"$WORLD/there.names"
	for name in $(comm -13 "$WORLD/wanted.names" "$WORLD/there.names"); do
		kubectl delete pod -n "${name%/*}" "${name#*/}" --timeout=120s || return 1
	done
	for name in $(comm -23 "$WORLD/wanted.names" "$WORLD/there.names"); do
		jq -c --arg name "$name" 'select("\(.metadata.namespace)/\(.metadata.name)" == $name)' "$WORLD/wanted" | kubectl create -f - || return 1
	done
	[ -s "$WORLD/wanted" ] || return 0
	for name in $(cat "$WORLD/wanted.names"); do
		kubectl wait --for=condition=Ready --timeout=120s -n "${name%/*}" "pod/${name#*/}" ||
			{ kubectl get pod -n "${name%/*}" "${name#*/}" -o yaml; kubectl logs -n "${name%/*}" "${name#*/}"; return 1; }
	done
	# The names of Services, in every pod's /etc/hosts: that of the first pod.
	kubectl get services,pods -A -o json >"$WORLD/services.json"
	jq -r '[.items[] | select(.kind == "Pod" and .status.podIP != null)] as $pods | .items[] | select(.kind == "Service" and .spec.selector != null) | . as $service
		| [$pods[] | select(.metadata.namespace == $service.metadata.namespace and (.metadata.labels // {} | contains($service.spec.selector))) | .status.podIP][0]
		| select(.) | "\(.) \($service.metadata.name).\($service.metadata.namespace).svc"' "$WORLD/services.json" >"$WORLD/names"
	{ printf '127.0.0.1 localhost\n' && cat "$WORLD/names"; } >"$WORLD/hosts"
	jq -r '.items[] | select(.kind == "DaemonSet" or .kind == "Deployment") | "\(.kind) \(.metadata.namespace) \(.metadata.name) \(.metadata.generation) \(.spec.replicas // 2)"' \
		"$WORLD/all.json" | while read -r kind namespace name generation n; do
		if [ "$kind" = DaemonSet ]; then
			status="{\"observedGeneration\":$generation,\"currentNumberScheduled\":$n,\"desiredNumberScheduled\":$n,\"updatedNumberScheduled\":$n,\"numberReady\":$n,\"numberAvailable\":$n,\"numberMisscheduled\":0}"
		else
			status="{\"observedGeneration\":$generation,\"replicas\":$n,\"updatedReplicas\":$n,\"readyReplicas\":$n,\"availableReplicas\":$n}"
		fi
		kubectl patch "$kind" -n "$namespace" "$name" --subresource=status --type=merge -p "{\"status\":$status}" || exit 1
	done
}
