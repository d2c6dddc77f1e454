/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows k8s.io/client-go/tools/leaderelection. Each write contains the resourceVersion that it replaces: if
 * two replicas find the Lease expired, one of them gets a conflict.
 */
#include "common/kube/lease.h"

#include <errno.h>
#include <stdatomic.h>

#include "common/io/json.h"
#include "common/io/time.h"
#include "common/kube/api_client.h"
#include "common/kube/backoff.h"

#include "common/cleanup.h"
#include "common/text.h"
#include "common/xalloc.h"

#define DURATION_S   15u
#define RETRY_MS     2000u
#define STEP_DOWN_MS 1000u
#define BODY_MAX     ((size_t)1 << 20)
#define URL_MAX      300u
#define NO_TIME      INT64_MIN

struct lease {
	struct lease_options options;
	char *namespace, *name, *identity;
	char *folder, *path; /* API paths of the namespace's Leases and of this Lease */
	struct credentials *credentials;
	struct api_client *client;
	struct api_response response;
	struct doc object;     /* as last observed; null = not observed, or no such object */
	char *spec;            /* of `object`, as text; NULL = no object */
	int64_t observed_ms;   /* when this spec was first observed */
	char *holder;          /* of `object`, "" = none */
	_Atomic int64_t until; /* this replica holds the lease until then; NO_TIME = not held */
};

static int64_t now(const struct lease *l)
{
	return l->options.clock(l->options.clock_data);
}

static bool is_ours(const struct lease *l)
{
	return !strcmp(l->holder, l->identity);
}

/* ---- the object */

static struct doc *get_or_add_member(struct doc *map, const char *key)
{
	struct doc *found = NULL;

	DOC_FOREACH (m, map)
		if (m->key && !strcmp(m->key, key))
			found = m;
	return found ? found : doc_add(map, key);
}

static void set_member(struct doc *map, const char *key, enum doc_kind kind, const char *text)
{
	struct doc *m = get_or_add_member(map, key);

	doc_set_text(m, kind, text, strlen(text));
}

static void set_number_member(struct doc *map, const char *key, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	set_member(map, key, DOC_NUMBER, text);
}

static int64_t number_of(const struct doc *map, const char *key, int64_t otherwise)
{
	int64_t value;

	return doc_int64(doc_get(map, key), &value) == 0 && value >= 0 ? value : otherwise;
}

/* Sets the holder in `object`. "" releases the lease: the duration becomes 1 s. */
static void set_holder(const struct lease *l, const char *holder, struct doc *object)
{
	struct doc *spec = get_or_add_member(object, "spec");
	bool taken = *holder && strcmp(holder, l->holder) != 0; /* from another holder, or from none */
	int64_t transitions = number_of(spec, "leaseTransitions", 0);
	struct timespec t;
	char time[TIMESTAMP_MICRO_MAX];

	clock_gettime(CLOCK_REALTIME, &t);
	timestamp_print_micro((int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000, time);
	spec->kind = DOC_MAP;
	set_member(spec, "holderIdentity", DOC_STRING, holder);
	set_number_member(spec, "leaseDurationSeconds", *holder ? l->options.duration_s : 1);
	if (taken || !*holder)
		set_member(spec, "acquireTime", DOC_STRING, time);
	set_member(spec, "renewTime", DOC_STRING, time);
	/* The first acquisition is not a transition. */
	if (taken && l->spec)
		transitions++;
	set_number_member(spec, "leaseTransitions", transitions);
}

static void add_lease_annotations(const struct lease *l, struct doc *object)
{
	CLEANUP(doc_release) struct doc new = {.kind = DOC_MAP};
	struct doc *metadata, *annotations;

	if (!l->options.annotate)
		return;
	metadata = get_or_add_member(object, "metadata");
	metadata->kind = DOC_MAP;
	annotations = get_or_add_member(metadata, "annotations");
	l->options.annotate(
		l->options.annotate_data, annotations->kind == DOC_MAP ? annotations : NULL, &new);
	annotations->kind = DOC_MAP;
	DOC_FOREACH (annotation, &new)
		set_member(annotations, annotation->key, DOC_STRING, text_or_empty(annotation->text));
}

static void new_lease_object(const struct lease *l, struct doc *object)
{
	struct doc *metadata;

	object->kind = DOC_MAP;
	doc_add_string(object, "apiVersion", "coordination.k8s.io/v1");
	doc_add_string(object, "kind", "Lease");
	metadata = doc_add_map(object, "metadata");
	doc_add_string(metadata, "name", l->name);
	doc_add_string(metadata, "namespace", l->namespace);
}

/* Stores the object of the last response. The lease's time counts anew only if the spec has changed: every renewal changes it. */
static int store_object(struct lease *l, struct err *err)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	CLEANUP(strbuf_release) struct strbuf spec = STRBUF_INIT(BODY_MAX);
	int r = json_parse(l->response.body.text, l->response.body.len, &object, err);

	if (r < 0)
		return err_wrap(err, r, "lease '%s/%s'", l->namespace, l->name);
	if (!doc_string(doc_get(doc_get(&object, "metadata"), "resourceVersion")))
		return err_set(err, -EBADMSG, "the API server's answer is not a Lease");
	if (doc_get(&object, "spec"))
		r = json_print_compact(doc_get(&object, "spec"), &spec);
	if (r < 0)
		return err_set(err, r, "lease '%s/%s': its spec is too large", l->namespace, l->name);
	text_set(&l->holder, doc_text(doc_get(&object, "spec"), "holderIdentity"));
	if (!l->spec || strcmp(l->spec, spec.text) != 0) {
		l->observed_ms = now(l);
		text_set(&l->spec, spec.text);
	}
	doc_release(&l->object);
	l->object = object;
	object = (struct doc)DOC_INIT;
	return 0;
}

