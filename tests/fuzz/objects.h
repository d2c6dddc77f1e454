/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Kubernetes objects as JSON whose names, amounts, phases and annotations the bytes of an input choose: each byte is an
 * index into one of the tables below.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/policy_options.h"
#include "common/strbuf.h"
#include "scoring/node/pod_names.h"

#define OBJECTS_NODES 4u /* "node-0" and on */
#define OBJECTS_UIDS  8u /* "uid-0" and on */

static const char *const quantities[] = {"0", "1", "2", "3", "4", "7", "8", "500m", "1n", "1e-9", "1u", "0.5",
	"1Gi", "2Gi", "4294967296", "1e18", "8Ei", "9223372036854775807", "9223372036854775808", "-1", "-1n",
	"-9223372036854775808", "1E", "1e3", "1000000000000000000000", "1e999", "", "x", "16", "64", "65536",
	"00"};
static const char *const resources[] = {"cpu", "memory", "hugepages-1Gi", "hugepages-2Mi", "vendor.com/nic",
	"vendor.com/gpu", "ephemeral-storage", "pods", "hugepages-", "hugepages-1", "attachable-volumes-x",
	"requests.cpu", "vpc.amazonaws.com/pod-eni", "x", "storage", "kubernetes.io/x"};
static const char *const policies[] = {
	"none", "best-effort", "restricted", "single-numa-node", "restricted", "single-numa-node", "x", ""};
#define OBJECTS_STATIC_WITH(type, member, name, ...) "static," name,
static const char *const cpu_policies[] = {"none", "?", "static,x", CPU_MANAGER_OPTIONS(OBJECTS_STATIC_WITH)};
#undef OBJECTS_STATIC_WITH
static const char *const scopes[] = {"container", "pod", "x", ""};
static const char *const numbers[] = {"8", "1", "0", "2", "64", "4294967295", "4294967296", "-1",
	"2147483647", "2147483648", "9223372036854775807", "18446744073709551616", "1e3", "8 ", "x", ""};
static const char *const phases[] = {
	"Pending", "Running", "Failed", "Succeeded", "Unknown", "Failed", "", "x"};
static const char *const reasons[] = {"TopologyAffinityError", "UnexpectedAdmissionError", "OutOfcpu",
	"NodeAffinity", "DeadlineExceeded", "Evicted", "", "OutOfvendor.com/nic"};
static const char *const priorities[] = {
	"0", "1000", "-1", "2147483647", "-2147483648", "1e9", "9223372036854775807", "\"x\""};

/* What is left of the input. */
struct objects_input {
	const uint8_t *at, *end;
};

/* The next entry of a table. */
#define CHOOSE(in, table) ((table)[objects_take(in) % (sizeof(table) / sizeof((table)[0]))])

/* The next byte of the input, 0 behind its end. */
static inline uint8_t objects_take(struct objects_input *in)
{
	return in->at < in->end ? *in->at++ : 0;
}

static inline const char *objects_node_name(uint8_t choice)
{
	static const char *const names[OBJECTS_NODES] = {"node-0", "node-1", "node-2", "node-3"};

	return names[choice % OBJECTS_NODES];
}

/* A text of the input: its length, then its bytes. In JSON. */
static inline void add_text(struct objects_input *in, struct strbuf *out)
{
	size_t len = objects_take(in);

	len = len << 8 | objects_take(in);
	strbuf_addch(out, '"');
	for (; len > 0 && in->at < in->end; len--) {
		uint8_t c = objects_take(in);

		if (c < ' ' || c == '"' || c == '\\')
			strbuf_addf(out, "\\u%04x", c);
		else
			strbuf_addch(out, (char)(c & 0x7f));
	}
	strbuf_addch(out, '"');
}

static inline void add_amounts(struct objects_input *in, struct strbuf *out, const char *name)
{
	unsigned n = objects_take(in) % 5;

	strbuf_addf(out, "\"%s\":{", name);
	for (unsigned i = 0; i < n; i++) {
		const char *resource = CHOOSE(in, resources);

		strbuf_addf(out, "%s\"%s\":\"%s\"", i > 0 ? "," : "", resource, CHOOSE(in, quantities));
	}
	strbuf_addstr(out, "}");
}

/* Limits, and where `how` says so requests that differ from them. */
static inline void add_requirements(struct objects_input *in, struct strbuf *out, uint8_t how)
{
	strbuf_addstr(out, "\"resources\":{");
	add_amounts(in, out, "limits");
	if (how & 1) {
		strbuf_addstr(out, ",");
		add_amounts(in, out, "requests");
	}
	strbuf_addstr(out, "}");
}

static inline void add_containers(struct objects_input *in, struct strbuf *out, const char *list, unsigned n)
{
	strbuf_addf(out, ",\"%s\":[", list);
	for (unsigned i = 0; i < n; i++) {
		uint8_t how = objects_take(in);

		strbuf_addf(out, "%s{\"name\":\"c%u\",", i > 0 ? "," : "", i);
		if (how & 2)
			strbuf_addstr(out, "\"restartPolicy\":\"Always\",");
		add_requirements(in, out, how);
		strbuf_addstr(out, "}");
	}
	strbuf_addstr(out, "]");
}

