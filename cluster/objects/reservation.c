/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/objects/reservation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/objects/pod_parse.h"
#include "common/cleanup.h"
#include "common/io/json.h"
#include "common/io/time.h"
#include "common/text.h"
#include "common/xalloc.h"

void reservation_release(struct reservation *r)
{
	free(r->id);
	free(r->namespace);
	free(r->pod);
	free(r->uid);
	free(r->controller);
	pod_request_release(&r->request);
	*r = (struct reservation){0};
}

const char *reservation_id(const char *key)
{
	size_t len = strlen(RESERVATION_PREFIX);

	return key && !strncmp(key, RESERVATION_PREFIX, len) && key[len] ? key + len : NULL;
}

/* ---- parsing */

static int read_time(const struct doc *value, const char *name, int64_t *ret, struct err *err)
{
	return timestamp_parse(doc_text(value, name), ret) < 0 ? err_set(err, -EINVAL, "%s: not a time", name)
							       : 0;
}

static int read_value(const struct doc *value, const char *id, struct reservation *ret, struct err *err)
{
	CLEANUP(reservation_release) struct reservation r = {0};
	CLEANUP(pod_template_release) struct pod_template template = {0};
	int error;

	if (value->kind != DOC_MAP || !*doc_text(value, "namespace"))
		return err_set(err, -EINVAL, "a map with a namespace is expected");
	error = read_time(value, "created", &r.created_s, err);
	if (error == 0)
		error = read_time(value, "expires", &r.expires_s, err);
	if (error == 0)
		error = pod_template_from_pod(value, &template, err);
	if (error < 0)
		return error;
	r.request = template.pod;
	pod_request_init(&template.pod);
	r.id = xstrdup(id);
	r.namespace = xstrdup(doc_text(value, "namespace"));
	r.pod = xstrdup(doc_text(value, "pod"));
	r.uid = xstrdup(doc_text(value, "uid"));
	r.controller = xstrdup(doc_text(value, "controller"));
	if (doc_int64(doc_get(value, "step"), &r.step) < 0)
		r.step = 0;
	r.closed = doc_is_true(doc_get(value, "closed"));
	*ret = r;
	r = (struct reservation){0};
	return 0;
}

int reservation_parse(const char *key, const char *value, struct reservation *ret, struct err *err)
{
	CLEANUP(doc_release) struct doc doc = DOC_INIT;
	const char *id = reservation_id(key);
	int r;

	if (!id)
		return err_set(err, -EINVAL, "annotation '%.100s': not a reservation", key);
	if (strlen(value) > RESERVATION_TEXT_MAX)
		return err_set(err, -EINVAL, "annotation '%.100s': longer than %zu bytes", key,
			RESERVATION_TEXT_MAX);
	r = json_parse(value, strlen(value), &doc, err);
	if (r == 0)
		r = read_value(&doc, id, ret, err);
	return r < 0 ? err_wrap(err, -EINVAL, "annotation '%.100s'", key) : 0;
}

#define INVALID_NAMED 3u /* by `invalid`, one by one */

size_t reservations_parse(const struct doc *annotations, reservation_invalid_fn *invalid, const void *data,
	struct reservation ret[RESERVATIONS_MAX])
{
	int64_t now_s = clock_ms(CLOCK_REALTIME) / 1000;
	size_t n = 0, n_found = 0, n_invalid = 0;
	struct err err = {""};

	if (!annotations || annotations->kind != DOC_MAP)
		return 0;
	DOC_FOREACH (annotation, annotations) {
		if (!reservation_id(annotation->key) || n == RESERVATIONS_MAX)
			continue;
		n_found++;
		if (n_found > RESERVATIONS_READ_MAX)
			continue;
		if (reservation_parse(annotation->key, text_or_empty(doc_string(annotation)), &ret[n], &err) <
			0) {
			n_invalid++;
			if (invalid && n_invalid <= INVALID_NAMED)
				invalid(&err, data);
		} else if (ret[n].expires_s <= now_s) {
			reservation_release(&ret[n]);
		} else {
			n++;
		}
	}
	if (!invalid)
		return n;
	if (n_found > RESERVATIONS_READ_MAX) {
		err_set(&err, 0, "%zu reservations: only %u are read", n_found, RESERVATIONS_READ_MAX);
		invalid(&err, data);
	} else if (n_invalid > INVALID_NAMED) {
		err_set(&err, 0, "%zu more reservations are invalid", n_invalid - INVALID_NAMED);
		invalid(&err, data);
	}
	return n;
}

/* ---- printing */