/* ---- requests */

/* 0 with l->response filled; -errno if there is no response. */
static int send_lease_request(struct lease *l, struct api_client *client, const char *method,
	const char *path, const struct doc *body, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(BODY_MAX);
	struct api_request request = {.method = method, .path = path};

	if (body) {
		int r = json_print_compact(body, &text);

		if (r < 0)
			return err_set(err, r, "lease '%s/%s' is too large", l->namespace, l->name);
		request.content_type = "application/json";
		request.body = text.text;
		request.body_len = text.len;
	}
	return api_client_request(client, &request, &l->response, err);
}

static int set_denied(const struct lease *l, struct err *err)
{
	char message[API_MESSAGE_MAX];
	int status = l->response.status;

	api_response_message(&l->response, message);
	return err_set(err, status == HTTP_FORBIDDEN || status == HTTP_UNAUTHORIZED ? -EACCES : -EIO,
		"the API server answers %d for lease '%s/%s': %s", status, l->namespace, l->name, message);
}

static bool succeeded(const struct lease *l)
{
	return l->response.status == HTTP_OK || l->response.status == HTTP_CREATED;
}

/* Writes this replica as the holder, over the object last observed or as a new object. -EAGAIN on a
 * conflict. */
static int write_lease(struct lease *l, struct err *err)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	bool is_new = l->object.kind == DOC_NULL;
	int64_t from = now(l);
	int r;

	if (is_new)
		new_lease_object(l, &object);
	else
		doc_copy(&l->object, &object);
	set_holder(l, l->identity, &object);
	add_lease_annotations(l, &object);
	r = send_lease_request(
		l, l->client, is_new ? "POST" : "PUT", is_new ? l->folder : l->path, &object, err);
	if (r < 0)
		return r;
	if (l->response.status == HTTP_CONFLICT || (!is_new && l->response.status == HTTP_NOT_FOUND))
		return -EAGAIN;
	if (!succeeded(l))
		return set_denied(l, err);
	/* Other replicas count from their observation of this write, which is later than `from`. */
	atomic_store(&l->until, from + (int64_t)l->options.deadline_ms);
	return store_object(l, err);
}

/* 0 also if the object does not exist. */
static int read_lease(struct lease *l, struct err *err)
{
	int r = send_lease_request(l, l->client, "GET", l->path, NULL, err);

	if (r < 0)
		return r;
	if (l->response.status == HTTP_NOT_FOUND) {
		doc_release(&l->object);
		free(TAKE(l->spec));
		*l->holder = '\0';
		return 0;
	}
	return succeeded(l) ? store_object(l, err) : set_denied(l, err);
}

/* Whether an earlier process of this replica holds the lease: the identities, HOST_NUMBER@URL, differ only in the number. */
static bool is_of_predecessor(const struct lease *l)
{
	const char *at = strrchr(l->identity, '@'), *holder_at = strrchr(l->holder, '@');
	const char *number = at ? memrchr(l->identity, '_', (size_t)(at - l->identity)) : NULL;
	const char *holder_number =
		holder_at ? memrchr(l->holder, '_', (size_t)(holder_at - l->holder)) : NULL;

	return l->options.url && number && holder_number && !strcmp(at, holder_at) &&
	       number - l->identity == holder_number - l->holder &&
	       !strncmp(l->identity, l->holder, (size_t)(number - l->identity));
}

/* Whether another replica holds the lease, by the object last observed. */
static bool is_held_by_other(const struct lease *l)
{
	int64_t duration_s = number_of(doc_get(&l->object, "spec"), "leaseDurationSeconds", 0);

	if (!*l->holder || is_ours(l) || is_of_predecessor(l))
		return false;
	if (duration_s == 0)
		duration_s = l->options.duration_s;
	return now(l) < l->observed_ms + duration_s * 1000;
}