static inline void add_spec(struct objects_input *in, struct strbuf *out)
{
	uint8_t how = objects_take(in), node = objects_take(in);

	strbuf_addf(out, "\"spec\":{\"priority\":%s", CHOOSE(in, priorities));
	if (node % (OBJECTS_NODES + 1) != OBJECTS_NODES)
		strbuf_addf(out, ",\"nodeName\":\"%s\"", objects_node_name(node % (OBJECTS_NODES + 1)));
	if (how & 4) {
		strbuf_addstr(out, ",");
		add_requirements(in, out, how);
	}
	if (how & 8) {
		strbuf_addstr(out, ",");
		add_amounts(in, out, "overhead");
	}
	if (how & 16)
		strbuf_addstr(out, ",\"resourceClaims\":[{\"name\":\"x\"}]");
	if (how & 32)
		add_containers(in, out, "initContainers", 1 + objects_take(in) % 3);
	if (how & 64)
		add_containers(in, out, "ephemeralContainers", 1);
	add_containers(in, out, "containers", 1 + how / 128u * 2);
	strbuf_addstr(out, "}");
}

static inline void add_status(struct objects_input *in, struct strbuf *out)
{
	uint8_t how = objects_take(in);

	strbuf_addf(out, ",\"status\":{\"phase\":\"%s\"", CHOOSE(in, phases));
	strbuf_addf(out, ",\"reason\":\"%s\"", CHOOSE(in, reasons));
	if (how & 1)
		strbuf_addstr(out, ",\"startTime\":\"2026-11-25T00:00:00Z\"");
	if (how & 2)
		strbuf_addstr(out, ",\"containerStatuses\":[{\"name\":\"c0\",\"state\":{\"running\":{}}}]");
	if (how & 4) {
		strbuf_addstr(out, ",\"resize\":\"Infeasible\",\"containerStatuses\":[{\"name\":\"c0\",");
		add_requirements(in, out, how);
		strbuf_addstr(out, "}]");
	}
	if (how & 8)
		strbuf_addf(out, ",\"nominatedNodeName\":\"%s\"", objects_node_name(how / 16));
	strbuf_addstr(out, "}");
}

/* A Pod of the UID. */
static inline void objects_pod(struct objects_input *in, struct strbuf *out, unsigned uid)
{
	uint8_t how = objects_take(in);

	strbuf_addf(out,
		"{\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"%s\",\"name\":\"pod-%u\",\"uid\":\"uid-%u\"",
		how & 1 ? "other" : "default", how & 2 ? uid / 2 : uid, uid);
	strbuf_addf(out, ",\"labels\":{\"app\":\"a%u\"},\"annotations\":{\"x\":\"y\"", uid % 2);
	if (how & 4)
		strbuf_addf(
			out, ",\"kubernetes.io/config.mirror\":\"uid-%u\"", objects_take(in) % OBJECTS_UIDS);
	if (how & 8)
		strbuf_addf(out, ",\"volcano.sh/numa-topology-policy\":\"%s\"", CHOOSE(in, policies));
	strbuf_addf(out, "}%s},", how & 16 ? ",\"deletionTimestamp\":\"2026-11-25T00:00:00Z\"" : "");
	add_spec(in, out);
	if (how & 32)
		add_status(in, out);
	strbuf_addstr(out, "}");
}

static const char *const selectors[] = {"{\"matchLabels\":{\"app\":\"a0\"}}", "{}",
	"{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"Exists\"}]}", "null", "[]",
	"{\"matchLabels\":{\"app\":\"a1\"}}", "{\"matchLabels\":[]}", "7"};

static inline void objects_pdb(struct objects_input *in, struct strbuf *out, uint8_t who)
{
	strbuf_addf(out,
		"{\"metadata\":{\"namespace\":\"%s\",\"name\":\"pdb-%u\"},\"spec\":{\"selector\":%s},"
		"\"status\":{\"disruptionsAllowed\":%s,\"disruptedPods\":{\"pod-%u\":null}}}",
		who & 1 ? "other" : "default", who / 2 % 4, CHOOSE(in, selectors), CHOOSE(in, numbers),
		who / 8 % OBJECTS_UIDS);
}

/* A pod of a node state: the hashes that name it there. */
struct held {
	char hashes[2 * POD_NAMES_HASH_SIZE];
};

static inline int by_hashes(const void *a, const void *b)
{
	return strcmp(((const struct held *)a)->hashes, ((const struct held *)b)->hashes);
}

