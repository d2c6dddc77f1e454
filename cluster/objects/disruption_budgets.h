/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reads PodDisruptionBudgets, keeps them by namespace, and says which evictions violate them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/doc.h"
#include "common/err.h"
#include "common/hash.h"
#include "common/vec.h"

struct disruption_budget {
	char *namespace, *name;
	struct doc selector;   /* spec.selector; DOC_NULL = none */
	int64_t allowed;       /* status.disruptionsAllowed */
	struct strv disrupted; /* names of status.disruptedPods: evicted, and no longer in `allowed` */
	uint64_t list_number;  /* the last list that contained the object */
	/* Of disruption_budgets_violates(): evictions that remain, if `round` is the current one. */
	int64_t left;
	uint64_t round;
};

void disruption_budget_read(const struct doc *object, struct disruption_budget *ret);
void disruption_budget_release(struct disruption_budget *b);

/* Whether the budget selects a pod of the namespace with these labels, for the Eviction API: an empty selector selects every pod. */
bool disruption_budget_selects(
	const struct disruption_budget *b, const char *namespace, const struct doc *labels);

/* ---- the budgets of the cluster */

/* Per namespace. More budgets are an error, and their number bounds the work per pod. */
#define DISRUPTION_BUDGETS_MAX 1000u

/* A zeroed struct is empty. */
struct disruption_budgets {
	struct name_table by_namespace;
	uint64_t version; /* changes whenever a budget is added or removed, or selects other pods */
	uint64_t list_number, round;
	bool known;    /* a list was complete, or the cluster is read from a file */
	bool outdated; /* the API server has been silent for too long */
};

/* Whether the budgets are complete and current. */
static inline bool disruption_budgets_current(const struct disruption_budgets *budgets)
{
	return budgets->known && !budgets->outdated;
}

void disruption_budgets_release(struct disruption_budgets *budgets);

/* Adds or replaces a budget. 0; -EINVAL: no name; -EFBIG: DISRUPTION_BUDGETS_MAX. */
int disruption_budgets_update(struct disruption_budgets *budgets, const struct doc *object, struct err *err);
void disruption_budgets_delete(struct disruption_budgets *budgets, const struct doc *object);

/* The number of budgets that select a pod, as disruption_budget_selects(). *ret is the last of them; NULL = none. */
size_t disruption_budgets_select(const struct disruption_budgets *budgets, const char *namespace,
	const struct doc *labels, struct disruption_budget **ret);

/* As cluster_list_begin() and cluster_list_end(). */
void disruption_budgets_list_begin(struct disruption_budgets *budgets);
void disruption_budgets_list_end(struct disruption_budgets *budgets);

/* ---- evictions */

#define BUDGETED_LABELS_MAX 4096u /* bytes; the budgets of a pod with more labels are not known */

/* What decides which budgets select a pod. A zeroed struct has no labels. */
struct budgeted_pod {
	char *labels; /* label_pack(); NULL = none */
	size_t labels_len;
	bool too_long;
	/* The budgets that select the pod, as of this disruption_budgets.version; 0 = not computed. */
	uint64_t version;
	struct disruption_budget **budgets;
	size_t n_budgets;
};

void budgeted_pod_release(struct budgeted_pod *p);

/* Copies the labels if they have changed. `labels` NULL = none. */
void budgeted_pod_set_labels(struct budgeted_pod *p, const struct doc *labels);

/*
 * Counts evictions of pods as kube-scheduler does (FilterVictimsWithPDBViolation): begin, then call disruption_budgets_violates()
 * per pod in the order of the pods' importance, the most important pod first. The eviction of a pod violates a budget if the pods
 * before it have used up the disruptions that the budget allows. Unlike the Eviction API, the scheduler ignores budgets with an
 * empty selector and pods without labels. A pod whose labels are too long violates any budget of its namespace.
 */
void disruption_budgets_begin(struct disruption_budgets *budgets);
bool disruption_budgets_violates(struct disruption_budgets *budgets, const char *namespace, const char *name,
	struct budgeted_pod *pod);
