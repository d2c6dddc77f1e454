/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Renders a node's state as the objects, annotations and labels that nrtd publishes.
 */
#include "agent/render/pod_placement.h"
#include "common/doc.h"
#include "common/err.h"
#include "common/node_state.h"
#include "common/pod_fingerprint.h"
#include "common/request.h"
#include "scoring/fit_hints.h"
#include "scoring/kubelet_slowest.h"
#include "scoring/node/node_admission.h"
#include "scoring/nrt_match.h"

/* ---- nrt.c: the NodeResourceTopology object (topology.node.k8s.io/v1alpha2) */

struct nrt_config {
	enum fingerprint_method fingerprint;
	bool deprecated_policies; /* with the list topologyPolicies */
	bool node_state;          /* with the attribute nrtd.dev/node-state */
	bool koordinator;         /* with the annotations of koordinator_render() */
	bool pcie_roots;          /* with zones of type PCIeRoot */
};

/*
 * Renders the object, by rules that its readers require (nrtd-object(7)):
 *   - "Node" zones first, node-<id> for every id from 0 to the highest, ascending: an id that the machine
 *     does not have becomes a zone without resources, because readers index their zone list by id;
 *   - a NUMA node above NRT_MAX_NODE_ID cannot be published; it is omitted, with a note;
 *   - then one "Socket" zone per package, without resources, so that no reader counts resources twice; with Koordinator's
 *     annotations none, and no parents;
 *   - with config->pcie_roots, then one "PCIeRoot" zone per PCIe root complex, named pci0000:16, with the NUMA node as parent, the
 *     root's devices as attributes, and the amounts of the plugins' devices whose PCI addresses are known;
 *   - each attribute once; unknown attributes are omitted;
 *   - the pods' fingerprint as attributes and annotation, unless the method is FINGERPRINT_NONE; omitted with
 *     a note if the pods are unknown;
 *   - with the fingerprint, under policy single-numa-node, the placement of containers; omitted with a note
 *     if it is unknown;
 *   - with config->node_state, the node state (scoring/node/node_state_codec.h); omitted with a note if it is
 *     too long;
 *   - with config->koordinator, Koordinator's annotations; the zones' allocatable CPUs then include the
 *     reserved CPUs, unless the annotations are omitted;
 *   - the last attribute, nrtd.dev/content-hash, is the XXH64 of the object's compact JSON without that
 *     attribute.
 */
void nrt_render(
	const struct node_state *node, const struct nrt_config *config, struct doc *ret, struct notes *notes);

/* ---- numatopology.c: the Numatopology object (nodeinfo.volcano.sh/v1alpha1) */

/*
 * Renders the object for Volcano's plugin numa-aware (volcano.sh/volcano v1.15.0, pkg/scheduler/cache
 * getNumaInfo, pkg/scheduler/plugins/numaaware):
 *   - policies: CPUManagerPolicy and TopologyManagerPolicy in the kubelet's words; unknown policies are
 *     omitted;
 *   - numares: the CPUs that a container can still get exclusively, and the number of the machine's CPUs;
 *   - cpuDetail: NUMA node, socket and core of each CPU. A core is named by its lowest CPU: the plugin
 *     requires names that are unique on the machine, and the kernel's are not;
 *   - resReserved: 0. The plugin would guess the reserved CPUs from their number, and numares does not
 *     contain them. The member is not omitted, because a value of an earlier exporter would remain;
 *   - podAllocations, the last member of the spec: the exclusive CPUs of each container, with the pod's UID and
 *     name as far as they are known. Volcano 1.16 reads it: a pod that is listed has its CPUs from the kubelet,
 *     and the plugin no longer counts the CPUs that it has assumed for the pod. CRDs before 1.16 do not have the
 *     member (numatopology_remove_pods()).
 * If the free CPUs are unknown, numares has none, with a note: the plugin then places no pod with a policy
 * there. numares is never omitted, because Volcano's scheduler panics when it disappears from an object.
 */
void numatopology_render(const struct node_state *node, struct doc *ret, struct notes *notes);

#define NUMATOPOLOGY_PODS "podAllocations"

