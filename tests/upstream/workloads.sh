#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# workloads.sh: Kueue, JobSet and LeaderWorkerSet (workloads/pin.sh has the versions) beside nrtd-extender on a real API server, with the
# controllers of Jobs and StatefulSets: which pods are bound, and whether their kubelets admit them. B names the build folder.
set -u
cd "$(dirname "$0")/../.." || exit 1
module=workloads
. tests/upstream/unaligned.sh
$here/build.sh controllers || exit 1
# Kueue ignores SIGTERM while it waits for its certificates.
trap 'kill -KILL $pids 2>/dev/null; leave' EXIT
for program in curl openssl; do
	command -v $program >/dev/null || skip "$program is missing"
done

# install NAME PORT: apply the module's manifests. The API server reaches the webhooks at this port of the loopback, because their Service has
# the type ExternalName.
install() {
	mkdir "$work/$1"
	# Kueue reads an RSA key of a CA only as PKCS #1.
	openssl genrsa -traditional -out "$work/$1/tls.key" 2048 2>/dev/null || exit 1
	openssl req -x509 -key "$work/$1/tls.key" -days 365 -subj "/CN=$1-ca" -addext "subjectAltName=DNS:$1-ca,DNS:$1-webhook-service.$1-system.svc" \
		-out "$work/$1/tls.crt" || exit 1
	folder=$(cd "$here/$module" && GOTOOLCHAIN=$(../toolchain.sh go.mod) go list -m -f '{{.Dir}}' "sigs.k8s.io/$1")/config/default
	kubectl kustomize "$folder" 2>/dev/null | sed "s,^\( *\)path: /\(mutate\|validate\|convert\).*,&\n\1port: $2,
		s,^\( *\)clientConfig:$,&\n\1  caBundle: $(base64 -w 0 "$work/$1/tls.crt")," >"$work/$1.yaml"
	kubectl apply --server-side -f "$work/$1.yaml" >"$work/out" 2>&1 || { cat "$work/out" && exit 1; }
	kubectl -n "$1-system" delete service "$1-webhook-service" >/dev/null
	kubectl -n "$1-system" create service externalname "$1-webhook-service" --external-name localhost >/dev/null
}
# start NAME PROGRAM [ARGUMENT...]: run the program in the background. Sets $started.
start() {
	start_log=$work/$1.log
	start_program=$programs/$2
	shift 2
	KUBECONFIG="$work/cluster/admin.kubeconfig" "$start_program" "$@" >>"$start_log" 2>&1 &
	started=$!
	pids="$pids $started"
}
# start_configured NAME PORT PROGRAM VERSION [FIELD...]: start a module's program with a configuration file
start_configured() {
	cat >"$work/$1.config" <<-END
		apiVersion: config.$1.x-k8s.io/$4
		kind: Configuration
		health: {healthProbeBindAddress: "0"}
		metrics: {bindAddress: "0"}
		leaderElection: {leaderElect: false}
		webhook: {host: 127.0.0.1, port: $2, certDir: $work/$1}
	END
	start_name=$1
	start_tool=$3
	shift 4
	printf '%s\n' "$@" >>"$work/$start_name.config"
	start "$start_name" "$start_tool" --config "$work/$start_name.config"
}
# create_when_served NAME [OPTION...]: create the objects of standard input once the module's webhooks are served
create_when_served() {
	create_name=$1
	shift
	cat >"$work/$create_name.objects"
	eventually 120 kubectl apply -f "$work/$create_name.objects" "$@" >"$work/out" 2>&1 || { tail -n 30 "$work/out" "$work/$create_name.log" && exit 1; }
}

field_is() { [ "$(kubectl get "$1" "$2" -o "jsonpath=$3")" = "$4" ]; }
# remove POD...: the pods end, and their kubelets delete them
remove() { kubectl delete pod "$@" --force --grace-period 0 >/dev/null 2>&1; }
of_pods() { kubectl get pods -l "$1" -o "jsonpath={range .items[*]}$2{\"\n\"}{end}"; }
# scheduled LABEL BOUND WAITING: how many pods with the label are bound, and how many wait with a kubelet's reason
scheduled() {
	[ "$(of_pods "$1" '{.spec.nodeName}' | grep -c .)" -eq "$2" ] &&
		[ "$(of_pods "$1" '{.status.conditions[?(@.type=="PodScheduled")].message}' | grep -c 'single-numa-node: ')" -eq "$3" ]
}
# fits MANIFEST TEMPLATE 'N of M', plans MANIFEST TEMPLATE 'N of M': how many of the template's pods fit
fits() {
	numa fit -f "$1" --pod "$2" -o json >"$work/fit"
	cat "$work/fit" && tr -d ' \n' <"$work/fit" | grep -q "\"replicas\":{\"wanted\":${3#* of },\"placed\":${3% of *}}"
}
plans() {
	numa plan -f "$1" --pod "$2" >"$work/plan"
	cat "$work/plan" && grep -q ": $3 pods\{0,1\} placed" "$work/plan"
}
# admits NODE: the node's kubelet admits all pods that are bound to the node. Then the node's object reports the pods, and the pods run.
admits() {
	# shellcheck disable=SC2046 # a list of names and CPUs
	publish "$1" $(kubectl get pods --field-selector "spec.nodeName=$1" \
		-o 'jsonpath={range .items[*]}{.metadata.name} {.spec.containers[0].resources.limits.cpu} {end}')
	cat "$work/admitted"
	grep -q '"admitted":true' "$work/admitted" && ! grep -q '"admitted":false' "$work/admitted" || return
	for pod in $(kubectl get pods --field-selector "spec.nodeName=$1" -o 'jsonpath={.items[*].metadata.name}'); do
		kubectl patch pod "$pod" --subresource status -p '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}' || return
	done
}
# pod_spec CPUS RESTARTPOLICY
pod_spec() { printf '{restartPolicy: %s, %s}' "$2" "$(container "$1")"; }

