/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/extender/shape.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/hash.h"
#include "common/cleanup.h"
#include "common/resource_name.h"
#include "common/text.h"
#include "common/vec.h"
#include "scoring/request.h"

static void clear_verdicts(struct shape *shape)
{
	for (size_t i = 0; i < shape->verdicts_size; i++) {
		free(shape->verdicts[i].reason);
		shape->verdicts[i] = (struct verdict){0};
	}
}

static void forget_verdicts(struct shape *shape)
{
	clear_verdicts(shape);
	free(shape->verdicts);
	shape->verdicts = NULL;
	shape->verdicts_size = 0;
}

static void shape_free(void *item)
{
	struct shape *shape = item;

	forget_verdicts(shape);
	pod_request_release(&shape->pod);
	resource_list_release(&shape->wanted);
	free(shape->known);
	free(shape);
}

static void shape_freep(struct shape **shape)
{
	if (*shape)
		shape_free(*shape);
}

void shapes_release(struct shapes *s)
{
	tdestroy(s->by_content, shape_free);
	known_resources_release(&s->known);
	*s = (struct shapes){0};
}

/* ---- which pods ask for the same */

static int compare(size_t a, size_t b)
{
	return (a > b) - (a < b);
}

static int compare_lists(const struct resource_list *a, const struct resource_list *b)
{
	int r = compare(a->n_items, b->n_items);

	for (size_t i = 0; i < a->n_items && r == 0; i++) {
		r = strcmp(a->items[i].name, b->items[i].name);
		if (r == 0)
			r = quantity_cmp(a->items[i].quantity, b->items[i].quantity);
	}
	return r;
}

static int compare_containers(const struct container_request *a, const struct container_request *b)
{
	int r = compare(a->kind, b->kind);

	if (r == 0)
		r = strcmp(a->name, b->name);
	if (r == 0)
		r = compare_lists(&a->requests, &b->requests);
	return r != 0 ? r : compare_lists(&a->limits, &b->limits);
}

static int compare_pods(const struct pod_request *a, const struct pod_request *b)
{
	int r = compare(a->qos, b->qos);

	if (r == 0)
		r = compare(a->has_pod_resources, b->has_pod_resources);
	if (r == 0)
		r = compare(a->has_claims, b->has_claims);
	if (r == 0)
		r = compare_lists(&a->overhead, &b->overhead);
	if (r == 0)
		r = compare_lists(&a->pod_requests, &b->pod_requests);
	if (r == 0)
		r = compare_lists(&a->pod_limits, &b->pod_limits);
	if (r == 0)
		r = compare(a->n_containers, b->n_containers);
	for (size_t i = 0; i < a->n_containers && r == 0; i++)
		r = compare_containers(&a->containers[i], &b->containers[i]);
	return r;
}

/* A hash may be forged; the content decides. */
static int by_content(const void *a, const void *b)
{
	const struct shape *x = a, *y = b;

	return x->hash != y->hash ? (x->hash > y->hash ? 1 : -1) : compare_pods(&x->pod, &y->pod);
}

static uint64_t hash_list(const struct resource_list *list, uint64_t hash)
{
	for (size_t i = 0; i < list->n_items; i++) {
		hash = hash_bytes(list->items[i].name, strlen(list->items[i].name), hash);
		hash = hash_bytes(&list->items[i].quantity.nano, sizeof(qty_t), hash);
	}
	return hash;
}

static uint64_t hash_pod(const struct pod_request *pod)
{
	uint64_t hash = hash_list(&pod->pod_requests, hash_list(&pod->overhead, pod->qos));

	for (size_t i = 0; i < pod->n_containers; i++) {
		const struct container_request *c = &pod->containers[i];

		hash = hash_bytes(c->name, strlen(c->name), hash + c->kind);
		hash = hash_list(&c->limits, hash_list(&c->requests, hash));
	}
	return hash;
}

/* ---- what of a pod is kept */

/* The first of some names in the order of their bytes; borrowed. */
struct first_names {
	const char *items[SHAPES_UNKNOWN_MAX];
	size_t n;
};

/* Those that no node has: extended resources, and others. */
struct unknown {
	const struct known_resources *known;
	struct first_names extended, others;
};

static bool is_kept_anyway(const struct known_resources *known, const char *name)
{
	return !strcmp(name, "cpu") || !strcmp(name, "memory") || !strcmp(name, "ephemeral-storage") ||
	       known_resources_has(known, name);
}

static struct first_names *class_of(struct unknown *u, const char *name)
{
	return resource_name_is_native(name) ? &u->others : &u->extended;
}

