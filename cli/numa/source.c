/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/numa/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/numa/connection.h"
#include "cli/numa/input_files.h"
#include "cli/numa/object_word.h"
#include "cluster/objects/label_match.h"
#include "cluster/objects/pod_status.h"
#include "common/cleanup.h"
#include "common/hash.h"
#include "common/kube/api_list.h"
#include "common/log.h"
#include "common/vec.h"
#include "common/xalloc.h"

#define PATH_BYTES 8000u
#define CRD        "noderesourcetopologies.topology.node.k8s.io"
#define NRT_PATH   "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies"
#define UNFINISHED "status.phase!=Succeeded,status.phase!=Failed"
#define WARNINGS   5u /* nodes with an unreadable node state that have a line of their own */

/* A node that the command names. */
struct wanted_node {
	const char *name;
	bool found; /* has an object */
};

struct source {
	const struct options *options;
	struct wanted_node *nodes; /* of the command line */
	size_t n_nodes;
	bool reads_files;
	struct input_files files;
	struct connection connection;
	struct name_table selected; /* names of Nodes that --selector selects */
	struct strv selected_names;
	struct name_table objects; /* names of the NodeResourceTopology objects that were read */
	struct strv object_names;
	bool selector_applied;
	const char *events_namespace, *events_pod; /* of source_events() */
	const char *pods_namespace;                /* of the Pods to list; NULL = all */
	bool ended_pods;                           /* list ended Pods, too */
	bool nominated_pods;                       /* list the Pods that are nominated for the only node */
	const char *name;                          /* for messages */
};

/* ---- opening */

int source_open(const struct options *options, size_t first_node, struct source **ret, struct err *err)
{
	CLEANUP(source_closep) struct source *s = xcalloc(1, sizeof(*s));

	s->options = options;
	s->reads_files = option_set(options, OPT_FROM);
	s->nodes = xcalloc(options->n_words + 1, sizeof(*s->nodes));
	for (size_t i = first_node; i < options->n_words; i++)
		s->nodes[s->n_nodes++].name = object_word_node(options->words[i]);
	input_files_init(options, &s->files);
	s->name = s->reads_files ? s->files.name : "the API server";
	if (!s->reads_files) {
		int r = connection_open(options, &s->connection, err);

		if (r < 0)
			return r == -EINVAL ? -ENOTCONN : r; /* not wrong usage */
	}
	*ret = TAKE(s);
	return 0;
}

/* Forgets what was read. */
static void forget_objects(struct source *s)
{
	for (size_t i = 0; i < s->n_nodes; i++)
		s->nodes[i].found = false;
	name_table_release(&s->selected);
	strv_release(&s->selected_names);
	name_table_release(&s->objects);
	strv_release(&s->object_names);
	s->selector_applied = false;
}

int source_begin(const struct options *options, struct source **s, struct err *err)
{
	if (!*s)
		return source_open(options, 0, s, err);
	forget_objects(*s);
	return 0;
}

void source_close(struct source *s)
{
	if (!s)
		return;
	forget_objects(s);
	input_files_release(&s->files);
	connection_release(&s->connection);
	free(s->nodes);
	free(s);
}

int source_exit_status(const struct options *options, int r)
{
	return r == -EINVAL || option_set(options, OPT_FROM) ? EXIT_USAGE : EXIT_FAILURE;
}

const char *source_namespace(const struct source *s)
{
	const char *chosen = s->options->value[OPT_NAMESPACE];

	if (!chosen && !s->reads_files)
		chosen = credentials_namespace(s->connection.credentials);
	return chosen ? chosen : "default";
}

const char *source_cluster(const struct source *s)
{
	struct credentials_origin origin = {.cluster = NULL};

	if (!s->reads_files)
		credentials_origin(s->connection.credentials, &origin);
	return origin.cluster;
}

const char *source_file(const struct source *s)
{
	return s->reads_files ? s->files.name : NULL;
}

