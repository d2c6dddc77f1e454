/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/model/zones_count.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/xalloc.h"

bool zones_count_match_fingerprint(const struct node_info *node)
{
	const struct cluster_node *object = &node->object;
	CLEANUP(freep) struct pod_ref *pods = NULL;
	char fingerprint[FINGERPRINT_SIZE];
	size_t n = 0;

	if (object->basis != CLUSTER_ESTIMATED || object->fingerprint_method == FINGERPRINT_NONE)
		return false;
	pods = xcalloc(node->n_pods + 1, sizeof(*pods));
	for (size_t i = 0; i < node->n_pods; i++)
		if (node->pods[i]->admitted)
			pods[n++] = (struct pod_ref){.namespace = node->pods[i]->namespace,
				.name = node->pods[i]->name,
				.exclusive = node->pods[i]->class->aligned};
	fingerprint_pods(pods, n, object->fingerprint_method, fingerprint);
	return !strcmp(fingerprint, object->fingerprint);
}

/* The latest of the times at which the pod was created, bound and started; 0 = it is not known when the pod started. The start is by the node's
 * clock, the others by the API server's. */
static int64_t admitted_s(const struct pod_info *pod)
{
	int64_t s = pod->started_s;

	if (s == 0)
		return 0;
	s = pod->created_s > s ? pod->created_s : s;
	return pod->scheduled_s > s ? pod->scheduled_s : s;
}

enum zones_count zones_count_pod(
	const struct node_info *node, const struct pod_info *pod, bool fingerprint_matches)
{
	const struct cluster_node *object = &node->object;
	int64_t since_s = admitted_s(pod);

	if (!pod->admitted || object->zones_count_no_pods)
		return ZONES_COUNT_NOT;
	if (node->object_ms > 0 && node->object_ms >= pod->admitted_ms + ZONES_LAG_S * 1000u)
		return ZONES_COUNT;
	if (object->zones_written_s > 0 && since_s > 0)
		return object->zones_written_s >= since_s + ZONES_LAG_S ? ZONES_COUNT : ZONES_COUNT_NOT;
	if (since_s > 0 && object->created_s >= since_s + ZONES_LAG_S)
		return ZONES_COUNT;
	return fingerprint_matches ? ZONES_COUNT : ZONES_COUNT_UNKNOWN;
}