/* Removes podAllocations from a rendered object. */
void numatopology_remove_pods(struct doc *object);

/* ---- koordinator.c: the annotations of a NodeResourceTopology object for Koordinator's scheduler */

#define KOORDINATOR_CPU_TOPOLOGY       "node.koordinator.sh/cpu-topology"
#define KOORDINATOR_POD_CPU_ALLOCS     "node.koordinator.sh/pod-cpu-allocs"
#define KOORDINATOR_CPU_MANAGER_POLICY "kubelet.koordinator.sh/cpu-manager-policy"
#define KOORDINATOR_SHARED_POOLS       "node.koordinator.sh/cpu-shared-pools"
#define KOORDINATOR_BE_SHARED_POOLS    "node.koordinator.sh/be-cpu-shared-pools"
/* The API server accepts 256 KiB of annotations per object; the object's other annotations are short. */
#define KOORDINATOR_MAX_BYTES (240u << 10)

/*
 * Renders the annotations as koordlet does for its scheduler's plugin NodeNUMAResource (koordinator v1.8.0,
 * pkg/koordlet/statesinformer/impl, pkg/scheduler/plugins/nodenumaresource/topology_options.go): *ret is a
 * map of strings.
 *   - cpu-topology: NUMA node, socket and core of each CPU. Sockets and cores are numbered in the order of
 *     their first CPU, because the plugin takes CPUs in the order of these numbers. koordlet's source, lscpu,
 *     numbers in the same way, but starts again at each type of CPU;
 *   - cpu-manager-policy: the CPU manager's policy, its options, and under policy static the reserved CPUs;
 *   - pod-cpu-allocs: the pods with exclusive CPUs, by UID. The plugin ignores a pod without UID: if no
 *     source reports the UID, the value is NAMESPACE/NAME;
 *   - cpu-shared-pools, be-cpu-shared-pools: the CPUs of each NUMA node that no pod holds, including the
 *     reserved CPUs.
 *
 * The plugin subtracts the reserved CPUs and the CPUs of pod-cpu-allocs from the CPUs that it may bind, and
 * 1.8.0 also from each zone's allocatable CPUs. So the allocatable CPUs of such an object's zones must
 * include the reserved CPUs, as koordlet's do; otherwise the reserved CPUs would be subtracted twice.
 *
 * The map is empty, with a note, if it is unknown who holds CPUs or which CPUs are reserved (the plugin would
 * bind pods to CPUs that other pods hold; without cpu-topology it binds none), or if the annotations exceed
 * KOORDINATOR_MAX_BYTES.
 */
void koordinator_render(const struct node_state *node, struct doc *ret, struct notes *notes);

/* ---- kai.c: the annotations of pods for KAI-Scheduler */

#define KAI_OBSERVED  "kai.scheduler/numa-placement-observed"
#define KAI_VALUE_MAX 65536u

/* An annotation of a pod of this node. */
struct kai_pod {
	char *namespace, *name, *value;
	char *uid; /* "" = unknown */
};

struct kai_pods {
	struct kai_pod *items;
	size_t n_items;
	size_t items_size;
};

void kai_pods_release(struct kai_pods *p);

/*
 * Renders the annotation KAI_OBSERVED of each pod that holds CPUs, memory or devices of NUMA nodes exclusively,
 * as KAI's numa-placement-exporter does (KAI-Scheduler d5bc503, pkg/npe/placement/placement.go):
 * [{"zone":"node-0","amount":{"cpu":"2","memory":"1073741824"}}], sorted by bytes.
 *   - a device that belongs to several NUMA nodes counts on each;
 *   - a memory block on several NUMA nodes is omitted, because the exporter omits it;
 *   - containers that the pod-resources API does not list (init containers that have ended) are omitted;
 *   - pods whose names only their log directories show are omitted.
 */
void kai_render(const struct node_state *node, struct kai_pods *ret, struct notes *notes);

/* ---- hints.c: the Node's annotations nrtd.dev/fit-hints and nrtd.dev/fit-score.<shape>, labels
 * nrtd.dev/max-exclusive-cpus.<N>-numa */

