/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/extender/extender_api.h"

#include <errno.h>
#include <inttypes.h>

#include "cluster/objects/pod_status.h"
#include "cluster/objects/reservation.h"
#include "common/cleanup.h"
#include "common/io/json.h"
#include "common/vec.h"
#include "common/xalloc.h"

#define VALUES_MAX (1u << 20) /* of a pod, or of a /preempt request: memory of a few 100 MB at most */

/* ---- the pod */

static void pod_release(struct extender_pod *p)
{
	free(p->uid);
	free(p->namespace);
	free(p->name);
	free(p->controller);
	free(p->scheduler);
	free(p->gang);
	free(p->nominated);
	free(p->message);
	pod_template_release(&p->template);
	*p = (struct extender_pod){0};
}

static int read_pod(const struct doc *pod, struct extender_pod *ret, struct err *err)
{
	CLEANUP(pod_release) struct extender_pod p = {0};
	const struct doc *metadata = doc_get(pod, "metadata");
	int r;

	if (pod->kind != DOC_MAP)
		return err_set(err, -EINVAL, "Pod: a map is expected, not %s", doc_kind_name(pod));
	/* The keys of stand-ins (pod_info.is_reservation) have a slash, a UID has none. */
	if (strchr(doc_text(metadata, "uid"), '/'))
		return err_set(
			err, -EINVAL, "Pod: metadata.uid: '%.100s' is not a UID", doc_text(metadata, "uid"));
	p.uid = xstrdup(doc_text(metadata, "uid"));
	p.namespace = xstrdup(doc_text(metadata, "namespace"));
	p.name = xstrdup(doc_text(metadata, "name"));
	p.controller = xstrdup(controller_uid(metadata));
	p.scheduler = xstrdup(pod_scheduler_name(pod));
	p.gang = xstrdup(pod_gang_name(pod));
	p.nominated = xstrdup(pod_nominated_node(pod));
	p.message = xstrdup(pod_scheduler_message(pod));
	pod_priority_read(pod, &p.priority);
	p.version = resource_version_parse(doc_string(doc_get(metadata, "resourceVersion")));
	p.has_volumes = pod_volume_traits(pod) & VOLUME_IS_CLAIMED;
	r = pod_template_from_pod(pod, &p.template, err);
	if (r < 0)
		return err_wrap(err, r, "pod '%.100s/%.100s'", p.namespace, p.name);
	*ret = p;
	p = (struct extender_pod){0};
	return 0;
}

/* As json_parse(). -E2BIG with one line: more than VALUES_MAX values. */
static int parse_bounded(const char *text, size_t len, struct doc *ret, struct err *err)
{
	if (json_count_values(text, len) > VALUES_MAX)
		return err_set(err, -E2BIG, "more than %u JSON values", VALUES_MAX);
	return json_parse(text, len, ret, err);
}

static int read_pod_text(struct json_piece text, struct extender_pod *ret, struct err *err)
{
	CLEANUP(doc_release) struct doc pod = DOC_INIT;
	int r = parse_bounded(text.text, text.len, &pod, err);

	return r < 0 ? err_wrap(err, r, "Pod") : read_pod(&pod, ret, err);
}

/* ---- ExtenderArgs */

/* The items of a list. */
struct pieces {
	struct json_piece *items;
	size_t n_items, items_size;
};

static void pieces_release(struct pieces *p)
{
	free(p->items);
	*p = (struct pieces){0};
}

static void add_piece(struct pieces *p, struct json_piece piece)
{
	struct json_piece *slot = vec_push(&p->items, &p->n_items, &p->items_size, sizeof(*slot));

	*slot = piece;
}

static int read_list(struct json_piece list, const char *name, struct pieces *ret, struct err *err)
{
	struct json_piece value;
	struct json_walk walk;
	int r;

	if (json_piece_is_null(list))
		return 0;
	if (!json_walk_begin(&walk, list, '['))
		return err_set(err, -EINVAL, "%s: a list is expected", name);
	while ((r = json_walk_next(&walk, NULL, &value)) > 0)
		add_piece(ret, value);
	return r < 0 ? err_set(err, r, "%s[%zu]: not valid JSON", name, ret->n_items) : 0;
}

