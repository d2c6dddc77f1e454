/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/hints.h"

#include <ctype.h>
#include <errno.h>

#include "agent/fit_devices.h"
#include "agent/fit_hints_doc.h"
#include "agent/json.h"
#include "agent/model.h"
#include "agent/pod_doc.h"
#include "common/cleanup.h"
#include "common/vec.h"

#define SCORE_PREFIX "nrtd.dev/fit-score."
#define LABEL_PREFIX "nrtd.dev/max-exclusive-cpus."
/* A key's part behind the slash has 63 bytes at most. */
#define SHAPE_NAME_MAX (63u - (sizeof("fit-score.") - 1))

/* ---- what the operator wants */

static void shape_release(struct hint_shape *s)
{
	free(s->name);
	pod_request_release(&s->pod);
}

void hints_config_release(struct hints_config *c)
{
	for (size_t i = 0; i < c->n_shapes; i++)
		shape_release(&c->shapes[i]);
	free(c->shapes);
	*c = (struct hints_config){0};
}

static bool is_shape_name(const char *name, size_t len)
{
	if (len == 0 || len > SHAPE_NAME_MAX || !isalnum((unsigned char)name[0]) ||
		!isalnum((unsigned char)name[len - 1]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("-_.", name[i]))
			return false;
	return true;
}

/* One "RESOURCE=QUANTITY" of `len` bytes. */
static int add_amount(struct container_request *c, const char *text, size_t len, struct err *err)
{
	CLEANUP(freep) char *pair = strndup(text, len);
	char *equals = pair ? strchr(pair, '=') : NULL;
	struct quantity q;
	int r;

	if (!pair)
		return err_set(err, -ENOMEM, "out of memory");
	if (!equals || equals == pair)
		return err_set(err, -EINVAL, "'%.60s' is not RESOURCE=QUANTITY", pair);
	*equals = '\0';
	if (resource_list_find(&c->requests, pair))
		return err_set(err, -EINVAL, "%.60s is asked for twice", pair);
	r = pod_resource_parse(pair, equals + 1, &q, err);
	if (r < 0)
		return r;
	if (resource_list_set(&c->requests, pair, q) < 0 || resource_list_set(&c->limits, pair, q) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

static int add_shape(struct hints_config *config, const char *text, struct err *err)
{
	size_t len = strcspn(text, "=");
	struct hint_shape *shape;
	struct container_request *container;
	int r = 0;

	if (text[len] != '=' || !is_shape_name(text, len))
		return err_set(err, -EINVAL,
			"'%.60s' does not begin with a name and '=': small=cpu=4,memory=8Gi", text);
	for (size_t i = 0; i < config->n_shapes; i++)
		if (strlen(config->shapes[i].name) == len && !memcmp(config->shapes[i].name, text, len))
			return err_set(err, -EINVAL, "shape '%s' is there twice", config->shapes[i].name);
	shape = vec_push(&config->shapes, &config->n_shapes, &config->shapes_size, sizeof(*shape));
	if (!shape)
		return err_set(err, -ENOMEM, "out of memory");
	pod_request_init(&shape->pod);
	shape->name = strndup(text, len);
	container = shape->name ? pod_request_add(&shape->pod, CONTAINER_APP, "shape") : NULL;
	if (!container)
		return err_set(err, -ENOMEM, "out of memory");
	shape->pod.qos = QOS_GUARANTEED;
	for (const char *p = text + len; *p && r == 0;) {
		p++;
		len = strcspn(p, ",");
		r = add_amount(container, p, len, err);
		p += len;
	}
	return r < 0 ? err_wrap(err, r, "shape '%.60s'", shape->name) : 0;
}

int hints_config_read(const struct options *options, struct hints_config *ret, struct err *err)
{
	CLEANUP(hints_config_release) struct hints_config c = {0};
	const char *text;
	size_t pos = 0;

	c.strategy = (enum strategy)strategy_by_name(options->value[OPT_SHAPE_STRATEGY]);
	c.max_size = strtoul(options->value[OPT_FIT_HINTS_MAX], NULL, 10);
	c.labels = option_set(options, OPT_LABELS);
	while ((text = options_next(options, OPT_SHAPE, &pos))) {
		int r = add_shape(&c, text, err);

		if (r < 0)
			return err_wrap(err, r, "%s", options->origin[OPT_SHAPE]);
	}
	*ret = c;
	c = (struct hints_config){0};
	return 0;
}

/* ---- what the Node carries */

static int add_fit_hints(const struct hints_config *c, const struct fit_hints *h, const char *nrt_hash,
	struct doc *annotations, struct notes *notes)
{
	CLEANUP(doc_release) struct doc doc = DOC_INIT;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(c->max_size);
	struct err err = {""};
	int r = fit_hints_to_doc(h, nrt_hash, c->max_size, &doc, &err);

	if (r == -EFBIG) {
		notes_add(notes, "fit hints are left out: %s", err.text);
		return 0;
	}
	if (r == 0)
		r = json_print_compact(&doc, &text);
	if (r < 0)
		return r;
	return doc_add_string(annotations, FIT_HINTS_ANNOTATION, text.text) ? 0 : -ENOMEM;
}

static int add_scores(const struct hints_config *c, const struct fit_hints *h, struct doc *annotations)
{
	for (size_t i = 0; i < h->n_shapes; i++) {
		const struct shape_hint *shape = &h->shapes[i];
		int score = shape->scores[c->strategy];
		char key[128], text[16];

		if (shape->fit.verdict == FIT_UNKNOWN ||
			(shape->fit.verdict == FIT_FOUND && score == SCORE_UNKNOWN))
			continue;
		snprintf(key, sizeof(key), SCORE_PREFIX "%s", shape->name);
		snprintf(text, sizeof(text), "%d", shape->fit.verdict == FIT_NONE ? 0 : score);
		if (!doc_add_string(annotations, key, text))
			return -ENOMEM;
	}
	return 0;
}

/* The most CPUs that are free on some `n` NUMA nodes or fewer; false when the table does not tell. */
static bool cpus_on_nodes(const struct frontier *f, size_t cpu, unsigned n, size_t *ret)
{
	bool beyond = !f->truncated;
	qty_t most = 0;

	for (size_t i = 0; i < f->n_entries; i++) {
		if (f->entries[i].n_nodes > n)
			beyond = true;
		else if (frontier_amount(f, i, cpu) > most)
			most = frontier_amount(f, i, cpu);
	}
	*ret = (size_t)(most / QTY_UNIT);
	return beyond;
}

/* The largest number not above `most` that the kubelet would admit now. */
static bool largest_admitted(
	const struct exclusive_cpus *e, enum topology_manager_policy policy, size_t most, size_t *ret)
{
	const struct exclusive_cpus_admitted *a = &e->policies[policy];
	size_t best = 0;

	if (policy == TOPOLOGY_MANAGER_UNKNOWN || a->unknown.text[0])
		return false;
	if (policy == TOPOLOGY_MANAGER_NONE) {
		*ret = most - most % e->step;
		return true;
	}
	for (size_t i = 0; i < a->n_ranges; i++) {
		size_t last = a->ranges[i].last < most ? a->ranges[i].last : most;

		if (last >= a->ranges[i].first)
			best = last - (last - a->ranges[i].first) % e->step;
	}
	*ret = best;
	return true;
}

static int add_labels(const struct fit_hints *h, enum topology_manager_policy policy, struct doc *labels)
{
	int cpu = inventory_resource(h->inventory, "cpu");
	size_t most, n;

	if (cpu < 0 || !h->has_exclusive)
		return 0;
	for (unsigned i = 1; i <= h->inventory->n_nodes && i <= HINTS_MAX_NUMA_LABELS; i++) {
		char key[64], text[24];

		if (!cpus_on_nodes(&h->frontier, (size_t)cpu, i, &most) ||
			!largest_admitted(&h->exclusive, policy, most, &n))
			continue;
		snprintf(key, sizeof(key), LABEL_PREFIX "%u-numa", i);
		snprintf(text, sizeof(text), "%zu", n);
		if (!doc_add_string(labels, key, text))
			return -ENOMEM;
	}
	return 0;
}

static int compute(const struct hints_config *c, const struct observation *o,
	const struct device_inventory *devices, struct fit_hints *ret)
{
	CLEANUP(freep) struct request_shape *shapes = calloc(c->n_shapes + 1, sizeof(*shapes));
	const struct kubelet_node kubelet = {
		.machine = &o->machine,
		.settings = &o->settings,
		.shared = model_shared_pool(&o->machine, &o->allocations),
		.reserved = o->reserved.cpus,
		.memory = o->allocations.memory_known ? &o->allocations.memory : NULL,
		.devices = devices,
	};
	const struct fit_hints_input input = {
		.inventory = &o->inventory,
		.kubelet = &kubelet,
		.shapes = shapes,
		.n_shapes = c->n_shapes,
		.limits = {.entries = FRONTIER_MAX_ENTRIES, .work = FRONTIER_WORK_LIMIT},
	};

	if (!shapes)
		return -ENOMEM;
	for (size_t i = 0; i < c->n_shapes; i++)
		shapes[i] = (struct request_shape){.name = c->shapes[i].name, .pod = &c->shapes[i].pod};
	return fit_hints_init(ret, &input);
}

int hints_make(const struct hints_config *c, const struct observation *o, const char *nrt_hash,
	struct doc *ret_annotations, struct doc *ret_labels, struct notes *notes)
{
	CLEANUP(doc_release) struct doc annotations = {.kind = DOC_MAP};
	CLEANUP(doc_release) struct doc labels = {.kind = DOC_MAP};
	CLEANUP(device_inventory_release) struct device_inventory devices = {0};
	struct fit_hints h;
	int r = fit_devices_make(&o->allocations, &devices);

	if (r == 0)
		r = compute(c, o, &devices, &h);
	if (r == 0) {
		r = add_fit_hints(c, &h, nrt_hash, &annotations, notes);
		if (r == 0)
			r = add_scores(c, &h, &annotations);
		if (r == 0 && c->labels)
			r = add_labels(&h, o->settings.topology.policy, &labels);
		fit_hints_release(&h);
	} else if (r == -E2BIG) {
		notes_add(notes, "fit hints are left out: %zu NUMA nodes are too many", o->inventory.n_nodes);
		r = 0;
	}
	if (r < 0)
		return r;
	*ret_annotations = annotations;
	*ret_labels = labels;
	annotations = labels = (struct doc)DOC_INIT;
	return 0;
}
