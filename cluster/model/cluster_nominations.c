/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods for which the scheduler makes room on a node by preemption (status.nominatedNodeName): no other pod gets this room.
 *
 * As in kube-scheduler, a nominated pod counts for pods of the same or a lower priority. A stand-in counts as the nominated pod,
 * until the pod is assumed or bound.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/model/cluster.h"
#include "cluster/objects/pod_parse.h"
#include "cluster/objects/pod_status.h"
#include "common/cleanup.h"
#include "common/vec.h"
#include "common/xalloc.h"

#define STAND_IN "nomination/" /* before the nominated pod's UID: no object reports the stand-in */

bool cluster_stands_for(const struct pod_info *stand_in, const char *uid)
{
	return !strcmp(stand_in->uid + strlen(STAND_IN), uid);
}

/* The index of the pod's stand-in; n_nominations = none. */
static size_t find_nomination(const struct cluster *cluster, const char *uid)
{
	size_t i = 0;

	while (i < cluster->n_nominations && !cluster_stands_for(cluster->nominations[i], uid))
		i++;
	return i;
}

static void remove_nomination(struct cluster *cluster, size_t i)
{
	struct pod_info *stand_in = cluster->nominations[i];

	cluster->nominations[i] = cluster->nominations[--cluster->n_nominations];
	cluster_remove_pod(cluster, stand_in);
}

void cluster_drop_nomination(struct cluster *cluster, const char *uid)
{
	size_t i = find_nomination(cluster, uid);

	if (i < cluster->n_nominations)
		remove_nomination(cluster, i);
}

/* Adds no stand-in for a pod that no kubelet aligns. The request moves. */
static void add_stand_in(struct cluster *cluster, const struct doc *object, const struct pod_status *status,
	struct pod_request *request, struct node_info *node)
{
	CLEANUP(freep) char *key = xasprintf(STAND_IN "%s", status->uid);
	struct pod_info init = {.names = pod_names_of(key, status->namespace, key), .is_reservation = true};

	pod_priority_read(object, &init.priority);
	init.class = pod_classes_take(&cluster->classes, request);
	if (!init.class->aligned) {
		pod_classes_drop(&cluster->classes, init.class);
		return;
	}
	*(struct pod_info **)vec_push(&cluster->nominations, &cluster->n_nominations,
		&cluster->nominations_size, sizeof(*cluster->nominations)) =
		cluster_add_pod(cluster, key, status->namespace, status->name, &init, node);
}

void cluster_nominate_pod(struct cluster *cluster, const struct doc *object, const struct pod_status *status,
	struct object_content *content)
{
	const char *name = pod_nominated_node(object);
	/* A Pod may be listed before its Node. */
	struct node_info *node = *name && *status->uid ? cluster_find_or_add_node(cluster, name) : NULL;
	size_t i = find_nomination(cluster, status->uid);
	bool has_stand_in = i < cluster->n_nominations;

	if (has_stand_in && cluster->nominations[i]->node != node) {
		remove_nomination(cluster, i);
		has_stand_in = false;
	}
	/* An assumed pod counts where it is assumed. */
	if (!has_stand_in && node && content->error == 0 && !cluster_find_pod(cluster, status->uid))
		add_stand_in(cluster, object, status, &content->request, node);
	i = find_nomination(cluster, status->uid); /* as before, or the new stand-in */
	if (i < cluster->n_nominations)
		cluster->nominations[i]->list_number = cluster->list_number[OBJECT_POD];
	if (node)
		cluster_drop_if_empty(cluster, node);
}

void cluster_hide_nominations(struct cluster *cluster, const char *uid, int32_t priority)
{
	for (size_t i = 0; i < cluster->n_nominations; i++) {
		struct pod_info *stand_in = cluster->nominations[i];

		if (stand_in->priority < priority || cluster_stands_for(stand_in, uid))
			cluster_hide_pod(cluster, stand_in);
	}
}

void cluster_drop_unlisted_nominations(struct cluster *cluster)
{
	for (size_t i = cluster->n_nominations; i > 0; i--)
		if (cluster->nominations[i - 1]->list_number < cluster->list_number[OBJECT_POD])
			remove_nomination(cluster, i - 1);
}
