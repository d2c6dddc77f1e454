/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/observe/pod_resources.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent/observe/grpc_unary.h"
#include "agent/observe/pod_resources.pb-c.h"
#include "common/allocation.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/io/thread.h"
#include "common/io/time.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/node/known_machine.h"

#define SERVICE      "/v1.PodResourcesLister/"
#define PAUSE_MIN_MS 100u
#define PAUSE_MAX_MS 5000u
#define WAIT_MAX_MS  60000

void pod_resources_init(struct pod_resources *p)
{
	memset(p, 0, sizeof(*p));
}

void pod_resources_release(struct pod_resources *p)
{
	allocations_release(&p->held);
	claims_release(&p->claims);
	pod_refs_free(p->pods, p->n_pods);
	hwloc_bitmap_free(p->allocatable_cpus);
	memory_blocks_free(p->allocatable_memory, p->n_allocatable_memory);
	device_blocks_free(p->allocatable_devices, p->n_allocatable_devices);
	pod_resources_init(p);
}

/* ---- conversion of messages */

/* Ids that cannot be right: their number, the first id, and the holder that has the first id. */
struct bad_ids {
	unsigned n;
	int64_t first;
	char of[160];
};

struct conversion {
	const struct machine *machine;
	struct err *err;
	hwloc_bitmap_t absent_nodes; /* NUMA nodes that the machine does not have */
	struct bad_ids nodes, cpus;
	unsigned n_split_blocks;
};

static void conversion_release(struct conversion *c)
{
	hwloc_bitmap_free(c->absent_nodes);
}

static void add_bad_id(struct bad_ids *bad, int64_t id, const char *of)
{
	if (bad->n++ > 0)
		return;
	bad->first = id;
	snprintf(bad->of, sizeof(bad->of), "%s", of);
}

/* Add the NUMA nodes to the empty set `nodes`. The kubelet also names nodes that were on the machine at its start. */
static void convert_nodes(struct conversion *c, const Podresources__TopologyInfo *topology, const char *what,
	hwloc_bitmap_t nodes)
{
	for (size_t i = 0; topology && i < topology->n_nodes; i++) {
		int64_t id = topology->nodes[i]->id;

		if (id < 0 || id >= MACHINE_MAX_NODES) {
			add_bad_id(&c->nodes, id, what);
			continue;
		}
		cpuset_set(nodes, (unsigned)id);
		if (c->machine && machine_node_index(c->machine, (unsigned)id) < 0)
			cpuset_set(c->absent_nodes, (unsigned)id);
	}
}

static void convert_cpu_ids(
	struct conversion *c, const int64_t *ids, size_t n, const char *holder, hwloc_bitmap_t cpus)
{
	for (size_t i = 0; i < n; i++)
		if (ids[i] < 0 || ids[i] >= MACHINE_MAX_CPUS)
			add_bad_id(&c->cpus, ids[i], holder);
		else
			cpuset_set(cpus, (unsigned)ids[i]);
}

static void convert_memory(struct conversion *c, Podresources__ContainerMemory *const *from, size_t n,
	struct memory_block **blocks, size_t *n_blocks, size_t *size)
{
	for (size_t i = 0; i < n; i++) {
		CLEANUP(cpuset_freep) hwloc_bitmap_t nodes = cpuset_new();
		CLEANUP(freep) char *type = xstrdup(text_or_empty(from[i]->memory_type));
		struct memory_block *block;

		convert_nodes(c, from[i]->topology, text_or_empty(from[i]->memory_type), nodes);
		block = vec_push(blocks, n_blocks, size, sizeof(*block));
		block->type = TAKE(type);
		block->bytes = from[i]->size;
		block->nodes = TAKE(nodes);
	}
}

/* The kubelet lists a device once per NUMA node: the caller merges the blocks when it has added all devices. */
static void convert_devices(struct conversion *c, const Podresources__ContainerDevices *from,
	struct device_block **blocks, size_t *n_blocks, size_t *size)
{
	const char *resource = text_or_empty(from->resource_name);
	CLEANUP(cpuset_freep) hwloc_bitmap_t nodes = cpuset_new();

	convert_nodes(c, from->topology, resource, nodes);
	for (size_t d = 0; d < from->n_device_ids; d++)
		device_blocks_add(blocks, n_blocks, size, resource, nodes, false, from->device_ids[d]);
}

