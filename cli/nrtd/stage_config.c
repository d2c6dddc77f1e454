/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/nrtd/stage_config.h"

#include <errno.h>

#include "agent/observe/kubelet_config.h"
#include "cli/opts_check.h"
#include "cluster/objects/pod_parse.h"
#include "common/cleanup.h"
#include "common/vec.h"
#include "common/xalloc.h"

/* At most two publications of changes per second. A burst of two covers both ends of an admission. */
#define CHANGE_INTERVAL_MS 550u /* with the burst, 20 publications in 10 s */
#define CHANGE_BURST       2u
/* An annotation's name has at most 63 bytes after the slash. */
#define SHAPE_NAME_MAX (63u - (sizeof("fit-score.") - 1))

/* ---- observe */

struct observe_config stage_observe(const struct options *options)
{
	const struct command_def *every = NULL;
	const char *release = options->value[OPT_KUBELET_VERSION];
	struct observe_config c = {.sysroot = options->value[OPT_SYSROOT],
		.machine_xml = options->value[OPT_MACHINE],
		.node_name = options->value[OPT_NODE_NAME],
		.settings = {.kubelet_config = options->value[OPT_KUBELET_CONFIG],
			.kubelet_root = options->value[OPT_KUBELET_ROOT],
			.proc = options->value[OPT_PROC]},
		.pod_resources = options->value[OPT_POD_RESOURCES],
		.pod_resources_named = options->origin[OPT_POD_RESOURCES] != NULL,
		.pods_api = options->value[OPT_PODS_API],
		.pods_api_named = options->origin[OPT_PODS_API] != NULL,
		.state_files = strcmp(options->value[OPT_STATE_FILES], "none") != 0,
		.cdi_dir = option_is(options, OPT_CDI_DIR, "none") ? NULL : options->value[OPT_CDI_DIR],
		.cgroup = option_is(options, OPT_CGROUP, "none") ? NULL : options->value[OPT_CGROUP]};

	if (c.machine_xml)
		c.cgroup = NULL; /* the cgroups are of this machine */

	/* A flag that has the name of a flag of the kubelet overrides the setting. */
	FOREACH_OPTION (def, options->program, every) {
		int what = kubelet_config_find_flag(def->flag + 2, strlen(def->flag + 2));

		if (what < 0)
			continue;
		c.settings.settings[what].value = options->value[def->id];
		c.settings.settings[what].from = options->origin[def->id];
	}
	if (release)
		kubelet_release_parse(release, &c.kubelet, NULL); /* checked with the flags */
	return c;
}

/* ---- derive */

static size_t list_values(
	const struct options *options, enum option_id id, const char *ret[OPTIONS_MAX_REPEATED])
{
	const char *value;
	size_t pos = 0, n = 0;

	while (n < OPTIONS_MAX_REPEATED && (value = options_next(options, id, &pos)))
		ret[n++] = value;
	return n;
}

struct derive_config stage_derive(const struct options *options, struct stage_lists *lists)
{
	return (struct derive_config){.reserved_named = option_set(options, OPT_RESERVED_CPUS),
		.filter = {.resources = lists->excluded,
			.n_resources = list_values(options, OPT_EXCLUDE_RESOURCES, lists->excluded),
			.namespaces = lists->namespaces,
			.n_namespaces = list_values(options, OPT_NAMESPACE, lists->namespaces),
			.namespaces_from = options->origin[OPT_NAMESPACE]}};
}

/* ---- render */

struct nrt_config stage_nrt(const struct options *options)
{
	const char *policies = options->value[OPT_DEPRECATED_POLICIES];
	const char *state = options->value[OPT_NODE_STATE];
	const char *koordinator = options->value[OPT_KOORDINATOR];
	int method = settings_name_index(
		fingerprint_method_names, FINGERPRINT_METHOD_COUNT, options->value[OPT_FINGERPRINT]);

	return (struct nrt_config){
		/* -1 is "none", because settings_name_index() skips the first name. */
		.fingerprint = method < 0 ? FINGERPRINT_NONE : (enum fingerprint_method)method,
		.deprecated_policies = !policies || !strcmp(policies, "on"),
		.node_state = !state || !strcmp(state, "on"),
		.koordinator = koordinator && !strcmp(koordinator, "on"),
		.pcie_roots = option_is(options, OPT_PCIE_ROOTS, "on"),
	};
}

