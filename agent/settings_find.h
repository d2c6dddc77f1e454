/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The kubelet's settings, from the first that answers: explicit values; the running kubelet's command line
 * with its configuration file and drop-ins; the distributions' usual places. What nobody tells stays unknown.
 */
#include "common/err.h"
#include "common/notes.h"
#include "common/settings.h"

#define KUBELET_ROOT "/var/lib/kubelet" /* where the kubelet keeps its state unless it is told otherwise */

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
 * Find the settings of the kubelet of the system below `sysroot` ("" = this one). Nothing found is no error:
 * then all but the explicit values is unknown. Several running kubelets are noted and none is believed.
 * *ret_root is the kubelet's root directory, below the sysroot, a string the caller owns ("/var/lib/kubelet"
 * where nobody tells). `ret` must be as after settings_init(). 0; -EINVAL and others with one line that names
 * file and field; both outputs are untouched on failure.
 */
int settings_find(const char *sysroot, const struct settings_overrides *overrides, struct settings *ret,
	char **ret_root, struct notes *notes, struct err *err);
