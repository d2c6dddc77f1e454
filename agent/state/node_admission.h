/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A node's kubelet, ready to be asked about any number of pods: the one way from a node's state to verdicts. It
 * serves the commands, the hints and the view of a cluster.
 */
#include "agent/state/node_kubelet.h"
#include "common/node_state.h"
#include "scoring/admission.h"

struct node_admission {
	const struct node_state *state;
	struct settings settings; /* a shallow copy, to ask what if */
	struct node_kubelet known;
	struct resource_list free, unsure; /* what pods can still ask of the whole node: node_free.h */
	struct kubelet kubelet;
	struct kubelet_workspace *ws;
	uint64_t work_limit;        /* KUBELET_WORK_MAX at first; a caller may set it before a judge */
	uint64_t steps;             /* that the last judge took */
	struct admission_node node; /* for admission_copies() and admission_nearest(), after a judge */
};

/* `state` must outlive `a` unchanged. `a` must not be moved. */
void node_admission_init(struct node_admission *a, const struct node_state *state);
void node_admission_release(struct node_admission *a);

/* From here on the Topology Manager is set up like this, whatever the node's settings say. */
void node_admission_what_if(struct node_admission *a, const struct topology_manager_config *config);

/*
 * So much of the whole node can still be requested, as is known from elsewhere: what it has allocatable less what its
 * pods ask for, those of the shared pool too. The state's own numbers count where they are lower.
 */
void node_admission_limit(struct node_admission *a, const struct resource_list *most);

/* The kubelet's answer to a pod of class request_qos(), as admission_judge(). */
void node_admission_judge(struct node_admission *a, const struct pod_request *pod, struct admission *ret);
