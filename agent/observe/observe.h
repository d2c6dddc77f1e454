/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reads every source on the node once, in order, into one struct. Later stages never read a source again.
 */

#include "agent/observe/allocations.h"
#include "agent/observe/dra_claims.h"
#include "agent/observe/settings_find.h"
#include "common/err.h"
#include "common/node_state.h"

struct cancel; /* common/io/thread.h */

/* Which sources to read, and where. The texts are borrowed from the configuration's owner. */
struct observe_config {
	const char *sysroot;     /* "" = this system */
	const char *machine_xml; /* hwloc's XML instead of the hardware; NULL = none */
	const char *node_name;   /* NULL = the host's name */
	struct settings_overrides settings;
	struct kubelet_release kubelet;
	const char *pod_resources; /* "auto", "none", a path or a unix:// URL */
	bool pod_resources_named;  /* by the user: a missing socket is a note */
	const char *pods_api;      /* the same; NULL = "none" */
	bool pods_api_named;       /* by the user: a missing socket is a note */
	bool state_files;          /* read the kubelet's state files */
	const char *cdi_dir;       /* the directory of CDI spec files; NULL = do not read them */
	const char *cgroup; /* the directory of cgroup v2, for pod_memory_read(); NULL = do not read it */
};

/* The facts of one node, and which sources they are from. */
struct observation {
	struct node_state node;
	struct kubelet_place kubelet;
	bool from_files, from_api; /* the sources of the allocations */
	bool api_kept;             /* from_api, but the API does not answer now: its last answer is used */
	unsigned contradictions;   /* between the API and the state files; a note lists them */
	struct notes notes;        /* warnings, in the order of reading */
};

void observation_init(struct observation *o);
void observation_release(struct observation *o);

/* Set the kubelet's release; see settings_apply_release(). */
void observation_set_release(struct observation *o, struct kubelet_release release);

/*
 * The state that a caller keeps between repeated observations: the machine, the connection to the
 * pod-resources API, and the last content of each source, which is used while a source does not answer or the
 * kubelet has not read it again. Zeroed is empty. Observations borrow nothing from this struct.
 */
struct sources {
	struct settings_finding settings;       /* of the kubelet that ran last */
	struct state_files files_before_answer; /* the state files when the API answered last */
	struct state_files files_before_call;   /* the state files when the call in the background began */
	bool machine_known;
	struct machine machine;
	struct state_texts state_files; /* their last content */
	struct pods_seen pods_seen;     /* which pods of the state files have had a directory */
	struct file_ages ages;          /* of the state files and the socket */
	struct cdi_texts cdi;           /* the last content of the CDI spec files */
	char *socket;                   /* the socket of `api` */
	struct pod_resources_client *api;
	const struct cancel *cancel; /* ends waiting for the kubelet; NULL = never */
	/*
	 * With `background`, a slow pod-resources API delays no observation beyond `until_ms`. `sign_ms` is the first sign
	 * of the change to observe; both are set before each observation (CLOCK_MONOTONIC). The eventfd `late_fd` is
	 * readable when the API has answered after its observation: then another observation is due.
	 */
	bool background;
	int late_fd;
	int64_t sign_ms, until_ms;
};

/* Call the pod-resources API in the background from now on. Before the first observation. 0 or -errno with one line. */
int sources_call_in_background(struct sources *s, struct err *err);

/* Whether the pod-resources API has not answered yet: `late_fd` will be readable. */
bool sources_await_answer(const struct sources *s);

void sources_release(struct sources *s);

/* For a process that observes in a thread: call before the first thread starts. As machine_prepare(). 0 or
 * -errno. */
int observe_prepare(const struct observe_config *config, struct err *err);

/* Make the next observation discover the machine again, because CPUs or memory came or went. */
void sources_forget_machine(struct sources *s);

/*
 * Read the node's name, the machine, the kubelet's settings, the allocations and the claims. A missing source
 * leaves its part unknown, with a note; a broken source is an error unless another source reports the same.
 * Settings and allocations come from the same kubelet: if a kubelet starts or stops during the reading,
 * everything is read again, at most twice. 0 or -errno with one line in `err`; `ret` (as after
 * observation_init()) is untouched on failure.
 */
int observe_with(struct sources *sources, const struct observe_config *config, struct observation *ret,
	struct err *err);

/* As observe_with(), without sources that are kept for the next observation. */
int observe(const struct observe_config *config, struct observation *ret, struct err *err);

/*
 * Find the node's name: config->node_name, otherwise the environment variable NODE_NAME, otherwise the kubelet's
 * --hostname-override, if the kubelet's settings can be read, otherwise the host name as node_name_find() finds it.
 * Below a root directory, the host name is read from etc/hostname if the file exists. 0 or -errno with one line;
 * *ret_name is untouched on failure.
 */
int observe_node_name(const struct observe_config *config, char **ret_name, struct err *err);

/* The path of the pod-resources socket of a kubelet with this root, a new string that the caller owns; NULL
 * = do not read the API. */
char *observe_socket(const struct observe_config *config, const char *kubelet_root);

/* The path of the socket of the kubelet's pods API, as observe_socket(). The observation itself does not read this API. */
char *observe_pods_socket(const struct observe_config *config, const char *kubelet_root);

/* The kubelet's root directory, if its settings can be read; a new string that the caller owns. */
char *observe_kubelet_root(const struct observe_config *config);
