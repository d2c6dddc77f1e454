/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/objects/disruption_budgets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/objects/label_match.h"
#include "common/cleanup.h"
#include "common/xalloc.h"

/* ---- one budget */

static const char *namespace_of(const struct doc *object)
{
	const char *namespace = doc_text(doc_get(object, "metadata"), "namespace");

	return *namespace ? namespace : "default";
}

void disruption_budget_read(const struct doc *object, struct disruption_budget *ret)
{
	const struct doc *selector = doc_get(doc_get(object, "spec"), "selector");
	const struct doc *status = doc_get(object, "status"), *disrupted = doc_get(status, "disruptedPods");

	*ret = (struct disruption_budget){.namespace = xstrdup(namespace_of(object)),
		.name = xstrdup(doc_text(doc_get(object, "metadata"), "name"))};
	if (selector)
		doc_copy(selector, &ret->selector);
	if (doc_int64(doc_get(status, "disruptionsAllowed"), &ret->allowed) < 0)
		ret->allowed = 0;
	if (disrupted && disrupted->kind == DOC_MAP)
		DOC_FOREACH (pod, disrupted)
			strv_push(&ret->disrupted, pod->key);
}

void disruption_budget_release(struct disruption_budget *b)
{
	free(b->namespace);
	free(b->name);
	doc_release(&b->selector);
	strv_release(&b->disrupted);
	*b = (struct disruption_budget){.name = NULL};
}

bool disruption_budget_selects(
	const struct disruption_budget *b, const char *namespace, const struct doc *labels)
{
	return !strcmp(b->namespace, namespace) && label_selector_matches(&b->selector, labels);
}

/* ---- the budgets of the cluster */

struct namespace_budgets {
	char *name;
	struct disruption_budget **items;
	size_t n, size;
};

static void budget_free(struct disruption_budget *b)
{
	disruption_budget_release(b);
	free(b);
}

static void namespace_budgets_free(void *item)
{
	struct namespace_budgets *ns = item;

	for (size_t i = 0; i < ns->n; i++)
		budget_free(ns->items[i]);
	free(ns->items);
	free(ns->name);
	free(ns);
}

void disruption_budgets_release(struct disruption_budgets *budgets)
{
	name_table_release_values(&budgets->by_namespace, namespace_budgets_free);
	*budgets = (struct disruption_budgets){.version = 0};
}

static struct namespace_budgets *find_or_add_namespace(struct disruption_budgets *budgets, const char *name)
{
	struct namespace_budgets *ns = name_table_find(&budgets->by_namespace, name);

	if (ns)
		return ns;
	ns = xcalloc(1, sizeof(*ns));
	ns->name = xstrdup(name);
	name_table_add(&budgets->by_namespace, ns->name, ns);
	return ns;
}

/* The index of the budget; ns->n, the index for a new budget, if there is none of this name. */
static size_t find_budget(const struct namespace_budgets *ns, const char *name)
{
	size_t i = 0;

	while (i < ns->n && strcmp(ns->items[i]->name, name) != 0)
		i++;
	return i;
}

/* Moves the new content to the budget. Only another selector makes budgeted_pod.budgets outdated. */
static void replace_budget(
	struct disruption_budgets *budgets, struct disruption_budget *b, struct disruption_budget *new)
{
	CLEANUP(strbuf_release) struct strbuf differences = STRBUF_INIT(4096);

	if (doc_diff("", &b->selector, &new->selector, &differences) > 0)
		budgets->version++;
	disruption_budget_release(b);
	*b = *new;
	*new = (struct disruption_budget){.name = NULL};
}

int disruption_budgets_update(struct disruption_budgets *budgets, const struct doc *object, struct err *err)
{
	CLEANUP(disruption_budget_release) struct disruption_budget new = {.name = NULL};
	struct namespace_budgets *ns;
	size_t at;

	disruption_budget_read(object, &new);
	if (!*new.name)
		return err_set(err, -EINVAL, "an object has no name");
	ns = find_or_add_namespace(budgets, new.namespace);
	at = find_budget(ns, new.name);
	if (at == DISRUPTION_BUDGETS_MAX)
		return err_set(err, -EFBIG,
			"'%.60s/%.60s': the namespace has more than %u PodDisruptionBudgets", new.namespace,
			new.name, DISRUPTION_BUDGETS_MAX);
	new.list_number = budgets->list_number;
	if (at < ns->n) {
		replace_budget(budgets, ns->items[at], &new);
		return 0;
	}
	*(struct disruption_budget **)vec_push(&ns->items, &ns->n, &ns->size, sizeof(*ns->items)) =
		xcalloc(1, sizeof(**ns->items));
	*ns->items[at] = new;
	new = (struct disruption_budget){.name = NULL};
	budgets->version++;
	return 0;
}

static void remove_budget(struct disruption_budgets *budgets, struct namespace_budgets *ns, size_t at)
{
	budget_free(ns->items[at]);
	ns->items[at] = ns->items[--ns->n];
	budgets->version++;
}

