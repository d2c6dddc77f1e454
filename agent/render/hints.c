/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/render/hints.h"

#include <errno.h>

#include "agent/base/json.h"
#include "agent/model/node_asker.h"
#include "agent/render/fit_hints_doc.h"
#include "common/cleanup.h"
#include "common/vec.h"

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
	return doc_add_string(annotations, FIT_HINTS_ANNOTATION, text.text) ? 0 : -ENOMEM;
}

/* What each shape's score says of the node; 0 where the kubelet would refuse it, whatever the score says. */
static int add_scores(const struct hints_config *c, const struct fit_hints *h, struct node_asker *asker,
	struct doc *annotations)
{
	for (size_t i = 0; i < h->n_shapes; i++) {
		const struct shape_hint *shape = &h->shapes[i];
		int score = shape->scores[c->strategy];
		struct admission a;
		char key[128], text[16];
		int r = node_asker_judge(asker, &c->shapes[i].pod, &a);

		if (r < 0)
			return r;
		if (a.answer == KUBELET_REJECTS || shape->fit.verdict == FIT_NONE)
			score = 0;
		else if (shape->fit.verdict == FIT_UNKNOWN || score == SCORE_UNKNOWN)
			continue;
		snprintf(key, sizeof(key), SCORE_PREFIX "%s", shape->name);
		snprintf(text, sizeof(text), "%d", score);
		if (!doc_add_string(annotations, key, text))
			return -ENOMEM;
	}
	return 0;
}

/* The most CPUs that are free on some `n` NUMA nodes or fewer; false when the table does not show it. */
static bool cpus_on_nodes(const struct frontier *f, size_t cpu, unsigned n, size_t *ret)
{
	bool beyond = !f->truncated;
	qty_t most = 0;

	for (size_t i = 0; i < f->n_entries; i++) {
		if (f->entries[i].n_nodes > n)
			beyond = true;
		else if (frontier_amount(f, i, cpu) > most)
			most = frontier_amount(f, i, cpu);
	}
	*ret = (size_t)(most / QTY_UNIT);
	return beyond;
}

/* The largest number not above `most` that the kubelet would admit now. */
static bool largest_admitted(
	const struct exclusive_cpus *e, enum topology_manager_policy policy, size_t most, size_t *ret)
{
	const struct exclusive_cpus_admitted *a = &e->policies[policy];
	size_t best = 0;

	if (policy == TOPOLOGY_MANAGER_UNKNOWN || a->unknown.text[0])
		return false;
	if (policy == TOPOLOGY_MANAGER_NONE) {
		*ret = most - most % e->step;
		return true;
	}
	for (size_t i = 0; i < a->n_ranges; i++) {
		size_t last = a->ranges[i].last < most ? a->ranges[i].last : most;

		if (last >= a->ranges[i].first)
			best = last - (last - a->ranges[i].first) % e->step;
	}
	*ret = best;
	return true;
}

static int add_labels(const struct fit_hints *h, enum topology_manager_policy policy, struct doc *labels)
{
	int cpu = inventory_resource(h->inventory, "cpu");
	size_t most, n;

	if (cpu < 0 || !h->has_exclusive)
		return 0;
	for (unsigned i = 1; i <= h->inventory->n_nodes && i <= HINTS_MAX_NUMA_LABELS; i++) {
		char key[64], text[24];

		if (!cpus_on_nodes(&h->frontier, (size_t)cpu, i, &most) ||
			!largest_admitted(&h->exclusive, policy, most, &n))
			continue;
		snprintf(key, sizeof(key), HINTS_LABEL_PREFIX "%u-numa", i);
		snprintf(text, sizeof(text), "%zu", n);
		if (!doc_add_string(labels, key, text))
			return -ENOMEM;
	}
	return 0;
}

/* The kubelet admits no more CPUs than the whole node has left, whatever its managers could do. */
static void limit_to_free(const struct node_asker *asker, struct exclusive_cpus *exclusive)
{
	const struct resource_quantity *cpus = resource_list_find(&asker->free, "cpu");
	const struct resource_quantity *more = resource_list_find(&asker->unsure, "cpu");
	qty_t most = cpus->quantity.nano + more->quantity.nano;

	exclusive_cpus_limit(exclusive, most > 0 ? (size_t)(most / QTY_UNIT) : 0);
}

static int compute(const struct hints_config *c, const struct node_asker *asker, struct fit_hints *ret)
{
	CLEANUP(freep) struct request_shape *shapes = calloc(c->n_shapes + 1, sizeof(*shapes));
	const struct fit_hints_input input = {
		.inventory = &asker->state->inventory,
		.kubelet = &asker->known.node,
		.shapes = shapes,
		.n_shapes = c->n_shapes,
		.limits = {.entries = FRONTIER_MAX_ENTRIES, .work = FRONTIER_WORK_LIMIT},
	};
	int r;

	if (!shapes)
		return -ENOMEM;
	for (size_t i = 0; i < c->n_shapes; i++)
		shapes[i] = (struct request_shape){.name = c->shapes[i].name, .pod = &c->shapes[i].pod};
	r = fit_hints_init(ret, &input);
	if (r == 0)
		limit_to_free(asker, &ret->exclusive);
	return r;
}

int hints_make(const struct hints_config *c, const struct node_state *node, const char *nrt_hash,
	struct doc *ret_annotations, struct doc *ret_labels, struct notes *notes)
{
	CLEANUP(doc_release) struct doc annotations = {.kind = DOC_MAP};
	CLEANUP(doc_release) struct doc labels = {.kind = DOC_MAP};
	CLEANUP(node_asker_release) struct node_asker asker = {0};
	struct fit_hints h;
	int r = node_asker_init(&asker, node);

	if (r == 0)
		r = compute(c, &asker, &h);
	if (r == 0) {
		r = add_fit_hints(c, &h, nrt_hash, &annotations, notes);
		if (r == 0)
			r = add_scores(c, &h, &asker, &annotations);
		if (r == 0 && c->labels)
			r = add_labels(&h, node->settings.topology.policy, &labels);
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