/* ---- steps */

bool lease_held(const struct lease *l)
{
	int64_t until = atomic_load(&l->until);

	return until != NO_TIME && now(l) < until;
}

static int acquire_or_renew(struct lease *l, struct err *err)
{
	int r;

	/* The object of the last own write is current: no read is necessary. */
	if (lease_held(l) && is_ours(l)) {
		r = write_lease(l, err);
		if (r != -EAGAIN)
			return r;
	}
	r = read_lease(l, err);
	if (r < 0)
		return r;
	if (!is_ours(l))
		atomic_store(&l->until, NO_TIME);
	if (is_held_by_other(l))
		return 0;
	r = write_lease(l, err);
	return r == -EAGAIN ? 0 : r; /* another replica was first: the next step reads its object */
}

/* The URL follows the identity and an '@'. The URL is sent in a Location header, so only these characters are
 * allowed. */
static const char *url_of(const char *holder)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:/-[]";
	const char *at = strrchr(holder, '@');
	const char *url = at ? at + 1 : "";
	size_t len = strlen(url);

	if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
		return NULL;
	return len <= URL_MAX && strspn(url, allowed) == len ? url : NULL;
}

int lease_step(struct lease *l, struct lease_state *ret, struct err *err)
{
	int r = acquire_or_renew(l, err);
	int64_t wait = (int64_t)l->options.retry_ms;

	ret->held = lease_held(l);
	/* Spreads the attempts of the waiting replicas. */
	if (!ret->held)
		wait = (int64_t)backoff_spread_ms((uint64_t)wait, 50, backoff_random());
	ret->call_again_ms = now(l) + wait;
	ret->holder = l->holder;
	ret->url = is_held_by_other(l) ? url_of(l->holder) : NULL;
	return r;
}

int lease_step_down(struct lease *l, struct err *err)
{
	const struct api_client_options how = {.total_ms = STEP_DOWN_MS, .connect_ms = STEP_DOWN_MS};
	CLEANUP(api_client_freep) struct api_client *client = NULL;
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	bool held = lease_held(l) && is_ours(l);
	int r;

	atomic_store(&l->until, NO_TIME);
	if (!held)
		return 0;
	doc_copy(&l->object, &object);
	set_holder(l, "", &object);
	/* l->client may be cancelled by now. */
	r = api_client_new(l->credentials, &how, &client, err);
	if (r < 0)
		return r;
	r = send_lease_request(l, client, "PUT", l->path, &object, err);
	return r == 0 && !succeeded(l) ? set_denied(l, err) : r;
}

/* ---- creation */

static int64_t boottime_ms(void *data)
{
	(void)data;
	return clock_ms(CLOCK_BOOTTIME);
}

static void set_lease_options(struct lease *l, const struct lease_options *options)
{
	l->options = *options;
	if (!l->options.duration_s)
		l->options.duration_s = DURATION_S;
	if (!l->options.deadline_ms)
		l->options.deadline_ms = l->options.duration_s * 1000 / 3 * 2;
	if (!l->options.retry_ms)
		l->options.retry_ms = RETRY_MS;
	if (!l->options.clock)
		l->options.clock = boottime_ms;
	text_set(&l->namespace, options->namespace);
	text_set(&l->name, options->name);
	l->identity = xasprintf(options->url ? "%s@%s" : "%s", options->identity, options->url);
	text_set(&l->holder, "");
	l->folder = xasprintf("/apis/coordination.k8s.io/v1/namespaces/%s/leases", l->namespace);
	l->path = xasprintf("%s/%s", l->folder, l->name);
}

int lease_new(const struct lease_options *options, const struct credentials_options *credentials,
	const struct cancel *cancel, struct lease **ret, struct err *err)
{
	CLEANUP(lease_freep) struct lease *l = xcalloc(1, sizeof(*l));
	struct api_client_options how = {.cancel = cancel};
	int r;

	api_response_init(&l->response);
	atomic_store(&l->until, NO_TIME);
	set_lease_options(l, options);
	how.total_ms = l->options.deadline_ms / 2;
	r = credentials_new(credentials, &l->credentials, err);
	if (r < 0)
		return r;
	r = api_client_new(l->credentials, &how, &l->client, err);
	if (r < 0)
		return r;
	*ret = TAKE(l);
	return 0;
}

void lease_free(struct lease *l)
{
	if (!l)
		return;
	api_client_free(l->client);
	credentials_free(l->credentials);
	api_response_release(&l->response);
	doc_release(&l->object);
	free(l->spec);
	free(l->holder);
	free(l->namespace);
	free(l->name);
	free(l->identity);
	free(l->folder);
	free(l->path);
	free(l);
}
