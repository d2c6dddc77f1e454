/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/numa/plan_apply.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "cli/numa/extender_lease.h"
#include "cli/numa/plan_rights.h"
#include "cluster/objects/cluster_node.h"
#include "cluster/objects/pod_parse.h"
#include "cluster/objects/pod_status.h"
#include "cluster/objects/reservation.h"
#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/io/json.h"
#include "common/io/time.h"
#include "common/kube/api_list.h"
#include "common/log.h"
#include "common/text.h"
#include "common/vec.h"
#include "common/xalloc.h"

#define BODY_MAX   ((size_t)256 << 10)
#define PATH_BYTES 4000u
#define POLL_MS    500u

/* Time from the extender's reading of the reservations to the eviction: the scheduler binds pods that the extender had assumed on the node
 * before. */
#define SETTLE_MS 1000u

/* Longest time until the extender has read a reservation: another replica takes over after up to 18 s. */
#define READ_MS 25000u

/* Reservations are renewed while this process lives. The reservation of an evicted pod is not: its new pod must find its place also without this
 * process. It is written before the extender reads it and before two waits, until the old pod has ended and until the new pod runs; it outlives
 * the step by SLACK_MS. */
#define LIFE_MS  20000u
#define RENEW_MS 6000u
#define SLACK_MS 60000u

void plan_apply_init(struct plan_apply *a, const struct plan_apply_options *options)
{
	*a = (struct plan_apply){.options = options};
	api_response_init(&a->response);
}

static void own_reservation_release(struct own_reservation *r)
{
	free(r->node);
	reservation_release(&r->facts);
	doc_release(&r->object);
}

void plan_apply_release(struct plan_apply *a)
{
	for (size_t i = 0; i < a->n_reservations; i++)
		own_reservation_release(&a->reservations[i]);
	free(a->reservations);
	for (size_t i = 0; i < a->n_wanted; i++) {
		free(a->wanted[i].pod.namespace);
		free(a->wanted[i].pod.name);
		free(a->wanted[i].pod.uid);
	}
	free(a->wanted);
	api_response_release(&a->response);
	*a = (struct plan_apply){0};
}

static uint64_t now_ms(void)
{
	return (uint64_t)clock_ms(CLOCK_MONOTONIC);
}

__attribute__((format(printf, 2, 3))) static void report_progress(
	const struct plan_apply *a, const char *format, ...)
{
	CLEANUP(freep) char *line = NULL;
	va_list args;

	va_start(args, format);
	line = xvasprintf(format, args);
	va_end(args);
	a->options->progress(line, a->options->data);
}

/* ---- requests */

/* Sends a request whose response, with any status, is in a->response. */
static int send_request(struct plan_apply *a, const char *method, const char *path, const char *type,
	const struct doc *object, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf body = STRBUF_INIT(BODY_MAX);
	struct api_request request = {.method = method,
		.path = path,
		.content_type = type,
		.accept = strcmp(method, "PATCH") ? NULL : API_METADATA_ONLY};
	int r;

	if (object) {
		json_print_compact(object, &body);
		if (strbuf_error(&body) < 0)
			return err_set(err, -EFBIG, "%s: the request is too large", path);
		request.body = body.text;
		request.body_len = body.len;
	}
	r = api_client_request(a->options->client, &request, &a->response, err);
	if (r == 0 && a->response.date_s > 0)
		a->server_clock_ms = a->response.date_s * 1000 - (int64_t)now_ms();
	return r;
}

static int unexpected_status(const struct plan_apply *a, const char *what, struct err *err)
{
	char message[API_MESSAGE_MAX];

	api_response_message(&a->response, message);
	return err_set(err, -EREMOTEIO, "%s: HTTP status %d: %s", what, a->response.status, message);
}

static bool is_success(const struct plan_apply *a)
{
	return a->response.status >= 200 && a->response.status < 300;
}

/* `name` NULL = the list of the namespace's pods. */
static void make_pod_path(const char *namespace, const char *name, struct strbuf *path)
{
	strbuf_addstr(path, "/api/v1/namespaces/");
	api_path_escape(path, namespace);
	strbuf_addstr(path, "/pods");
	if (!name)
		return;
	strbuf_addch(path, '/');
	api_path_escape(path, name);
}

