/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Runs observe -> state -> score -> render -> publish, one step after the other in one function. struct reconciler
 * has everything that a run needs from earlier runs; one run at a time.
 */
#include "agent/observe/observe.h"
#include "agent/publish/target.h"
#include "agent/render/render.h"
#include "agent/run/changes.h"
#include "agent/run/metrics.h"
#include "common/vec.h"
#include "scoring/node/node_derive.h"

/* The configuration of every run. */
struct reconcile_config {
	struct observe_config observe;
	const char *node_name; /* as observe_node_name() found it for `target`; borrowed */
	struct derive_config derive;
	struct render_config render;
	uint64_t pod_memory_ms; /* interval for reading where the memory of pods is; 0 = never */
	bool pod_metrics;       /* the metrics may have the names of pods */
	struct changes_config changes;
};

/* Indexes into reconcile_labels.sources and .states. */
enum reconcile_source { RECONCILE_SETTINGS, RECONCILE_STATE_FILES, RECONCILE_POD_RESOURCES };

/* The metrics' label values that reconcile() and loop.c pass by index; the causes are loop.c's. */
extern const struct metrics_labels reconcile_labels;

struct reconciler {
	const struct reconcile_config *config;
	struct target target;
	struct metrics *metrics;
	struct sources sources;
	uint64_t signature;    /* of the hardware when the machine was discovered */
	uint64_t logged_notes; /* hash of the last logged notes */
	/* The last hints, and the hash of what they were computed from. */
	uint64_t hints_of;
	struct doc annotations, labels;
	bool headroom_known;             /* the metrics have the headroom of the same state as the hints */
	struct distances_kept distances; /* cache for the hints */
	bool observed;                   /* at least once */
	unsigned failures;               /* of observing, consecutive */
	struct kubelet_release kubelet;  /* as the Node reports it */
	uint64_t pod_memory_at;          /* when to read the memory of pods again */
	struct err pod_memory_error;     /* the last logged failure to read it */
	bool remote_known;               /* the next member is */
	struct strv remote;              /* pods with remote memory */
	struct changes changes;          /* that Events report */
};

void reconciler_release(struct reconciler *r);

struct reconcile_result {
	bool observed; /* false: a source failed, nothing was published */
	bool renamed;  /* false, or the node has another name now: only a new process can publish for it */
	struct publish_result publish;
	struct err err;         /* the failure, "" = none */
	uint64_t call_again_ms; /* run again by this time */
	bool answer_due;        /* the pod-resources API is late: run again when it answers */
	uint64_t published_ms;  /* when publishing ended, on the monotonic clock */
	struct strv files;      /* files whose change requires a run, for watch_set() */
	char status[160];       /* one line for people */
};

void reconcile_result_release(struct reconcile_result *r);

/*
 * One run at `now_ms` (CLOCK_MONOTONIC), after a first sign of a change at `since_ms`. `forget` reads and writes everything again. Blocks while sources and
 * API server need, within their deadlines. Always fills *ret, which must be zeroed.
 */
void reconcile(
	struct reconciler *r, bool forget, uint64_t since_ms, uint64_t now_ms, struct reconcile_result *ret);
