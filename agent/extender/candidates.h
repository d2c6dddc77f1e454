/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Judges the nodes named in a filter or prioritize request and finds the best node.
 */
#include "agent/extender/verbs.h"
#include "agent/extender/verdicts.h"

/* A requested node. */
struct candidate {
	struct node_info *node; /* NULL = not in the cache */
	const struct verdict
		*verdict; /* NULL if `node` is NULL, or if the pod's Volcano policy excludes the node */
	size_t index;     /* in the request */
};

/* Every requested node, judged. */
struct candidates {
	bool *unknown;         /* per requested node: the verdict is unknown */
	struct candidate best; /* best.node is NULL if no node admits the pod */
};

void candidates_release(struct candidates *c);

/* Prepares `answer` for the nodes of `args`; the pod's requests move to answer->class. */
void candidates_init(struct candidates *c, struct cluster_cache *cache, struct extender_args *args,
	struct verb_answer *answer);

/*
 * Writes the verdict and the score of each node to `answer`. Calls verdict_confirm() for each admitting node if config->all
 * is set, else only for nodes that are better than all nodes before them.
 */
int candidates_judge(struct candidates *c, struct cluster_cache *cache, const struct verb_config *config,
	const struct extender_args *args, struct verb_answer *answer);