/* Copies the members of the containers from which a pod's requests are computed. */
static void copy_containers(const struct doc *spec, const char *list, struct doc *to)
{
	static const char *const members[] = {"name", "resources", "restartPolicy"};
	const struct doc *containers = doc_get(spec, list);
	struct doc *copies = doc_list_items(containers) ? doc_add_list(to, list) : NULL;

	DOC_FOREACH_ITEM (container, containers) {
		struct doc *copy = doc_add_map(copies, NULL);

		for (size_t i = 0; i < ARRAY_SIZE(members); i++)
			doc_copy_member(container, members[i], copy);
	}
}

static void add_time(struct doc *to, const char *key, int64_t seconds)
{
	char text[TIMESTAMP_MICRO_MAX];

	timestamp_print_micro(seconds * 1000000, text);
	doc_add_string(to, key, text);
}

static void add_text(struct doc *to, const char *key, const char *text)
{
	if (text && *text)
		doc_add_string(to, key, text);
}

int reservation_print(const struct reservation *r, const struct doc *object, struct strbuf *out)
{
	CLEANUP(doc_release) struct doc value = {.kind = DOC_MAP};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(RESERVATION_TEXT_MAX);
	const struct doc *from = doc_get(object, "spec");
	struct doc *spec;

	add_text(&value, "namespace", r->namespace);
	add_text(&value, "pod", r->pod);
	add_text(&value, "uid", r->uid);
	add_text(&value, "controller", r->controller);
	if (r->closed)
		doc_add_bool(&value, "closed", true);
	doc_add_number(&value, "step", r->step);
	add_time(&value, "created", r->created_s);
	add_time(&value, "expires", r->expires_s);
	spec = doc_add_map(&value, "spec");
	copy_containers(from, "initContainers", spec);
	copy_containers(from, "containers", spec);
	doc_copy_member(from, "resources", spec);
	doc_copy_member(from, "overhead", spec);
	json_print_compact(&value, &text);
	if (strbuf_error(&text) < 0)
		return strbuf_error(&text);
	strbuf_add(out, text.text, text.len);
	return strbuf_error(out);
}

#define NAME_BYTES  63u  /* of the longest container name: requests of a pod class have no names */
#define FRAME_BYTES 400u /* of all other members with their keys, without the texts of the reservation */
#define CONTAINER_BYTES \
	90u /* {"name":"","resources":{"requests":{},"limits":{}},"restartPolicy":"Always"}, */

static size_t size_of_list(const struct resource_list *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n_items; i++) {
		char text[QUANTITY_TEXT_MAX];

		quantity_print(l->items[i].quantity, text);
		n += strlen(l->items[i].name) + strlen(text) + strlen("\"\":\"\",");
	}
	return n;
}

size_t reservation_size(const struct reservation *r, const struct pod_request *pod)
{
	size_t n = FRAME_BYTES + strlen(text_or_empty(r->namespace)) + strlen(text_or_empty(r->pod)) +
		   strlen(text_or_empty(r->uid)) + strlen(text_or_empty(r->controller));

	for (size_t i = 0; i < pod->n_containers; i++)
		n += CONTAINER_BYTES + NAME_BYTES + size_of_list(&pod->containers[i].requests) +
		     size_of_list(&pod->containers[i].limits);
	return n + size_of_list(&pod->pod_requests) + size_of_list(&pod->pod_limits) +
	       size_of_list(&pod->overhead);
}

/* ---- users */

struct reservation_user reservation_user_of(const char *namespace, const struct doc *object)
{
	const struct doc *metadata = doc_get(object, "metadata");

	return (struct reservation_user){.namespace = namespace,
		.uid = doc_text(metadata, "uid"),
		.controller = controller_uid(metadata)};
}

bool reservation_is_for(const struct reservation *r, const struct reservation_user *user, bool same_requests)
{
	if (r->closed || strcmp(r->namespace, user->namespace) != 0)
		return false;
	if (*r->uid)
		return !strcmp(r->uid, user->uid);
	return *r->controller ? !strcmp(r->controller, user->controller) : same_requests;
}

const struct doc *controller_of(const struct doc *metadata)
{
	const struct doc *owners = doc_get(metadata, "ownerReferences");

	DOC_FOREACH_ITEM (owner, owners)
		if (doc_is_true(doc_get(owner, "controller")))
			return owner;
	return NULL;
}

const char *controller_uid(const struct doc *metadata)
{
	const struct doc *controller = controller_of(metadata);

	return controller ? doc_text(controller, "uid") : "";
}
