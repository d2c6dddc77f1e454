/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Finds the kubelet's settings: explicit values; the running kubelet's command line with its configuration
 * file and drop-ins; the distributions' usual paths. The first source that exists is used; settings without a
 * source stay unknown.
 */
#include <stdint.h>
#include <time.h>

#include "agent/observe/kubelet_config.h"
#include "common/err.h"
#include "common/settings.h"
#include "common/vec.h"

/* How strong the source of a setting is, the weakest first. */
enum evidence {
	EVIDENCE_NONE, /* no source: the setting is unknown */
	EVIDENCE_DEFAULT, /* no source that was read states the setting, so it should have the kubelet's default */
	EVIDENCE_PLACE, /* a file at a usual path, which the kubelet may not use */
	EVIDENCE_PROOF, /* the state files or the pod-resources API: a running kubelet has had this setting */
	EVIDENCE_PROCESS, /* the command line of the running kubelet and the files that it names; a file that the user names */
	EVIDENCE_USER /* a flag of nrtd */
};

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
 * The settings from one source. The kubelet reads its files only when it starts. So a caller that reads
 * repeatedly keeps the settings that the last running kubelet was started with, even if the files change or
 * the kubelet ends. Zeroed is empty.
 */
struct settings_finding {
	struct kubelet_config config; /* with the explicit values */
	char *root_dir;               /* NULL = unknown */
	char *hostname;               /* --hostname-override, as the Node's name; NULL = not given */
	char *hostname_from;          /* see struct kubelet_args */
	bool found; /* a kubelet's configuration was found: missing settings have the kubelet's defaults, unless there is a gap */
	char *gap; /* one line: what could state other settings and could not be read; NULL = nothing */
	/* Of a running kubelet; pid 0 = another source. See struct kubelet_process. */
	unsigned pid;
	uint64_t start;
	time_t start_time;
	char *files_root; /* the root of the paths in `files` */
	struct strv files;
	unsigned n_running;       /* number of running kubelets at the last search; only in `last` below */
	bool changed_before_read; /* a file had changed between the kubelet's start and this reading */
	/* Only in `last`: the kubelet that this one replaced, until this one has run for SETTINGS_PROOF_MS; NULL = none. */
	struct settings_finding *before;
	int64_t since_ms; /* when this kubelet was first seen, CLOCK_BOOTTIME */
};

/* A kubelet that does not run for so long has failed: its pods still run under the settings of the kubelet before it. */
#define SETTINGS_PROOF_MS 10000

void settings_finding_release(struct settings_finding *f);

/* What else is known about the kubelet. */
struct kubelet_place {
	char *root; /* its root directory, below the sysroot; "/var/lib/kubelet" when no source names it */
	/* `root` leads into the mount namespace of a process that has ended: it must not be read any more, because
	 * another process may have got the id. */
	bool root_ended;
	char *hostname;      /* the name of the Node by --hostname-override; NULL = not given */
	char *hostname_from; /* see struct kubelet_args */
	bool kept;           /* the settings are those of `last` below, although its kubelet does not run */
	enum evidence evidence[SETTING_COUNT]; /* how strong the source of each setting is */
};

void kubelet_place_release(struct kubelet_place *p);

/*
 * Find the settings of the kubelet of the system below `sysroot` ("" = this system). Without any source all
 * settings except the explicit values are unknown, which is not an error. If several kubelets run, a note
 * says so, and none of them is used. *ret_place is the caller's to release. `ret` must be as after
 * settings_init(). 0; -EINVAL and others with one line that names file and field; both outputs are untouched
 * on failure.
 *
 * `last` (NULL = the caller reads once) has the settings that the last running kubelet was started with.
 * These settings are used as long as this process runs, even if its files change, and, with a note, while no
 * kubelet or several kubelets run. If a kubelet ends within SETTINGS_PROOF_MS, the settings are again those of the
 * kubelet before it.
 */
int settings_find(const char *sysroot, const struct settings_overrides *overrides,
	struct settings_finding *last, struct settings *ret, struct kubelet_place *ret_place,
	struct notes *notes, struct err *err);

/* Whether at the last settings_find() no kubelet was running, but one had been running before. */
bool settings_kubelet_is_down(const struct settings_finding *last);

/*
 * Whether the running kubelet is still the kubelet of the last settings_find(), 1 or 0, so that everything read
 * in between comes from one kubelet. 1 without a check if several kubelets were found. -errno if that is unknown.
 */
int settings_kubelet_is_same(const char *sysroot, const struct settings_overrides *overrides,
	const struct settings_finding *last, struct err *err);