static struct allocation *add_held_item(
	struct allocations *held, const Podresources__PodResources *pod, const char *container)
{
	struct allocation *item = allocations_add(held);

	text_set(&item->namespace, text_or_empty(pod->namespace_));
	text_set(&item->pod, text_or_empty(pod->name));
	text_set(&item->container, text_or_empty(container));
	return item;
}

static void convert_container(struct conversion *c, const Podresources__PodResources *pod,
	const Podresources__ContainerResources *from, struct allocations *held)
{
	struct allocation *item = add_held_item(held, pod, from->name);
	char holder[256];

	snprintf(holder, sizeof(holder), "pod '%.60s/%.60s', container '%.60s'", item->namespace, item->pod,
		item->container);
	convert_cpu_ids(c, from->cpu_ids, from->n_cpu_ids, holder, item->cpus);
	convert_memory(c, from->memory, from->n_memory, &item->memory, &item->n_memory, &item->memory_size);
	for (size_t i = 0; i < from->n_devices; i++)
		convert_devices(c, from->devices[i], &item->devices, &item->n_devices, &item->devices_size);
	device_blocks_merge(&item->devices, &item->n_devices, &item->devices_size);
}

/* Subtract from the pod's holdings as a whole what its containers (items from `first` on) list. */
static void subtract_containers(const struct allocations *held, size_t first, struct allocation *whole)
{
	for (size_t i = first; i < held->n_items; i++) {
		const struct allocation *item = &held->items[i];

		if (item == whole)
			continue;
		cpuset_andnot(whole->cpus, whole->cpus, item->cpus);
		for (size_t m = 0; m < item->n_memory; m++)
			for (size_t w = 0; w < whole->n_memory; w++) {
				struct memory_block *block = &whole->memory[w];

				if (strcmp(block->type, item->memory[m].type) != 0 ||
					!hwloc_bitmap_isequal(block->nodes, item->memory[m].nodes))
					continue;
				block->bytes -= block->bytes < item->memory[m].bytes ? block->bytes
										     : item->memory[m].bytes;
				break;
			}
	}
	for (size_t w = whole->n_memory; w-- > 0;) {
		if (whole->memory[w].bytes > 0)
			continue;
		free(whole->memory[w].type);
		hwloc_bitmap_free(whole->memory[w].nodes);
		whole->memory[w] = whole->memory[--whole->n_memory];
	}
}

/* Adds an item for what the pod holds as a whole and its containers, the items from `first` on, do not list. */
static void convert_pod_level(
	struct conversion *c, const Podresources__PodResources *pod, size_t first, struct allocations *held)
{
	struct allocation *whole;
	char holder[256];

	if (pod->n_cpu_ids == 0 && pod->n_memory == 0)
		return;
	whole = add_held_item(held, pod, "");
	snprintf(holder, sizeof(holder), "pod '%.60s/%.60s'", whole->namespace, whole->pod);
	convert_cpu_ids(c, pod->cpu_ids, pod->n_cpu_ids, holder, whole->cpus);
	convert_memory(c, pod->memory, pod->n_memory, &whole->memory, &whole->n_memory, &whole->memory_size);
	subtract_containers(held, first, whole);
}

/* Whether the item makes its pod `exclusive` (struct pod_ref). */
static bool is_exclusive(const struct allocation *item)
{
	if (!hwloc_bitmap_iszero(item->cpus))
		return true;
	for (size_t i = 0; i < item->n_memory; i++)
		if (!hwloc_bitmap_iszero(item->memory[i].nodes))
			return true;
	for (size_t i = 0; i < item->n_devices; i++)
		if (!hwloc_bitmap_iszero(item->devices[i].nodes))
			return true;
	return false;
}

static void convert_claim(const Podresources__DynamicResource *from,
	const Podresources__ClaimResource *resource, const Podresources__PodResources *pod,
	struct claims *ret)
{
	CLEANUP(claim_release) struct claim claim = {0};

	claim_init(&claim, text_or_empty(resource->driver_name), "", text_or_empty(from->claim_namespace),
		text_or_empty(from->claim_name));
	claim_add_pod(&claim, text_or_empty(pod->namespace_), text_or_empty(pod->name));
	claim_add_device(&claim, text_or_empty(resource->pool_name), text_or_empty(resource->device_name),
		text_or_empty(resource->share_id));
	for (size_t i = 0; i < resource->n_cdi_devices; i++)
		strv_push(&claim.cdi, text_or_empty(resource->cdi_devices[i]->name));
	claims_append(ret, &claim);
}

