/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Prints the report of `fit`: on one node in full, or on many nodes as a table with one row per node. `why` prints the
 * same rows.
 */
#include "cli/report/pod_report.h"
#include "cli/report/writer.h"

/*
 * Writes the report on one node. The members of JSON and YAML, null if unknown or not applicable:
 *   qosClass, notGuaranteed (the reason, "" if it is), alignment (what the Topology Manager aligns), exclusiveCPUs   of the pod
 *   admitted    true, false, null
 *   reason      a sentence, "" if admitted; rejection: the reason in the pod's status
 *   containers  name, numaNodes (ids; null = no affinity), preferred (of the kubelet's hint), remote (the same
 *               number of other NUMA nodes are closer to each other), cpus (a list; "" = the shared pool),
 *               memoryNUMANodes (ids; null = the memory manager does not account the memory); empty unless
 *               admitted
 *   numaNodes, minDistance, scores (by strategy), schedulerPasses   of the scheduler plugin
 *   copies, copiesAtLeast
 *   kubeletMilliseconds, hintPermutations   the time that the kubelet needs, and what takes the time
 *   pciePair    whether a GPU and a NIC are free below one PCIe root; null unless the pod is admitted and requests both
 *   nearest     container (null if the pod has one), resource, request, fits; if several amounts must change, also
 *               further: a list of the others
 *   whatFrees   answer ("set", "none", "fits", "unknown"), pods (namespace, name, uid, cpus), smallest (of a set;
 *               false if the search was cut short); null without --what-frees
 *   unchecked   device resources that were not checked, and "resourceClaims" if the pod has some
 * For a node that was read from an object also basis, why, and notEvaluated: constraints of schedulers that were
 * not evaluated.
 */
void fit_write_node(struct writer *w, const struct pod_report *r, const struct node_report *n);

/* After the row of a node to which the pod cannot go: of more than 20 nodes, a terminal shows equal rows as one. */
void fit_fold_row(struct writer *w, const struct pod_report *r);

/*
 * Writes a row per node; a table with headings ends with the totals. In the format "name": the names of the
 * nodes that get a copy or a replica. {"qosClass", "notGuaranteed", "alignment", "exclusiveCPUs", "fits", "nodes", "unknown", "copies", "copiesAtLeast", "replicas":
 * null or {"wanted", "placed"}, "unchecked", "withoutObject", "notEvaluated", "items": [fit_write_row()]}.
 */
void fit_write(struct writer *w, const struct pod_report *r);

/*
 * Starts a row with the fields of a node, which writer_end() ends: {"name", "admitted" (null = unknown),
 * "rejection", "reason", "caution" (null = none), "nearest", "numaNodes" (ids; null = no affinity, or not admitted), "preferred" (null = not admitted), "copies",
 * "copiesAtLeast", "kubeletMilliseconds", "hintPermutations", "pciePair", "replicas", "basis", "why", "exporter", "policy", "scope"}.
 */
void fit_write_row(struct writer *w, const struct pod_report *r, const struct node_report *n);

/*
 * The kubelet's verdict as one word: "admit", the reason in the pod's status ("TopologyAffinityError"),
 * "reject" without such a reason, "?" if unknown; an estimate begins with "~".
 */
#define VERDICT_WORD_MAX 64
void fit_verdict_word(const struct node_report *n, char ret[VERDICT_WORD_MAX]);

/*
 * Appends what the verdict does not guarantee: of an admission, and of any verdict on a kubelet that is newer than the newest compared
 * release. fit_add_reasons() appends the reason before it.
 */
void fit_add_caution(const struct node_report *n, struct strbuf *out);
void fit_add_reasons(const struct node_report *n, struct strbuf *out);

/* Appends "16 CPUs, 32Gi memory (Guaranteed)". */
void fit_add_request(const struct pod_report *r, struct strbuf *out);

/* Appends lines: why the pod is not Guaranteed, and what the Topology Manager aligns for it. */
void fit_add_alignment(const struct pod_report *r, const char *indent, struct strbuf *out);

/* Appends the nearest request that the kubelet would admit, "12 CPUs instead of 16 and 8Gi memory instead of 9Gi", if any. */
void fit_add_nearest(const struct pod_report *r, const struct node_report *n, struct strbuf *out);

/* Which pod was judged. */
struct pod_form {
	bool is_manifest; /* false: a Pod of an API server, or flags */
	bool stored; /* the pod that the API server would store for the manifest, by a dry run; false: the pod as written */
	struct strv
		not_evaluated; /* what the API server may add to the pod as written: "RuntimeClass 'kata'" */
};

/* Writes which pod was judged, as a line of text, or as the members dryRun (null = no manifest) and asWritten (the list). */
void fit_write_form(struct writer *w, const struct pod_form *form);

/*
 * Writes the constraints of schedulers that were not evaluated, as a line of text or the member notEvaluated.
 */
void fit_write_not_evaluated(struct writer *w, const struct strv *list);