start controllers controllers --kubeconfig "$work/cluster/admin.kubeconfig" --leader-elect=false --secure-port 0 \
	--controllers job-controller,statefulset-controller,garbage-collector-controller
publish free

# ---- Kueue
# queue NAME [FIELDS of the ResourceFlavor [FIELDS of the ClusterQueue]]: with as many CPUs as are free on both nodes
queue() {
	cat <<-END
		apiVersion: kueue.x-k8s.io/v1beta2
		kind: ResourceFlavor
		metadata: {name: $1}
		spec: {${2:-}}
		---
		apiVersion: kueue.x-k8s.io/v1beta2
		kind: ClusterQueue
		metadata: {name: $1}
		spec:
		  {namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu, memory], flavors: [
		    {name: $1, resources: [{name: cpu, nominalQuota: 42}, {name: memory, nominalQuota: 100Gi}]}]}]${3:+, $3}}
		---
		apiVersion: kueue.x-k8s.io/v1beta2
		kind: LocalQueue
		metadata: {name: $1, namespace: default}
		spec: {clusterQueue: $1}
	END
}
queued() { printf '"labels":{"kueue.x-k8s.io/queue-name":"%s"}' "$1"; }
# job NAME CPUS PODS
job() {
	cat <<-END
		apiVersion: batch/v1
		kind: Job
		metadata: {name: $1, namespace: default, $(queued sums)}
		spec: {parallelism: $3, completions: $3, template: {spec: $(pod_spec "$2" Never)}}
	END
}
admitted() { kubectl get workloads -o 'jsonpath={range .items[*]}{.metadata.name} {.status.conditions[?(@.type=="Admitted")].status}{"\n"}{end}' | grep "^job-$1-.* True"; }
reserved() { field_is clusterqueue sums '{.status.flavorsReservation[0].resources[?(@.name=="cpu")].total}' "$1"; }
keeps_quota() { sleep 10 && admitted "$1" && reserved "$2"; }
assumed() { [ "$(curl -s "127.0.0.1:$port/metrics" | sed -n 's/^nrtd_extender_assumed_pods //p')" = "$1" ]; }
start_kueue() {
	start_configured kueue $((port + 1)) kueue v1beta2 'featureGates: {VisibilityOnDemand: false}' 'integrations: {frameworks: [batch/job, pod]}' "$@"
	kueue=$started
}

install kueue $((port + 1))
kubectl -n kueue-system delete secret kueue-webhook-server-cert >/dev/null
kubectl -n kueue-system create secret generic kueue-webhook-server-cert --from-file="$work/kueue" --from-file=ca.crt="$work/kueue/tls.crt" \
	--from-file=ca.key="$work/kueue/tls.key" >/dev/null
start_kueue
queue sums '' 'stopPolicy: Hold' | create_when_served kueue

create gated 16 '' "$(queued sums)"
check "kueue: a pod of a stopped queue is gated" eventually 120 field_is pod gated '{.spec.schedulingGates[0].name}' kueue.x-k8s.io/admission
create other 16
check "nrtd-extender: another pod gets the only place for the gated pod" eventually 120 bound_to other free
check "nrtd-extender: the gated pod is not assumed" assumed 0
remove other
kubectl patch clusterqueue sums --type merge -p '{"spec":{"stopPolicy":"None"}}' >/dev/null
check "nrtd-extender: the pod that Kueue admits is bound to the node with room" eventually 120 bound_to gated free
check "managers: the kubelet admits the pod" admits free

# By sums two pods of 11 CPUs fit: 26 CPUs of the quota, 15 of node free and 11 of node split.
job pair 11 2 >"$work/pair.yaml"
check "kubectl numa fit: one of two pods of a Job fits" fits "$work/pair.yaml" pair '1 of 2'
kubectl create -f "$work/pair.yaml" >/dev/null
check "kueue: the Job is admitted" eventually 120 admitted pair
check "nrtd-extender: one pod is bound, and one waits with a kubelet's reason" eventually 120 scheduled job-name=pair 1 1
check "kueue: the Job keeps its quota" keeps_quota pair 38
remove gated
check "managers: the kubelet admits the bound pod" admits free
check "nrtd-extender: the waiting pod gets the place of a pod that ended" eventually 120 scheduled job-name=pair 2 0
check "managers: the kubelet admits both pods" admits free

