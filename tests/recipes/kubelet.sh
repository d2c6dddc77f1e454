#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kubelet.sh NODE ROOT: what a kubelet does with the pods of its node, as far as a recipe needs it. The kubelet's real managers
# decide whether a pod is admitted; their verdict goes to the API server. Containers of nrtd, kube-scheduler and other exporters
# are started as the pod's object says: its arguments, its environment, its volumes (in a mount namespace of their own, with
# the node's /sys), its service account's token. All else is no process. Addresses of pods are of the loopback: 0.0.0.0
# in arguments and environment is the pod's own.
set -u
node=$1
root=$2
folder=$WORLD/$node
base=127.$((RANDOM % 200 + 20)).$((RANDOM % 250 + 1))
count=0
kubectl=$PROGRAMS/kubectl
declare -A known
coproc MANAGERS { "$PROGRAMS/managers" -sysroot "$folder" -config "$folder$root/config.yaml" -root "$folder$root"; }
exec 5<&"${MANAGERS[0]}" 6>&"${MANAGERS[1]}" # a subshell has no others
ask() { # LINE: the answer
	printf '%s\n' "$1" >&6
	read -r answer <&5
}
read -r answer <&5
touch -d '1 hour ago' "$folder$root/pod-resources/kubelet.sock" # it has been running for a while
ask '{"node":true}'
"$kubectl" patch node "$node" --subresource=status --type=merge \
	-p "$(jq -c '{status: {capacity: .capacity, allocatable: .allocatable} | walk(if type == "object" then del(.pods) else . end)}' <<<"$answer")"
mkdir -p "$folder/var/log/pods" "$folder/pods"
ln -sfn "$folder$root" "$folder/root"

