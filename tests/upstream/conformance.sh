#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# conformance.sh: judge nrtd by the Kubernetes code it must agree with: the API server, the scheduler and its plugin, the
# kubelet's managers. CASES is the number of random cases of the largest comparison, SEED repeats a run; each comparison
# prints its seed, and cases that differ are kept, made small, in build/upstream/failures. B names the build folder.
# RELEASE=1.37 (or several, or all) compares with the kubelets of these releases only, by CASES sequences of pods each.
# SHORT compares with few sequences of each kubelet, and leaves out what needs another Go module: Koordinator, Volcano.
# Without Go it says "skipped:" and ends with 0. Comparisons wait more than they work, so two rows of them go on at a time;
# the output of the row in the background comes last. The last line is "N passed, N failed", counted in comparisons.
set -u
export LC_ALL=C HWLOC_HIDE_ERRORS=2
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
CASES=${CASES:-1000}
SEED=${SEED:-$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')}
here=tests/upstream
programs=build/upstream
data=$here/testdata
# The other releases that are pinned; 1.35 is the release of all other comparisons.
releases=$($here/releases/pinned.sh | sed -n 's/ .*//; /^1\.35$/!p')
if [ "${RELEASE:-}" = all ]; then
	RELEASE=$($here/releases/pinned.sh | sed 's/ .*//')
fi
status=0
[ -n "${RELEASE:-}" ] || $here/build.sh || status=$?
[ "$status" -ne 77 ] || exit 0
[ "$status" -eq 0 ] || exit 1
# A release can need a newer Go than the others, which not every machine can get.
built=
for one in ${RELEASE:-$releases}; do
	status=0
	$here/releases/build.sh "$one" kubelet start || status=$?
	case $status in
	0) built="$built $one" ;;
	77) echo "kubelet $one is left out" ;;
	*) exit 1 ;;
	esac
done

# The gate compares a sample; 2000 configurations take minutes per release.
start_cases=2000 other_start_cases=2000
[ -z "${SHORT:-}" ] || start_cases=200 other_start_cases=100

work=$(mktemp -d)
row=
trap 'set +m; [ -z "$row" ] || kill -- "-$row" 2>/dev/null; [ ! -e "$work/cluster/controlplane.pid" ] || $here/cluster.sh stop "$work/cluster"; wait; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
touch "$work/passed" "$work/failed"
# check NAME COMMAND...: run one comparison and count it
check() {
	name=$1
	shift
	echo "== $name"
	begun=$(date +%s)
	if "$@"; then
		echo "$name" >>"$work/passed"
	else
		echo "$name" >>"$work/failed"
		echo "FAIL $name"
	fi
	echo "== $name: $(($(date +%s) - begun)) s"
}

# summary: the last line; false when a comparison failed
summary() {
	failed=$(wc -l <"$work/failed")
	echo "$(wc -l <"$work/passed") passed, $failed failed"
	[ "$failed" -eq 0 ]
}