static void note_name(struct first_names *first, const char *name)
{
	size_t at = first->n;

	while (at > 0 && strcmp(first->items[at - 1], name) > 0)
		at--;
	if (at == SHAPES_UNKNOWN_MAX || (at > 0 && !strcmp(first->items[at - 1], name)))
		return;
	if (first->n < SHAPES_UNKNOWN_MAX)
		first->n++;
	memmove(&first->items[at + 1], &first->items[at], (first->n - at - 1) * sizeof(first->items[0]));
	first->items[at] = name;
}

static void note_unknown(struct resource_list *list, struct unknown *u)
{
	for (size_t i = 0; i < list->n_items; i++)
		if (!is_kept_anyway(u->known, list->items[i].name))
			note_name(class_of(u, list->items[i].name), list->items[i].name);
}

static bool is_among(const struct first_names *first, const char *name)
{
	for (size_t i = 0; i < first->n; i++)
		if (!strcmp(first->items[i], name))
			return true;
	return false;
}

/* Names in `u` are the list's own: they stay. */
static void drop_unknown(struct resource_list *list, struct unknown *u)
{
	struct resource_quantity *smaller;
	size_t kept = 0;

	for (size_t i = 0; i < list->n_items; i++)
		if (is_kept_anyway(u->known, list->items[i].name) ||
			is_among(class_of(u, list->items[i].name), list->items[i].name))
			list->items[kept++] = list->items[i];
		else
			free(list->items[i].name);
	list->n_items = kept;
	if (kept == 0)
		resource_list_release(list);
	smaller = kept > 0 && kept < list->items_size ? reallocarray(list->items, kept, sizeof(*smaller))
						      : NULL;
	if (smaller) {
		list->items = smaller;
		list->items_size = kept;
	}
}

static void for_each_list(
	struct pod_request *pod, struct unknown *u, void (*fn)(struct resource_list *list, struct unknown *u))
{
	fn(&pod->overhead, u);
	fn(&pod->pod_requests, u);
	fn(&pod->pod_limits, u);
	for (size_t i = 0; i < pod->n_containers; i++) {
		fn(&pod->containers[i].requests, u);
		fn(&pod->containers[i].limits, u);
	}
}

static void reduce(const struct known_resources *known, struct pod_request *pod)
{
	struct unknown u = {.known = known};

	for_each_list(pod, &u, note_unknown);
	for_each_list(pod, &u, drop_unknown);
}

/* ---- the shape */

#define MALLOC_BYTES 16u /* that malloc(3) needs beside what it gives */

static size_t bytes_of_list(const struct resource_list *list)
{
	size_t bytes = list->items_size * sizeof(*list->items) + MALLOC_BYTES;

	for (size_t i = 0; i < list->n_items; i++)
		bytes += strlen(list->items[i].name) + 1 + MALLOC_BYTES;
	return bytes;
}

static size_t bytes_of_pod(const struct pod_request *pod)
{
	size_t bytes = bytes_of_list(&pod->overhead) + bytes_of_list(&pod->pod_requests) +
		       bytes_of_list(&pod->pod_limits) + pod->containers_size * sizeof(*pod->containers);

	for (size_t i = 0; i < pod->n_containers; i++) {
		const struct container_request *c = &pod->containers[i];

		bytes += strlen(c->name) + MALLOC_BYTES + bytes_of_list(&c->requests) +
			 bytes_of_list(&c->limits);
	}
	return bytes;
}

/* So much of one resource at most: the amounts of all pods of a node can then be added and taken away again. */
#define WANTED_MAX (QTY_MAX >> 20)

/* Of a pod that is too large only what it asks for as a whole stays, as its pod-level resources. */
static int take_apart(struct pod_request *pod)
{
	struct pod_request whole = {
		.qos = request_qos(pod), .has_pod_resources = true, .has_claims = pod->has_claims};

	if (request_of_node(pod, &whole.pod_requests) < 0)
		return -ENOMEM;
	pod_request_release(pod);
	*pod = whole;
	pod->name = strdup("");
	return pod->name ? 0 : -ENOMEM;
}

static int fill(struct shape *shape, struct pod_request *pod)
{
	struct resource_list *wanted = &shape->wanted;

	shape->pod = *pod;
	pod_request_init(pod);
	shape->qos = request_qos(&shape->pod);
	shape->cpus = kubelet_pod_exclusive_cpus(&shape->pod, shape->qos);
	shape->aligned =
		shape->aligned || shape->qos == QOS_GUARANTEED || request_has_non_native(&shape->pod);
	if (request_of_node(&shape->pod, wanted) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < wanted->n_items; i++)
		if (wanted->items[i].quantity.nano > WANTED_MAX)
			wanted->items[i].quantity.nano = WANTED_MAX;
	shape->known = calloc(wanted->n_items + 1, sizeof(*shape->known));
	shape->bytes = sizeof(*shape) + bytes_of_list(wanted) + bytes_of_pod(&shape->pod);
	return shape->known ? 0 : -ENOMEM;
}