/* 1 and the Pod; 0: there is no pod of this name with this UID. */
static int get_pod(struct plan_apply *a, const struct simulated_pod *p, struct doc *ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(PATH_BYTES);
	CLEANUP(doc_release) struct doc pod = DOC_INIT;
	int r;

	make_pod_path(p->namespace, p->name, &path);
	r = send_request(a, "GET", path.text, NULL, NULL, err);
	if (r < 0)
		return r;
	if (a->response.status == HTTP_NOT_FOUND)
		return 0;
	if (!is_success(a))
		return unexpected_status(a, path.text, err);
	r = json_parse(a->response.body.text, a->response.body.len, &pod, err);
	if (r < 0)
		return r;
	if (strcmp(doc_text(doc_get(&pod, "metadata"), "uid"), p->uid) != 0)
		return 0;
	*ret = pod;
	pod = (struct doc)DOC_INIT;
	return 1;
}

/* The time by the API server's clock, which stamps new pods; by the local clock if responses have no date. */
static int get_time(struct plan_apply *a, int64_t *ret_s, struct err *err)
{
	int r = a->server_clock_ms != 0 ? 0 : send_request(a, "GET", "/version", NULL, NULL, err);

	*ret_s = a->server_clock_ms != 0 ? ((int64_t)now_ms() + a->server_clock_ms) / 1000
					 : clock_ms(CLOCK_REALTIME) / 1000;
	return r;
}

/* ---- reservations */

/* The version of the Node in the last response. */
static int note_version(struct plan_apply *a, const char *what, struct err *err)
{
	CLEANUP(doc_release) struct doc node = DOC_INIT;
	int r = json_parse(a->response.body.text, a->response.body.len, &node, err);

	if (r < 0)
		return err_wrap(err, r, "%s", what);
	a->nodes_version = resource_version_parse(doc_text(doc_get(&node, "metadata"), "resourceVersion"));
	return a->nodes_version > 0
		       ? 0
		       : err_set(err, -EBADMSG, "%s: the API server's answer has no resourceVersion", what);
}

/* `value` NULL: removes the annotation. */
static int patch_node(
	struct plan_apply *a, const char *node, const char *id, const char *value, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(PATH_BYTES);
	CLEANUP(doc_release) struct doc patch = {.kind = DOC_MAP};
	CLEANUP(freep) char *key = xasprintf("%s%s", RESERVATION_PREFIX, id);
	CLEANUP(freep) char *what = xasprintf("cannot reserve a place on node '%s'", node);
	struct doc *annotations = doc_add_map(doc_add_map(&patch, "metadata"), "annotations");
	int r;

	if (value)
		doc_add_string(annotations, key, value);
	else
		doc_add(annotations, key);
	strbuf_addstr(&path, "/api/v1/nodes/");
	api_path_escape(&path, node);
	strbuf_addstr(&path, "?fieldManager=kubectl-numa");
	r = send_request(a, "PATCH", path.text, "application/merge-patch+json", &patch, err);
	if (r < 0)
		return err_wrap(err, r, "%s", what);
	if (!is_success(a))
		return unexpected_status(a, what, err);
	return value ? note_version(a, what, err) : 0;
}

static struct own_reservation *find_own(const struct plan_apply *a, const char *node, const char *id)
{
	for (size_t i = 0; i < a->n_reservations; i++)
		if (!strcmp(a->reservations[i].node, node) && !strcmp(a->reservations[i].facts.id, id))
			return &a->reservations[i];
	return NULL;
}

static int remove_reservation(struct plan_apply *a, size_t i, struct err *err)
{
	struct own_reservation *r = &a->reservations[i];
	int error = patch_node(a, r->node, r->facts.id, NULL, err);

	own_reservation_release(r);
	a->reservations[i] = a->reservations[--a->n_reservations];
	return error;
}

const struct own_reservation *plan_apply_abandon(struct plan_apply *a)
{
	for (size_t i = a->n_reservations; i > 0; i--) {
		struct err err = {""};

		if (!a->reservations[i - 1].evicted && remove_reservation(a, i - 1, &err) < 0)
			log_warning("%s; the reservation expires by itself", err.text);
	}
	return a->n_reservations > 0 ? &a->reservations[0] : NULL;
}

/* The id of the reservation of a step's pod. A pod that does not exist yet has no UID. */
static char *make_id(const struct simulated_pod *p)
{
	CLEANUP(freep) char *name = xasprintf("%s/%s", p->namespace, p->name);
	char hash[HASH_TEXT_SIZE];

	if (*p->uid)
		return xstrdup(p->uid);
	hash_text(name, strlen(name), hash);
	return xstrdup(hash);
}