/* One "RESOURCE=QUANTITY" of `len` bytes. */
static int add_amount(struct container_request *c, const char *text, size_t len, struct err *err)
{
	CLEANUP(freep) char *pair = xstrndup(text, len);
	char *equals = pair ? strchr(pair, '=') : NULL;
	struct quantity q;
	int r;

	if (!equals || equals == pair)
		return err_set(err, -EINVAL, "'%.60s' is not RESOURCE=QUANTITY", pair);
	*equals = '\0';
	if (resource_list_find(&c->requests, pair))
		return err_set(err, -EINVAL, "%.60s is requested twice", pair);
	r = pod_resource_parse(pair, equals + 1, &q, err);
	if (r < 0)
		return r;
	resource_list_set(&c->requests, pair, q);
	resource_list_set(&c->limits, pair, q);
	return 0;
}

static int add_shape(struct hints_config *config, const char *text, struct err *err)
{
	size_t len = strcspn(text, "=");
	struct hint_shape *shape;
	struct container_request *container;
	int r = 0;

	if (text[len] != '=' || len > SHAPE_NAME_MAX || !text_is_label_name(text, len))
		return err_set(err, -EINVAL,
			"'%.60s' is not of the form NAME=REQUEST, for example small=cpu=4,memory=8Gi", text);
	for (size_t i = 0; i < config->n_shapes; i++)
		if (strlen(config->shapes[i].name) == len && !memcmp(config->shapes[i].name, text, len))
			return err_set(err, -EINVAL, "shape '%s' appears twice", config->shapes[i].name);
	shape = vec_push(&config->shapes, &config->n_shapes, &config->shapes_size, sizeof(*shape));
	pod_request_init(&shape->pod);
	shape->name = xstrndup(text, len);
	container = shape->name ? pod_request_add(&shape->pod, CONTAINER_APP, "shape") : NULL;
	shape->pod.qos = QOS_GUARANTEED;
	for (const char *p = text + len; *p && r == 0;) {
		p++;
		len = strcspn(p, ",");
		r = add_amount(container, p, len, err);
		p += len;
	}
	return r < 0 ? err_wrap(err, r, "shape '%.60s'", shape->name) : 0;
}

int stage_hints(const struct options *options, struct hints_config *ret, struct err *err)
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

int stage_render(const struct options *options, struct render_config *ret, struct err *err)
{
	ret->nrt = stage_nrt(options);
	ret->others_nrt = !option_is(options, OPT_COEXIST, "none");
	if (ret->others_nrt && option_is(options, OPT_KOORDINATOR, "on"))
		return err_set(err, -EINVAL,
			"--koordinator=on writes annotations of the object that --coexist=%s leaves to another program: set one of them",
			options->value[OPT_COEXIST]);
	ret->numatopology =
		option_is(options, OPT_NUMATOPOLOGY, "on") || option_is(options, OPT_NUMATOPOLOGY, "auto");
	ret->kai = option_is(options, OPT_KAI, "on");
	return stage_hints(options, &ret->hints, err);
}

/* ---- publish */

struct publish_config stage_publish(const struct options *options)
{
	return (struct publish_config){.credentials = {.api_server = options->value[OPT_API_SERVER],
					       .kubeconfig = options->value[OPT_KUBECONFIG],
					       .context = options->value[OPT_CONTEXT]},
		.refresh_ms = option_ms(options, OPT_REFRESH),
		.node_interval_ms = option_ms(options, OPT_NODE_WRITE_INTERVAL),
		.node_burst = (unsigned)strtoul(options->value[OPT_NODE_WRITE_BURST], NULL, 10),
		.events = option_set(options, OPT_EVENTS) && option_ms(options, OPT_EVENTS) > 0,
		.numatopology_if_served = option_is(options, OPT_NUMATOPOLOGY, "auto"),
		.keep_taint = option_is(options, OPT_STARTUP_TAINT, "keep")};
}

/* ---- daemon */

int stage_daemon(const struct options *options, struct loop_config *ret, struct err *err)
{
	int r = http_listen_parse(options->value[OPT_HTTP], &ret->http, err);

	if (r < 0)
		return r;
	ret->coalesce_ms = option_ms(options, OPT_COALESCE);
	ret->changes = (struct budget){.interval_ms = CHANGE_INTERVAL_MS, .burst = CHANGE_BURST};
	ret->poll_ms = option_ms(options, OPT_POLL);
	return 0;
}

/* ---- check */

struct check_config stage_check(const struct options *options, struct stage_lists *lists)
{
	return (struct check_config){.observe = stage_observe(options),
		.derive = stage_derive(options, lists),
		.nrt = stage_nrt(options),
		.others_nrt = !option_is(options, OPT_COEXIST, "none"),
		.numatopology = option_is(options, OPT_NUMATOPOLOGY, "on"),
		.kai = option_is(options, OPT_KAI, "on"),
		.keep_taint = option_is(options, OPT_STARTUP_TAINT, "keep"),
		.credentials = stage_publish(options).credentials};
}
