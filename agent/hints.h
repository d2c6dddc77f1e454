/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * hints: what the Node is to carry so that schedulers need not compute it: annotations nrtd.dev/fit-hints and
 * nrtd.dev/fit-score.<shape>, labels nrtd.dev/max-exclusive-cpus.<N>-numa.
 */
#include "agent/doc.h"
#include "agent/observe.h"
#include "common/request.h"
#include "scoring/strategies.h"

#define HINTS_MAX_NUMA_LABELS 8u

struct hint_shape {
	char *name;
	struct pod_request pod;
};

/* How the operator wants the hints. Zeroed: no shapes, no labels; max_size and strategy are to be set. */
struct hints_config {
	struct hint_shape *shapes;
	size_t n_shapes;
	size_t shapes_size;
	enum strategy strategy; /* whose score fit-score.<shape> is */
	size_t max_size;        /* bytes of the annotation fit-hints */
	bool labels;
};

void hints_config_release(struct hints_config *c);

/*
 * What --shape, --shape-strategy, --fit-hints-max and --labels say. A shape is "NAME=RESOURCE=QUANTITY,...",
 * a Guaranteed pod of one container. 0; -EINVAL with one line (no name that an annotation can end in, a name
 * twice, a resource twice, a bad amount); -ENOMEM. `ret` (zeroed) is untouched on failure.
 */
int hints_config_read(const struct options *options, struct hints_config *ret, struct err *err);

/*
 * The annotations and labels that belong to the object with this content hash, as maps of strings.
 * fit-score.<shape> is "0" where the pod does not fit, and left out where that is not known; a label is left
 * out where the number is not known. What cannot be told at all goes to `notes`. 0 or -ENOMEM; the outputs
 * are untouched on failure.
 */
int hints_make(const struct hints_config *c, const struct observation *o, const char *nrt_hash,
	struct doc *ret_annotations, struct doc *ret_labels, struct notes *notes);