/* Writes the reservation, to expire after its life. */
static int write_reservation(struct plan_apply *a, struct own_reservation *own, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf value = STRBUF_INIT(RESERVATION_TEXT_MAX);
	int64_t now_s;
	int r = get_time(a, &now_s, err);

	if (r < 0)
		return r;
	if (own->facts.created_s == 0)
		own->facts.created_s = now_s;
	own->facts.expires_s = now_s + (int64_t)(own->life_ms / 1000);
	if (reservation_print(&own->facts, &own->object, &value) < 0)
		return err_set(err, -EFBIG, "pod '%s/%s' has too many containers to reserve a place for it",
			own->facts.namespace, own->facts.pod);
	own->renewed_ms = now_ms();
	return patch_node(a, own->node, own->facts.id, value.text, err);
}

static int check_stop(const struct plan_apply *a, struct err *err)
{
	return a->options->stop && *a->options->stop ? err_set(err, -EINTR, "interrupted") : 0;
}

/* Sleeps, and renews reservations meanwhile. -EINTR if the user wants to stop. */
static int sleep_and_renew(struct plan_apply *a, unsigned ms, struct err *err)
{
	int r = check_stop(a, err);

	for (unsigned part; ms > 0 && r == 0; ms -= part) {
		part = ms < SETTLE_MS ? ms : SETTLE_MS;
		for (size_t i = 0; i < a->n_reservations && r == 0; i++) {
			struct own_reservation *own = &a->reservations[i];

			if (own->life_ms == LIFE_MS && now_ms() >= own->renewed_ms + RENEW_MS)
				r = write_reservation(a, own, err);
		}
		if (r < 0)
			return r;
		poll(NULL, 0, (int)part); /* a signal ends it */
		r = check_stop(a, err);
	}
	return r;
}

/* A pod's place in a plan. */
struct planned_place {
	const struct simulated_pod *pod;
	const char *node;
	size_t step;
	bool closed;   /* to all pods, also to `pod` */
	bool for_move; /* `pod` is evicted first, and a new pod gets the place */
	uint64_t life_ms;
};

/* PLAN_APPLY_DONE; PLAN_APPLY_AGAIN if the pod does not exist anymore. */
static int add_reservation(struct plan_apply *a, const struct planned_place *place, char *id, struct err *err)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	const struct simulated_pod *p = place->pod;
	struct own_reservation *own;
	int found = 1;

	if (*p->uid)
		found = get_pod(a, p, &object, err);
	else
		doc_copy(a->object, &object);
	if (found <= 0)
		return found < 0 ? found : PLAN_APPLY_AGAIN;
	own = vec_push(&a->reservations, &a->n_reservations, &a->reservations_size, sizeof(*own));
	*own = (struct own_reservation){.node = xstrdup(place->node),
		/* The pod that replaces a moved pod has another UID: only the controller is known. */
		.facts = {.id = xstrdup(id),
			.namespace = xstrdup(p->namespace),
			.pod = xstrdup(p->name),
			.uid = xstrdup(place->for_move ? "" : p->uid),
			.controller = xstrdup(place->for_move ? p->controller : "")},
		.object = object};
	pod_request_init(&own->facts.request);
	object = (struct doc)DOC_INIT;
	return PLAN_APPLY_DONE;
}

/* Writes the reservation of a place unless it is written already. Returns as add_reservation(). */
static int reserve_place(struct plan_apply *a, const struct planned_place *place, struct err *err)
{
	CLEANUP(freep) char *id = make_id(place->pod);
	struct own_reservation *own = find_own(a, place->node, id);
	bool is_new = !own;
	int r = PLAN_APPLY_DONE;

	if (!own) {
		r = add_reservation(a, place, id, err);
		if (r != PLAN_APPLY_DONE)
			return r;
		own = &a->reservations[a->n_reservations - 1];
	}
	own->round = a->round;
	/* Written lately, and nothing has changed. */
	if (own->renewed_ms > 0 && now_ms() < own->renewed_ms + RENEW_MS &&
		own->facts.closed == place->closed && own->life_ms == place->life_ms &&
		own->facts.step == (int64_t)place->step)
		return PLAN_APPLY_DONE;
	own->facts.closed = place->closed;
	own->facts.step = (int64_t)place->step;
	own->life_ms = place->life_ms;
	r = write_reservation(a, own, err);
	if (r == -EREMOTEIO && is_new) { /* the API server has rejected the reservation */
		own_reservation_release(own);
		a->n_reservations--;
	}
	return r < 0 ? r : PLAN_APPLY_DONE;
}