status() { # POD-FILE STATUS
	"$kubectl" patch pod -n "$(jq -r .metadata.namespace "$1")" "$(jq -r .metadata.name "$1")" --subresource=status --type=strategic \
		-p "$(jq -c --argjson status "$2" '{metadata: {uid: .metadata.uid}, status: $status}' "$1")"
}
# volume POD-FILE NAME: the folder on this machine that is mounted
volume() {
	local kind path object namespace
	namespace=$(jq -r .metadata.namespace "$1")
	kind=$(jq -r --arg name "$2" '.spec.volumes[] | select(.name == $name) | del(.name) | keys[0]' "$1")
	object=$(jq -c --arg name "$2" --arg kind "$kind" '.spec.volumes[] | select(.name == $name) | .[$kind]' "$1")
	path=$pod/volumes/$2
	case $kind in
	hostPath)
		path=$folder$(jq -r .path <<<"$object")
		case $(jq -r '.type // ""' <<<"$object") in
		*OrCreate) mkdir -p "$path" ;;
		"") [ -e "$path" ] || mkdir -p "$path" ;; # as the container runtime does
		*) [ -e "$path" ] || { echo "hostPath type check failed: $(jq -r .path <<<"$object") is not a directory" && return 1; } ;;
		esac
		;;
	secret | configMap)
		mkdir -p "$path"
		"$kubectl" get -n "$namespace" "$kind" "$(jq -r '.secretName // .name' <<<"$object")" -o json >"$path.json" || return 1
		jq -r '.data // {} | keys[]' "$path.json" | while read -r key; do
			if [ "$kind" = secret ]; then jq -r --arg key "$key" '.data[$key]' "$path.json" | base64 -d; else jq -r --arg key "$key" '.data[$key]' "$path.json"; fi >"$path/$key"
		done
		;;
	*) mkdir -p "$path" ;;
	esac
	echo "$path"
}
# program POD-FILE: the image's, or nothing
program() {
	local image command
	command=$(jq -r '.spec.containers[0].command[0] // ""' "$1")
	image=$(jq -r '.spec.containers[0].image | sub(":[^/]*$"; "") | sub(".*/"; "")' "$1")
	case $image in
	nrtd) [ "${command##*/}" = nrtd-extender ] && echo /programs/nrtd-extender || echo /programs/nrtd ;;
	kube-scheduler) echo /programs/scheduler ;;
	nfd-topology-updater | resource-topology-exporter) echo "/programs/$image" ;;
	node-feature-discovery*) [ "${command##*/}" != nfd-topology-updater ] || echo /programs/nfd-topology-updater ;;
	esac
}
# start FILE ADDRESS: its first container
start() {
	local what=$1 address=$2 name uid account mount source entry container image server
	pod=$WORLD/pods/$(jq -r .metadata.uid "$what")
	container=$(program "$what")
	image=$PROGRAMS/${container##*/}
	case $container in /programs/nrtd*) image=$(command -v "${container##*/}") ;; esac
	image=$(readlink -f "$image")
	name=$(jq -r .metadata.name "$what")
	uid=$(jq -r .metadata.uid "$what")
	account=$(jq -r .spec.serviceAccountName "$what")
	server=$("$kubectl" config view --raw -o 'jsonpath={.clusters[0].cluster.server}')
	mkdir -p "$pod/root"/{etc,proc,sys,dev,tmp,run,programs,var/run/secrets/kubernetes.io/serviceaccount} "$pod/account"
	"$kubectl" create token "$account" -n "$(jq -r .metadata.namespace "$what")" --bound-object-kind Pod --bound-object-name "$name" \
		--bound-object-uid "$uid" >"$pod/account/token" || return 1
	touch "$pod/root$container"
	cp "$WORLD/ca.crt" "$pod/account/ca.crt"
	jq -j .metadata.namespace "$what" >"$pod/account/namespace"
	cp -a /etc/ld.so.cache /etc/passwd /etc/nsswitch.conf "$pod/root/etc/" 2>/dev/null
	touch "$pod/root/etc/hosts"
	{
		echo "mount --make-rprivate /"
		for entry in /usr /bin /sbin /lib /lib64; do
			if [ -L $entry ]; then ln -sfn "$(readlink $entry)" "$pod/root$entry"; else echo "mkdir -p $pod/root$entry; mount --rbind $entry $pod/root$entry"; fi
		done
		echo "mount --rbind /dev $pod/root/dev; mount --rbind /proc $pod/root/proc; mount --bind $folder/sys $pod/root/sys"
		echo "mount --bind $WORLD/hosts $pod/root/etc/hosts"
		echo "mount --bind $pod/account $pod/root/var/run/secrets/kubernetes.io/serviceaccount"
	} >"$pod/begin"
	while read -r mount entry; do
		source=$(volume "$what" "$mount") || { echo "$source" >>"$pod/log" && return 1; }
		if [ -d "$source" ]; then mkdir -p "$pod/root$entry"; else mkdir -p "$(dirname "$pod/root$entry")" && touch "$pod/root$entry"; fi
		echo "mount --bind $source $pod/root$entry"
	done < <(jq -r '.spec.containers[0].volumeMounts[]? | select(.mountPath != "/var/run/secrets/kubernetes.io/serviceaccount") | "\(.name) \(.mountPath)"' \
		"$what" | sort -k 2) >"$pod/volumes.sh" || return 1 # what is mounted in another one after it
	[ ! -s "$pod/log" ] || return 1
	jq -r --arg address "$address" --arg node "$node" '.metadata as $pod | .spec.containers[0].env[]? | "\(.name)=\(if .valueFrom.fieldRef.fieldPath == "spec.nodeName" then $node
		elif .valueFrom.fieldRef.fieldPath == "metadata.name" then $pod.name elif .valueFrom.fieldRef.fieldPath == "metadata.namespace" then $pod.namespace
		elif .valueFrom.fieldRef then $address else .value // "" end | sub("^0\\.0\\.0\\.0:"; "\($address):"))"' "$what" >"$pod/env"
	printf 'KUBERNETES_SERVICE_HOST=%s\nKUBERNETES_SERVICE_PORT=%s\nPATH=/programs:/usr/sbin:/usr/bin:/sbin:/bin\nHWLOC_HIDE_ERRORS=2\n' \
		"$(sed 's#.*//##; s#:[0-9]*$##' <<<"$server")" "${server##*:}" >>"$pod/env"
	jq -r --arg address "$address" '.spec.containers[0] | ((.command // []) | .[1:])[], (.args // [])[] | sub("=0\\.0\\.0\\.0:"; "=\($address):")' "$what" >"$pod/args"
	{
		echo "set -e"
		cat "$pod/begin" "$pod/volumes.sh"
		echo "mount --bind $image $pod/root$container"
		printf 'exec chroot %s env -i' "$pod/root"
		while IFS= read -r entry; do printf ' %q' "$entry"; done <"$pod/env"
		printf ' %s' "$container"
		if [ "$container" = /programs/scheduler ]; then printf ' -config %q -kubeconfig /tmp/kubeconfig -dir /tmp' "$(sed -n 's/^--config=//p' "$pod/args")"; else
			while IFS= read -r entry; do printf ' %q' "$entry"; done <"$pod/args"
		fi
		echo
	} >"$pod/start.sh"
	"$kubectl" config view --raw -o json | jq --rawfile token "$pod/account/token" '.users[].user = {token: ($token | rtrimstr("\n"))}' >"$pod/root/tmp/kubeconfig"
	unshare -m bash "$pod/start.sh" >>"$pod/log" 2>&1 < <(exec sleep infinity) &
	echo $! >"$pod/pid"
}
# ready FILE ADDRESS: waits until its probe says so
ready() {
	local url='' end=$((SECONDS + 30))
	case $(program "$1") in
	*scheduler | "") ;; # no port is served
	*)
		url=$(jq -r --arg address "$2" '.spec.containers[0] | .readinessProbe.httpGet as $probe | select($probe) | .ports as $ports
			| "\($probe.scheme // "HTTP" | ascii_downcase)://\($address):\($ports[] | select(.name == $probe.port) | .containerPort)\($probe.path)"' "$1")
		;;
	esac
	while [ -n "$url" ] && ! curl -skf -o /dev/null "$url"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.1
	done
	status "$1" '{"conditions":[{"type":"Ready","status":"True"}]}'
}
# What decides is the managers; their node has another name and no labels.
admit() { # FILE
	local address what=$1 name
	ask "$(jq -c '{admit: (del(.metadata.managedFields, .spec.nodeSelector, .spec.affinity) | .spec.nodeName = "")}' "$1")"
	if [ "$(jq .admitted <<<"$answer")" != true ]; then
		status "$1" "$(jq -c '{phase: "Failed", reason, message: "Pod was rejected: \(.message)"}' <<<"$answer")"
		jq -c --argjson verdict "$answer" --arg now "$(date -u +%Y-%m-%dT%H:%M:%SZ)" '{apiVersion: "v1", kind: "Event", metadata: {generateName: "\(.metadata.name).", namespace: .metadata.namespace},
			involvedObject: {apiVersion: "v1", kind: "Pod", name: .metadata.name, namespace: .metadata.namespace, uid: .metadata.uid}, type: "Warning",
			reason: $verdict.reason, message: $verdict.message, source: {component: "kubelet", host: .spec.nodeName}, count: 1, firstTimestamp: $now, lastTimestamp: $now}' \
			"$1" | "$kubectl" create -f -
		return
	fi
	name=$(jq -r '.metadata | "\(.namespace)_\(.name)_\(.uid)"' "$1")
	mkdir -p "$folder/var/log/pods/$name" "$folder$root/pods/$(jq -r .metadata.uid "$1")"
	count=$((count + 1))
	address=$base.$count
	if [ -n "$(program "$1")" ]; then
		start "$1" "$address" || { echo "cannot start $name:" && cat "$pod/log" && status "$1" '{"phase":"Pending"}' && return; }
	fi
	status "$1" "$(jq -nc --arg address "$address" --arg now "$(date -u +%Y-%m-%dT%H:%M:%SZ)" '{phase: "Running", startTime: $now, podIP: $address, podIPs: [{ip: $address}]}')"
	ready "$what" "$address" &
}
remove() { # FILE ADMITTED
	local pid
	pid=$(cat "$WORLD/pods/$(jq -r .metadata.uid "$1")/pid" 2>/dev/null)
	if [ -n "$pid" ]; then kill "$pid" && wait "$pid"; fi
	if [ "$2" = true ]; then
		ask "$(jq -c '{drop: "\(.metadata.namespace)/\(.metadata.name)"}' "$1")"
		rm -rf "$folder/var/log/pods/$(jq -r '.metadata | "\(.namespace)_\(.name)_\(.uid)"' "$1")" "$folder$root/pods/$(jq -r .metadata.uid "$1")"
	fi
	"$kubectl" delete pod -n "$(jq -r .metadata.namespace "$1")" "$(jq -r .metadata.name "$1")" --force --grace-period=0 --wait=false
}

touch "$folder/ready"
"$kubectl" get pods -A --field-selector "spec.nodeName=$node" --watch --output-watch-events -o json | jq -c --unbuffered .object |
	while IFS= read -r object; do
		uid=$(jq -r .metadata.uid <<<"$object")
		[ -e "$folder/pods/$uid" ] || printf '%s\n' "$object" >"$folder/pods/$uid" # once: others read it
		deleted=$(jq -r '.metadata.deletionTimestamp // ""' <<<"$object")
		if [ -n "$deleted" ] && [ -n "${known[$uid]:-}" ]; then
			[ "${known[$uid]}" = gone ] || remove "$folder/pods/$uid" "${known[$uid]}"
			known[$uid]=gone
		elif [ -z "$deleted" ] && [ -z "${known[$uid]:-}" ]; then
			answer=
			admit "$folder/pods/$uid"
			known[$uid]=$(jq -r '.admitted // false' <<<"${answer:-null}" 2>/dev/null || echo false)
		fi
	done
