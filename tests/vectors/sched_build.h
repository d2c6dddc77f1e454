/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the scheduler's recorded formats share: nodes and pods from their JSON, and the comparison of a score
 * or a filter verdict with the recorded one, upstream's defects included.
 */
#include "scoring/nrt_match.h"
#include "tests/lib/peers.h"
#include "tests/vectors/vectors.h"

#define MAX_ZONES 65

/* One zone as a list entry, before it becomes part of an inventory. Names point into the JSON. */
struct zone {
	unsigned id;
	struct resource_list available, allocatable;
	unsigned cost[COMBINATION_MAX_NODES]; /* by id, 0 = none */
};

struct zones {
	struct zone items[MAX_ZONES];
	size_t n;
	bool has_id_64; /* a zone that upstream keeps and then stumbles over */
};

void zones_release(struct zones *zones);

/* [{name, type, costs: [{name, value}], resources: [{name, allocatable, available}]}], as in the object. */
void zones_from_nrt(struct zones *zones, const vj *list);

/* [{id or numa_id, costs: {"0": 10}, available or resources: {name: quantity}}] */
void zones_from_map(struct zones *zones, const vj *list);

/* A node ready for questions. */
struct node {
	struct inventory inv;
	struct distances distances;
	struct fit_space space;
};

void node_init(struct node *node, const struct zones *zones);
void node_release(struct node *node);

/* {name: quantity}; null is empty. */
struct resource_list list_from_map(const vj *map);

/* {qos, initContainers, containers, overhead, podLevelResources} */
void pod_from_json(struct pod_request *pod, const vj *json);

/* {policy, scope, max_numa_nodes}; "" is unknown. */
struct topology_manager_config config_from_json(const vj *json);

/* The effective one of an object's attributes and topologyPolicies. */
struct topology_manager_config config_from_nrt(const vj *nrt);

/* A list of {name, value}; the caller frees the array. */
struct nrt_attribute *attributes_from_json(const vj *list, size_t *ret_n);

struct resource_weights weights_from_map(const vj *map); /* the caller frees items */

/* One question for a score. */
struct score_case {
	struct node *node;
	const struct zones *zones;
	const struct request_plan *plan;
	struct topology_manager_config topology;
	enum strategy strategy;
	struct resource_weights weights;
};

/* Compare with the recorded value: a whole number, or {"panic": text}. */
void check_score(struct vectors_run *run, const struct score_case *c, const char *what, const vj *want);

/* Compare a filter verdict with the recorded code and reason; *prefix* compares the reason's beginning only.
 */
void check_filter(struct vectors_run *run, const struct filter_result *got, const char *code,
	const char *reason, bool prefix);