/* The pods of some UIDs hold a CPU each; the section has them in the order of their hashes. */
static inline void add_held(struct objects_input *in, struct strbuf *out)
{
	uint8_t who = objects_take(in);
	struct held held[OBJECTS_UIDS];
	size_t n = 0;

	for (unsigned uid = 0; uid < OBJECTS_UIDS; uid++) {
		char uid_text[8], name[8], by_uid[POD_NAMES_HASH_SIZE], by_name[POD_NAMES_HASH_SIZE];

		if (!(who & 1u << uid))
			continue;
		snprintf(uid_text, sizeof(uid_text), "uid-%u", uid);
		snprintf(name, sizeof(name), "pod-%u", uid);
		pod_names_hash_uid(uid_text, by_uid);
		pod_names_hash_pod("default", name, by_name);
		snprintf(held[n++].hashes, sizeof(held->hashes), "%s%s", by_uid + 1, by_name + 1);
	}
	qsort(held, n, sizeof(*held), by_hashes);
	for (size_t i = 0; i < n; i++)
		strbuf_addf(
			out, "%s%s:%u", i > 0 ? "|" : ";pods=", held[i].hashes, 1 + objects_take(in) % 15);
}

/* Of a node of two NUMA nodes with 8 CPUs, 16 GiB and two devices each. */
static inline void add_state(struct objects_input *in, struct strbuf *out)
{
	uint8_t how = objects_take(in);

	strbuf_addf(
		out, "\"1;kubelet=%u;cpu=%s", 34 + how % 4, how & 4 ? CHOOSE(in, cpu_policies) : "static");
	strbuf_addf(out, ";memory=%s;topology=%s", how & 16 ? "Static" : "None", CHOOSE(in, policies));
	strbuf_addf(out, ",%s", CHOOSE(in, scopes));
	strbuf_addf(out, ",%s", how & 8 ? CHOOSE(in, numbers) : "8");
	strbuf_addstr(out, ";reserved-cpus=0;reserved-cpu=1;ram=32g;nodes=0:16g|1:16g;distances=~10,21,10;"
			   "cores=0-15=0;sockets=0-15/8=0;numa=0-15/8=0;uncore=0-15/8=0;shared=rest");
	if (how & 16)
		strbuf_addstr(out, ";types=memory;memory-nodes=0*0:1g|1*0:1g");
	strbuf_addstr(out, ";devices=vendor.com/nic:0*2/1*2");
	add_held(in, out);
	strbuf_addstr(out, "\"");
}

static inline void add_zone(struct objects_input *in, struct strbuf *out, unsigned id)
{
	uint8_t how = objects_take(in);
	unsigned n = how % 4;

	strbuf_addf(out,
		"%s{\"name\":\"node-%u\",\"type\":\"Node\",\"costs\":[{\"name\":\"node-%u\",\"value\":%s}],",
		id > 0 ? "," : "", how & 16 ? id * 3 : id, id, how & 32 ? "10" : "-1");
	strbuf_addstr(out, "\"resources\":[");
	for (unsigned i = 0; i < n; i++) {
		const char *name = CHOOSE(in, resources), *capacity = CHOOSE(in, quantities);
		const char *allocatable = how & 64 ? CHOOSE(in, quantities) : capacity;
		const char *available = how & 128 ? CHOOSE(in, quantities) : allocatable;

		strbuf_addf(out,
			"%s{\"name\":\"%s\",\"capacity\":\"%s\",\"allocatable\":\"%s\",\"available\":\"%s\"}",
			i > 0 ? "," : "", name, capacity, allocatable, available);
	}
	strbuf_addstr(out, "]}");
}

static inline void objects_nrt(struct objects_input *in, struct strbuf *out, const char *name)
{
	uint8_t how = objects_take(in);
	unsigned n_zones = how % 4;

	strbuf_addf(out,
		"{\"metadata\":{\"name\":\"%s\",\"generation\":%u},\"attributes\":[{\"name\":\"x\",\"value\":\"y\"}",
		name, objects_take(in));
	if (how & 4)
		strbuf_addf(
			out, ",{\"name\":\"topologyManagerPolicy\",\"value\":\"%s\"}", CHOOSE(in, policies));
	if (how & 8)
		strbuf_addf(out, ",{\"name\":\"topologyManagerScope\",\"value\":\"%s\"}", CHOOSE(in, scopes));
	if (how & 16)
		strbuf_addf(out, ",{\"name\":\"topologyManagerMaxNUMANodes\",\"value\":\"%s\"}",
			CHOOSE(in, numbers));
	if (how & 32)
		strbuf_addf(
			out, ",{\"name\":\"nrtd.dev/content-hash\",\"value\":\"%u\"}", objects_take(in) % 4);
	if (how & 64) {
		strbuf_addstr(out, ",{\"name\":\"nrtd.dev/node-state\",\"value\":");
		if (how & 128)
			add_text(in, out);
		else
			add_state(in, out);
		strbuf_addstr(out, "}");
	}
	strbuf_addstr(out, "],\"zones\":[");
	for (unsigned i = 0; i < n_zones; i++)
		add_zone(in, out, i);
	strbuf_addstr(out, "]}");
}

static inline void objects_node(struct objects_input *in, struct strbuf *out, const char *name)
{
	strbuf_addf(out, "{\"metadata\":{\"name\":\"%s\"},\"status\":{", name);
	add_amounts(in, out, "allocatable");
	strbuf_addstr(out, "}}");
}