/*
 * Append the claims of a container (dynamic_resources), one entry per claim and device, for claims_merge().
 * With each device the kubelet also lists the CDI devices of the devices before it.
 */
static void convert_claims(const Podresources__ContainerResources *container,
	const Podresources__PodResources *pod, struct claims *ret)
{
	for (size_t i = 0; i < container->n_dynamic_resources; i++) {
		const Podresources__DynamicResource *from = container->dynamic_resources[i];

		for (size_t k = 0; k < from->n_claim_resources; k++)
			convert_claim(from, from->claim_resources[k], pod, ret);
	}
}

static void convert_pod(
	struct conversion *c, const Podresources__PodResources *pod, struct pod_resources *ret)
{
	size_t first = ret->held.n_items;
	struct pod_ref *ref = vec_push(&ret->pods, &ret->n_pods, &ret->pods_size, sizeof(*ref));

	*ref = (struct pod_ref){NULL, NULL, false};
	text_set(&ref->namespace, text_or_empty(pod->namespace_));
	text_set(&ref->name, text_or_empty(pod->name));
	for (size_t i = 0; i < pod->n_containers; i++) {
		convert_container(c, pod, pod->containers[i], &ret->held);
		convert_claims(pod->containers[i], pod, &ret->claims);
	}
	convert_pod_level(c, pod, first, &ret->held);
	for (size_t i = first; i < ret->held.n_items; i++)
		ref->exclusive = ref->exclusive || is_exclusive(&ret->held.items[i]);
}

static void note_bad_ids(const struct conversion *c, struct notes *notes)
{
	CLEANUP(freep) char *absent = cpuset_print(c->absent_nodes);

	if (!hwloc_bitmap_iszero(c->absent_nodes))
		notes_add(
			notes, "NUMA nodes %.200s do not exist on this machine " ABSENT_FROM_MACHINE, absent);
	if (c->nodes.n > 0)
		notes_add(notes, "'%s': %" PRId64 " is not a NUMA node; %u such ids are ignored", c->nodes.of,
			c->nodes.first, c->nodes.n);
	if (c->n_split_blocks > 0)
		notes_add(notes,
			"GetAllocatableResources: %u blocks of memory are on several NUMA nodes each; they count as nothing",
			c->n_split_blocks);
	if (c->cpus.n > 0)
		notes_add(notes, "%s: %" PRId64 " is not a CPU; %u such ids are ignored", c->cpus.of,
			c->cpus.first, c->cpus.n);
}

static int bad_message(struct err *err, const char *what)
{
	return err_set(err, -EBADMSG, "%s: the reply is not a valid message", what);
}

/* ---- a message piece by piece. A node may have ten thousands of devices, each a message of its own: unpacked all at once,
 * they need five times as much memory as their bytes. */

#define WIRE_VARINT  0u
#define WIRE_64_BIT  1u
#define WIRE_LENGTH  2u
#define WIRE_32_BIT  5u
#define PIECES_FIELD 1u         /* the repeated message of both answers */
#define VARINT_MAX   10         /* bytes */
#define TAG_MAX      5          /* bytes; also of a length, as protobuf-c limits both */
#define REST_MAX     (1u << 20) /* bytes of all other fields */

struct wire {
	const uint8_t *at, *end;
};

static bool read_varint(struct wire *w, unsigned max_bytes, uint64_t *ret)
{
	*ret = 0;
	for (unsigned i = 0; i < max_bytes && w->at < w->end; i++) {
		uint8_t byte = *w->at++;

		*ret |= (uint64_t)(byte & 0x7f) << 7 * i;
		if (byte < 0x80)
			return true;
	}
	return false;
}

/* Skip the value of a field. *ret_len is the value's length, untouched for a varint. False if the message ends before. */
static bool skip_value(struct wire *w, unsigned type, uint64_t *ret_len)
{
	uint64_t len = type == WIRE_64_BIT ? 8 : 4;

	if (type == WIRE_VARINT)
		return read_varint(w, VARINT_MAX, &len);
	if (type != WIRE_LENGTH && type != WIRE_64_BIT && type != WIRE_32_BIT)
		return false;
	if (type == WIRE_LENGTH && !read_varint(w, TAG_MAX, &len))
		return false;
	if (len > (uint64_t)(w->end - w->at))
		return false;
	w->at += len;
	*ret_len = len;
	return true;
}