static void drop_if_empty(struct disruption_budgets *budgets, struct namespace_budgets *ns)
{
	if (ns->n > 0)
		return;
	name_table_remove(&budgets->by_namespace, ns->name);
	namespace_budgets_free(ns);
}

void disruption_budgets_delete(struct disruption_budgets *budgets, const struct doc *object)
{
	struct namespace_budgets *ns = name_table_find(&budgets->by_namespace, namespace_of(object));
	size_t at = ns ? find_budget(ns, doc_text(doc_get(object, "metadata"), "name")) : 0;

	if (!ns || at == ns->n)
		return;
	remove_budget(budgets, ns, at);
	drop_if_empty(budgets, ns);
}

size_t disruption_budgets_select(const struct disruption_budgets *budgets, const char *namespace,
	const struct doc *labels, struct disruption_budget **ret)
{
	const struct namespace_budgets *ns = name_table_find(&budgets->by_namespace, namespace);
	size_t n = 0;

	*ret = NULL;
	for (size_t i = 0; ns && i < ns->n; i++)
		if (disruption_budget_selects(ns->items[i], namespace, labels)) {
			*ret = ns->items[i];
			n++;
		}
	return n;
}

void disruption_budgets_list_begin(struct disruption_budgets *budgets)
{
	budgets->list_number++;
}

static void remove_unlisted(struct disruption_budgets *budgets, struct namespace_budgets *ns)
{
	for (size_t i = ns->n; i > 0; i--)
		if (ns->items[i - 1]->list_number < budgets->list_number)
			remove_budget(budgets, ns, i - 1);
	drop_if_empty(budgets, ns);
}

void disruption_budgets_list_end(struct disruption_budgets *budgets)
{
	CLEANUP(freep) struct namespace_budgets **all = xcalloc(budgets->by_namespace.n + 1, sizeof(*all));
	size_t n = 0;

	/* Removing an entry moves other entries of the table. */
	for (size_t i = 0; i < budgets->by_namespace.size; i++)
		if (budgets->by_namespace.entries[i].name)
			all[n++] = budgets->by_namespace.entries[i].value;
	for (size_t i = 0; i < n; i++)
		remove_unlisted(budgets, all[i]);
	budgets->known = true;
}

/* ---- evictions */

static void forget_budgets(struct budgeted_pod *p)
{
	free(p->budgets);
	p->budgets = NULL;
	p->n_budgets = 0;
	p->version = 0;
}

void budgeted_pod_release(struct budgeted_pod *p)
{
	free(p->labels);
	free(p->budgets);
	*p = (struct budgeted_pod){.labels = NULL};
}

void budgeted_pod_set_labels(struct budgeted_pod *p, const struct doc *labels)
{
	size_t len = 0;
	CLEANUP(freep) char *packed = label_pack(labels, BUDGETED_LABELS_MAX, &len);

	p->too_long = !packed && len > 0;
	if (packed && p->labels && len == p->labels_len && !memcmp(packed, p->labels, len))
		return;
	forget_budgets(p);
	free(p->labels);
	p->labels = TAKE(packed);
	p->labels_len = len;
}

/*
 * Finds the budgets that count for evictions of the pod, as kube-scheduler does: none for a pod without labels, and none with an empty
 * selector. Each budget may select a pod whose labels are too long.
 */
static void match_budgets(const struct disruption_budgets *budgets, const struct namespace_budgets *ns,
	struct budgeted_pod *pod)
{
	CLEANUP(doc_release) struct doc labels = {.kind = DOC_MAP};
	size_t size = 0;

	forget_budgets(pod);
	pod->version = budgets->version;
	if (pod->labels)
		label_unpack(pod->labels, &labels);
	for (size_t i = 0; i < ns->n && (pod->labels || pod->too_long); i++) {
		struct disruption_budget *b = ns->items[i];

		if (pod->too_long || (!label_selector_is_empty(&b->selector) &&
					     label_selector_matches(&b->selector, &labels)))
			*(struct disruption_budget **)vec_push(
				&pod->budgets, &pod->n_budgets, &size, sizeof(*pod->budgets)) = b;
	}
}

void disruption_budgets_begin(struct disruption_budgets *budgets)
{
	budgets->round++;
}

/* Takes one of the evictions that the budget allows in this round. False: none was left. */
static bool take_eviction(const struct disruption_budgets *budgets, struct disruption_budget *b)
{
	if (b->round != budgets->round)
		b->left = b->allowed;
	b->round = budgets->round;
	b->left--;
	return b->left >= 0;
}

bool disruption_budgets_violates(
	struct disruption_budgets *budgets, const char *namespace, const char *name, struct budgeted_pod *pod)
{
	const struct namespace_budgets *ns = name_table_find(&budgets->by_namespace, namespace);

	if (!ns)
		return false;
	if (pod->version != budgets->version)
		match_budgets(budgets, ns, pod);
	for (size_t i = 0; i < pod->n_budgets; i++) {
		struct disruption_budget *b = pod->budgets[i];

		if (pod->too_long)
			return true;
		if (!strv_contains(&b->disrupted, name) && !take_eviction(budgets, b))
			return true;
	}
	return false;
}