#define HINTS_MAX_NUMA_LABELS 8u
#define HINTS_LABEL_PREFIX    "nrtd.dev/max-exclusive-cpus."
#define FIT_HINTS_ANNOTATION  "nrtd.dev/fit-hints"
#define FIT_HINTS_VERSION     2
#define FIT_HINTS_MAX_SIZE    ((size_t)16 * 1024) /* default limit of the compact JSON in bytes */

struct hint_shape {
	char *name;
	struct pod_request pod;
};

/* Zeroed: no shapes, no labels; max_size and strategy must be set. */
struct hints_config {
	struct hint_shape *shapes;
	size_t n_shapes;
	size_t shapes_size;
	enum strategy strategy; /* of fit-score.<shape> */
	size_t max_size;        /* limit of the annotation fit-hints in bytes */
	bool labels;
};

void hints_config_release(struct hints_config *c);

/*
 * The annotations and labels for the object with this content hash, as maps of strings. fit-score.<shape> is
 * "0" if the pod does not fit or the kubelet would reject it, and omitted if the score is unknown; a label is
 * omitted if its number is unknown. Omitted fit hints add a note. `kept` caches what is computed from the
 * machine's distances between calls; NULL = no cache.
 */
void hints_make(const struct hints_config *c, const struct node_state *node, const char *nrt_hash,
	struct doc *ret_annotations, struct doc *ret_labels, struct notes *notes,
	struct distances_kept *kept);

/*
 * The document of the annotation nrtd.dev/fit-hints, version 2:
 *
 *	version            2; readers ignore an unknown version
 *	nrt                content hash of the NodeResourceTopology object that the hints were computed from
 *	topologyManager    {policy, scope, maxNUMANodes, preferClosestNUMANodes}; policy, scope null = unknown
 *	resources          names of the resources of any NUMA node; a request for none of these needs no NUMA
 *	                   node, a request for some of these and for others fits nowhere
 *	fits               [{numaNodes, minDistance, available}]: the first entry that has every resource of
 *	                   a request in its amount (null: not even amount 0) is the request's fit;
 *	                   minDistance null = unknown; amounts are CPUs, bytes and devices
 *	truncated          entries are missing at the end: a request that no entry covers may fit or not
 *	exclusiveCPUs      {step, ranges: [[first, last], ...] or null = unknown}: what the kubelet would
 *	                   admit now; omitted if nothing is known
 *
 * Version 1 had quantities as amounts, the ranges of three policies, and the shapes' scores.
 *
 * Its compact JSON has at most `max_size` bytes: entries are removed from the end of fits. 0; -EFBIG if it is
 * too large without any entry. `ret` is untouched on failure.
 */
int fit_hints_to_doc(
	const struct fit_hints *h, const char *nrt_hash, size_t max_size, struct doc *ret, struct err *err);

/* More pods of one shape. */
struct shape_headroom {
	struct pod_copies copies;
	bool stranded_known;
	size_t stranded; /* CPUs: node_admission_copies_stranded_cpus() */
};

/* How much of the node can still be requested, for metrics: the largest pods, and copies of the configured shapes. */
struct headroom {
	size_t max_exclusive
		[HINTS_MAX_NUMA_LABELS]; /* on at most 1, 2, ... NUMA nodes; as in the Node's labels */
	unsigned n_max;                  /* number of known values */
	bool stranded_known;
	size_t stranded; /* CPUs: node_admission_stranded_cpus() */
	struct kubelet_slowest slowest;
	struct shape_headroom *shapes; /* in the order of the configured shapes */
	size_t n_shapes;
};

/* For the shapes of `c`. The caller releases `ret`. */
void headroom_find(const struct hints_config *c, const struct node_state *node, struct headroom *ret);
void headroom_release(struct headroom *r);

/* ---- all of it */

struct render_config {
	struct nrt_config nrt;
	struct hints_config hints;
	bool others_nrt;   /* another exporter writes the NodeResourceTopology object */
	bool numatopology; /* render Volcano's object too */
	bool kai;          /* render KAI's annotations of pods too */
};