/* Takes one piece; false if it is not a valid message. */
typedef bool take_piece_fn(struct conversion *c, const uint8_t *piece, size_t len, struct pod_resources *ret);

/* Give each piece of the message to `take`, and put all other fields into `rest`. False if the message is not valid. */
static bool take_pieces(struct conversion *c, const void *bytes, size_t len, take_piece_fn *take,
	struct pod_resources *ret, struct strbuf *rest)
{
	struct wire w = {bytes, (const uint8_t *)bytes + len};

	while (w.at < w.end) {
		const uint8_t *field = w.at;
		uint64_t tag, size = 0;

		if (!read_varint(&w, TAG_MAX, &tag) || !skip_value(&w, tag & 7, &size))
			return false;
		if ((uint32_t)(tag >> 3) != PIECES_FIELD || (tag & 7) != WIRE_LENGTH)
			strbuf_add(rest, field, (size_t)(w.at - field));
		else if (!take(c, w.at - size, (size_t)size, ret))
			return false;
	}
	return strbuf_error(rest) == 0;
}

/* As take_pod_piece(), without the conversion. */
static bool check_pod_piece(struct conversion *c, const uint8_t *piece, size_t len, struct pod_resources *ret)
{
	Podresources__PodResources *pod = podresources__pod_resources__unpack(NULL, len, piece);

	(void)c;
	(void)ret;
	podresources__pod_resources__free_unpacked(pod, NULL);
	return pod != NULL;
}

static bool take_pod_piece(struct conversion *c, const uint8_t *piece, size_t len, struct pod_resources *ret)
{
	Podresources__PodResources *pod = podresources__pod_resources__unpack(NULL, len, piece);

	if (!pod)
		return false;
	convert_pod(c, pod, ret);
	podresources__pod_resources__free_unpacked(pod, NULL);
	return true;
}

/* Gives each pod to `take`, and unpacks all other fields; NULL if the message is not valid. */
static Podresources__ListPodResourcesResponse *unpack_list(
	struct conversion *c, const void *bytes, size_t len, take_piece_fn *take, struct pod_resources *ret)
{
	CLEANUP(strbuf_release) struct strbuf rest = STRBUF_INIT(REST_MAX);

	if (!take_pieces(c, bytes, len, take, ret, &rest))
		return NULL;
	return podresources__list_pod_resources_response__unpack(NULL, rest.len, (const uint8_t *)rest.text);
}

static int parse_list(struct conversion *c, const void *bytes, size_t len, struct pod_resources *ret)
{
	Podresources__ListPodResourcesResponse *list = unpack_list(c, bytes, len, take_pod_piece, ret);

	if (!list)
		return bad_message(c->err, "List");
	podresources__list_pod_resources_response__free_unpacked(list, NULL);
	claims_merge(&ret->claims);
	ret->held.cpus_known = ret->held.devices_known = true;
	allocations_sort(&ret->held);
	return 0;
}

/* The kubelet reports a block per NUMA node. A block on several nodes counts as nothing, because the amount on each node is unknown. */
static void drop_split_blocks(struct pod_resources *ret, struct conversion *c)
{
	for (size_t i = 0; i < ret->n_allocatable_memory; i++) {
		struct memory_block *block = &ret->allocatable_memory[i];

		if (hwloc_bitmap_weight(block->nodes) <= 1)
			continue;
		c->n_split_blocks++;
		block->bytes = 0;
	}
}

/* As take_devices(), without the conversion. */
static bool check_devices_piece(
	struct conversion *c, const uint8_t *piece, size_t len, struct pod_resources *ret)
{
	Podresources__ContainerDevices *devices = podresources__container_devices__unpack(NULL, len, piece);

	(void)c;
	(void)ret;
	podresources__container_devices__free_unpacked(devices, NULL);
	return devices != NULL;
}

static bool take_devices(struct conversion *c, const uint8_t *piece, size_t len, struct pod_resources *ret)
{
	Podresources__ContainerDevices *devices = podresources__container_devices__unpack(NULL, len, piece);

	if (!devices)
		return false;
	convert_devices(c, devices, &ret->allocatable_devices, &ret->n_allocatable_devices,
		&ret->allocatable_devices_size);
	podresources__container_devices__free_unpacked(devices, NULL);
	return true;
}

