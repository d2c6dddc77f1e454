/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Checks everything that nrtd needs, for `nrtd check`: the host, the kubelet, the credentials and the API
 * server. Each check adds items to a report, with the remedy of what is wrong.
 */
#include <stdint.h>

#include "agent/observe/observe.h"
#include "agent/observe/state_file.h"
#include "agent/render/render.h"
#include "common/doc.h"
#include "common/err.h"
#include "common/kube/credentials.h"
#include "common/machine.h"
#include "common/strbuf.h"
#include "scoring/node/node_derive.h"

/* ---- check_report.c: the report, as plain data, and printed as text or JSON */

enum check_level {
	CHECK_OK,
	CHECK_NOTE, /* nrtd cannot do some optional work, or the host could be tuned better for some pods */
	CHECK_WARN, /* something is unknown, so nrtd does what it can; or the host slows pods down */
	CHECK_FAIL, /* nrtd cannot work */
	CHECK_LEVEL_COUNT
};

extern const char *const check_level_names[CHECK_LEVEL_COUNT]; /* "ok", "note", "warn", "FAIL" */

#define CHECK_NO_AGE (-1)

/* Texts are owned unless noted; NULL = none. */
struct check_item {
	enum check_level level;
	const char *source; /* "cpu_manager_state"; not owned */
	char *path;         /* of the file or socket, or the URL */
	const char *state;  /* "read", "absent", "denied", "broken", ...; not owned */
	char *format;       /* "v2" */
	int64_t age_s;      /* time since the file was written, or CHECK_NO_AGE */
	char *text;         /* the finding */
	char *remedy;       /* what to do about it */
};

struct check_report {
	struct check_item *items;
	size_t n_items;
	size_t items_size;
};

void check_report_release(struct check_report *r);

/* Appends an item with a text; the caller sets its other members. Valid until the next call. */
__attribute__((format(printf, 4, 5))) struct check_item *check_report_add(
	struct check_report *r, enum check_level level, const char *source, const char *fmt, ...);

/* Appends an item without path. `state` is not owned and may be NULL; `remedy` may be NULL. */
void check_report_line(struct check_report *r, enum check_level level, const char *source, const char *state,
	const char *text, const char *remedy);

/* Sets a text of an item. */
__attribute__((format(printf, 2, 3))) void check_report_set(char **slot, const char *fmt, ...);

/* A duration for people: "90 s", "12 min", "5 h", "3 days". */
void check_duration(int64_t seconds, struct strbuf *out);

/* "absent", "denied" or "broken", for the -errno of a failed read. */
const char *check_state_of(int r);

/* The worst level. */
enum check_level check_report_level(const struct check_report *r);

/* One line per item, a second line for a remedy. The texts begin at this column. */
#define CHECK_TEXT_COLUMN 21u
void check_report_text(const struct check_report *r, struct strbuf *out);

/* {level, sources: [{level, source, path, state, format, ageSeconds, text, remedy}]}; null = none. */
void check_report_doc(const struct check_report *r, struct doc *ret);

/* ---- check_host.c: the machine, and the kubelet's files, socket and settings */

struct check_config {
	struct observe_config observe;
	struct derive_config derive;
	struct nrt_config nrt;
	bool others_nrt, numatopology, kai; /* as in struct render_config */
	bool keep_taint;                    /* as in struct publisher_options */
	struct credentials_options credentials;
};

/* *ret_nrt becomes the object that `nrtd run` would publish; it stays null if there is none. */
void check_host(const struct check_config *config, struct check_report *report, struct doc *ret_nrt);

/* ---- check_kubelet.c: whether the kubelet would start */

/*
 * Adds an item for each reason for which the kubelet would not start with the settings of `node`, which need not be derived, on its
 * machine. `runs`: a kubelet is running, so it was started with other settings. Returns the number of reasons.
 */
size_t check_kubelet_settings(const struct node_state *node, bool runs, struct check_report *report);

/* What the state files have, entry by entry; zeroed if a file was not read. */
struct check_state_files {
	struct kubelet_state cpus, memory;
	const char *kubelet_root; /* borrowed */
};

/* Adds an item for each state file with which the kubelet would not start under the settings of `node`. */
void check_kubelet_files(const struct check_state_files *files, const struct node_state *node, bool runs,
	struct check_report *report);

/* ---- check_notes.c: the notes of the observation, as items */

/* Adds an item with a remedy for a note. */
void check_note(const char *note, struct check_report *report);

/* ---- check_tuning.c: the host's tuning against what the kubelet assigns */

/*
 * Check isolcpus, nohz_full, interrupts, kernel settings of memory, hugepages, NUMA nodes and frequencies.
 * `node` is derived. Reads the kernel's files below config->sysroot, and none of them for a machine from XML.
 * Files that the kernel does not have are no problem.
 */
void check_tuning(
	const struct observe_config *config, const struct node_state *node, struct check_report *report);

/* ---- check_libnuma.c: libnuma's view of the running system. libnuma is never on the data path: it reads
 * fixed paths and guesses what it cannot read. Only check_libnuma.c includes numa.h; the library is loaded
 * for the comparison, because loading takes 1 ms. */

/*
 * Compares the NUMA node ids, their CPUs and their distances of `m`, discovered on the running system, with
 * libnuma's. Appends one line per difference, with a closing newline, to `differences`. Ignores distances
 * that `m` does not know.
 *
 * Returns the number of differences; -ENODEV if libnuma sees no NUMA node, -ENOENT if libnuma cannot be
 * loaded, both with the reason in `err`; -EFBIG from `differences`.
 */
int libnuma_compare(const struct machine *m, struct strbuf *differences, struct err *err);

/* ---- check_credentials.c: the credentials for the API server, and when they expire. Sends no request to the
 * API server. */

#define CHECK_EXPIRY_WARN_S   86400
#define CHECK_EXPIRY_LEEWAY_S 60 /* tolerance of the API server for the times in tokens */
#define CHECK_EXPIRY_PERCENT  10 /* of the lifetime is left: should have been renewed before */

/* True: the caller owns *ret. False: there are no usable credentials, and an item says why. */
bool check_credentials(
	const struct credentials_options *options, struct check_report *report, struct credentials **ret);

/*
 * The level of a credential with this expiry at this time. A credential that is not renewed (it is in the
 * kubeconfig itself) is a warning from a day before it expires; a renewed credential, if its renewal is
 * overdue: a tenth of its lifetime is left. A pod's token has a lifetime of one hour, and the kubelet renews
 * it when a fifth is left.
 */
enum check_level check_expiry_level(const struct credential_expiry *expiry, bool renewed, int64_t now_s);

/* ---- check_api_server.c: the API server, its clock, the CRD, rights, the Node, dry runs */

#define CHECK_CLOCK_WARN_MS 5000
#define CHECK_CLOCK_FAIL_MS 300000 /* Kubernetes' signer backdates certificates by this time */

/*
 * Checks in the order in which failures stop nrtd, and stops when no later check is possible. Changes nothing
 * on the API server: writes are dry runs. `nrt` is the object that `nrtd run` would write, NULL if there is
 * none. Takes at most about 5 s plus the time of a credential plugin.
 */
void check_api_server(const struct check_config *config, const struct doc *nrt, struct check_report *report);

/* The level of the difference between the local clock and the API server's, in either direction. */
enum check_level check_clock_level(int64_t ahead_ms);