/* Removes reservations that the plan does not need: of an earlier process for a wanted pod on another node, and of earlier rounds. */
static int remove_outdated(
	struct plan_apply *a, const struct simulated_cluster *c, const struct plan *plan, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < c->n_reservations && r == 0; i++) {
		const struct simulated_reservation *old = &c->reservations[i];
		bool needed = old->user == SIMULATED_NOWHERE; /* it is for none of the wanted pods */

		for (size_t k = 0; k < plan->n_steps && !needed; k++)
			needed = plan->steps[k].pod == old->user && plan->steps[k].to == old->node;
		if (!needed && !find_own(a, c->nodes[old->node].name, old->info->facts.id))
			r = patch_node(a, c->nodes[old->node].name, old->info->facts.id, NULL, err);
	}
	for (size_t i = a->n_reservations; i > 0 && r == 0; i--)
		if (a->reservations[i - 1].round != a->round)
			r = remove_reservation(a, i - 1, err);
	return r;
}

/*
 * Reserves the places of all steps. `next` is the index of the move that is carried out now; plan->n_steps = no move is left. Until a
 * later round, reservations of later moves are closed to all pods; with --aligned also those of pods that start after a move.
 */
static int reserve_places(struct plan_apply *a, const struct simulated_cluster *c, const struct plan *plan,
	size_t next, struct err *err)
{
	int r = PLAN_APPLY_DONE;

	a->round++;
	for (size_t i = 0; i < plan->n_steps && r == PLAN_APPLY_DONE; i++) {
		const struct plan_step *step = &plan->steps[i];
		struct planned_place place = {.pod = &c->pods[step->pod],
			.step = i,
			.for_move = step->kind == PLAN_MOVE,
			.life_ms = LIFE_MS};

		if (step->to == SIMULATED_NOWHERE || !place.pod->class->aligned)
			continue;
		place.node = c->nodes[step->to].name;
		place.closed = i > next && (place.for_move || a->options->aligned);
		if (i == next)
			place.life_ms = READ_MS + SETTLE_MS + 2 * a->options->timeout_ms + SLACK_MS;
		else if (next == plan->n_steps && place.pod->added)
			place.life_ms = a->options->hold_ms;
		r = reserve_place(a, &place, err);
	}
	if (r != PLAN_APPLY_DONE)
		return r;
	r = remove_outdated(a, c, plan, err);
	return r < 0 ? r : PLAN_APPLY_DONE;
}

/* ---- the extender */

int plan_apply_check(
	struct plan_apply *a, const struct simulated_cluster *c, const struct plan *plan, struct err *err)
{
	int r = plan_rights_check(a->options->client, c, plan, err);

	if (r < 0)
		return r;
	return a->options->extender_lease
		       ? extender_lease_check(a->options->client, a->options->extender_lease, c, plan, err)
		       : 0;
}