/* Gives the devices of each resource to `take`, and unpacks all other fields; NULL if the message is not valid. */
static Podresources__AllocatableResourcesResponse *unpack_allocatable(
	struct conversion *c, const void *bytes, size_t len, take_piece_fn *take, struct pod_resources *ret)
{
	CLEANUP(strbuf_release) struct strbuf rest = STRBUF_INIT(REST_MAX);

	if (!take_pieces(c, bytes, len, take, ret, &rest))
		return NULL;
	return podresources__allocatable_resources_response__unpack(
		NULL, rest.len, (const uint8_t *)rest.text);
}

static int parse_allocatable(struct conversion *c, const void *bytes, size_t len, struct pod_resources *ret)
{
	Podresources__AllocatableResourcesResponse *from =
		unpack_allocatable(c, bytes, len, take_devices, ret);

	if (!from)
		return bad_message(c->err, "GetAllocatableResources");
	device_blocks_merge(
		&ret->allocatable_devices, &ret->n_allocatable_devices, &ret->allocatable_devices_size);
	ret->allocatable_cpus = cpuset_new();
	convert_cpu_ids(c, from->cpu_ids, from->n_cpu_ids, "GetAllocatableResources", ret->allocatable_cpus);
	convert_memory(c, from->memory, from->n_memory, &ret->allocatable_memory, &ret->n_allocatable_memory,
		&ret->allocatable_memory_size);
	drop_split_blocks(ret, c);
	ret->allocatable_known = true;
	podresources__allocatable_resources_response__free_unpacked(from, NULL);
	return 0;
}

int pod_resources_parse(const void *list, size_t list_len, const void *allocatable, size_t allocatable_len,
	const struct machine *machine, struct pod_resources *ret, struct notes *notes, struct err *err)
{
	CLEANUP(pod_resources_release) struct pod_resources p = {0};
	CLEANUP(conversion_release)
	struct conversion c = {.machine = machine, .err = err, .absent_nodes = cpuset_new()};
	int r = parse_list(&c, list, list_len, &p);

	if (r == 0 && allocatable)
		r = parse_allocatable(&c, allocatable, allocatable_len, &p);
	if (r < 0)
		return r;
	note_bad_ids(&c, notes);
	*ret = p;
	pod_resources_init(&p);
	return 0;
}

/* ---- calls */

/* What both calls returned. */
struct replies {
	struct grpc_reply list, allocatable;
	int r;                  /* 0 or -errno with the line in `err` */
	bool allocatable_known; /* the kubelet has the call GetAllocatableResources */
	struct err err;
};

static void replies_init(struct replies *p)
{
	*p = (struct replies){.list = GRPC_REPLY_INIT, .allocatable = GRPC_REPLY_INIT};
}

static void replies_release(struct replies *p)
{
	grpc_reply_release(&p->list);
	grpc_reply_release(&p->allocatable);
}

/* Calls in the background: somebody waits for the answer, nobody does any more, or the answer is there. */
enum call_state { CALL_AWAITED, CALL_LATE, CALL_ANSWERED };

struct pod_resources_client {
	struct grpc_channel *channel;
	char *socket;
	unsigned deadline_ms;
	unsigned pause_ms; /* the last pause for the kubelet's rate limit */
	int64_t not_before;
	bool young; /* pod_resources_set_young() */
	/* The last answers that were complete. */
	bool answered, allocatable_answered;
	struct strbuf list, allocatable;
	/*
	 * Of calls in the background. While `begun`, the thread owns `channel`, `pause_ms`, `not_before` and
	 * `replies`. It ends after `answered_fd` has become readable.
	 */
	bool begun;
	pthread_t thread;
	_Atomic enum call_state state;
	struct replies replies;
	const struct cancel *cancel; /* of the waiting */
	struct cancel stop;          /* of the calls */
	int answered_fd, late_fd;
};

static struct pod_resources_client *client_new(const char *socket)
{
	struct pod_resources_client *c = xcalloc(1, sizeof(*c));

	c->list = c->allocatable = (struct strbuf)STRBUF_INIT(POD_RESOURCES_REPLY_MAX);
	c->socket = xstrdup(socket);
	c->deadline_ms = POD_RESOURCES_DEADLINE_MS;
	c->stop = (struct cancel)CANCEL_INIT;
	c->answered_fd = c->late_fd = -1;
	return c;
}

