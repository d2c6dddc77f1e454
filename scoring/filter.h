/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * filter: whether the scheduler plugin lets a pod onto a node (NodeResourceTopologyMatch, Filter): with
 * policy single-numa-node every container, or the pod in pod scope, must fit on one NUMA node. Other policies
 * pass.
 */
#include "common/settings.h"
#include "scoring/fit.h"
#include "scoring/request.h"

enum filter_verdict {
	FILTER_PASS,
	FILTER_UNSCHEDULABLE,
	FILTER_ERROR, /* two positions of one NUMA node id disagree */
	FILTER_VERDICT_COUNT
};

#define FILTER_REASON_MAX 320
#define FILTER_DETAIL_MAX 512

struct filter_result {
	enum filter_verdict verdict;
	char reason[FILTER_REASON_MAX]; /* the plugin's message, "" when the pod passes */
	char detail[FILTER_DETAIL_MAX]; /* one line for a person, with amounts; "" when the pod passes */
};

/*
 * Filter the pod on the space's inventory under the effective Topology Manager configuration (an unknown
 * policy or scope counts as the plugin's default, none and container). `node` holds the node's allocatable
 * resources (only the names matter); NULL = every name. The space's amounts are reset first and after
 * the call hold what the containers left.
 */
struct filter_result filter_pod(struct fit_space *s, const struct request_plan *plan,
	const struct topology_manager_config *topology, const struct resource_list *node);

/*
 * Take a container's request out of one NUMA node's amounts, as the filter does between containers: in every
 * position of that id; cpu, memory and hugepages only for Guaranteed pods. False when some amount is smaller
 * than the request (*ret_reason says which); amounts in front of it are taken then.
 */
bool filter_subtract(struct fit_space *s, enum qos_class qos, const struct resource_list *request,
	unsigned id, char ret_reason[FILTER_REASON_MAX]);