const char *source_node(const struct source *s)
{
	return s->n_nodes == 1 ? s->nodes[0].name : NULL;
}

void source_no_resources(const char *namespace)
{
	if (namespace)
		fprintf(stderr, "No resources found in %s namespace.\n", namespace);
	else
		fprintf(stderr, "No resources found\n");
}

struct api_client *source_client(const struct source *s)
{
	return s->connection.client;
}

/* ---- the API server */

struct delivery {
	enum object_kind kind;
	object_fn *fn;
	void *data;
};

static int deliver(struct doc *object, void *data, struct err *err)
{
	const struct delivery *d = data;

	return d->fn(d->kind, object, d->data, err);
}

static void add_query(struct strbuf *path, const char *name, const char *value)
{
	strbuf_addf(path, "%c%s=", strchr(path->text, '?') ? '&' : '?', name);
	api_path_escape(path, value);
}

static void add_pods_query(const struct source *s, struct strbuf *path)
{
	CLEANUP(strbuf_release) struct strbuf selector = STRBUF_INIT(PATH_BYTES);

	if (source_node(s))
		strbuf_addf(&selector, "%s=%s%s",
			s->nominated_pods ? "spec.nodeName=,status.nominatedNodeName" : "spec.nodeName",
			source_node(s), s->ended_pods ? "" : ",");
	if (!s->ended_pods)
		strbuf_addstr(&selector, UNFINISHED);
	add_query(path, "fieldSelector", selector.text);
	if (option_set(s->options, OPT_POD_SELECTOR))
		add_query(path, "labelSelector", s->options->value[OPT_POD_SELECTOR]);
}

static void add_events_query(const struct source *s, struct strbuf *path)
{
	CLEANUP(strbuf_release) struct strbuf selector = STRBUF_INIT(PATH_BYTES);

	strbuf_addf(&selector, "involvedObject.kind=Pod,involvedObject.name=%s", s->events_pod);
	add_query(path, "fieldSelector", selector.text);
}

/* Sets the path of the list of a kind in one namespace. */
static void set_namespaced_path(const char *namespace, const char *resource, struct strbuf *path)
{
	strbuf_reset(path);
	strbuf_addstr(path, "/api/v1/namespaces/");
	api_path_escape(path, namespace);
	strbuf_addf(path, "/%s", resource);
}

/* Makes the path of a kind's list and returns false, or makes the path of the only node's object and returns true. */
static bool make_path(const struct source *s, enum object_kind kind, struct strbuf *path)
{
	static const char *const paths[OBJECT_KIND_COUNT] = {
		[OBJECT_NRT] = NRT_PATH,
		[OBJECT_NODE] = "/api/v1/nodes",
		[OBJECT_POD] = "/api/v1/pods",
		[OBJECT_EVENT] = "/api/v1/events",
		[OBJECT_PDB] = "/apis/policy/v1/poddisruptionbudgets",
		[OBJECT_CLAIM] = "/apis/resource.k8s.io/v1/resourceclaims",
		[OBJECT_SLICE] = "/apis/resource.k8s.io/v1/resourceslices",
	};
	bool one = source_node(s) && (kind == OBJECT_NRT || kind == OBJECT_NODE);

	strbuf_addstr(path, paths[kind]);
	if (kind == OBJECT_EVENT) {
		set_namespaced_path(s->events_namespace, "events", path);
		add_events_query(s, path);
	}
	if (kind == OBJECT_POD && s->pods_namespace)
		set_namespaced_path(s->pods_namespace, "pods", path);
	if (kind == OBJECT_POD)
		add_pods_query(s, path);
	if (one) {
		strbuf_addch(path, '/');
		api_path_escape(path, source_node(s));
	}
	return one;
}

/* Adds a name to a table, whose names are those of the list. */
static void add_name(struct name_table *table, struct strv *names, const char *name)
{
	if (name_table_find(table, name))
		return;
	strv_push(names, name);
	name_table_add(table, names->items[names->n_items - 1], names);
}

