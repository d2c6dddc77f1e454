/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * observe: read every source once, in order, into one struct. Later stages never go back to a source.
 */
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
	struct allocations allocations;
	bool pods_known; /* a source told which pods there are: only the pod-resources API does */
	struct pod_ref *pods;
	size_t n_pods;
	size_t pods_size;
	struct reserved_cpus reserved;
	struct inventory inventory;
	struct notes notes; /* what to warn about, in the order it was met */
};

void observation_init(struct observation *o);
void observation_release(struct observation *o);

/*
 * Machine, kubelet settings, allocations, reserved CPUs, inventory. An absent source leaves its part unknown
 * with a note; a broken one is an error. 0 or -errno with one line in `err`; `ret` (as after
 * observation_init()) is untouched on failure.
 */
int observe(const struct options *options, struct observation *ret, struct err *err);

/* Reserved CPUs and inventory anew, after a change of the settings. 0 or -errno with one line in `err`; both
 * are then empty. */
int observe_again(struct observation *o, struct err *err);
