/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Decides for which pods the extender writes status.nominatedNodeName, and when.
 *
 * kube-scheduler sends /filter a sample of the nodes. If no node of the sample admits the pod and another node does, the answer's reason
 * names that node. The scheduler puts the reason into the Pod's condition PodScheduled. When the watch delivers this condition, the extender
 * nominates the node: the update makes the scheduler try the pod again, and the scheduler evaluates the nominated node first.
 *
 * As the condition names the node, a replica that becomes the leader writes what the replica before it has not written.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/extender/extender_api.h"
#include "common/hash.h"
#include "common/io/time.h"
#include "common/vec.h"

/* kube-scheduler samples nodes only if more than this number pass its own filters (minFeasibleNodesToFind). */
#define SAMPLE_MIN 100u

/* Tries per pod: after a burst, one per interval. */
#define NOMINATION_TRIES    5u
#define NOMINATION_TRIES_MS 12000u
#define UNGRANTED_TRIES     20u /* without the right to write: each try gets another sample */
#define UNGRANTED_TRIES_MS  3000u
#define NAMESPACE_TRIES     120u
#define NAMESPACE_TRIES_MS  500u
#define ALL_TRIES           600u
#define ALL_TRIES_MS        100u
#define NOMINATION_REPEATED 5u     /* requests between an answer and its write that are no tries */
#define NOMINATION_KEPT_MS  60000u /* a pod without requests and updates is forgotten after this time */
#define NOMINATIONS_MAX     1000u  /* pods; later ones get no nomination */
#define NOMINATION_REFUSED  8u     /* refused nodes that are remembered per pod */
#define NOMINATION_SPACES   64u    /* namespaces with tries that are remembered */
#define SAMPLERS            16u    /* schedulers whose samples are remembered */
#define SAMPLE_KEPT_MS \
	60000u /* time without a request of a sample's size after which smaller requests may be samples */
/* The condition's update makes the scheduler try the pod again, with another sample. A nomination that is written during this try would be
 * deleted (Kubernetes 1.36 and later): the write waits for this time without a request for the pod. */
#define NOMINATION_SETTLE_MS 20u
#define NOMINATION_RETRY_MS  1000u /* after a write without an answer */
/* /preempt follows /filter within this time. */
#define NOMINATION_PREEMPT_MS 2000u

/* The right to patch pods/status. */
enum nomination_right { RIGHT_UNKNOWN, RIGHT_GRANTED, RIGHT_DENIED };

struct nomination_counts {
	uint64_t tries;   /* answers of /filter that name a node outside of the sample */
	uint64_t used;    /* nominated pods that were bound to the nominated node */
	uint64_t lost;    /* nominated pods that were not: bound elsewhere, deleted, or no longer nominated */
	uint64_t refused; /* writes that the API server refused */
};

/* A zeroed struct is empty; no pod is nominated until `on` is set. */
struct nominations {
	bool on;
	enum nomination_right right;
	struct name_table by_uid; /* struct nomination */
	size_t n_wanted;          /* nominations that are not written yet */
	struct {
		uint64_t hash; /* of the namespace */
		struct budget budget;
	} namespaces[NOMINATION_SPACES];
	struct budget all;
	struct {
		uint64_t hash;    /* of spec.schedulerName */
		size_t n_nodes;   /* Nodes of the cluster */
		size_t size;      /* of the scheduler's samples: the most nodes of a request */
		uint64_t seen_ms; /* the last request with `size` nodes */
	} samplers[SAMPLERS];
	size_t next_sampler;
	struct nomination_counts counts;
};

void nominations_release(struct nominations *n);

/*
 * Notes that /filter is requested for the pod, in a cluster of this number of Nodes. A nomination that is not written yet will not be written,
 * unless nominations_try() follows. Returns whether /filter may choose a node outside of the request; fills args->refused.
 *
 * All samples of a scheduler have the same size. A request with fewer nodes holds all nodes that pass the scheduler's own filters.
 */
bool nominations_begin(struct nominations *n, struct extender_args *args, size_t n_nodes, uint64_t now_ms);

/* After nominations_begin(), which has returned true, the answer of /filter: no requested node admits the pod, this other node does. Returns the
 * reason; the caller frees the text. */
char *nominations_try(
	struct nominations *n, const struct extender_pod *pod, const char *node, uint64_t now_ms);

/* Whether /preempt must evict no pods: the last answer of /filter named a node that admits the pod without evictions. */
bool nominations_refuse_preemption(const struct nominations *n, const char *uid, uint64_t now_ms);

/* A Pod as the watch or a list has it. */
struct nominated_pod {
	const char *uid, *namespace, *name;
	const char *node;      /* spec.nodeName; "" = none */
	const char *nominated; /* status.nominatedNodeName; "" = none */
	const char *message;   /* pod_scheduler_message() */
	uint64_t version;      /* resource_version_parse() */
};

/* Notes the Pod. Returns whether the pod's nomination is gone, so that the pod must not stay assumed on the nominated node. */
bool nominations_update(struct nominations *n, const struct nominated_pod *pod, uint64_t now_ms);

/* The Pod has ended or was deleted. */
void nominations_end(struct nominations *n, const char *uid);

/* A nomination to be written. */
struct nomination_write {
	char *uid, *namespace, *name, *node;
	uint64_t version; /* of the Pod that is known; the write must fail if the Pod has changed since */
};

void nomination_write_release(struct nomination_write *w);

/* Takes the next nomination that can be written now. False if there is none; *ret_wait_ms is the time until the next one is due (UINT64_MAX =
 * not known). `ret` is to be released. */
bool nominations_take(
	struct nominations *n, uint64_t now_ms, struct nomination_write *ret, uint64_t *ret_wait_ms);

/* The API server has answered the write with this HTTP status (0 = no answer). `version`: that of the Pod after a successful write. Returns as
 * nominations_update(). */
bool nominations_written(struct nominations *n, const struct nomination_write *w, int status,
	uint64_t version, uint64_t now_ms);

/* Forgets pods without requests and updates. */
void nominations_expire(struct nominations *n, uint64_t now_ms);

/* Whether a request with this number of nodes holds more than the scheduler's default sample of a cluster of `n_nodes` nodes. */
bool exceeds_default_sample(size_t n_requested, size_t n_nodes);
