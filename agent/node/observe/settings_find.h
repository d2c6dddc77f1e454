/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Finds the kubelet's settings: explicit values; the running kubelet's command line with its configuration
 * file and drop-ins; the distributions' usual places. The first source that answers wins; settings without
 * a source stay unknown.
 */
#include <stdint.h>
#include <time.h>

#include "agent/node/observe/kubelet_config.h"
#include "common/err.h"
#include "common/settings.h"
#include "common/vec.h"

/* Explicit values. NULL = not given. */
struct settings_overrides {
	struct {
		const char *value; /* as the kubelet's flag takes it */
		const char *from;  /* "--reserved-cpus of nrtd" */
	} settings[SETTING_COUNT];
	const char *
		kubelet_config; /* a KubeletConfiguration below the sysroot: then no other source is searched */
	const char *proc;       /* where the host's /proc is; NULL = below the sysroot */
	const char *kubelet_root; /* the kubelet's --root-dir, below the sysroot */
};

/*
 * The settings from one source. The kubelet reads its files once, when it starts: a caller that asks
 * repeatedly keeps the settings that the last running kubelet was started with, whatever becomes of the
 * files and of the process. Zeroed is empty.
 */
struct settings_finding {
	struct kubelet_config config; /* with the explicit values */
	char *root_dir;               /* NULL = unknown */
	bool found; /* a kubelet's configuration was found: the rest is the kubelet's defaults */
	/* Of a running kubelet; pid 0 = another source. See struct kubelet_process. */
	unsigned pid;
	uint64_t start;
	time_t start_time;
	char *files_root; /* the root of the paths in `files` */
	struct strv files;
	unsigned n_running; /* number of running kubelets at the last search; of `last` below */
	bool changed;       /* a file had changed between the kubelet's start and this reading */
};

void settings_finding_release(struct settings_finding *f);

/*
 * Find the settings of the kubelet of the system below `sysroot` ("" = this system). No source is no error:
 * then all but the explicit values is unknown. Several running kubelets are noted and none is used.
 * *ret_root is the kubelet's root directory, below the sysroot, a string that the caller owns
 * ("/var/lib/kubelet" when no source names it). `ret` must be as after settings_init(). 0; -EINVAL and
 * others with one line that names file and field; both outputs are untouched on failure.
 *
 * `last` (NULL = the caller asks once) has the settings that the last running kubelet was started with.
 * They hold for as long as that process runs, although its files change, and while no kubelet or several
 * run, which is noted. *ret_kept (NULL = not wanted) is set when they hold and that kubelet does not run.
 */
int settings_find(const char *sysroot, const struct settings_overrides *overrides,
	struct settings_finding *last, struct settings *ret, char **ret_root, bool *ret_kept,
	struct notes *notes, struct err *err);

/* A kubelet ran before and none runs now, at the last settings_find(). */
bool settings_kubelet_is_down(const struct settings_finding *last);

/*
 * Whether the running kubelet is still the one of the last settings_find(): then everything that was read
 * in between is one kubelet's. True without a check for a kubelet that was never seen, and for several.
 */
bool settings_kubelet_is_same(
	const char *sysroot, const struct settings_overrides *overrides, const struct settings_finding *last);