# machines FOLDER: what hardware there is to try on, as folders with sys in them; those of $data are what kept cases need
machines() {
	tests/fixtures/machines/make.sh "$1" || return 1
	for spec in "$data"/*.spec; do
		machine=$1/$(basename "$spec" .spec)
		mkdir "$machine" && awk -v out="$machine" -f tests/fixtures/machines/make.awk "$spec" || return 1
	done
	$here/recorded_machines.sh "$1"
}

# replay WHAT OPTION...: what the kubelet's code decides in fresh cases, replayed by the C tests
replay() {
	what=$1
	shift
	"$programs/vectors" -what "$what" -seed "$SEED" -o "$work/$what.json" "$@" && "$B/vectors" "$work/$what.json"
}

replay_plugin() {
	"$programs/plugin" -kubeconfig "$work/cluster/admin.kubeconfig" -seed "$SEED" -cases $((CASES / 3 + 1)) \
		-vectors "$work/scheduler.json" && "$B/vectors" "$work/scheduler.json"
}

# the pods of podfingerprint's own test, from the Go module
fingerprint() {
	module=$(cd $here && go list -m -f '{{.Dir}}' github.com/k8stopologyawareschedwg/podfingerprint)
	if [ ! -e "$module/testdata/pods.json" ] || [ ! -x "$B/tests/unit/test_pod_fingerprint" ]; then
		echo "skipped: podfingerprint's testdata or $B/tests/unit/test_pod_fingerprint is not here"
		return 0
	fi
	NRTD_PODFINGERPRINT_PODS=$module/testdata/pods.json "$B/tests/unit/test_pod_fingerprint"
}

go_tests() {
	tests/fixtures/machines/make.sh "$work/made" || return 1
	nrtd=$(cd "$B" && pwd)/nrtd
	(cd $here && nice -n 19 go vet ./... && NRTD=$nrtd MACHINES=$work/made nice -n 19 go test -count=1 ./...)
}

# one_kubelet RELEASE CASES OPTION...: the judge with that release's kubelet, on machines of its own
one_kubelet() {
	release=$1
	cases=$2
	shift 2
	[ -e "$work/machines-$release" ] || machines "$work/machines-$release" || return 1
	"$programs/kubelet-$release" -nrtd "$B/nrtd" -machines "$work/machines-$release" -known $data/known-machines.txt \
		-maker tests/fixtures/machines/make.awk -cases "$cases" -seed "$SEED" -devices -replay $data/kubelet -timeout 12h -verdict "$B/tests/upstream/verdict" "$@"
}

# would_start RELEASE CASES OPTION...: whether that release's kubelet starts with random settings, and the reason
would_start() {
	release=$1
	cases=$2
	shift 2
	[ -e "$work/start-machines" ] || tests/fixtures/machines/make.sh "$work/start-machines" || return 1
	"$programs/start-$release" -nrtd "$B/nrtd" -machines "$work/start-machines" -maker tests/fixtures/machines/make.awk \
		-cases "$cases" -seed "$SEED" -timeout 12h "$@"
}

# the tables of feature gates, configuration fields and policy options, with the code of each release
kubelet_names() {
	for compare in "names.sh --check" options.sh; do
		status=0
		# shellcheck disable=SC2086 # a script and its argument
		$here/releases/$compare || status=$?
		[ "$status" -eq 0 ] || [ "$status" -eq 77 ] || return 1
	done
}

# kubelet_time PROGRAM MACHINES: the time that nrtd predicts for pods, against the CPU time of this kubelet's managers
kubelet_time() {
	times=$((10 + CASES / 20))
	longest=12s
	[ -z "${SHORT:-}" ] || times=6 longest=2s
	"$programs/$1" -nrtd "$B/nrtd" -machines "$2" -seed "$SEED" -times "$times" -longest "$longest" -timeout 12h
}

# each with a control plane of its own; beside other programs milliseconds say nothing, run.sh by itself judges them
by_themselves() {
	check "API server" $here/accepts.sh
	check "kubectl's flags" "$programs/flags" -numa "$B/kubectl-numa"
	check "follow" $here/follow.sh
	check "extender's faults" $here/extender_faults.sh
	check "tenant" $here/tenant.sh -short -slack 5 -attempts 12 -seed "$SEED"
	check "extender's invariant" $here/extender_invariant.sh -seed "$SEED" -slack 5
	check "plan" $here/plan.sh -clusters $((200 + CASES / 10)) -seed "$SEED"
	check "simulate" $here/simulate.sh -clusters $((60 + CASES / 20)) -seed "$SEED"
	check "outcome" $here/outcome.sh -quick -judge -seed "$SEED"
	[ -z "${SHORT:-}" ] || return 0
	check "outcome of plans" $here/outcome.sh -quick -judge -ways extender,extender-plan -share 0.92 -pods 200 -patience 12s -kill-plan -seed "$SEED"
	check "Volcano's plugin" $here/volcano.sh -seed "$SEED"
	check "Volcano's scheduler" $here/volcano_scheduler.sh
	check "Volcano's exporter" $here/volcano_exporter.sh
	check "pods API" $here/pods_api.sh
	return 0
}

on_one_control_plane() {
	$here/cluster.sh start "$work/cluster" -nodes node-a,node-b,node-c -timeout 12h >/dev/null || return 1
	check "vectors: scheduler plugin" replay_plugin
	check "plugin" "$programs/plugin" -kubeconfig "$work/cluster/admin.kubeconfig" -nrtd "$B/nrtd" \
		-cases "$CASES" -seed "$SEED" -replay $data/plugin -timeout 12h
	check "examples" $here/examples.sh "$work/cluster/admin.kubeconfig"
	check "scheduler" "$programs/schedule" -kubeconfig "$work/cluster/admin.kubeconfig" -nrtd "$B/nrtd" \
		-seed "$SEED" -cases $((CASES / 20 + 1))
	check "kubectl" $here/kubectl_numa.sh "$work/cluster/admin.kubeconfig"
	check "kubectl why" $here/kubectl_why.sh "$work/cluster/admin.kubeconfig"
	check "access" $here/access.sh "$work/cluster"
	check "publish" $here/publish.sh "$work/cluster"
	check "check" $here/check.sh "$work/cluster"
	check "events" $here/events.sh "$work/cluster"
	machines "$work/machines" || return 1
	check "kubelet" "$programs/kubelet" -nrtd "$B/nrtd" -machines "$work/machines" -known $data/known-machines.txt \
		-maker tests/fixtures/machines/make.awk -cases $((CASES / 3 + 1)) -seed "$SEED" -devices -replay $data/kubelet -timeout 12h \
		-verdict "$B/tests/upstream/verdict" -kubeconfig "$work/cluster/admin.kubeconfig"
	check "kubelet's time" kubelet_time kubelet "$work/machines"
	check "kubelet's start" "$programs/start" -nrtd "$B/nrtd" -machines "$work/machines" -maker tests/fixtures/machines/make.awk \
		-cases "$start_cases" -seed "$SEED" -timeout 12h
	for one in $built; do
		check "kubelet $one's start" would_start "$one" "$other_start_cases"
		check "kubelet $one" one_kubelet "$one" $((CASES / 5 + 1)) -sample
		[ -n "${SHORT:-}" ] || check "kubelet $one: failures" one_kubelet "$one" $((CASES / 20 + 1)) -sample -failures -replay ''
	done
	# Beside other programs a second says nothing.
	check "invariant: kept" "$programs/invariant" -nrtd "$B/nrtd" -managers "$programs/managers" \
		-machines "$work/machines" -replay $data/invariant -slack 5
	check "invariant" "$programs/invariant" -nrtd "$B/nrtd" -managers "$programs/managers" \
		-machines "$work/machines" -steps "$CASES" -seed "$SEED" -slack 5
}

if [ -n "${RELEASE:-}" ]; then
	for one in $built; do
		check "kubelet $one's start" would_start "$one" "$CASES"
		check "kubelet $one" one_kubelet "$one" "$CASES"
		check "kubelet $one's time" kubelet_time "kubelet-$one" "$work/machines-$one"
		check "kubelet $one: failures" one_kubelet "$one" $((CASES / 20 + 1)) -failures -replay ''
	done
	summary
	exit
fi
check "Go tests" go_tests
check "names of kubelets" kubelet_names
check "fingerprint" fingerprint
check "vectors: merges" replay merges -cases "$CASES"
check "vectors: CPUs on regular machines" replay cpus -shape regular -cases "$CASES"
check "vectors: CPUs on uneven machines" replay cpus -shape uneven -cases "$CASES"
check "extender's wire format" "$programs/extenderapi" -program "$B/tests/upstream/extender_api" \
	-cases $((CASES / 5 + 1)) -seed "$SEED"
check "documents" "$programs/documents" -program "$B/tests/upstream/documents" -cases $((CASES * 20)) -seed "$SEED"
check "scheduling constraints" "$programs/constraints" -nrtd "$B/nrtd" -cases $((CASES / 10 + 1)) -seed "$SEED"
set -m # a process group of its own
by_themselves >"$work/by_themselves.log" 2>&1 </dev/null &
row=$!
set +m
on_one_control_plane || check "one control plane" false
# In this row: both take about as long then.
check "daemon" $here/run.sh -seed "$SEED" -slack 10
[ -n "${SHORT:-}" ] || check "Koordinator's plugin" $here/koordinator.sh -seed "$SEED"
wait "$row" || check "what has a control plane of its own" false
row=
cat "$work/by_themselves.log"
summary
