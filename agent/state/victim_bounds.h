/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Inside of victims.h: how much must become free at least, and which pods could bring that about.
 */
#include "agent/state/node_admission.h"

/* What one pod holds: items first..end-1 of the allocations. */
struct holder {
	size_t first, end;
	size_t cpus;
	char *kind; /* pods of one kind free the same, as far as any verdict can see */
};

/* One place where something is missing, and what each holder has there. */
struct victim_place {
	size_t need;
	qty_t missing; /* at most 0: enough is free there */
	qty_t *frees;  /* [holder], upper bounds */
};

/* The pod needs each of several things, each at one place of those that are named for it: what is necessary, not
 * what suffices. */
struct victim_bounds {
	size_t n_holders, n_needs;
	struct victim_place *places; /* by need */
	size_t n_places;
	size_t places_size;
	qty_t *most; /* scratch */
};

void victim_bounds_init(struct victim_bounds *b, const struct node_admission *admission,
	const struct pod_request *pod, const struct holder *holders, size_t n_holders);
void victim_bounds_release(struct victim_bounds *b);

/* Something that this holder has is something that the pod asks for. */
bool victim_bounds_concern(const struct victim_bounds *b, size_t holder);

/* Whether what the chosen holders have can be enough, with any `picks` more of those from `from` on. */
bool victim_bounds_allow(const struct victim_bounds *b, const bool *chosen, size_t from, size_t picks);