/* The last member of this name, regardless of case; ret->text is NULL if there is none. */
static int find_member(struct json_piece map, const char *name, struct json_piece *ret)
{
	struct json_piece found = {NULL, 0}, key, value;
	struct json_walk walk;
	int r;

	if (!json_walk_begin(&walk, map, '{'))
		return -EINVAL;
	while ((r = json_walk_next(&walk, &key, &value)) > 0)
		if (json_piece_is_key(key, name))
			found = value;
	if (r < 0)
		return r;
	*ret = found;
	return 0;
}

/* metadata.name of each node, as JSON text. */
static int find_names(const struct pieces *nodes, struct pieces *ret, struct err *err)
{
	for (size_t i = 0; i < nodes->n_items; i++) {
		struct json_piece metadata, name;

		if (find_member(nodes->items[i], "metadata", &metadata) < 0 || !metadata.text ||
			find_member(metadata, "name", &name) < 0 || !name.text)
			return err_set(err, -EINVAL, "Nodes.items[%zu]: the Node has no name", i);
		add_piece(ret, name);
	}
	return 0;
}

static int read_nodes(
	struct json_piece list, struct pieces *ret_nodes, struct pieces *ret_names, struct err *err)
{
	struct json_piece items;
	int r;

	if (find_member(list, "items", &items) < 0)
		return err_set(err, -EINVAL, "Nodes: a NodeList is expected");
	r = items.text ? read_list(items, "Nodes.items", ret_nodes, err) : 0;
	return r < 0 ? r : find_names(ret_nodes, ret_names, err);
}

/* A string is not longer than its JSON text, so all names fit into the texts' length. */
static int copy_names(const struct pieces *names, struct extender_args *a, struct err *err)
{
	size_t size = 1;
	char *at;

	for (size_t i = 0; i < names->n_items; i++)
		size += names->items[i].len;
	a->texts = at = xmalloc(size);
	a->names = xcalloc(names->n_items + 1, sizeof(*a->names));
	for (size_t i = 0; i < names->n_items; i++) {
		int n = json_piece_string(names->items[i], at);

		if (n <= 1) /* an error, or only the NUL */
			return err_set(err, -EINVAL, "node %zu has no name", i);
		a->names[i] = at;
		at += n;
	}
	a->n_names = names->n_items;
	return 0;
}

/* The members of ExtenderArgs, and of a request of /v1, as JSON text. */
struct members {
	struct json_piece pod, nodes, names, limit, assume;
	struct json_piece other; /* the key of another member */
};

static int split_members(const char *text, size_t len, struct members *ret, struct err *err)
{
	const struct json_piece none = {"null", 4};
	struct members m = {.pod = none, .nodes = none, .names = none, .limit = none, .assume = none};
	struct json_piece whole, key, value;
	struct json_walk walk;
	int r;

	if (json_walk_text(text, len, &whole) < 0 || !json_walk_begin(&walk, whole, '{'))
		return err_set(err, -EINVAL, "not a JSON object");
	while ((r = json_walk_next(&walk, &key, &value)) > 0) {
		if (json_piece_is_key(key, "Pod"))
			m.pod = value;
		else if (json_piece_is_key(key, "Nodes"))
			m.nodes = value;
		else if (json_piece_is_key(key, "NodeNames"))
			m.names = value;
		else if (json_piece_is_key(key, "limit"))
			m.limit = value;
		else if (json_piece_is_key(key, "assume"))
			m.assume = value;
		else
			m.other = key;
	}
	if (r < 0)
		return err_set(err, r, "not valid JSON at byte %zu", (size_t)(walk.at - text) + 1);
	*ret = m;
	return 0;
}

static int read_args(const struct members *m, struct extender_args *a, struct err *err)
{
	CLEANUP(pieces_release) struct pieces nodes = {0}, names = {0};
	bool has_nodes = json_piece_is_null(m->names) && !json_piece_is_null(m->nodes);
	int r;

	r = has_nodes ? read_nodes(m->nodes, &nodes, &names, err)
		      : read_list(m->names, "NodeNames", &names, err);
	if (r < 0)
		return r;
	r = copy_names(&names, a, err);
	if (r < 0)
		return r;
	a->pod_text = m->pod;
	r = read_pod_text(m->pod, &a->pod, err);
	if (r < 0 || !has_nodes)
		return r;
	/* Not NULL even for an empty list: the answer must have Nodes, too. */
	a->nodes = nodes.items ? TAKE(nodes.items) : xcalloc(1, sizeof(*a->nodes));
	return 0;
}

