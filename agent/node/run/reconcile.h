/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * reconcile: observe -> model -> score -> render -> diff -> publish, in one straight function. Everything
 * that a run needs from the run before is in struct reconciler; one user at a time.
 */
#include "agent/node/observe/observe.h"
#include "agent/node/publish/target.h"
#include "agent/node/render/render.h"
#include "agent/node/run/metrics.h"
#include "agent/state/node_derive.h"
#include "common/strv.h"

/* What every run works by. */
struct reconcile_config {
	struct observe_config observe;
	struct derive_config model;
	struct render_config render;
};

/* Indexes into reconcile_labels.sources and .states. */
enum reconcile_source { RECONCILE_SETTINGS, RECONCILE_STATE_FILES, RECONCILE_POD_RESOURCES };

/* The metrics' label values that reconcile() and loop.c give by index; causes are loop.c's. */
extern const struct metrics_labels reconcile_labels;

struct reconciler {
	const struct reconcile_config *config;
	struct target target;
	struct metrics *metrics;
	struct sources sources;
	uint64_t signature; /* of the hardware when it was discovered */
	uint64_t noted;     /* hash of the notes that were logged last */
	/* The hints as computed last, and of what. */
	uint64_t hints_of;
	struct doc annotations, labels;
	bool headroom_known;             /* the metrics have what the node can still take, as of then */
	struct distances_kept distances; /* of the machine, for them */
	bool observed;                   /* at least once */
	unsigned failures;               /* of observing, in a row */
	unsigned kubelet_minor;          /* as the Node said; 0 = it has not */
};

void reconciler_release(struct reconciler *r);

struct reconcile_result {
	bool observed; /* false: a source failed; what was published stays */
	struct publish_result publish;
	struct err err;         /* what failed, "" = nothing */
	uint64_t call_again_ms; /* run at this time at the latest */
	uint64_t published_ms;  /* when publishing ended, on the monotonic clock */
	struct strv files;      /* whose change is worth a run; as watch_set() takes them */
	char status[160];       /* one line for people */
};

void reconcile_result_release(struct reconcile_result *r);

/*
 * One run at `now_ms` (CLOCK_MONOTONIC). `forget` reads and writes everything again. Blocks as long as the
 * sources and the API server take, within their deadlines. *ret (zeroed) is always filled.
 */
void reconcile(struct reconciler *r, bool forget, uint64_t now_ms, struct reconcile_result *ret);
