/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/report/fit_doc.h"

#include <errno.h>

#include "common/cleanup.h"

/* The ids of a mask, or null. */
static void add_nodes(struct doc *map, const char *key, bool known, uint64_t nodes)
{
	struct doc *list = known ? doc_add_list(map, key) : doc_add(map, key);

	for (; known && nodes; nodes &= nodes - 1)
		doc_add_number(list, NULL, __builtin_ctzll(nodes));
}

static void add_containers(const struct fit_report *report, struct doc *top)
{
	struct doc *list = doc_add_list(top, "containers");

	for (size_t i = 0; i < report->n_containers; i++) {
		const struct fit_container *c = &report->containers[i];
		struct doc *map = doc_add_map(list, NULL);

		doc_add_string(map, "name", c->name);
		add_nodes(map, "numaNodes", !c->hint.any_node, c->hint.nodes);
		doc_add_bool(map, "preferred", c->hint.preferred);
		doc_add_bool(map, "remote", c->remote);
		doc_add_string(map, "cpus", c->cpus);
		add_nodes(map, "memoryNUMANodes", c->memory_nodes != 0, c->memory_nodes);
	}
}

static void add_scheduler(const struct fit_scheduler *s, struct doc *top)
{
	bool found = s->known && s->bound && s->fit.verdict == FIT_FOUND;
	bool distance = found && s->fit.min_distance != FIT_MIN_DISTANCE_UNKNOWN;
	struct doc *scores;

	if (found)
		doc_add_number(top, "numaNodes", s->fit.n_nodes);
	else
		doc_add(top, "numaNodes");
	if (distance)
		doc_add_bool(top, "minDistance", s->fit.min_distance == FIT_MIN_DISTANCE_YES);
	else
		doc_add(top, "minDistance");
	scores = doc_add_map(top, "scores");
	for (enum strategy i = 0; i < STRATEGY_COUNT; i++)
		if (s->known && s->scores[i] != SCORE_UNKNOWN)
			doc_add_number(scores, strategy_names[i], s->scores[i]);
		else
			doc_add(scores, strategy_names[i]);
	if (s->known)
		doc_add_bool(top, "schedulerPasses", s->filter.verdict == FILTER_PASS);
	else
		doc_add(top, "schedulerPasses");
}

static void add_amount(struct doc *map, const char *key, qty_t nano, enum quantity_format format)
{
	char text[QUANTITY_TEXT_MAX];

	quantity_print((struct quantity){.nano = nano, .format = format}, text);
	doc_add_string(map, key, text);
}

static void add_nearest(const struct fit_report *report, struct doc *top)
{
	const struct admission_nearest *n = &report->nearest;
	const struct resource_quantity *q;
	struct doc *map;

	if (!n->found) {
		doc_add(top, "nearest");
		return;
	}
	q = resource_list_find(&report->wanted, n->resource);
	map = doc_add_map(top, "nearest");
	if (report->nearest_container)
		doc_add_string(map, "container", report->nearest_container);
	else
		doc_add(map, "container");
	doc_add_string(map, "resource", n->resource);
	add_amount(map, "request", n->from, q->quantity.format);
	add_amount(map, "fits", n->to, q->quantity.format);
}

/* How many stay for their priority's sake. */
static void add_priority(const struct fit_priority *p, struct doc *map)
{
	if (!p->asked) {
		doc_add(map, "belowPriority");
		doc_add(map, "notBelow");
		doc_add(map, "priorityUnknown");
		return;
	}
	doc_add_number(map, "belowPriority", p->below);
	doc_add_number(map, "notBelow", (int64_t)p->n_not_below);
	doc_add_number(map, "priorityUnknown", (int64_t)p->n_unknown);
}

static void add_frees(const struct victims *w, const struct fit_priority *priority, struct doc *top)
{
	static const char *const words[VICTIMS_ANSWER_COUNT] = {[VICTIMS_UNKNOWN] = "unknown",
		[VICTIMS_NOTHING] = "fits",
		[VICTIMS_SET] = "set",
		[VICTIMS_NO_SET] = "none"};
	struct doc *map, *list;

	if (w->answer == VICTIMS_NOT_ASKED) {
		doc_add(top, "whatFrees");
		return;
	}
	map = doc_add_map(top, "whatFrees");
	doc_add_string(map, "answer", words[w->answer]);
	list = doc_add_list(map, "pods");
	for (size_t i = 0; i < w->n_pods; i++) {
		const struct victim *p = &w->pods[i];
		struct doc *pod = doc_add_map(list, NULL);

		doc_add_string(pod, "namespace", p->namespace);
		doc_add_string(pod, "name", p->name);
		doc_add_string(pod, "uid", p->uid);
		doc_add_number(pod, "cpus", (int64_t)p->cpus);
	}
	if (w->answer == VICTIMS_SET)
		doc_add_bool(map, "smallest", !w->gave_up);
	else
		doc_add(map, "smallest");
	add_priority(priority, map);
}

static void add_all(const struct fit_report *report, struct doc *top)
{
	bool counted = report->answer != KUBELET_UNKNOWN || report->rest_fits;
	struct doc *unchecked;

	if (report->answer == KUBELET_UNKNOWN)
		doc_add(top, "admitted");
	else
		doc_add_bool(top, "admitted", report->answer == KUBELET_ADMITS);
	doc_add_string(top, "reason", report->reason.text);
	doc_add_string(top, "rejection", report->rejection);
	add_containers(report, top);
	add_scheduler(&report->scheduler, top);
	if (counted)
		doc_add_number(top, "copies", (int64_t)report->copies.n);
	else
		doc_add(top, "copies");
	doc_add_bool(top, "copiesAtLeast", report->copies.at_least);
	add_nearest(report, top);
	add_frees(&report->frees, &report->priority, top);
	unchecked = doc_add_list(top, "unchecked");
	for (size_t i = 0; i < report->unchecked.n_items; i++)
		doc_add_string(unchecked, NULL, report->unchecked.items[i]);
	if (report->has_claims)
		doc_add_string(unchecked, NULL, "resourceClaims");
}

void fit_to_doc(const struct fit_report *report, struct doc *ret)
{
	CLEANUP(doc_release) struct doc top = {.kind = DOC_MAP};

	add_all(report, &top);
	*ret = top;
	top = (struct doc)DOC_INIT;
}