int extender_args_parse(const char *text, size_t len, struct extender_args *ret, struct err *err)
{
	CLEANUP(extender_args_release) struct extender_args a = {.names = NULL};
	struct members m = {.pod = {NULL, 0}};
	int r = split_members(text, len, &m, err);

	if (r < 0)
		return r;
	r = read_args(&m, &a, err);
	if (r < 0)
		return r;
	*ret = a;
	a = (struct extender_args){.names = NULL};
	return 0;
}

static int read_limit(struct json_piece text, size_t *ret, struct err *err)
{
	CLEANUP(doc_release) struct doc value = DOC_INIT;
	int64_t limit = CHOOSE_LIMIT;

	if (json_piece_is_null(text)) {
		*ret = CHOOSE_LIMIT;
		return 0;
	}
	if (json_parse(text.text, text.len, &value, NULL) < 0 || doc_int64(&value, &limit) < 0 || limit < 1 ||
		limit > CHOOSE_LIMIT_MAX)
		return err_set(err, -EINVAL, "limit: a number from 1 to %u is expected", CHOOSE_LIMIT_MAX);
	*ret = (size_t)limit;
	return 0;
}

static bool piece_is(struct json_piece p, const char *text)
{
	return p.len == strlen(text) && !memcmp(p.text, text, p.len);
}

/* Members that are null count as omitted, except those that no request of /v1 has. */
static int check_members(const struct members *m, unsigned allowed, struct err *err)
{
	const struct {
		struct json_piece value;
		const char *key;
		unsigned part;
	} items[] = {{m->nodes, "nodes", 0}, {m->names, "nodeNames", V1_NODES},
		{m->limit, "limit", V1_CHOICE}, {m->assume, "assume", V1_CHOICE}};

	if (m->other.text)
		return err_set(err, -EINVAL, "unknown member %.*s",
			(int)(m->other.len < 64 ? m->other.len : 64), m->other.text);
	for (size_t i = 0; i < ARRAY_SIZE(items); i++)
		if (!json_piece_is_null(items[i].value) && !(allowed & items[i].part))
			return err_set(err, -EINVAL, "unknown member \"%s\"", items[i].key);
	return 0;
}

int extender_v1_parse(
	const char *text, size_t len, unsigned members, struct extender_args *ret, struct err *err)
{
	CLEANUP(extender_args_release) struct extender_args a = {.names = NULL};
	struct members m = {.pod = {NULL, 0}};
	int r = split_members(text, len, &m, err);

	if (r == 0)
		r = check_members(&m, members, err);
	if (r < 0)
		return r;
	r = read_limit(m.limit, &a.limit, err);
	if (r < 0)
		return r;
	a.assume = piece_is(m.assume, "true");
	if (!a.assume && !json_piece_is_null(m.assume) && !piece_is(m.assume, "false"))
		return err_set(err, -EINVAL, "assume: true or false is expected");
	r = read_args(&m, &a, err);
	if (r < 0)
		return r;
	if (!*a.pod.uid)
		return err_set(err, -EINVAL, "pod: metadata.uid is missing");
	a.all_nodes = json_piece_is_null(m.names);
	*ret = a;
	a = (struct extender_args){.names = NULL};
	return 0;
}

void extender_args_release(struct extender_args *a)
{
	pod_release(&a->pod);
	free(a->names);
	free(a->nodes);
	free(a->texts);
	strv_release(&a->refused);
	*a = (struct extender_args){.names = NULL};
}

/* ---- results */