/* Waits until the extender has read all reservations that were written so far. */
static int wait_until_read(struct plan_apply *a, struct err *err)
{
	uint64_t version = a->nodes_version, until_ms = now_ms() + READ_MS;

	while (a->options->extender_lease) {
		struct extender_record record;
		int r = extender_lease_read(a->options->client, a->options->extender_lease, &record, err);

		if (r < 0 || record.nodes_version >= version)
			return r;
		if (now_ms() > until_ms)
			return err_set(err, -ETIMEDOUT,
				"nrtd-extender does not run: it has not read the reservations within %u s (Lease '%s')",
				READ_MS / 1000, a->options->extender_lease);
		r = sleep_and_renew(a, POLL_MS, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- the destination */

/* Searches for pods that a node did not have when the plan was made. */
struct new_pods {
	const struct simulated_cluster *c;
	const struct plan *plan;
	size_t node;
	bool found;
};

/* The pod's node before the plan; the simulated cluster is in the state after the plan. */
static size_t original_node(const struct new_pods *search, size_t pod)
{
	for (size_t i = 0; i < search->plan->n_steps; i++)
		if (search->plan->steps[i].pod == pod)
			return search->plan->steps[i].from;
	return search->c->pods[pod].node;
}

static int check_known(struct doc *pod, void *data, struct err *err)
{
	const char *uid = doc_text(doc_get(pod, "metadata"), "uid");
	struct new_pods *search = data;

	(void)err;
	for (size_t i = 0; i < search->c->n_pods; i++)
		if (!strcmp(search->c->pods[i].uid, uid) && original_node(search, i) == search->node)
			return 0;
	search->found = search->found || !pod_has_ended(pod);
	return 0;
}

/* 1: the node has pods that it did not have when the plan was made; 0; -errno. */
static int has_new_pods(struct plan_apply *a, const struct simulated_cluster *c, const struct plan *plan,
	size_t node, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(PATH_BYTES);
	struct new_pods search = {.c = c, .plan = plan, .node = node};
	int status, r;

	strbuf_addstr(&path, "/api/v1/pods?fieldSelector=spec.nodeName%3D");
	api_path_escape(&path, c->nodes[node].name);
	r = api_list(a->options->client, path.text, 0, check_known, &search, &status, err);
	return r < 0 ? r : search.found;
}

/* ---- the eviction */

/* PLAN_APPLY_DONE: the API server has accepted the eviction; PLAN_APPLY_AGAIN: the pod does not exist anymore. */
static int evict(struct plan_apply *a, const struct simulated_pod *p, uint64_t until_ms, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(PATH_BYTES);
	CLEANUP(doc_release) struct doc eviction = {.kind = DOC_MAP};
	CLEANUP(freep) char *what = xasprintf("cannot evict pod '%s/%s'", p->namespace, p->name);
	struct doc *metadata;

	doc_add_string(&eviction, "apiVersion", "policy/v1");
	doc_add_string(&eviction, "kind", "Eviction");
	metadata = doc_add_map(&eviction, "metadata");
	doc_add_string(metadata, "name", p->name);
	doc_add_string(metadata, "namespace", p->namespace);
	doc_add_string(doc_add_map(doc_add_map(&eviction, "deleteOptions"), "preconditions"), "uid", p->uid);
	make_pod_path(p->namespace, p->name, &path);
	strbuf_addstr(&path, "/eviction");
	for (;;) {
		int r = send_request(a, "POST", path.text, "application/json", &eviction, err);
		int wait_s;

		if (r < 0)
			return err_wrap(err, r, "%s", what);
		if (is_success(a))
			return PLAN_APPLY_DONE;
		if (a->response.status == HTTP_NOT_FOUND || a->response.status == HTTP_CONFLICT)
			return PLAN_APPLY_AGAIN;
		wait_s = a->response.retry_after_s > 0 ? a->response.retry_after_s : 2;
		if (a->response.status != HTTP_TOO_MANY_REQUESTS ||
			now_ms() + (uint64_t)wait_s * 1000 > until_ms)
			return unexpected_status(a, what, err);
		r = sleep_and_renew(a, (unsigned)wait_s * 1000, err);
		if (r < 0)
			return r;
	}
}

/* ---- waiting */

/* What the conditions look at; NULL what a condition does not use. */
struct wait {
	const struct simulated_pod *pod;
	struct successor *successor;
	struct pod_held *held;
	const char *node;
	char **ret_node;
};

/* 0 if the condition is true; -EINPROGRESS if it is not yet, with the line to fail with when the time is over. */
typedef int condition_fn(struct plan_apply *a, const struct wait *w, struct err *err);

static int wait_until(condition_fn *condition, struct plan_apply *a, const struct wait *w, uint64_t until_ms,
	struct err *err)
{
	for (;;) {
		int r = condition(a, w, err);

		if (r != -EINPROGRESS)
			return r;
		if (now_ms() > until_ms)
			return -ETIMEDOUT;
		r = sleep_and_renew(a, POLL_MS, err);
		if (r < 0)
			return r;
	}
}

static int check_gone(struct plan_apply *a, const struct wait *w, struct err *err)
{
	CLEANUP(doc_release) struct doc pod = DOC_INIT;
	int r = get_pod(a, w->pod, &pod, err);

	if (r <= 0 || pod_has_ended(&pod))
		return r < 0 ? r : 0;
	return err_set(err, -EINPROGRESS, "pod '%s/%s' was evicted and has not ended in time",
		w->pod->namespace, w->pod->name);
}

/* ---- the new pod */

/* The pod that a controller creates after an eviction. */
struct successor {
	const struct simulated_cluster *c;
	const struct simulated_pod *evicted;
	const char *to; /* the node of the plan */
	char *name, *uid, *node, *reason;
	bool found;   /* the members below are set */
	bool arrived; /* the pod is on the plan's node */
	bool started, failed;
};

static void successor_release(struct successor *s)
{
	free(s->name);
	free(s->uid);
	free(s->node);
	free(s->reason);
	s->name = s->uid = s->node = s->reason = NULL;
}

static bool is_known(const struct simulated_cluster *c, const char *uid)
{
	for (size_t i = 0; i < c->n_pods; i++)
		if (!strcmp(c->pods[i].uid, uid))
			return true;
	return false;
}

/* Finds a new pod of the controller; of several, the pod on the plan's node. */
static int find_successor(struct doc *pod, void *data, struct err *err)
{
	const struct doc *metadata = doc_get(pod, "metadata"), *status = doc_get(pod, "status");
	const char *uid = doc_text(metadata, "uid"), *node = pod_node_name(pod);
	const char *phase = doc_text(status, "phase");
	struct successor *s = data;

	(void)err;
	if (strcmp(controller_uid(metadata), s->evicted->controller) != 0 || is_known(s->c, uid))
		return 0;
	/* A pod on the plan's node is the best, and a pod without a node the worst. */
	if (s->arrived || (s->found && !*node))
		return 0;
	successor_release(s);
	s->found = true;
	s->name = xstrdup(doc_text(metadata, "name"));
	s->uid = xstrdup(uid);
	s->node = xstrdup(node);
	s->reason = xstrdup(doc_text(status, "reason"));
	s->arrived = !strcmp(node, s->to);
	s->failed = !strcmp(phase, "Failed");
	s->started = !strcmp(phase, "Running") || *doc_text(status, "startTime");
	return 0;
}

/* Whether the new pod has started on the plan's node, or on any node if kubelets assign nothing to the pod. */
static int check_successor(struct plan_apply *a, const struct wait *w, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(PATH_BYTES);
	struct successor *s = w->successor;
	const struct simulated_pod *p = s->evicted;
	int status, r;

	make_pod_path(p->namespace, NULL, &path);
	successor_release(s);
	s->found = s->arrived = s->started = s->failed = false;
	r = api_list(a->options->client, path.text, 0, find_successor, s, &status, err);
	if (r < 0)
		return r;
	if (s->failed)
		return err_set(err, -EREMOTEIO, "the kubelet of node '%s' rejected pod '%s/%s': %s", s->node,
			p->namespace, s->name, s->reason);
	if (s->found && *s->node && !s->arrived && p->class->aligned)
		return err_set(err, -EREMOTEIO, "pod '%s/%s' started on node '%s' instead of '%s'",
			p->namespace, s->name, s->node, s->to);
	if (s->found && *s->node && s->started)
		return 0;
	return err_set(err, -EINPROGRESS, "%s '%s/%s' has not started on node '%s' in time",
		s->found ? "pod" : "the pod in place of", p->namespace, s->found ? s->name : p->name, s->to);
}

/* What the node's object reports of the pod. */
static int get_held(struct plan_apply *a, const char *node, const struct pod_names *names,
	struct pod_held *ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(PATH_BYTES);
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	struct cluster_node read;
	int status, r;

	strbuf_addstr(&path, "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies/");
	api_path_escape(&path, node);
	r = api_get(a->options->client, path.text, &object, &status, err);
	if (r < 0)
		return r;
	r = cluster_node_read(&object, &read, err);
	if (r < 0)
		return r;
	pod_held_find(&read.state, names, ret);
	cluster_node_release(&read);
	return 0;
}

static int check_reported(struct plan_apply *a, const struct wait *w, struct err *err)
{
	const struct simulated_pod *p = w->pod;
	const struct pod_names names = pod_names_of(p->uid, p->namespace, p->name);
	int r = get_held(a, w->node, &names, w->held, err);

	if (r < 0 || w->held->found)
		return r;
	pod_held_release(w->held);
	return err_set(err, -EINPROGRESS, "the object of node '%s' does not report pod '%s/%s' in time",
		w->node, p->namespace, p->name);
}

/* Waits until the pod that replaces an evicted pod runs and is reported. */
static int wait_for_move(struct plan_apply *a, const struct simulated_cluster *c,
	const struct plan_step *step, uint64_t until_ms, struct err *err)
{
	const struct simulated_pod *p = &c->pods[step->pod];
	CLEANUP(successor_release) struct successor s = {.c = c, .evicted = p, .to = c->nodes[step->to].name};
	CLEANUP(pod_held_release) struct pod_held held = {0};
	CLEANUP(freep) char *cpus = NULL, *numa = NULL;
	struct simulated_pod new = {.namespace = p->namespace};
	int r = wait_until(check_successor, a, &(struct wait){.successor = &s}, until_ms, err);

	new.name = s.name;
	new.uid = s.uid;
	if (r == 0 && (*step->cpus || *step->numa))
		r = wait_until(check_reported, a, &(struct wait){.pod = &new, .node = s.node, .held = &held},
			until_ms, err);
	if (r < 0)
		return r;
	cpus = held.found ? cpuset_print(held.cpus) : xstrdup("");
	numa = held.found ? cpuset_print(held.numa) : xstrdup("");
	report_progress(a, "  %s/%s runs on %s%s%s%s%s", p->namespace, s.name, s.node, *numa ? ", NUMA " : "",
		numa, *cpus ? ", CPUs " : "", cpus);
	return 0;
}

/* Whether the node's object no longer reports the evicted pod. Its UID decides: the new pod may have its name. */
static int check_released(struct plan_apply *a, const struct wait *w, struct err *err)
{
	CLEANUP(pod_held_release) struct pod_held held = {0};
	struct pod_names names = w->pod->names;
	int r;

	names.pod[0] = '\0';
	r = get_held(a, w->node, &names, &held, err);
	if (r < 0 || !held.found)
		return r;
	return err_set(err, -EINPROGRESS,
		"the object of node '%s' still reports pod '%s/%s', which has ended", w->node,
		w->pod->namespace, w->pod->name);
}

/* ---- a round */

/*
 * Evicts the pod of the step, waits until the pod has ended and, of a move, until the new pod runs in its place, which is reserved unless the
 * pod holds nothing exclusive. Each wait may take options->timeout_ms: until the old pod has ended (its eviction may be retried), until the
 * new pod runs and is reported, until the old pod is no longer reported. PLAN_APPLY_AGAIN: done, or the pod does not exist; -errno.
 */
static int carry_out_step(struct plan_apply *a, const struct simulated_cluster *c,
	const struct plan_step *step, struct err *err)
{
	const struct simulated_pod *p = &c->pods[step->pod];
	uint64_t until_ms = now_ms() + a->options->timeout_ms;
	CLEANUP(freep) char *id = make_id(p);
	const char *to = step->to == SIMULATED_NOWHERE ? "" : c->nodes[step->to].name;
	struct own_reservation *own = find_own(a, to, id);
	int r;

	report_progress(a, "%s %s/%s: %s%s%s", plan_step_names[step->kind], p->namespace, p->name,
		c->nodes[step->from].name, *to ? " -> " : "", to);
	r = evict(a, p, until_ms, err);
	if (r != PLAN_APPLY_DONE)
		return r;
	a->n_evicted++;
	if (own)
		own->evicted = true; /* from now on the place is for the new pod, even if this process ends */
	r = wait_until(check_gone, a, &(struct wait){.pod = p}, until_ms, err);
	if (r == 0 && step->kind == PLAN_MOVE)
		r = wait_for_move(a, c, step, now_ms() + a->options->timeout_ms, err);
	if (r < 0)
		return r;
	a->n_done++;
	if (own)
		r = remove_reservation(a, (size_t)(own - a->reservations), err);
	if (r == 0) /* the next plan needs what the pod held */
		r = wait_until(check_released, a, &(struct wait){.pod = p, .node = c->nodes[step->from].name},
			now_ms() + a->options->timeout_ms, err);
	return r < 0 ? r : PLAN_APPLY_AGAIN;
}

/* ---- wanted pods */

/* Sets *ret_node to the pod's node. */
static int check_started(struct plan_apply *a, const struct wait *w, struct err *err)
{
	CLEANUP(doc_release) struct doc pod = DOC_INIT;
	const struct simulated_pod *p = w->pod;
	int r = get_pod(a, p, &pod, err);
	const struct doc *status = doc_get(&pod, "status");

	if (r < 0)
		return r;
	if (r == 0)
		return err_set(err, -ENOENT, "pod '%s/%s' was deleted", p->namespace, p->name);
	if (!strcmp(doc_text(status, "phase"), "Failed"))
		return err_set(err, -EREMOTEIO, "pod '%s/%s' has failed: %s", p->namespace, p->name,
			doc_text(status, "reason"));
	if (!*doc_text(status, "startTime"))
		return err_set(
			err, -EINPROGRESS, "pod '%s/%s' has not started in time", p->namespace, p->name);
	text_set(w->ret_node, pod_node_name(&pod));
	return 0;
}

/* With --aligned also waits until the node's object reports the pod: a kubelet with the policy best-effort may have used more NUMA nodes than
 * the plan, if something else took the place. */
static int wait_for_wanted(
	struct plan_apply *a, const struct wanted_pod *wanted, uint64_t until_ms, struct err *err)
{
	const struct simulated_pod *p = &wanted->pod;
	CLEANUP(pod_held_release) struct pod_held held = {0};
	CLEANUP(freep) char *node = NULL, *numa = NULL;
	int r = wait_until(check_started, a, &(struct wait){.pod = p, .ret_node = &node}, until_ms, err);

	if (r == 0 && a->options->aligned && wanted->n_numa > 0)
		r = wait_until(check_reported, a, &(struct wait){.pod = p, .node = node, .held = &held},
			until_ms, err);
	if (r < 0)
		return r;
	numa = held.found ? cpuset_print(held.numa) : xstrdup("");
	report_progress(
		a, "start %s/%s: runs on %s%s%s", p->namespace, p->name, node, *numa ? ", NUMA " : "", numa);
	if (held.found && cpuset_size(held.numa) > wanted->n_numa)
		return err_set(err, -EREMOTEIO,
			"pod '%s/%s' is not aligned: it runs on NUMA nodes %.60s of node '%s'", p->namespace,
			p->name, numa, node);
	return 0;
}

/* The scheduler may bind a wanted pod at any time after room has been made. Then later plans do not contain the pod. */
static void remember_wanted(struct plan_apply *a, const struct simulated_cluster *c, const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct simulated_pod *p = &c->pods[plan->steps[i].pod];
		CLEANUP(cpuset_freep) hwloc_bitmap_t numa = NULL;
		struct wanted_pod *wanted;

		if (plan->steps[i].kind != PLAN_START || p->added)
			continue;
		wanted = vec_push(&a->wanted, &a->n_wanted, &a->wanted_size, sizeof(*wanted));
		wanted->pod = (struct simulated_pod){
			.namespace = xstrdup(p->namespace), .name = xstrdup(p->name), .uid = xstrdup(p->uid)};
		wanted->n_numa = cpuset_parse(plan->steps[i].numa, &numa, NULL) == 0 ? cpuset_size(numa) : 0;
	}
}

/* The plan has no moves: waits for wanted pods that exist, and announces the places of pods that do not exist yet (a->object). */
static int finish_plan(
	struct plan_apply *a, const struct simulated_cluster *c, const struct plan *plan, struct err *err)
{
	uint64_t until_ms = now_ms() + a->options->timeout_ms;
	int r = 0;

	for (size_t i = 0; a->object && i < plan->n_steps; i++)
		report_progress(a, "start %s/%s: %s is reserved for the pod for %llu s",
			c->pods[plan->steps[i].pod].namespace, c->pods[plan->steps[i].pod].name,
			c->nodes[plan->steps[i].to].name, (unsigned long long)a->options->hold_ms / 1000);
	for (size_t i = 0; i < a->n_wanted && r == 0; i++)
		r = wait_for_wanted(a, &a->wanted[i], until_ms, err);
	if (r == 0 && !a->object)
		plan_apply_abandon(a);
	return r < 0 ? r : PLAN_APPLY_DONE;
}

int plan_apply_round(struct plan_apply *a, const struct simulated_cluster *c, const struct plan *plan,
	const struct doc *object, struct err *err)
{
	size_t next = 0;
	int r;

	a->object = object;
	r = check_stop(a, err);
	if (r < 0)
		return r;
	if (a->round == 0)
		remember_wanted(a, c, plan);
	while (next < plan->n_steps && plan->steps[next].kind == PLAN_START)
		next++;
	r = reserve_places(a, c, plan, next, err);
	if (r != PLAN_APPLY_DONE)
		return r;
	r = wait_until_read(a, err);
	if (r < 0)
		return r;
	if (next == plan->n_steps)
		return finish_plan(a, c, plan, err);
	r = sleep_and_renew(a, SETTLE_MS, err);
	if (r < 0)
		return r;
	/* A pod that was bound since the plan was made may have taken the place. */
	if (plan->steps[next].to != SIMULATED_NOWHERE) {
		r = has_new_pods(a, c, plan, plan->steps[next].to, err);
		if (r != 0)
			return r < 0 ? r : PLAN_APPLY_AGAIN;
	}
	return carry_out_step(a, c, &plan->steps[next], err);
}