int pod_resources_client_new(
	const char *socket, const struct cancel *cancel, struct pod_resources_client **ret)
{
	CLEANUP(pod_resources_client_freep) struct pod_resources_client *c = client_new(socket);
	int r = grpc_channel_new(socket, cancel, &c->channel);

	if (r < 0)
		return r;
	*ret = TAKE(c);
	return 0;
}

int pod_resources_client_new_background(
	const char *socket, const struct cancel *cancel, int late_fd, struct pod_resources_client **ret)
{
	CLEANUP(pod_resources_client_freep) struct pod_resources_client *c = client_new(socket);
	int r = cancel_init(&c->stop);

	if (r == 0)
		r = grpc_channel_new(socket, &c->stop, &c->channel);
	if (r < 0)
		return r;
	c->deadline_ms = POD_RESOURCES_BACKGROUND_DEADLINE_MS;
	c->cancel = cancel;
	c->late_fd = late_fd;
	c->answered_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (c->answered_fd < 0)
		return -errno;
	*ret = TAKE(c);
	return 0;
}

void pod_resources_client_free(struct pod_resources_client *c)
{
	if (!c)
		return;
	if (c->begun) {
		cancel_request(&c->stop);
		thread_join(c->thread);
		replies_release(&c->replies);
	}
	cancel_release(&c->stop);
	closep(&c->answered_fd);
	grpc_channel_free(c->channel);
	strbuf_release(&c->list);
	strbuf_release(&c->allocatable);
	free(c->socket);
	free(c);
}

void pod_resources_client_freep(struct pod_resources_client **c)
{
	pod_resources_client_free(*c);
	*c = NULL;
}

/* The kubelet accepts 100 calls per second of all its clients together. */
static void back_off(struct pod_resources_client *c)
{
	c->pause_ms = c->pause_ms == 0 ? PAUSE_MIN_MS : 2 * c->pause_ms;
	if (c->pause_ms > PAUSE_MAX_MS)
		c->pause_ms = PAUSE_MAX_MS;
	c->not_before = clock_ms(CLOCK_MONOTONIC) + c->pause_ms;
}

/* Whether the call's feature gate is off, for which the kubelet has no gRPC status of its own. */
static bool is_disabled(const struct grpc_reply *reply)
{
	return reply->status == GRPC_UNKNOWN && strstr(reply->text.text, "disabled");
}

static int status_error(const struct pod_resources_client *c, const char *call,
	const struct grpc_reply *reply, struct err *err)
{
	const char *why = reply->text.text;

	switch (is_disabled(reply) ? GRPC_UNIMPLEMENTED : reply->status) {
	case GRPC_UNIMPLEMENTED:
		return err_set(err, -EOPNOTSUPP, "%s: this kubelet has no %s: %.200s", c->socket, call, why);
	case GRPC_RESOURCE_EXHAUSTED:
		return err_set(err, -EBUSY, "%s: the kubelet's rate limit rejected %s; next try in %u ms",
			c->socket, call, c->pause_ms);
	case GRPC_DEADLINE_EXCEEDED:
		return err_set(err, -ETIMEDOUT, "%s: %s ran out of time: %.200s", c->socket, call, why);
	case GRPC_NOT_FOUND:
		return err_set(err, -ENOENT, "%s: %s: not found: %.200s", c->socket, call, why);
	case GRPC_UNAVAILABLE:
		return err_set(
			err, -EAGAIN, "%s: the kubelet is not ready for %s: %.200s", c->socket, call, why);
	default:
		return err_set(err, -EAGAIN, "%s: %s failed with gRPC status %d: %.200s", c->socket, call,
			reply->status, why);
	}
}

static int call_kubelet(struct pod_resources_client *c, const char *name, const void *request, size_t len,
	struct grpc_reply *reply, struct err *err)
{
	char method[64];
	int r;