static void print_passing(
	const struct extender_args *args, const struct extender_failure *failures, struct strbuf *out)
{
	const char *between = "";

	strbuf_addstr(out, args->nodes ? "{\"Nodes\":{\"items\":[" : "{\"NodeNames\":[");
	for (size_t i = 0; i < args->n_names; i++) {
		if (failures[i].reason)
			continue;
		strbuf_addstr(out, between);
		between = ",";
		if (args->nodes)
			strbuf_add(out, args->nodes[i].text, args->nodes[i].len);
		else
			json_add_string(out, args->names[i]);
	}
	strbuf_addstr(out, args->nodes ? "]},\"NodeNames\":null" : "],\"Nodes\":null");
}

static void print_failed(const struct extender_args *args, const struct extender_failure *failures,
	bool unresolvable, struct strbuf *out)
{
	const char *between = "";

	for (size_t i = 0; i < args->n_names; i++) {
		if (failures[i].unresolvable != unresolvable)
			continue;
		strbuf_addstr(out, between);
		between = ",";
		json_add_string(out, args->names[i]);
		strbuf_addch(out, ':');
		json_add_string(out, failures[i].reason);
	}
}

int extender_filter_print(
	const struct extender_args *args, const struct extender_failure *failures, struct strbuf *out)
{
	bool none_passes = true;

	for (size_t i = 0; none_passes && i < args->n_names; i++)
		none_passes = failures[i].reason != NULL;
	print_passing(args, failures, out);
	strbuf_addstr(out, ",\"FailedNodes\":{");
	if (none_passes)
		print_failed(args, failures, false, out);
	strbuf_addstr(out, "},\"FailedAndUnresolvableNodes\":{");
	if (none_passes)
		print_failed(args, failures, true, out);
	strbuf_addstr(out, "},\"Error\":\"\"}");
	return strbuf_error(out);
}

int extender_error_print(const char *message, struct strbuf *out)
{
	strbuf_addstr(out,
		"{\"NodeNames\":null,\"Nodes\":null,\"FailedNodes\":null,\"FailedAndUnresolvableNodes\":null,\"Error\":");
	json_add_string(out, message);
	strbuf_addch(out, '}');
	return strbuf_error(out);
}

static const char *const score_texts[EXTENDER_SCORE_MAX + 1] = {",\"Score\":0}", ",\"Score\":1}",
	",\"Score\":2}", ",\"Score\":3}", ",\"Score\":4}", ",\"Score\":5}", ",\"Score\":6}", ",\"Score\":7}",
	",\"Score\":8}", ",\"Score\":9}", ",\"Score\":10}"};

static int clamp(int score)
{
	return score < 0 ? 0 : score > EXTENDER_SCORE_MAX ? EXTENDER_SCORE_MAX : score;
}

int extender_priorities_print(const struct extender_args *args, const int *scores, struct strbuf *out)
{
	strbuf_addch(out, '[');
	for (size_t i = 0; i < args->n_names; i++) {
		strbuf_addstr(out, i > 0 ? ",{\"Host\":" : "{\"Host\":");
		json_add_string(out, args->names[i]);
		strbuf_addstr(out, score_texts[clamp(scores[i])]);
	}
	strbuf_addch(out, ']');
	return strbuf_error(out);
}

/* ---- preemption */

static void victims_release(struct extender_victims *v)
{
	for (size_t i = 0; i < v->n_uids; i++)
		free(v->uids[i]);
	free(v->uids);
	free(v->node);
	*v = (struct extender_victims){0};
}

void extender_preemption_release(struct extender_preemption *p)
{
	pod_release(&p->pod);
	for (size_t i = 0; i < p->n_items; i++)
		victims_release(&p->items[i]);
	free(p->items);
	*p = (struct extender_preemption){.items = NULL};
}

/* `pod` is a MetaPod, or with `is_whole` a whole Pod. */
static const char *uid_of(const struct doc *pod, bool is_whole)
{
	return doc_string(doc_get_fold(is_whole ? doc_get(pod, "metadata") : pod, "UID"));
}

