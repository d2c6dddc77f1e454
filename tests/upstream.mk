# SPDX-License-Identifier: Apache-2.0
# ---- the real Kubernetes code, by Go (tests/upstream)
.PHONY: conformance
conformance: all $(B)/tests/upstream/follow $(B)/tests/upstream/steps $(B)/tests/upstream/verdict $(B)/tests/upstream/extender_api \
		$(if $(TEST_LDLIBS),$(B)/tests/unit/test_fingerprint)
	@B=$(B) tests/upstream/conformance.sh

.PHONY: bench-upstream
bench-upstream: $(B)/tests/bench/upstream
	@B=$(B) tests/bench/upstream.sh
$(B)/tests/bench/upstream: $(B)/tests/vectors/kubelet_support.o $(B)/tests/vectors/sched_build.o $(B)/tests/vectors/vectors_json.o

.PHONY: cluster
cluster:
	@tests/upstream/cluster.sh run

.PHONY: bench-peers
bench-peers: all
	@B=$(B) tests/upstream/peers.sh

.PHONY: volcano
volcano: all
	@B=$(B) tests/upstream/volcano.sh $(VOLCANO)

.PHONY: volcano-scheduler
volcano-scheduler: all
	@B=$(B) tests/upstream/volcano_scheduler.sh

.PHONY: volcano-exporter
volcano-exporter: all
	@B=$(B) tests/upstream/volcano_exporter.sh

.PHONY: koordinator
koordinator: all
	@B=$(B) tests/upstream/koordinator.sh $(KOORDINATOR)

# OUTCOME: options, as "-seeds 3 -workloads cpus"
.PHONY: outcome
outcome: all
	@B=$(B) tests/upstream/outcome.sh $(OUTCOME)

# EXTENDER_INVARIANT: options, as "-seeds 60 -steps 600"
.PHONY: extender-invariant
extender-invariant: all
	@B=$(B) tests/upstream/extender_invariant.sh $(EXTENDER_INVARIANT)

# SCALE: numbers of agents and options, as "30,300 -churn 1m"; SHORT=1
.PHONY: scale
scale: all
	@B=$(B) tests/upstream/scale.sh $(SCALE)

.PHONY: bench-extender
bench-extender: all
	@B=$(B) tests/upstream/extender_load.sh

# TENANT: options, as "-only containers -nodes 500"
.PHONY: tenant-test
tenant-test: all
	@B=$(B) tests/upstream/tenant.sh $(TENANT)
