/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/extender/shape.h"

#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/strbuf.h"
#include "common/text.h"
#include "common/vec.h"
#include "scoring/request.h"

#define KEY_MAX ((size_t)1 << 20)

static void forget_verdicts(struct shape *shape)
{
	for (size_t i = 0; i < shape->verdicts_size; i++)
		free(shape->verdicts[i].reason);
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
	free(shape->key);
	free(shape);
}

static void shape_freep(struct shape **shape)
{
	if (*shape)
		shape_free(*shape);
}

void shapes_release(struct shapes *s)
{
	tdestroy(s->by_key, shape_free);
	*s = (struct shapes){0};
}

static int by_key(const void *a, const void *b)
{
	const struct shape *x = a, *y = b;

	return strcmp(x->key, y->key);
}

/* ---- the key */

static void add_list(struct strbuf *out, const char *what, const struct resource_list *list)
{
	strbuf_addf(out, "%s", what);
	for (size_t i = 0; i < list->n_items; i++)
		strbuf_addf(out, " %s=%" PRId64 "e9+%" PRId64, list->items[i].name,
			(int64_t)(list->items[i].quantity.nano / QTY_UNIT),
			(int64_t)(list->items[i].quantity.nano % QTY_UNIT));
}

static int make_key(const struct pod_request *pod, char **ret)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(KEY_MAX);

	strbuf_addf(&text, "%u %d %d", pod->qos, pod->has_pod_resources, pod->has_claims);
	add_list(&text, ";overhead", &pod->overhead);
	add_list(&text, ";requests", &pod->pod_requests);
	add_list(&text, ";limits", &pod->pod_limits);
	for (size_t i = 0; i < pod->n_containers; i++) {
		const struct container_request *c = &pod->containers[i];

		strbuf_addf(&text, ";%u %s", c->kind, c->name);
		add_list(&text, " requests", &c->requests);
		add_list(&text, " limits", &c->limits);
	}
	*ret = strbuf_error(&text) == 0 ? strdup(text.text) : NULL;
	return *ret ? 0 : -ENOMEM;
}

/* ---- the shape */

static int fill(struct shape *shape, struct pod_request *pod)
{
	shape->pod = *pod;
	pod_request_init(pod);
	shape->qos = request_qos(&shape->pod);
	shape->cpus = kubelet_pod_exclusive_cpus(&shape->pod, shape->qos);
	shape->aligned = shape->qos == QOS_GUARANTEED || request_has_non_native(&shape->pod);
	return request_of_node(&shape->pod, &shape->wanted);
}

int shapes_take(struct shapes *s, struct pod_request *pod, struct shape **ret)
{
	CLEANUP(shape_freep) struct shape *shape = calloc(1, sizeof(*shape));
	struct shape **found;

	if (!shape || text_set(&pod->name, "") < 0 || make_key(pod, &shape->key) < 0)
		return -ENOMEM;
	found = tfind(shape, &s->by_key, by_key);
	if (!found) {
		if (fill(shape, pod) < 0)
			return -ENOMEM;
		found = tsearch(shape, &s->by_key, by_key);
		if (!found)
			return -ENOMEM;
		s->n++;
		TAKE(shape);
	}
	*ret = *found;
	(*ret)->users++;
	return 0;
}

static void discard(struct shapes *s, struct shape *shape)
{
	shape->idle = false;
	if (shape->users > 0)
		return;
	tdelete(shape, &s->by_key, by_key);
	s->n--;
	for (size_t i = 0; i < SHAPES_JUDGED; i++)
		if (s->judged[i] == shape)
			s->judged[i] = NULL;
	shape_free(shape);
}

void shapes_drop(struct shapes *s, struct shape *shape)
{
	if (!shape || --shape->users > 0 || shape->idle)
		return;
	if (s->idle[s->next])
		discard(s, s->idle[s->next]);
	s->idle[s->next] = shape;
	s->next = (s->next + 1) % SHAPES_IDLE;
	shape->idle = true;
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
	if (shape->verdicts_size == 0) {
		place = find_place(s);
		if (*place)
			forget_verdicts(*place);
		*place = shape;
	}
	return vec_grow(&shape->verdicts, &shape->verdicts_size, n_nodes, sizeof(*shape->verdicts));
}