/* `are_whole`: the victims are whole Pods. The caller releases `v`, also on failure. */
static int read_victims(const struct doc *node, bool are_whole, struct extender_victims *v, struct err *err)
{
	const struct doc *pods = doc_get_fold(node, "Pods"),
			 *violations = doc_get_fold(node, "NumPDBViolations");
	size_t n = pods && pods->kind == DOC_LIST ? pods->n_items : 0;

	if (node->kind != DOC_MAP || (violations && doc_int64(violations, &v->pdb_violations) < 0))
		return err_set(err, -EINVAL, "the victims of node '%.100s' are not valid", node->key);
	v->node = xstrdup(node->key);
	v->uids = xcalloc(n + 1, sizeof(*v->uids));
	while (v->n_uids < n) {
		const char *uid = uid_of(&pods->items[v->n_uids], are_whole);

		if (!uid)
			return err_set(err, -EINVAL, "a victim on node '%.100s' has no UID", node->key);
		v->uids[v->n_uids] = xstrdup(uid);
		v->n_uids++;
	}
	return 0;
}

static bool has_host_ports(const struct doc *containers)
{
	DOC_FOREACH_ITEM (container, containers) {
		const struct doc *ports = doc_get(container, "ports");

		DOC_FOREACH_ITEM (port, ports)
			if (doc_get(port, "hostPort"))
				return true;
	}
	return false;
}

static bool is_placed_by_amounts(const struct doc *pod)
{
	const struct doc *spec = doc_get(pod, "spec"), *affinity = doc_get(spec, "affinity");

	return !doc_get(affinity, "podAffinity") && !doc_get(affinity, "podAntiAffinity") &&
	       !doc_get(spec, "topologySpreadConstraints") && !doc_get(spec, "resourceClaims") &&
	       !has_host_ports(doc_get(spec, "containers")) &&
	       !has_host_ports(doc_get(spec, "initContainers")) &&
	       !(pod_volume_traits(pod) & VOLUME_HAS_PLUGIN);
}

static int read_preemption(const struct doc *args, struct extender_preemption *p, struct err *err)
{
	const struct doc *pod, *nodes = doc_get_fold(args, "NodeNameToMetaVictims");
	bool are_whole = !nodes || nodes->kind == DOC_NULL;
	int r = 0;

	if (are_whole)
		nodes = doc_get_fold(args, "NodeNameToVictims");
	p->items = xcalloc(nodes ? nodes->n_items + 1 : 1, sizeof(*p->items));
	if (nodes && nodes->kind != DOC_MAP && nodes->kind != DOC_NULL)
		return err_set(err, -EINVAL, "victims: a map is expected, not %s", doc_kind_name(nodes));
	if (nodes)
		DOC_FOREACH (node, nodes) {
			r = read_victims(node, are_whole, &p->items[p->n_items++], err);
			if (r < 0)
				return r;
		}
	pod = doc_get_fold(args, "Pod");
	if (!pod)
		return err_set(err, -EINVAL, "Pod: missing");
	p->by_amounts = is_placed_by_amounts(pod);
	return read_pod(pod, &p->pod, err);
}

int extender_preemption_parse(const char *text, size_t len, struct extender_preemption *ret, struct err *err)
{
	CLEANUP(extender_preemption_release) struct extender_preemption p = {.items = NULL};
	CLEANUP(doc_release) struct doc args = DOC_INIT;
	int r = parse_bounded(text, len, &args, err);

	if (r < 0)
		return r;
	if (args.kind != DOC_MAP)
		return err_set(err, -EINVAL, "not a JSON object");
	r = read_preemption(&args, &p, err);
	if (r < 0)
		return r;
	*ret = p;
	p = (struct extender_preemption){.items = NULL};
	return 0;
}

int extender_preemption_print(const struct extender_victims *items, size_t n_items, struct strbuf *out)
{
	strbuf_addstr(out, "{\"NodeNameToMetaVictims\":{");
	for (size_t i = 0; i < n_items; i++) {
		strbuf_addstr(out, i > 0 ? "," : "");
		json_add_string(out, items[i].node);
		strbuf_addstr(out, ":{\"Pods\":[");
		for (size_t j = 0; j < items[i].n_uids; j++) {
			strbuf_addstr(out, j > 0 ? ",{\"UID\":" : "{\"UID\":");
			json_add_string(out, items[i].uids[j]);
			strbuf_addch(out, '}');
		}
		strbuf_addf(out, "],\"NumPDBViolations\":%" PRId64 "}", items[i].pdb_violations);
	}
	strbuf_addstr(out, "}}");
	return strbuf_error(out);
}
