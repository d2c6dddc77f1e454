/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * observe: read every source once, in order, into one struct. Later stages never go back to a source.
 */
#include <stdatomic.h>

#include "agent/node/observe/allocations.h"
#include "agent/node/observe/dra_claims.h"
#include "agent/node/observe/settings_find.h"
#include "common/node_state.h"
#include "common/notes.h"

/* What to read, and where. Borrowed texts, which the configuration's owner keeps. */
struct observe_config {
	const char *sysroot;     /* "" = this system */
	const char *machine_xml; /* hwloc's XML instead of the hardware; NULL = none */
	const char *node_name;   /* NULL = the host's name */
	struct settings_overrides settings;
	unsigned kubelet_minor;    /* the kubelet is of release 1.N; 0 = not known */
	const char *pod_resources; /* "auto", "none", a path or a unix:// URL */
	bool pod_resources_named;  /* the user gave it: that it is not there is worth a note */
	bool state_files;          /* read them */
	const char *cdi_dir;       /* the folder of CDI spec files; NULL = do not read them */
};

/* The facts of one node, and how they were found. */
struct observation {
	struct node_state node;
	char *kubelet_root;        /* the kubelet's --root-dir, below the sysroot */
	bool from_files, from_api; /* who reported what is handed out */
	bool settings_kept;        /* of a kubelet that does not run now */
	bool api_kept;             /* from_api, and the API does not answer now */
	unsigned contradictions;   /* between the API and the state files; a note has them */
	struct notes notes;        /* what to warn about, in the order it was met */
};

void observation_init(struct observation *o);

/* The kubelet's release is 1.`minor`, 0 = not known. One that is newer than all that were compared is noted. */
void observation_set_release(struct observation *o, unsigned minor);
void observation_release(struct observation *o);

/*
 * What one who observes again and again keeps in between: the machine, the connection to the pod-resources API,
 * and what each source said last. A source that does not answer, or that the kubelet has not read again, counts
 * as it did. Zeroed is empty. Observations share nothing with it.
 */
struct sources {
	struct settings_finding settings; /* of the kubelet that ran last */
	uint64_t api_settings;         /* a number for what the kubelet reserved when the API answered last */
	struct state_files files_then; /* what the state files were when the API answered last */
	bool machine_known;
	struct machine machine;
	struct state_texts state_files; /* what they said last */
	struct pods_seen pods_seen;     /* which of their pods have had a folder */
	struct cdi_texts cdi;           /* what the CDI spec files said last */
	char *socket;                   /* what `api` is a client of */
	struct pod_resources_client *api;
	const atomic_bool *cancel; /* when raised, what the kubelet is asked ends; NULL = never */
};

void sources_release(struct sources *s);

/* What a process that observes in a thread does before it starts the first one: machine_prepare(). 0 or -errno. */
int observe_prepare(const struct observe_config *config, struct err *err);

/* Let the next observation discover the machine again: CPUs or memory came or went. */
void sources_forget_machine(struct sources *s);

/*
 * Name, machine, kubelet settings, allocations, claims. An absent source leaves its part unknown with a note; a
 * broken one is an error unless another reports the same. Settings and allocations are one kubelet's: when it
 * came or went meanwhile, all is read again, twice at most. 0 or -errno with one line in `err`; `ret` (as after
 * observation_init()) is untouched on failure.
 */
int observe_with(struct sources *sources, const struct observe_config *config, struct observation *ret,
	struct err *err);

/* The same for one observation. */
int observe(const struct observe_config *config, struct observation *ret, struct err *err);

/* The pod-resources socket that is meant, for a kubelet with this root; *ret is the caller's, NULL = none is
 * to be asked. */
void observe_socket(const struct observe_config *config, const char *kubelet_root, char **ret);

/* The kubelet's settings and root directory; see settings_find(). */
int observe_settings(const struct observe_config *config, struct settings *ret, char **ret_root,
	struct notes *notes, struct err *err);