/* Adds a Node's name to those that --selector selects. */
static int add_selected(struct doc *node, void *data, struct err *err)
{
	const char *name = doc_object_name(node);
	struct source *s = data;

	(void)err;
	if (name)
		add_name(&s->selected, &s->selected_names, name);
	return 0;
}

struct selection {
	struct source *source;
	struct doc selector;
	size_t n_nodes; /* selected or not */
};

static void selection_release(struct selection *selection)
{
	doc_release(&selection->selector);
}

static int select_node(enum object_kind kind, struct doc *node, void *data, struct err *err)
{
	struct selection *selection = data;

	(void)kind;
	selection->n_nodes++;
	return label_selector_matches(&selection->selector, doc_get(doc_get(node, "metadata"), "labels"))
		       ? add_selected(node, selection->source, err)
		       : 0;
}

/* Adds the Nodes of the files that --selector selects to s->selected. */
static int select_in_files(struct source *s, struct err *err)
{
	CLEANUP(selection_release) struct selection selection = {.source = s};
	int r = label_selector_parse(s->options->value[OPT_SELECTOR], &selection.selector, err);

	if (r == 0)
		r = input_files_read(&s->files, 1u << OBJECT_NODE, select_node, &selection, err);
	return r < 0 || selection.n_nodes > 0
		       ? r
		       : err_set(err, -EINVAL, "%s contains no Node to compare with the selector", s->name);
}

/* Lists the objects of `resource` that the query `name`, "labelSelector" or "fieldSelector", selects. */
static int list_by_query(struct source *s, const char *resource, const char *name, const char *value,
	api_object_fn *fn, void *data, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(PATH_BYTES);
	int status, r;

	strbuf_addf(&path, "/api/v1/%s", resource);
	add_query(&path, name, value);
	r = strbuf_error(&path);
	if (r < 0)
		return r;
	return api_list(s->connection.client, path.text, s->connection.idle_ms, fn, data, &status, err);
}

static int apply_selector(struct source *s, struct err *err)
{
	int r;

	if (s->selector_applied || !option_set(s->options, OPT_SELECTOR))
		return 0;
	if (s->reads_files)
		r = select_in_files(s, err);
	else
		r = list_by_query(
			s, "nodes", "labelSelector", s->options->value[OPT_SELECTOR], add_selected, s, err);
	s->selector_applied = r == 0;
	if (r == 0 && s->selected_names.n_items == 0)
		log_warning("%s: no Node matches '%s'", s->options->origin[OPT_SELECTOR],
			s->options->value[OPT_SELECTOR]);
	return r < 0 ? err_wrap(err, r, "%s", s->options->origin[OPT_SELECTOR]) : 0;
}

/* The status of a GET; 0 = no response. */
static int get_status(struct source *s, const char *path)
{
	CLEANUP(doc_release) struct doc object = DOC_INIT;
	int status = 0;

	api_get(s->connection.client, path, &object, &status, NULL);
	return status;
}

/* Explains a 404: no CRD, no Node, or no object. Without the CRD, a list returns 404, too. */
static int explain_absence(struct source *s, enum object_kind kind, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(PATH_BYTES);
	const char *name = source_node(s);

	if (kind == OBJECT_NRT && (!name || get_status(s, NRT_PATH "?limit=1") == HTTP_NOT_FOUND))
		return err_set(err, -ENOENT,
			"the cluster has no NodeResourceTopology objects: the CRD " CRD " is not installed");
	make_path(s, OBJECT_NODE, &path);
	if (kind == OBJECT_NODE || get_status(s, path.text) == HTTP_NOT_FOUND)
		return err_set(err, -ENOENT, "no such node: '%s'", name);
	return err_set(err, -ENOENT,
		"node '%s' has no NodeResourceTopology object: is an exporter, such as nrtd, running there?",
		name);
}

