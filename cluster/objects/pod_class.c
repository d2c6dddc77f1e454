/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/objects/pod_class.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/hash.h"
#include "common/resource.h"
#include "common/text.h"
#include "common/xalloc.h"
#include "scoring/request.h"

/* ---- known resources */

struct known_resource {
	size_t n_objects; /* with this resource */
	char name[];
};

static void known_resources_release(struct known_resources *k)
{
	for (size_t i = 0; i < k->by_name.size; i++)
		free(k->by_name.entries[i].value);
	name_table_release(&k->by_name);
}

bool known_resources_has(const struct known_resources *k, const char *name)
{
	return name_table_find(&k->by_name, name) != NULL;
}

static void count_name(struct known_resources *k, const char *name)
{
	struct known_resource *known = name_table_find(&k->by_name, name);
	size_t len = strlen(name);

	if (known) {
		known->n_objects++;
		return;
	}
	known = xmalloc(sizeof(*known) + len + 1);
	known->n_objects = 1;
	memcpy(known->name, name, len + 1);
	name_table_add(&k->by_name, known->name, known);
}

static void uncount_name(struct known_resources *k, const char *name)
{
	struct known_resource *known = name_table_find(&k->by_name, name);

	if (--known->n_objects > 0)
		return;
	name_table_remove(&k->by_name, known->name);
	free(known);
}

void known_resources_forget(struct known_resources *k, struct strv *counted)
{
	for (size_t i = 0; i < counted->n_items; i++)
		uncount_name(k, counted->items[i]);
	strv_release(counted);
}

/*
 * Counts the names of an object's new version, and uncounts those of its previous version (`counted`). `names` move to
 * `counted`. Counts first, so that a name in both versions stays.
 */
static void replace_names(struct known_resources *k, struct strv *names, struct strv *counted)
{
	for (size_t i = 0; i < names->n_items; i++)
		count_name(k, names->items[i]);
	known_resources_forget(k, counted);
	*counted = *names;
	*names = (struct strv){0};
}

void known_resources_of_node(
	struct known_resources *k, const struct resource_list *allocatable, struct strv *counted)
{
	CLEANUP(strv_release) struct strv names = {0};

	for (size_t i = 0; i < allocatable->n_items; i++)
		strv_push(&names, allocatable->items[i].name);
	replace_names(k, &names, counted);
}

void known_resources_of_state(struct known_resources *k, const struct node_state *state, struct strv *counted)
{
	CLEANUP(strv_release) struct strv names = {0};
	const struct allocations *a = &state->allocations;

	for (size_t i = 0; i < state->inventory.n_resources; i++)
		strv_push(&names, state->inventory.resources[i]);
	for (size_t i = 0; i < a->n_registered; i++)
		strv_push(&names, a->registered[i].resource);
	strv_sort_unique(&names);
	replace_names(k, &names, counted);
}

/* ---- memory */

static void pod_class_free(void *item)
{
	struct pod_class *class = item;

	pod_request_release(&class->pod);
	resource_list_release(&class->wanted);
	free(class);
}

static void pod_class_freep(struct pod_class **class)
{
	if (*class)
		pod_class_free(*class);
}

static int by_content(const void *va, const void *vb);

void pod_classes_release(struct pod_classes *s)
{
	while (s->by_content) {
		struct pod_class *root = *(struct pod_class **)s->by_content;

		tdelete(root, &s->by_content, by_content);
		pod_class_free(root);
	}
	known_resources_release(&s->known);
	*s = (struct pod_classes){0};
}

/* ---- equality */

static int compare_numbers(size_t a, size_t b)
{
	return (a > b) - (a < b);
}

static int compare_lists(const struct resource_list *a, const struct resource_list *b)
{
	int r = compare_numbers(a->n_items, b->n_items);

	for (size_t i = 0; i < a->n_items && r == 0; i++) {
		r = strcmp(a->items[i].name, b->items[i].name);
		r = r != 0 ? r : quantity_cmp(a->items[i].quantity, b->items[i].quantity);
	}
	return r;
}

static int compare_containers(const struct container_request *a, const struct container_request *b)
{
	int r = compare_numbers(a->kind, b->kind);

	if (r != 0)
		return r;
	r = strcmp(a->name, b->name);
	if (r != 0)
		return r;
	r = compare_lists(&a->requests, &b->requests);
	return r != 0 ? r : compare_lists(&a->limits, &b->limits);
}