	if (clock_ms(CLOCK_MONOTONIC) < c->not_before)
		return err_set(err, -EBUSY,
			"%s: the kubelet's rate limit rejected the last call; next try in %" PRId64 " ms",
			c->socket, c->not_before - clock_ms(CLOCK_MONOTONIC));
	snprintf(method, sizeof(method), SERVICE "%s", name);
	r = grpc_call(c->channel, method, request, len, POD_RESOURCES_REPLY_MAX, c->deadline_ms, reply, err);
	if (r < 0)
		return r;
	if (reply->status == GRPC_RESOURCE_EXHAUSTED)
		back_off(c);
	else
		c->pause_ms = 0;
	return reply->status == GRPC_OK ? 0 : status_error(c, name, reply, err);
}

void pod_resources_set_young(struct pod_resources_client *c, bool young)
{
	c->young = young;
}

/* Moves valid answers into the client, in place of its last ones. */
static void keep_answers(struct pod_resources_client *c, struct replies *p)
{
	strbuf_release(&c->list);
	strbuf_release(&c->allocatable);
	c->answered = true;
	c->allocatable_answered = p->allocatable_known;
	c->list = p->list.message;
	p->list.message = (struct strbuf)STRBUF_INIT(0);
	if (p->allocatable_known) {
		c->allocatable = p->allocatable.message;
		p->allocatable.message = (struct strbuf)STRBUF_INIT(0);
	}
}

static void make_calls(struct pod_resources_client *c, struct replies *ret)
{
	ret->r = call_kubelet(c, "List", "", 0, &ret->list, &ret->err);
	if (ret->r < 0)
		return;
	ret->r = call_kubelet(c, "GetAllocatableResources", "", 0, &ret->allocatable, &ret->err);
	ret->allocatable_known = ret->r == 0;
	if (ret->r == -EOPNOTSUPP) /* an older kubelet: its answer to List counts */
		ret->r = 0;
}

int pod_resources_recall(const struct pod_resources_client *c, const struct machine *machine,
	struct pod_resources *ret, struct notes *notes, struct err *err)
{
	if (!c->answered)
		return err_set(err, -ENOENT, "%s has not answered before", c->socket);
	return pod_resources_parse(c->list.text, c->list.len,
		c->allocatable_answered ? c->allocatable.text : NULL, c->allocatable.len, machine, ret, notes,
		err);
}

/* Whether both messages are valid: 0 or -EBADMSG with one line. */
static int check_replies(const struct replies *p, struct err *err)
{
	const struct strbuf *list = &p->list.message, *allocatable = &p->allocatable.message;
	Podresources__ListPodResourcesResponse *one =
		unpack_list(NULL, list->text, list->len, check_pod_piece, NULL);
	Podresources__AllocatableResourcesResponse *two =
		p->allocatable_known ? unpack_allocatable(NULL, allocatable->text, allocatable->len,
					       check_devices_piece, NULL)
				     : NULL;
	int r = one ? 0 : bad_message(err, "List");

	if (r == 0 && p->allocatable_known && !two)
		r = bad_message(err, "GetAllocatableResources");
	podresources__list_pod_resources_response__free_unpacked(one, NULL);
	podresources__allocatable_resources_response__free_unpacked(two, NULL);
	return r;
}

/* ---- a kubelet that has just started answers before its managers have started, and before it knows its pods */

/* Whether `now` has what the item holds. */
static bool has_item(const struct allocations *now, const struct allocation *item)
{
	for (size_t i = 0; i < now->n_items; i++) {
		const struct allocation *one = &now->items[i];

		if (!strcmp(one->namespace, item->namespace) && !strcmp(one->pod, item->pod) &&
			!strcmp(one->container, item->container))
			return hwloc_bitmap_isincluded(item->cpus, one->cpus) &&
			       one->n_memory >= item->n_memory && one->n_devices >= item->n_devices;
	}
	return hwloc_bitmap_iszero(item->cpus) && item->n_memory == 0 && item->n_devices == 0;
}

static bool lists_no_allocatable(const struct pod_resources *p)
{
	return hwloc_bitmap_iszero(p->allocatable_cpus) && p->n_allocatable_memory == 0;
}

static bool lists_as_much(const struct pod_resources *now, const struct pod_resources *before)
{
	if (before->allocatable_known && lists_no_allocatable(now) && !lists_no_allocatable(before))
		return false;
	for (size_t i = 0; i < before->held.n_items; i++)
		if (!has_item(&now->held, &before->held.items[i]))
			return false;
	return true;
}

/*
 * Of valid replies of a kubelet that has just started: -EAGAIN with one line if they list less than the client's last answers. Unless these had
 * allocatable amounts, amounts without CPUs and memory are not known, because they prove no policy.
 */
