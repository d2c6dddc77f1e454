/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Decides whether the available amounts of an object without node state already count a pod.
 *
 * Objects of other exporters name no pods. A pod that the amounts count holds nothing in addition; all other pods do. The decision rests on
 * what the API server stores, so that a model of the cluster that was filled a moment ago decides like one that has followed the cluster.
 */
#include <stdbool.h>

#include "cluster/model/cluster.h"

enum zones_count {
	ZONES_COUNT_NOT,     /* the amounts are older than the pod's admission, or count no pods at all */
	ZONES_COUNT_UNKNOWN, /* nothing says when the amounts were written */
	ZONES_COUNT
};

/*
 * Whether the fingerprint in the node's object is that of the node's admitted pods. Where times are known they decide: users choose the names of
 * pods, and the hash is not cryptographic.
 */
bool zones_count_match_fingerprint(const struct node_info *node);

/*
 * A pod that the kubelet has not admitted yet is not counted. An admitted pod is counted if
 *   - the exporter wrote the zones ZONES_LAG_S after the pod was created, bound and started, or
 *   - the zones changed ZONES_LAG_S after its admission was first reported to this process,
 * and, if the object has no time of the last write, also if
 *   - the object was created so long after the pod, or
 *   - `fingerprint_matches`, of zones_count_match_fingerprint().
 */
enum zones_count zones_count_pod(
	const struct node_info *node, const struct pod_info *pod, bool fingerprint_matches);

/* Exporters that poll the kubelet, or watch its files, report a pod within this time after the pod's start. */
#define ZONES_LAG_S 5