static int compare_pods(const struct pod_request *a, const struct pod_request *b)
{
	const size_t numbers[][2] = {
		{a->qos, b->qos},
		{a->has_pod_resources, b->has_pod_resources},
		{a->has_claims, b->has_claims},
		{a->n_containers, b->n_containers},
	};
	const struct resource_list *const lists[][2] = {
		{&a->overhead, &b->overhead},
		{&a->pod_requests, &b->pod_requests},
		{&a->pod_limits, &b->pod_limits},
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(numbers) && r == 0; i++)
		r = compare_numbers(numbers[i][0], numbers[i][1]);
	for (size_t i = 0; i < ARRAY_SIZE(lists) && r == 0; i++)
		r = compare_lists(lists[i][0], lists[i][1]);
	for (size_t i = 0; i < a->n_containers && r == 0; i++)
		r = compare_containers(&a->containers[i], &b->containers[i]);
	return r;
}

/* By hash, then by requests: users can make different requests with equal hashes. */
static int by_content(const void *a, const void *b)
{
	const struct pod_class *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash > y->hash ? 1 : -1;
	return compare_pods(&x->pod, &y->pod);
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

/* ---- reduction of a pod's resource names */

/* Up to CLASSES_UNKNOWN_MAX names: of all inserted names, the first in byte order. Borrowed. */
struct first_names {
	const char *items[CLASSES_UNKNOWN_MAX];
	size_t n;
};

/* The names that no node has and that a pod class keeps. */
struct unknown {
	const struct known_resources *known;
	struct first_names extended, others;
};

/* Whether the name is kept without counting against CLASSES_UNKNOWN_MAX. */
static bool is_always_kept(const struct known_resources *known, const char *name)
{
	return !strcmp(name, "cpu") || !strcmp(name, "memory") || !strcmp(name, "ephemeral-storage") ||
	       known_resources_has(known, name);
}

static struct first_names *names_of_kind(struct unknown *u, const char *name)
{
	return resource_name_is_native(name) ? &u->others : &u->extended;
}

/* Inserts a name in order, unless the list has the name. If the list is full, the name that is last in order is dropped. */
static void insert_first_name(struct first_names *first, const char *name)
{
	size_t at = first->n;

	while (at > 0 && strcmp(first->items[at - 1], name) > 0)
		at--;
	if (at == CLASSES_UNKNOWN_MAX || (at > 0 && !strcmp(first->items[at - 1], name)))
		return;
	if (first->n < CLASSES_UNKNOWN_MAX)
		first->n++;
	memmove(&first->items[at + 1], &first->items[at], (first->n - at - 1) * sizeof(first->items[0]));
	first->items[at] = name;
}

static void collect_unknown(struct resource_list *list, struct unknown *u)
{
	for (size_t i = 0; i < list->n_items; i++)
		if (!is_always_kept(u->known, list->items[i].name))
			insert_first_name(names_of_kind(u, list->items[i].name), list->items[i].name);
}

static bool is_among(const struct first_names *first, const char *name)
{
	for (size_t i = 0; i < first->n; i++)
		if (!strcmp(first->items[i], name))
			return true;
	return false;
}

/* Removes unknown names that are not in `u`. The names in `u`, which are borrowed from the pod's lists, stay. */
static void remove_uncollected(struct resource_list *list, struct unknown *u)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->n_items; i++)
		if (is_always_kept(u->known, list->items[i].name) ||
			is_among(names_of_kind(u, list->items[i].name), list->items[i].name))
			list->items[kept++] = list->items[i];
		else
			free(list->items[i].name);
	list->n_items = kept;
	/* Shrink the array: bytes_of_list(), which decides too_large, counts its size and not its items. */
	if (kept == 0)
		resource_list_release(list);
	if (kept > 0 && kept < list->items_size) {
		list->items = xreallocarray(list->items, kept, sizeof(*list->items));
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

static void limit_unknown_names(const struct known_resources *known, struct pod_request *pod)
{
	struct unknown u = {.known = known};

	for_each_list(pod, &u, collect_unknown);
	for_each_list(pod, &u, remove_uncollected);
}

/* ---- the pod class */

#define MALLOC_BYTES 16u /* malloc(3)'s overhead per allocation */

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

/* Upper bound per resource and pod, so that the sum over a node's pods does not overflow. */
#define WANTED_MAX (QTY_MAX >> 20)

/* Replaces the request of a too large pod by its node-level request, as pod-level resources. */
static void keep_node_level_request(struct pod_request *pod)
{
	struct pod_request whole = {
		.qos = request_qos(pod), .has_pod_resources = true, .has_claims = pod->has_claims};

	request_of_node(pod, &whole.pod_requests);
	pod_request_release(pod);
	*pod = whole;
	pod->name = xstrdup("");
}

/* The content moves out of `pod`. */
static void fill_class(struct pod_class *class, struct pod_request *pod)
{
	struct resource_list *wanted = &class->wanted;

	class->pod = *pod;
	pod_request_init(pod);
	class->qos = request_qos(&class->pod);
	class->cpus = kubelet_pod_exclusive_cpus(&class->pod, class->qos);
	class->aligned =
		class->aligned || class->qos == QOS_GUARANTEED || request_has_non_native(&class->pod);
	request_of_node(&class->pod, wanted);
	for (size_t i = 0; i < wanted->n_items; i++)
		if (wanted->items[i].quantity.nano > WANTED_MAX)
			wanted->items[i].quantity.nano = WANTED_MAX;
	class->bytes = sizeof(*class) + bytes_of_list(wanted) + bytes_of_pod(&class->pod);
}

/* `key` has the hash of `pod`. NULL = no class. */
static struct pod_class *find_class(
	const struct pod_classes *s, struct pod_class *key, struct pod_request *pod)
{
	struct pod_class *const *found;

	key->pod = *pod; /* borrowed */
	found = tfind(key, &s->by_content, by_content);
	pod_request_init(&key->pod);
	return found ? *found : NULL;
}

struct pod_class *pod_classes_take(struct pod_classes *s, struct pod_request *pod)
{
	CLEANUP(pod_class_freep) struct pod_class *class = xcalloc(1, sizeof(*class));
	struct pod_class *found;

	text_set(&pod->name, "");
	limit_unknown_names(&s->known, pod);
	class->hash = hash_pod(pod);
	class->too_large = bytes_of_pod(pod) > CLASSES_BYTES_MAX;
	/* keep_node_level_request() drops the containers, in which fill_class() looks for devices. */
	class->aligned = class->too_large && request_has_non_native(pod);
	if (class->too_large)
		keep_node_level_request(pod);
	found = find_class(s, class, pod);
	if (!found) {
		fill_class(class, pod);
		if (!tsearch(class, &s->by_content, by_content))
			xalloc_failed();
		class->number = ++s->last_number;
		s->n++;
		found = TAKE(class);
	}
	found->users++;
	return found;
}

const char *pod_class_lacks(const struct pod_class *class, const struct known_resources *known,
	const struct resource_list *allocatable, const struct strv *reported)
{
	for (size_t i = 0; i < class->wanted.n_items; i++) {
		const struct resource_quantity *wanted = &class->wanted.items[i];

		if (wanted->quantity.nano <= 0 || resource_name_is_native(wanted->name))
			continue;
		if (resource_list_find(allocatable, wanted->name) || strv_contains(reported, wanted->name))
			continue;
		if (known_resources_has(known, wanted->name))
			return wanted->name;
	}
	return NULL;
}

/* Removes names whose amount becomes 0, because they would accumulate. */
void pod_class_subtract(const struct pod_class *class, struct resource_list *requested)
{
	size_t kept = 0;

	resource_list_add(requested, &class->wanted, -1);
	for (size_t i = 0; i < requested->n_items; i++)
		if (requested->items[i].quantity.nano != 0)
			requested->items[kept++] = requested->items[i];
		else
			free(requested->items[i].name);
	requested->n_items = kept;
}

/* Frees a class that is not in the ring buffer, unless the class has references again. */
static void free_if_unused(struct pod_classes *s, struct pod_class *class)
{
	class->idle = false;
	if (class->users > 0)
		return;
	tdelete(class, &s->by_content, by_content);
	s->n--;
	pod_class_free(class);
}

/* Empties the ring buffer's next entry. */
static void remove_next_idle(struct pod_classes *s)
{
	struct pod_class *class = s->idle[s->next];

	if (!class)
		return;
	s->idle[s->next] = NULL;
	s->idle_bytes -= class->bytes;
	free_if_unused(s, class);
}

void pod_classes_drop(struct pod_classes *s, struct pod_class *class)
{
	if (!class)
		return;
	class->users--;
	if (class->users > 0 || class->idle)
		return;
	if (class->bytes > CLASSES_IDLE_BYTES) {
		free_if_unused(s, class);
		return;
	}
	/* Frees the place `next`, then the places after it until the class fits into CLASSES_IDLE_BYTES. */
	remove_next_idle(s);
	for (size_t i = 0; i < CLASSES_IDLE && s->idle_bytes + class->bytes > CLASSES_IDLE_BYTES; i++) {
		s->next = (s->next + 1) % CLASSES_IDLE;
		remove_next_idle(s);
	}
	s->idle[s->next] = class;
	s->idle_bytes += class->bytes;
	s->next = (s->next + 1) % CLASSES_IDLE;
	class->idle = true;
}
