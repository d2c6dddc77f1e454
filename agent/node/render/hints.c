/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/render/hints.h"

#include <errno.h>

#include "agent/base/json.h"
#include "agent/node/render/fit_hints_doc.h"
#include "agent/state/largest_pod.h"
#include "agent/state/node_admission.h"
#include "common/cleanup.h"
#include "common/vec.h"
#include "common/xalloc.h"

#define SCORE_PREFIX "nrtd.dev/fit-score."

/* ---- what the operator wants */

static void shape_release(struct hint_shape *s)
{
	free(s->name);
	pod_request_release(&s->pod);
}

void hints_config_release(struct hints_config *c)
{
	for (size_t i = 0; i < c->n_shapes; i++)
		shape_release(&c->shapes[i]);
	free(c->shapes);
	*c = (struct hints_config){0};
}

/* ---- what the Node carries */

static int add_fit_hints(const struct hints_config *c, const struct fit_hints *h, const char *nrt_hash,
	struct doc *annotations, struct notes *notes)
{
	CLEANUP(doc_release) struct doc doc = DOC_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(c->max_size);
	struct err err = {""};
	int r = fit_hints_to_doc(h, nrt_hash, c->max_size, &doc, &err);

	if (r == -EFBIG) {
		notes_add(notes, "fit hints are left out: %s", err.text);
		return 0;
	}
	if (r == 0)
		r = json_print_compact(&doc, &text);
	if (r < 0)
		return r;
	doc_add_string(annotations, FIT_HINTS_ANNOTATION, text.text);
	return 0;
}

/* What each shape's score says of the node; 0 where the kubelet would refuse it, whatever the score says. */
static void add_scores(const struct hints_config *c, const struct fit_hints *h,
	struct node_admission *admission, struct doc *annotations)
{
	for (size_t i = 0; i < h->n_shapes; i++) {
		const struct shape_hint *shape = &h->shapes[i];
		int score = shape->score;
		struct admission a;
		char key[128], text[16];

		node_admission_judge(admission, &c->shapes[i].pod, &a);
		if (a.answer == KUBELET_REJECTS || shape->fit.verdict == FIT_NONE)
			score = 0;
		else if (shape->fit.verdict == FIT_UNKNOWN || score == SCORE_UNKNOWN)
			continue;
		snprintf(key, sizeof(key), SCORE_PREFIX "%s", shape->name);
		snprintf(text, sizeof(text), "%d", score);
		doc_add_string(annotations, key, text);
	}
}

static void add_labels(const struct fit_hints *h, const struct node_admission *admission, struct doc *labels)
{
	size_t n;

	for (unsigned i = 1; i <= h->inventory->n_nodes && i <= HINTS_MAX_NUMA_LABELS; i++) {
		char key[64], text[24];

		if (!largest_pod(admission, &h->exclusive, i, &n))
			break;
		snprintf(key, sizeof(key), HINTS_LABEL_PREFIX "%u-numa", i);
		snprintf(text, sizeof(text), "%zu", n);
		doc_add_string(labels, key, text);
	}
}

static int compute(const struct hints_config *c, const struct node_admission *admission,
	struct distances_kept *kept, struct fit_hints *ret)
{
	CLEANUP(freep) struct request_shape *shapes = xcalloc(c->n_shapes + 1, sizeof(*shapes));
	const struct fit_hints_input input = {
		.inventory = &admission->state->inventory,
		.kubelet = &admission->kubelet,
		.shapes = shapes,
		.n_shapes = c->n_shapes,
		.strategy = c->strategy,
		.kept = kept,
		.limits = {.entries = FRONTIER_MAX_ENTRIES, .work = FRONTIER_WORK_LIMIT},
	};
	int r;

	for (size_t i = 0; i < c->n_shapes; i++)
		shapes[i] = (struct request_shape){.name = c->shapes[i].name, .pod = &c->shapes[i].pod};
	r = fit_hints_init(ret, &input);
	if (r == 0)
		exclusive_cpus_limit(&ret->exclusive, largest_pod_limit(admission));
	return r;
}

int hints_make(const struct hints_config *c, const struct node_state *node, const char *nrt_hash,
	struct doc *ret_annotations, struct doc *ret_labels, struct notes *notes, struct distances_kept *kept)
{
	CLEANUP(doc_release) struct doc annotations = {.kind = DOC_MAP};
	CLEANUP(doc_release) struct doc labels = {.kind = DOC_MAP};
	CLEANUP(node_admission_release) struct node_admission admission = {0};
	struct fit_hints h;
	int r;

	node_admission_init(&admission, node);
	r = compute(c, &admission, kept, &h);
	if (r == 0) {
		r = add_fit_hints(c, &h, nrt_hash, &annotations, notes);
		if (r == 0)
			add_scores(c, &h, &admission, &annotations);
		if (r == 0 && c->labels)
			add_labels(&h, &admission, &labels);
		fit_hints_release(&h);
	} else if (r == -E2BIG) {
		notes_add(notes, "fit hints are left out: %zu NUMA nodes are too many",
			node->inventory.n_nodes);
		r = 0;
	}
	if (r < 0)
		return r;
	*ret_annotations = annotations;
	*ret_labels = labels;
	annotations = labels = (struct doc)DOC_INIT;
	return 0;
}
