#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make nightly: the tests that take too long for the gate (.ci/run). Fuzzing and conformance are repeated with more cases, the
# latter with a random seed. NIGHTLY: run only the steps of these names.
set -u
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/lib/steps.sh
. tests/lib/steps.sh
readonly SEED=${SEED:-$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')}
# Without the large sets, which the sanitizers have seen.
valgrind_units() {
	NRTD_SHARED=/nonexistent RUNNER='valgrind -q --error-exitcode=9 --leak-check=full --track-fds=yes' make -j"$(nproc)" check-unit
}
# nightly NAME COMMAND...: the step, unless others were asked for
nightly() {
	[ -z "${NIGHTLY:-}" ] || [[ " $NIGHTLY " == *" $1 "* ]] || return 0
	step "$@"
}

packaging/install-deps.sh lint
packaging/install-deps.sh promtool
packaging/install-deps.sh registry
packaging/install-deps.sh browser # for make check, which is part of coverage
nightly valgrind valgrind_units
nightly coverage make coverage
nightly arm64 make test ARCH=arm64
nightly fuzz make -j"$(nproc)" fuzz-smoke FUZZ_SECONDS=60
nightly newer tests/upstream/releases/newer.sh
nightly conformance make conformance SEED="$SEED"
nightly releases make outcome-releases OUTCOME="-seed $SEED"
nightly disturbed make outcome OUTCOME="-quick -judge -ways extender -workloads other-scheduler,restarts -pods 240 -share 0.7 -restart-every 2s -seed $SEED"
nightly policy make scheduler-policy-test
nightly invariant make extender-invariant EXTENDER_INVARIANT="-seeds 60"
nightly changes make extender-invariant EXTENDER_INVARIANT="-changes 100 -seed $SEED"
nightly mixed make mixed-fleet MIXED="-seeds 20"
nightly plan make plan-test PLAN="-clusters 3000 -seed $SEED"
nightly verdicts make verdicts-test VERDICTS="-drawn-verdicts 150 -seed $SEED"
nightly tenant make tenant-test TENANT="-nodes 500 -slack 2 -seed $SEED"
nightly descheduler make descheduler
nightly karpenter make karpenter
nightly workloads make workloads
nightly dra make dra DRA="-steps 60 -seed $SEED"
nightly demo make demo CLUSTER=1
for name in readme rpm ansible apparmor selinux image monitoring recipes service node; do
	nightly "$name" make "$name-test"
done
summary
