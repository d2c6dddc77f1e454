/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The kubelet's settings, from the first that answers: explicit values; the running kubelet's command line
 * with its configuration file and drop-ins; the distributions' usual places. What nobody says stays unknown.
 */
#include <stdint.h>
#include <time.h>

#include "agent/node/observe/kubelet_config.h"
#include "common/err.h"
#include "common/notes.h"
#include "common/settings.h"
#include "common/strv.h"

/* What was said explicitly. NULL = nothing. */
struct settings_overrides {
	struct {
		const char *value; /* as the kubelet's flag takes it */
		const char *from;  /* "--reserved-cpus of nrtd" */
	} settings[SETTING_COUNT];
	const char *kubelet_config; /* a KubeletConfiguration below the sysroot: then nothing is looked for */
	const char *proc;           /* where the host's /proc is; NULL = below the sysroot */
	const char *kubelet_root;   /* the kubelet's --root-dir, below the sysroot */
};

/*
 * What a source said. The kubelet reads its files once, when it starts: one who asks again and again keeps what
 * the kubelet that ran last was started with, whatever becomes of the files and of the process. Zeroed is
 * empty.
 */
struct settings_finding {
	struct kubelet_config config; /* with the explicit values */
	char *root_dir;               /* NULL = unknown */
	bool found; /* a kubelet's configuration, so that the rest is the kubelet's defaults */
	/* Of a running kubelet; pid 0 = the source is another. See struct kubelet_process. */
	unsigned pid;
	uint64_t start;
	time_t start_time;
	char *files_root; /* what the paths in `files` are below */
	struct strv files;
	unsigned n_running; /* how many kubelets ran when it was looked for last; of `last` below */
	bool changed;       /* one of them was no more what the kubelet had read when it was read here */
};

void settings_finding_release(struct settings_finding *f);

/*
 * Find the settings of the kubelet of the system below `sysroot` ("" = this one). Nothing found is not an error:
 * then all but the explicit values is unknown. Several running kubelets are noted and none is believed.
 * *ret_root is the kubelet's root directory, below the sysroot, a string the caller owns ("/var/lib/kubelet"
 * where nobody says). `ret` must be as after settings_init(). 0; -EINVAL and others with one line that names
 * file and field; both outputs are untouched on failure.
 *
 * `last` (NULL = this is asked once) is what the kubelet was started with that ran last. It holds for as long as
 * that process runs, although its files change, and when no kubelet or several run, which are noted. *ret_kept
 * (NULL = nobody wants to know) is set when it holds and that kubelet does not run.
 */
int settings_find(const char *sysroot, const struct settings_overrides *overrides,
	struct settings_finding *last, struct settings *ret, char **ret_root, bool *ret_kept,
	struct notes *notes, struct err *err);

/* A kubelet that ran before does not run now, by what settings_find() saw last. */
bool settings_kubelet_is_down(const struct settings_finding *last);

/*
 * Whether what runs is what settings_find() saw last: what was read in between is then one kubelet's. Of a kubelet
 * that was never seen, and of several, nothing is asked.
 */
bool settings_kubelet_is_same(
	const char *sysroot, const struct settings_overrides *overrides, const struct settings_finding *last);
