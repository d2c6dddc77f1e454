/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * observe: read every source once, in order, into one struct. Later stages never go back to a source.
 */
#include <stdatomic.h>

#include "agent/allocations.h"
#include "agent/model.h"
#include "agent/opts.h"
#include "common/allocation.h"
#include "common/inventory.h"
#include "common/machine.h"
#include "common/notes.h"
#include "common/pod_ref.h"
#include "common/settings.h"

struct observation {
	char *node_name;
	char *kubelet_root; /* the kubelet's --root-dir, below the sysroot */
	struct machine machine;
	struct settings settings;
	struct allocations allocations; /* all that is handed out, whatever --namespace says */
	bool from_files, from_api;      /* who told of it */
	bool pods_known; /* a source told which pods there are: only the pod-resources API does */
	struct pod_ref *pods;
	size_t n_pods;
	size_t pods_size;
	hwloc_bitmap_t allocatable_cpus; /* as the API tells; empty under policy none, NULL = not told */
	struct reserved_cpus reserved;
	struct inventory inventory; /* what the zones show */
	unsigned contradictions;    /* between the API and the state files; a note has them */
	struct notes notes;         /* what to warn about, in the order it was met */
};

void observation_init(struct observation *o);
void observation_release(struct observation *o);

/*
 * What one who observes again and again keeps in between: the machine, and the connection to the
 * pod-resources API. Zeroed is empty. Observations share nothing with it.
 */
struct sources {
	bool machine_known;
	struct machine machine;
	char *socket; /* what `api` is a client of */
	struct pod_resources_client *api;
	const atomic_bool *cancel; /* when raised, what the kubelet is asked ends; NULL = never */
};

void sources_release(struct sources *s);

/* Let the next observation discover the machine again: CPUs or memory came or went. */
void sources_forget_machine(struct sources *s);

/*
 * Machine, kubelet settings, allocations, reserved CPUs, inventory. An absent source leaves its part unknown
 * with a note; a broken one is an error unless another tells the same. 0 or -errno with one line in `err`;
 * `ret` (as after observation_init()) is untouched on failure.
 */
int observe_with(
	struct sources *sources, const struct options *options, struct observation *ret, struct err *err);

/* The same for one observation. */
int observe(const struct options *options, struct observation *ret, struct err *err);

/* Reserved CPUs and inventory anew, after a change of the settings. 0 or -errno with one line in `err`; both
 * are then empty. */
int observe_again(const struct options *options, struct observation *o, struct err *err);

/* The pod-resources socket that the options mean, for a kubelet with this root; *ret is the caller's, NULL =
 * none is to be asked. 0 or -ENOMEM. */
int observe_socket(const struct options *options, const char *kubelet_root, char **ret);

/* The kubelet's settings and root directory as the options and the system tell them; see settings_find(). */
int observe_settings(const struct options *options, struct settings *ret, char **ret_root,
	struct notes *notes, struct err *err);