/* The shape like this one, whose content is the pod's. */
static struct shape *find(const struct shapes *s, struct shape *like, struct pod_request *pod)
{
	struct shape *const *found;

	like->pod = *pod; /* borrowed */
	found = tfind(like, &s->by_content, by_content);
	pod_request_init(&like->pod);
	return found ? *found : NULL;
}

int shapes_take(struct shapes *s, struct pod_request *pod, struct shape **ret)
{
	CLEANUP(shape_freep) struct shape *shape = calloc(1, sizeof(*shape));
	struct shape *found;

	if (!shape || text_set(&pod->name, "") < 0)
		return -ENOMEM;
	reduce(&s->known, pod);
	shape->hash = hash_pod(pod);
	shape->too_large = bytes_of_pod(pod) > SHAPES_BYTES_MAX;
	shape->aligned = shape->too_large && request_has_non_native(pod);
	if (shape->too_large && take_apart(pod) < 0)
		return -ENOMEM;
	found = find(s, shape, pod);
	if (!found) {
		if (fill(shape, pod) < 0 || !tsearch(shape, &s->by_content, by_content))
			return -ENOMEM;
		s->n++;
		found = TAKE(shape);
	}
	*ret = found;
	found->users++;
	return 0;
}

/* The names are in the list already, so nothing is allocated. A name may be one that no pod asks for again: it goes. */
void shape_take_away(const struct shape *shape, struct resource_list *requested)
{
	size_t kept = 0;

	resource_list_add(requested, &shape->wanted, -1);
	for (size_t i = 0; i < requested->n_items; i++)
		if (requested->items[i].quantity.nano != 0)
			requested->items[kept++] = requested->items[i];
		else
			free(requested->items[i].name);
	requested->n_items = kept;
}

static void discard(struct shapes *s, struct shape *shape)
{
	shape->idle = false;
	if (shape->users > 0)
		return;
	tdelete(shape, &s->by_content, by_content);
	s->n--;
	for (size_t i = 0; i < SHAPES_JUDGED; i++)
		if (s->judged[i] == shape)
			s->judged[i] = NULL;
	shape_free(shape);
}

/* Make the next place of the ring empty. */
static void discard_next(struct shapes *s)
{
	struct shape *shape = s->idle[s->next];

	if (!shape)
		return;
	s->idle[s->next] = NULL;
	s->idle_bytes -= shape->bytes;
	discard(s, shape);
}

void shapes_drop(struct shapes *s, struct shape *shape)
{
	if (!shape || --shape->users > 0 || shape->idle)
		return;
	if (shape->bytes > SHAPES_IDLE_BYTES) {
		discard(s, shape);
		return;
	}
	discard_next(s);
	for (size_t i = 0; i < SHAPES_IDLE && s->idle_bytes + shape->bytes > SHAPES_IDLE_BYTES; i++) {
		s->next = (s->next + 1) % SHAPES_IDLE;
		discard_next(s);
	}
	s->idle[s->next] = shape;
	s->idle_bytes += shape->bytes;
	s->next = (s->next + 1) % SHAPES_IDLE;
	shape->idle = true;
}

/* ---- verdicts */

/* The verdict on a node without a resource depends on whether other nodes have it. */
static void look_at_known(struct shapes *s, struct shape *shape)
{
	bool changed = false;

	if (shape->known_version == s->known.version)
		return;
	for (size_t i = 0; i < shape->wanted.n_items; i++) {
		bool known = known_resources_has(&s->known, shape->wanted.items[i].name);

		changed = changed || known != shape->known[i];
		shape->known[i] = known;
	}
	if (changed)
		clear_verdicts(shape);
	shape->known_version = s->known.version;
}

/* An empty place among those with verdicts, or that of the one that was asked about the longest ago. */
static struct shape **find_place(struct shapes *s)
{
	struct shape **found = &s->judged[0];

	for (size_t i = 1; i < SHAPES_JUDGED && *found; i++)
		if (!s->judged[i] || s->judged[i]->asked < (*found)->asked)
			found = &s->judged[i];
	return found;
}

int shapes_make_room(struct shapes *s, struct shape *shape, size_t n_nodes)
{
	struct shape **place;

	shape->asked = ++s->n_asked;
	look_at_known(s, shape);
	if (shape->verdicts_size == 0) {
		place = find_place(s);
		if (*place)
			forget_verdicts(*place);
		*place = shape;
	}
	return vec_grow(&shape->verdicts, &shape->verdicts_size, n_nodes, sizeof(*shape->verdicts));
}