job late 8 1 | kubectl create -f - >/dev/null
check "nrtd-extender: the pod of another Job waits" eventually 120 scheduled job-name=late 0 1
check "kueue: the Job is admitted" admitted late
kill "$kueue"
wait "$kueue"
start_kueue 'waitForPodsReady: {timeout: 10s, requeuingStrategy: {backoffBaseSeconds: 3600}}'
check "kueue: after waitForPodsReady.timeout the Job is suspended" eventually 120 field_is job late '{.spec.suspend}' true
check "kueue: only the Job with ready pods keeps its quota" eventually 120 reserved 22
check "kueue: the waiting pod is deleted" eventually 120 field_is pods -ljob-name=late '{.items}' '[]'
kubectl delete job pair late >/dev/null
remove -l job-name=pair
publish free

kubectl label node free split example.com/rack=a >/dev/null
racks='{nodeLabel: example.com/rack}'
for topology in "nodes $racks, {nodeLabel: kubernetes.io/hostname}" "racks $racks"; do
	name=${topology%% *}
	{
		printf '{apiVersion: kueue.x-k8s.io/v1beta2, kind: Topology, metadata: {name: %s}, spec: {levels: [%s]}}\n---\n' "$name" "${topology#* }"
		queue "$name" "nodeLabels: {example.com/rack: a}, topologyName: $name"
	} | kubectl create -f - >/dev/null
	create "by-$name" 8 '' "$(queued "$name")"
done
check "kueue: a topology with the level kubernetes.io/hostname assigns the pod to the fullest node by sums" \
	eventually 120 field_is pod by-nodes '{.spec.nodeSelector.kubernetes\.io/hostname}' split
check "nrtd-extender: the pod waits" eventually 120 unschedulable by-nodes 'single-numa-node: '
check "nrtd-extender: with racks as the lowest level the pod is bound to the node with room" eventually 120 bound_to by-racks free
remove by-nodes by-racks

# ---- JobSet and LeaderWorkerSet
install jobset $((port + 2))
install lws $((port + 3)) # its program is named cmd
start_configured jobset $((port + 2)) jobset v1alpha1 'internalCertManagement: {enable: false}'
start_configured lws $((port + 3)) cmd v1alpha1 'internalCertManagement: {enable: false}'
create_when_served jobset --dry-run=server <<END
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train, namespace: default}
spec:
  replicatedJobs:
  - {name: driver, template: {spec: {template: {spec: $(pod_spec 2 Never)}}}}
  - {name: worker, replicas: 3, template: {spec: {parallelism: 2, completions: 2, template: {spec: $(pod_spec 7 Never)}}}}
END
create_when_served lws --dry-run=server <<END
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: serve, namespace: default}
spec:
  replicas: 3
  leaderWorkerTemplate:
    size: 3
    leaderTemplate: {spec: $(pod_spec 1 Always)}
    workerTemplate: {spec: $(pod_spec 7 Always)}
END

# Two workers fit on each NUMA node of node free, and none on node split, which has 11 free CPUs.
check "kubectl numa fit: the driver of a JobSet fits" fits "$work/jobset.objects" driver '1 of 1'
check "kubectl numa fit: four of the six workers fit" fits "$work/jobset.objects" worker '4 of 6'
check "kubectl numa plan: four of the six workers fit" plans "$work/jobset.objects" worker '4 of 6'
kubectl create -f "$work/jobset.objects" >/dev/null
role=jobset.sigs.k8s.io/replicatedjob-name
check "jobset: the driver is bound" eventually 120 scheduled $role=driver 1 0
check "jobset: four workers are bound, and two wait with the kubelets' reasons" eventually 120 scheduled $role=worker 4 2
check "managers: the kubelet of node free admits the workers" admits free
check "managers: the kubelet of node split admits the driver" admits split
kubectl delete jobset train >/dev/null
remove -l $role
publish free
publish split busy-0 10 busy-1 10

check "kubectl numa fit: the leaders of a LeaderWorkerSet fit" fits "$work/lws.objects" serve-leader '3 of 3'
check "kubectl numa fit: four of the six workers fit" fits "$work/lws.objects" serve-worker '4 of 6'
check "kubectl numa plan: four of the six workers fit" plans "$work/lws.objects" serve-worker '4 of 6'
kubectl create -f "$work/lws.objects" >/dev/null
role=leaderworkerset.sigs.k8s.io/worker-index
check "lws: the leaders are bound" eventually 120 scheduled $role=0 3 0
check "lws: four workers are bound, and two wait with the kubelets' reasons" eventually 120 scheduled "$role,$role!=0" 4 2
check "managers: the kubelet of node free admits the workers" admits free
check "managers: the kubelet of node split admits the leaders" admits split
[ "$failed" -eq 0 ] || for name in kueue jobset lws; do tail -n 20 "$work/$name.log" | cut -c 1-500; done
tally