static int check_young_replies(const struct pod_resources_client *c, struct replies *p,
	const struct machine *machine, struct err *err)
{
	CLEANUP(pod_resources_release) struct pod_resources now, before;
	int r;

	pod_resources_init(&now);
	pod_resources_init(&before);
	r = pod_resources_parse(p->list.message.text, p->list.message.len,
		p->allocatable_known ? p->allocatable.message.text : NULL, p->allocatable.message.len,
		machine, &now, NULL, err);
	if (r < 0)
		return r;
	pod_resources_recall(c, machine, &before, NULL, NULL); /* without one nothing is listed */
	if (!lists_as_much(&now, &before))
		return err_set(err, -EAGAIN,
			"%s: the kubelet has just started and does not list everything yet", c->socket);
	if (lists_no_allocatable(&now) && !before.allocatable_known)
		p->allocatable_known = false;
	return 0;
}

/* Checks the replies before the client's last answers are freed, and converts them after: an answer and what is made of it may need megabytes
 * each. */
static int take_replies(struct pod_resources_client *c, struct replies *p, const struct machine *machine,
	struct pod_resources *ret, struct notes *notes, struct err *err)
{
	int r = p->r < 0 ? err_set(err, p->r, "%s", p->err.text) : check_replies(p, err);

	if (r == -EBADMSG)
		return err_wrap(err, r, "%s", c->socket);
	if (r == 0 && c->young)
		r = check_young_replies(c, p, machine, err);
	if (r < 0)
		return r;
	keep_answers(c, p);
	return pod_resources_recall(c, machine, ret, notes, err);
}

int pod_resources_read(struct pod_resources_client *c, const struct machine *machine,
	struct pod_resources *ret, struct notes *notes, struct err *err)
{
	CLEANUP(replies_release) struct replies replies;

	replies_init(&replies);
	make_calls(c, &replies);
	return take_replies(c, &replies, machine, ret, notes, err);
}

/* ---- calls in the background */

static void *call_thread(void *arg)
{
	struct pod_resources_client *c = arg;
	const uint64_t one = 1;

	make_calls(c, &c->replies);
	/* An eventfd takes these few counts without blocking. */
	if (atomic_exchange(&c->state, CALL_ANSWERED) == CALL_LATE)
		(void)!write(c->late_fd, &one, sizeof(one));
	(void)!write(c->answered_fd, &one, sizeof(one));
	return NULL;
}

int pod_resources_begin(struct pod_resources_client *c, struct err *err)
{
	int r;

	replies_init(&c->replies);
	atomic_store(&c->state, CALL_AWAITED);
	r = thread_start(&c->thread, call_thread, c);
	if (r < 0)
		return err_set(err, r, "%s: cannot start a thread: %s", c->socket, strerror(-r));
	c->begun = true;
	return 0;
}

bool pod_resources_has_begun(const struct pod_resources_client *c)
{
	return c->begun;
}

/* Waits for the thread's answer, at most until until_ms. False: the answer will be late. */
static bool wait_for_answer(struct pod_resources_client *c, int64_t until_ms)
{
	enum call_state state = CALL_AWAITED;
	int64_t left;

	do {
		left = until_ms - clock_ms(CLOCK_MONOTONIC);
		left = left < 0 ? 0 : left > WAIT_MAX_MS ? WAIT_MAX_MS : left;
		if (cancel_poll(c->cancel, c->answered_fd, POLLIN, (int)left) & POLLIN)
			return true;
	} while (left > 0 && !cancel_requested(c->cancel));
	/* Tells the thread that nobody waits any more, unless the answer has just come. */
	return !atomic_compare_exchange_strong(&c->state, &state, CALL_LATE) && state == CALL_ANSWERED;
}

int pod_resources_finish(struct pod_resources_client *c, int64_t until_ms, const struct machine *machine,
	struct pod_resources *ret, struct notes *notes, struct err *err)
{
	uint64_t count;
	int r;

	if (!wait_for_answer(c, until_ms))
		return err_set(err, -EINPROGRESS, "%s: the kubelet has not answered yet", c->socket);
	thread_join(c->thread);
	(void)!read(c->answered_fd, &count, sizeof(count));
	c->begun = false;
	r = take_replies(c, &c->replies, machine, ret, notes, err);
	replies_release(&c->replies);
	return r;
}
