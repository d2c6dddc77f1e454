/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * hints: what the Node is to carry so that schedulers need not compute it: annotations nrtd.dev/fit-hints and
 * nrtd.dev/fit-score.<shape>, labels nrtd.dev/max-exclusive-cpus.<N>-numa.
 */
#include "agent/base/doc.h"
#include "common/node_state.h"
#include "common/notes.h"
#include "common/request.h"
#include "scoring/strategies.h"

#define HINTS_MAX_NUMA_LABELS 8u
#define HINTS_LABEL_PREFIX    "nrtd.dev/max-exclusive-cpus."

struct hint_shape {
	char *name;
	struct pod_request pod;
};

/* How the operator wants the hints. Zeroed: no shapes, no labels; max_size and strategy are to be set. */
struct hints_config {
	struct hint_shape *shapes;
	size_t n_shapes;
	size_t pod_classes_size;
	enum strategy strategy; /* whose score fit-score.<shape> is */
	size_t max_size;        /* bytes of the annotation fit-hints */
	bool labels;
};

void hints_config_release(struct hints_config *c);

/*
 * The annotations and labels that belong to the object with this content hash, as maps of strings.
 * fit-score.<shape> is "0" where the pod does not fit or the kubelet would refuse it, and left out where the
 * score is not known; a label is left out where the number is not known. What is not known at all goes to
 * `notes`. `kept` has what is worked out of the machine's distances, from one call to the next; NULL = it is worked
 * out again. 0; the outputs are untouched on failure.
 */
int hints_make(const struct hints_config *c, const struct node_state *node, const char *nrt_hash,
	struct doc *ret_annotations, struct doc *ret_labels, struct notes *notes,
	struct distances_kept *kept);