/* Reads the objects of a kind: the object of the only node, or the list. */
static int read_kind(struct source *s, enum object_kind kind, object_fn *fn, void *data, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(PATH_BYTES);
	struct delivery delivery = {.kind = kind, .fn = fn, .data = data};
	bool one = make_path(s, kind, &path);
	int status = 0, r = strbuf_error(&path);

	if (r < 0)
		return err_set(err, r, "a name is too long");
	if (one) {
		CLEANUP(doc_release) struct doc object = DOC_INIT;

		r = api_get(s->connection.client, path.text, &object, &status, err);
		r = r < 0 ? r : deliver(&object, &delivery, err);
	} else {
		r = api_list(s->connection.client, path.text, s->connection.idle_ms, deliver, &delivery,
			&status, err);
	}
	if (r == -EREMOTEIO && status == HTTP_NOT_FOUND && (kind == OBJECT_NRT || one))
		return explain_absence(s, kind, err);
	if (kind == OBJECT_NRT)
		connection_explain_denial(status, err);
	return r == -EINVAL ? -EBADMSG : r; /* not wrong usage */
}

/*
 * Reads all Pods; or with one node those that are nominated for it, then those on it: a pod that is bound meanwhile is in one list at least. A
 * kubelet's identity may list the latter only.
 */
static int read_pods(struct source *s, object_fn *fn, void *data, struct err *err)
{
	int r = 0;

	if (source_node(s)) {
		s->nominated_pods = true;
		r = read_kind(s, OBJECT_POD, fn, data, err);
		s->nominated_pods = false;
	}
	return r < 0 && r != -EREMOTEIO ? r : read_kind(s, OBJECT_POD, fn, data, err);
}

