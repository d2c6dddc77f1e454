# SPDX-License-Identifier: Apache-2.0
# ---- comparisons with the real Kubernetes code; they need Go (tests/upstream)
.PHONY: conformance
##judges conformance: compare with the real Kubernetes code (Go; CASES=1000 SEED=1 SHORT=1 RELEASE=1.37)
conformance: all $(B)/tests/upstream/follow $(B)/tests/upstream/steps $(B)/tests/upstream/verdict $(B)/tests/upstream/extender_api $(B)/tests/upstream/documents \
		$(if $(TEST_LDLIBS),$(B)/tests/unit/test_pod_fingerprint)
	@B=$(B) tests/upstream/conformance.sh

.PHONY: bench-upstream
##judges bench-upstream: compare nrtd's speed with the real Kubernetes code's on the same questions (Go)
bench-upstream: $(B)/tests/bench/upstream
	@B=$(B) tests/bench/upstream.sh
$(B)/tests/bench/upstream: $(B)/tests/vectors/kubelet_support.o $(B)/tests/vectors/sched_build.o $(B)/tests/vectors/vectors_json.o

.PHONY: cluster
##daily cluster: run a real API server and scheduler on the loopback interface until Ctrl-C (Go)
cluster:
	@tests/upstream/cluster.sh run

.PHONY: bench-peers
##judges bench-peers: compare the cost of nrtd with other exporters' (Go)
bench-peers: all
	@B=$(B) tests/upstream/peers.sh

.PHONY: volcano
##judges volcano: compare with Volcano's plugin numa-aware on random nodes (Go; VOLCANO="-cases 10000")
volcano: all
	@B=$(B) tests/upstream/volcano.sh $(VOLCANO)

.PHONY: volcano-scheduler
##judges volcano-scheduler: schedule the pods of Volcano's documentation with Volcano's scheduler (Go; CHECKOUT=DIR)
volcano-scheduler: all
	@B=$(B) CHECKOUT="$(CHECKOUT)" tests/upstream/volcano_scheduler.sh

.PHONY: descheduler
##judges descheduler: run the descheduler beside nrtd-extender (Go)
descheduler: all
	@B=$(B) tests/upstream/descheduler.sh

.PHONY: karpenter
##judges karpenter: run Karpenter beside nrtd-extender (Go)
karpenter: all
	@B=$(B) tests/upstream/karpenter.sh

.PHONY: workloads
##judges workloads: run Kueue, JobSet and LeaderWorkerSet beside nrtd-extender (Go)
workloads: all
	@B=$(B) tests/upstream/workloads.sh

.PHONY: autoscaler
##judges autoscaler: ask Cluster Autoscaler's simulation about an unaligned pod (Go; AUTOSCALER=DIR)
autoscaler:
	@AUTOSCALER="$(AUTOSCALER)" tests/upstream/autoscaler.sh

.PHONY: volcano-exporter
##judges volcano-exporter: compare Numatopology objects with those of Volcano's resource-exporter (Go)
volcano-exporter: all
	@B=$(B) tests/upstream/volcano_exporter.sh

.PHONY: koordinator
##judges koordinator: run Koordinator's plugin on nrtd's and koordlet's objects (Go; KOORDINATOR="-cases 50")
koordinator: all
	@B=$(B) tests/upstream/koordinator.sh $(KOORDINATOR)

.PHONY: dra
##judges dra: run the code of dra-driver-cpu beside nrtd dump (Go; DRA="-steps 100 -seed 2")
dra: all
	@B=$(B) tests/upstream/dra.sh $(DRA)

.PHONY: kai
##judges kai: compare with KAI-Scheduler's NUMA plugin and exporter (Go; KAI=DIR, a checkout)
kai: all
	@B=$(B) KAI="$(KAI)" tests/upstream/kai.sh

# OUTCOME: options, such as "-seeds 3 -workloads cpus"
.PHONY: outcome
##judges outcome: count the pods that kubelets reject, per kind of scheduling (Go; OUTCOME="-seeds 3")
outcome: all
	@B=$(B) tests/upstream/outcome.sh $(OUTCOME)

.PHONY: outcome-releases
##judges outcome-releases: run outcome with the control planes and kubelets of Kubernetes 1.36 and 1.37 (Go)
outcome-releases: all
	@B=$(B) tests/upstream/outcome_releases.sh $(OUTCOME)

# VERDICTS: options, such as "-drawn-verdicts 300 -seed 1" or "-verdicts FOLDER"
.PHONY: verdicts-test
##judges verdicts-test: compare the answers of fit with what happens to the pods (Go; VERDICTS="-verdicts DIR")
verdicts-test: all
	@B=$(B) tests/upstream/verdicts.sh $(VERDICTS)

# POLICY: releases
.PHONY: scheduler-policy-test
##judges scheduler-policy-test: create pods under the scheduler policies of three releases (Go; POLICY=1.37)
scheduler-policy-test:
	@tests/upstream/scheduler_policy.sh $(POLICY)

# EXTENDER_INVARIANT: options, such as "-seeds 60 -steps 600"
.PHONY: extender-invariant
##judges extender-invariant: compare the extender with three real kubelets (Go; EXTENDER_INVARIANT="-seeds 60")
extender-invariant: all
	@B=$(B) tests/upstream/extender_invariant.sh $(EXTENDER_INVARIANT)

.PHONY: mixed-fleet
##judges mixed-fleet: extender-invariant with two releases of all programs (Go, git; OLD=COMMIT)
mixed-fleet: all
	@B=$(B) tests/upstream/mixed_fleet.sh $(MIXED)

# PLAN: options, such as "-clusters 10000 -seed 1"
.PHONY: plan-test
##judges plan-test: carry out plans of kubectl numa plan on real kubelets (Go; PLAN="-clusters 10000")
plan-test: all
	@B=$(B) tests/upstream/plan.sh $(PLAN)

# SCALE: numbers of agents and options, such as "30,300 -churn 1m"; SHORT=1
.PHONY: scale
##judges scale: measure one API server with up to 1000 nodes (root, Go; an hour; SCALE=30 SHORT=1)
scale: all
	@B=$(B) tests/upstream/scale.sh $(SCALE)

.PHONY: bench-extender
##judges bench-extender: measure the extender's latency with 500 and 5000 nodes (Go)
bench-extender: all
	@B=$(B) tests/upstream/extender_load.sh

# TENANT: options, such as "-only containers -nodes 500"
.PHONY: tenant-test
##judges tenant-test: measure what one tenant's pods cost other tenants (Go; TENANT="-nodes 500")
tenant-test: all
	@B=$(B) tests/upstream/tenant.sh $(TENANT)