static int read_server(struct source *s, unsigned kinds, object_fn *fn, void *data, struct err *err)
{
	for (enum object_kind kind = 0; kind < OBJECT_KIND_COUNT; kind++) {
		int r = 0;

		if (kinds >> kind & 1)
			r = kind == OBJECT_POD ? read_pods(s, fn, data, err)
					       : read_kind(s, kind, fn, data, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- reading */

static int source_read(void *source, unsigned kinds, object_fn *fn, void *data, struct err *err)
{
	struct source *s = source;

	return s->reads_files ? input_files_read(&s->files, kinds, fn, data, err)
			      : read_server(s, kinds, fn, data, err);
}

static int no_objects(const struct source *s, struct err *err)
{
	if (s->reads_files)
		return err_set(err, -EINVAL, "%s: no NodeResourceTopology in it", s->name);
	return err_set(err, -ENOENT,
		"the cluster has no NodeResourceTopology objects yet: is an exporter, such as nrtd, running?");
}

struct nrt_filter {
	struct source *source;
	object_fn *fn;
	void *data;
	size_t n; /* objects read, including those of unwanted nodes */
};

bool source_selects_node(struct source *s, const char *name)
{
	bool wanted = s->n_nodes == 0;

	if (option_set(s->options, OPT_SELECTOR) && !name_table_find(&s->selected, name))
		return false;
	for (size_t i = 0; i < s->n_nodes; i++)
		if (!strcmp(s->nodes[i].name, name))
			wanted = s->nodes[i].found = true;
	return wanted;
}

/* Of several objects of a node, as from several files, the first counts. Passes on an object without a name, so that its reader rejects it. */
static int filter_nrt(enum object_kind kind, struct doc *object, void *data, struct err *err)
{
	const char *name = doc_object_name(object);
	struct nrt_filter *f = data;

	if (kind != OBJECT_NRT)
		return f->fn(kind, object, f->data, err);
	f->n++;
	if (name && (!source_selects_node(f->source, name) || name_table_find(&f->source->objects, name)))
		return 0;
	if (name)
		add_name(&f->source->objects, &f->source->object_names, name);
	return f->fn(kind, object, f->data, err);
}

/* The reader of source_reader(): omits NodeResourceTopology objects of unwanted nodes. */
static int read_wanted(void *source, unsigned kinds, object_fn *fn, void *data, struct err *err)
{
	struct source *s = source;
	struct nrt_filter filter = {.source = s, .fn = fn, .data = data};
	bool reads_nrts = kinds >> OBJECT_NRT & 1;
	int r = reads_nrts ? apply_selector(s, err) : 0;

	if (reads_nrts) {
		name_table_release(&s->objects);
		strv_release(&s->object_names);
	}
	if (r == 0)
		r = source_read(s, kinds, filter_nrt, &filter, err);
	return r >= 0 && reads_nrts && filter.n == 0 ? no_objects(s, err) : r;
}

struct object_reader source_reader(struct source *s)
{
	return (struct object_reader){.read = read_wanted, .source = s, .name = s->name};
}

/* ---- NodeResourceTopology objects */

struct node_delivery {
	cluster_node_fn *fn;
	void *data;
	bool quiet;
	size_t n_unreadable;
};

static int deliver_node(struct cluster_node *node, void *data, struct err *err)
{
	struct node_delivery *d = data;

	if (node->unreadable_state && !d->quiet && d->n_unreadable++ < WARNINGS)
		log_warning("node '%s': %s; judged by the zones", node->state.node_name, node->why.text);
	return d->fn(node, d->data, err);
}

int source_each_node(struct source *s, cluster_node_fn *fn, void *data, struct err *err)
{
	/* Log lines would corrupt a redrawn table. */
	struct node_delivery delivery = {.fn = fn, .data = data, .quiet = option_set(s->options, OPT_WATCH)};
	const struct object_reader reader = source_reader(s);
	int r = cluster_nodes_each(&reader, deliver_node, &delivery, err);

	if (delivery.n_unreadable > WARNINGS)
		log_warning("%zu more nodes have a node state that cannot be read",
			delivery.n_unreadable - WARNINGS);
	for (size_t i = 0; r == 0 && i < s->n_nodes; i++)
		if (!s->nodes[i].found)
			r = err_set(err, -ENOENT, "%s: no object of node '%.60s'%s", s->name,
				s->nodes[i].name,
				option_set(s->options, OPT_SELECTOR) ? " that the selector matches" : "");
	return r;
}

struct nrt_choice {
	struct source *source;
	struct doc object;
	size_t n;            /* wanted objects */
	struct strbuf names; /* of the objects; names beyond the buffer's limit are omitted */
};

static void nrt_choice_release(struct nrt_choice *c)
{
	doc_release(&c->object);
	strbuf_release(&c->names);
}

static int choose_nrt(enum object_kind kind, struct doc *object, void *data, struct err *err)
{
	const char *name = doc_object_name(object);
	struct nrt_choice *c = data;

	(void)kind;
	if (!name)
		return err_set(err, -EINVAL, "a NodeResourceTopology without a name");
	strbuf_addf(&c->names, "%s'%.60s'", c->names.len > 0 ? ", " : "", name);
	if (!source_selects_node(c->source, name))
		return 0;
	c->n++;
	if (c->n > 1)
		return 0;
	c->object = *object;
	*object = (struct doc)DOC_INIT;
	return 0;
}

int source_nrt(struct source *s, struct doc *ret, struct err *err)
{
	CLEANUP(nrt_choice_release) struct nrt_choice c = {.source = s, .names = STRBUF_INIT(300)};
	int r = apply_selector(s, err);
	const char *more;

	if (r < 0)
		return r;
	r = source_read(s, 1u << OBJECT_NRT, choose_nrt, &c, err);
	if (r < 0)
		return r;
	if (c.names.len == 0)
		return no_objects(s, err);
	more = strbuf_error(&c.names) < 0 ? ", ..." : "";
	if (c.n == 0)
		return err_set(err, -ENOENT, "%s: no object of node '%.60s', but of %s%s", s->name,
			source_node(s) ? source_node(s) : s->options->value[OPT_SELECTOR], c.names.text,
			more);
	if (c.n > 1 && source_node(s))
		return err_set(err, -EINVAL, "%s: %zu objects of node '%.60s'", s->name, c.n, source_node(s));
	if (c.n > 1)
		return err_set(err, -EINVAL, "%s: %zu objects, name one node: %s%s", s->name, c.n,
			c.names.text, more);
	*ret = c.object;
	c.object = (struct doc)DOC_INIT;
	return 0;
}

/* ---- Nodes and Pods */

/* 1 if the API server denied the request, with a warning. */
static int omit_denied(int r, const char *what, const struct err *why, struct err *err)
{
	if (r != -EREMOTEIO)
		return r < 0 ? err_set(err, r, "%s", why->text) : 0;
	log_warning("the answer omits %s: %s", what, why->text);
	return 1;
}

int source_read_nodes_and_pods(struct source *s, object_fn *fn, void *data, struct err *err)
{
	struct err why = {""};
	int r;

	if (s->reads_files)
		return input_files_read(&s->files, 1u << OBJECT_NODE | 1u << OBJECT_POD, fn, data, err);
	r = omit_denied(read_kind(s, OBJECT_NODE, fn, data, &why), "nodes", &why, err);
	if (r == 0) /* without Nodes, the requests of Pods are not used */
		r = omit_denied(read_pods(s, fn, data, &why), "pods", &why, err);
	return r < 0 ? r : 0;
}

struct cluster_delivery {
	struct cluster *cluster;
	struct scheduling_constraints *constraints;
	struct excluded_pods *excluded;
	const char *only; /* the node of the excluded pods; NULL = any node */
};

static int deliver_object(enum object_kind kind, struct doc *object, void *data, struct err *err)
{
	struct cluster_delivery *d = data;
	int r = 0;

	if (kind == OBJECT_POD && pod_is_excluded(object, d->excluded, d->only))
		strv_push_new(&d->excluded->nodes, pod_node_name(object));
	else
		r = cluster_update(d->cluster, kind, object, 0, err);
	if (r == 0 && d->constraints)
		scheduling_constraints_add(d->constraints, kind, object);
	return r;
}

int source_fill_cluster(struct source *s, struct cluster *cluster, struct scheduling_constraints *constraints,
	struct excluded_pods *excluded, struct err *err)
{
	struct cluster_delivery delivery = {
		.cluster = cluster, .constraints = constraints, .excluded = excluded, .only = source_node(s)};
	int r = 0;

	cluster_list_begin(cluster, OBJECT_POD);
	if (!option_set(s->options, OPT_OBJECTS_ONLY))
		r = source_read_nodes_and_pods(s, deliver_object, &delivery, err);
	cluster_list_end(cluster, OBJECT_POD, 0, 0);
	return r;
}

struct node_names {
	struct source *source;
	struct strv *names;
};

static int add_node_without_object(enum object_kind kind, struct doc *node, void *data, struct err *err)
{
	const char *name = doc_object_name(node);
	struct node_names *n = data;

	(void)kind;
	(void)err;
	if (name && !name_table_find(&n->source->objects, name) && source_selects_node(n->source, name))
		strv_push_new(n->names, name);
	return 0;
}

void source_nodes_without_object(struct source *s, const struct cluster *cluster, struct strv *ret)
{
	for (size_t i = 0; i < cluster->n_nodes; i++) {
		const struct node_info *node = cluster->nodes[i];

		if (node && cluster_node_lacks_object(node) && source_selects_node(s, node->name))
			strv_push(ret, node->name);
	}
	strv_sort_numbered(ret);
}

int source_read_nodes_without_object(struct source *s, struct strv *ret, struct err *err)
{
	struct node_names names = {.source = s, .names = ret};
	struct err why = {""};
	int r;

	if (s->n_nodes > 0) /* source_each_node() has found their objects */
		return 0;
	r = source_read(s, 1u << OBJECT_NODE, add_node_without_object, &names, &why);
	r = omit_denied(r, "Nodes without an object", &why, err);
	strv_sort_numbered(ret);
	return r < 0 ? r : 0;
}

struct pods_filter {
	const char *namespace; /* NULL = all */
	const struct doc *selector;
	object_fn *fn;
	void *data;
};

static int pass_selected_pod_of_files(enum object_kind kind, struct doc *object, void *data, struct err *err)
{
	const struct doc *metadata = doc_get(object, "metadata");
	const struct pods_filter *f = data;
	const char *namespace = doc_text(metadata, "namespace");

	if (f->namespace && strcmp(*namespace ? namespace : "default", f->namespace) != 0)
		return 0;
	if (f->selector->kind == DOC_MAP && !label_selector_matches(f->selector, doc_get(metadata, "labels")))
		return 0;
	return f->fn(kind, object, f->data, err);
}

int source_read_pods(struct source *s, const char *namespace, object_fn *fn, void *data, struct err *err)
{
	CLEANUP(doc_release) struct doc selector = DOC_INIT;
	struct pods_filter f = {.namespace = namespace, .selector = &selector, .fn = fn, .data = data};
	const char *text = s->options->value[OPT_POD_SELECTOR];
	struct err why = {""};
	int r = text ? label_selector_parse(text, &selector, err) : 0;

	if (r < 0)
		return err_wrap(err, r, "%s", s->options->origin[OPT_POD_SELECTOR]);
	if (s->reads_files)
		return input_files_read(&s->files, 1u << OBJECT_POD, pass_selected_pod_of_files, &f, err);
	s->pods_namespace = namespace;
	r = read_kind(s, OBJECT_POD, fn, data, &why);
	s->pods_namespace = NULL;
	r = omit_denied(r, "pods", &why, err);
	return r < 0 ? r : 0;
}

/* ---- ResourceClaims and ResourceSlices */

static int add_claim_object(enum object_kind kind, struct doc *object, void *data, struct err *err)
{
	struct claim_devices *d = data;

	(void)err;
	if (kind == OBJECT_CLAIM)
		claim_devices_add_claim(d, object);
	else
		claim_devices_add_slice(d, object);
	return 0;
}

int source_read_claims(struct source *s, struct claim_devices *ret, struct err *err)
{
	static const enum object_kind kinds[] = {OBJECT_CLAIM, OBJECT_SLICE};

	if (s->reads_files)
		return input_files_read(
			&s->files, 1u << OBJECT_CLAIM | 1u << OBJECT_SLICE, add_claim_object, ret, err);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct err why = {""};
		int r = omit_denied(read_kind(s, kinds[i], add_claim_object, ret, &why),
			"the NUMA nodes of claims' devices", &why, err);

		if (r != 0)
			return r < 0 ? r : 0;
	}
	return 0;
}

/* ---- what has happened on one node */

static int read_events(struct source *s, const char *selector, object_fn *fn, void *data, struct err *err)
{
	struct delivery delivery = {.kind = OBJECT_EVENT, .fn = fn, .data = data};

	return list_by_query(s, "events", "fieldSelector", selector, deliver, &delivery, err);
}

int source_read_history(struct source *s, object_fn *fn, void *data, bool *ret_events, struct err *err)
{
	CLEANUP(freep) char *of_node = NULL;
	struct err why = {""};
	int r;

	*ret_events = true;
	if (s->reads_files)
		return input_files_read(
			&s->files, 1u << OBJECT_NODE | 1u << OBJECT_POD | 1u << OBJECT_EVENT, fn, data, err);
	r = omit_denied(read_kind(s, OBJECT_NODE, fn, data, &why), "nodes", &why, err);
	if (r < 0)
		return r;
	s->ended_pods = true;
	r = read_kind(s, OBJECT_POD, fn, data, &why);
	s->ended_pods = false;
	r = omit_denied(r, "pods", &why, err);
	if (r < 0)
		return r;
	of_node = xasprintf("involvedObject.kind=Node,involvedObject.name=%s", source_node(s));
	r = read_events(s, of_node, fn, data, &why);
	if (r == 0)
		r = read_events(s, "involvedObject.kind=Pod,source=kubelet", fn, data, &why);
	r = omit_denied(r, "events", &why, err);
	*ret_events = r == 0;
	return r < 0 ? r : 0;
}

/* ---- one Pod and its Events */

struct pod_choice {
	const char *namespace, *name; /* namespace: NULL = any */
	struct doc object;
	size_t n;
};

static void pod_choice_release(struct pod_choice *c)
{
	doc_release(&c->object);
}

static int choose_pod(enum object_kind kind, struct doc *object, void *data, struct err *err)
{
	const struct doc *metadata = doc_get(object, "metadata");
	const char *name = doc_string(doc_get(metadata, "name"));
	const char *namespace = doc_string(doc_get(metadata, "namespace"));
	struct pod_choice *c = data;

	(void)kind;
	(void)err;
	if (!name || strcmp(name, c->name) != 0 ||
		(c->namespace && strcmp(namespace ? namespace : "default", c->namespace) != 0))
		return 0;
	c->n++;
	if (c->n > 1)
		return 0;
	c->object = *object;
	*object = (struct doc)DOC_INIT;
	return 0;
}

/* `namespace`: NULL = any. */
static int no_pod(const char *namespace, const char *name, struct err *err)
{
	return namespace ? err_set(err, -ENOENT, "no pod '%.100s' in namespace '%.100s'", name, namespace)
			 : err_set(err, -ENOENT, "no pod '%.100s'", name);
}

static int find_pod_in_files(
	struct source *s, const char *namespace, const char *name, struct doc *ret, struct err *err)
{
	CLEANUP(pod_choice_release)
	struct pod_choice c = {.namespace = namespace, .name = name, .object = DOC_INIT};
	int r = input_files_read(&s->files, 1u << OBJECT_POD, choose_pod, &c, err);

	if (r < 0)
		return r;
	if (c.n == 0)
		return err_wrap(err, no_pod(namespace, name, err), "%s", s->name);
	if (c.n > 1)
		return err_set(err, -EINVAL, "%s: %zu Pods are named '%.100s': choose one with --namespace",
			s->name, c.n, name);
	*ret = c.object;
	c.object = (struct doc)DOC_INIT;
	return 0;
}

int source_pod(struct source *s, const char *word, struct doc *ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(PATH_BYTES);
	CLEANUP(freep) char *of_word = NULL;
	const char *pod_namespace, *name = NULL;
	int status = 0, r = object_word_split_pod(s->options, word, &of_word, &name, err);

	if (r < 0)
		return r;
	if (s->reads_files)
		return find_pod_in_files(
			s, of_word ? of_word : s->options->value[OPT_NAMESPACE], name, ret, err);
	pod_namespace = of_word ? of_word : source_namespace(s);
	set_namespaced_path(pod_namespace, "pods", &path);
	strbuf_addch(&path, '/');
	api_path_escape(&path, name);
	r = api_get(s->connection.client, path.text, ret, &status, err);
	if (r == -EREMOTEIO && status == HTTP_NOT_FOUND) {
		r = no_pod(pod_namespace, name, err);
		return of_word ? err_wrap(err, r, "'%.100s' is NAMESPACE/NAME", word) : r;
	}
	connection_explain_denial(status, err);
	return r;
}

struct object_reader source_events(struct source *s, const char *namespace, const char *pod)
{
	s->events_namespace = namespace;
	s->events_pod = pod;
	return (struct object_reader){.read = source_read, .source = s, .name = s->name};
}
