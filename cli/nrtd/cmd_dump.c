/* SPDX-License-Identifier: Apache-2.0 */
/* nrtd dump: prints this node's object, or the result of an intermediate stage. */
#include "cli/commands.h"

#include <errno.h>

#include "agent/publish/pod_annotations.h"
#include "agent/render/dump_doc.h"
#include "agent/render/render.h"
#include "cli/nrtd/observe_local.h"
#include "cli/nrtd/stage_config.h"
#include "cli/report/writer.h"
#include "common/cleanup.h"
#include "common/io/fs.h"
#include "common/log.h"
#include "common/settings.h"
#include "common/settings_table.h"
#include "scoring/node/node_state_codec.h"

#define DUMP_MAX (256u << 20)

void command_log_settings(const struct settings *s)
{
	for (enum setting i = 0; i < SETTING_COUNT; i++) {
		CLEANUP(freep) char *value = s->from[i] ? settings_text(s, i) : NULL;

		if (value)
			log_info("setting %s='%s' from='%s'", settings_table[i].name, value, s->from[i]);
		else
			log_info("setting %s is unknown", settings_table[i].name);
	}
}

static void add_copy(const struct doc *from, const char *key, struct doc *to)
{
	struct doc *child = doc_add(to, key);
	char *own = child->key;

	doc_copy(from, child);
	child->key = own;
}

/* Renders the annotations and labels of the Node; the annotations contain the hash of the NodeResourceTopology object. */
static int render_hints(
	const struct options *options, struct observation *o, struct doc *ret, struct err *err)
{
	CLEANUP(hints_config_release) struct hints_config config = {0};
	const struct nrt_config object_config = stage_nrt(options);
	CLEANUP(doc_release) struct doc nrt = DOC_INIT;
	CLEANUP(doc_release) struct doc annotations = DOC_INIT;
	CLEANUP(doc_release) struct doc labels = DOC_INIT;
	int r = stage_hints(options, &config, err);

	if (r < 0)
		return r;
	nrt_render(&o->node, &object_config, &nrt, &o->notes);
	hints_make(&config, &o->node, nrt_content_hash(&nrt), &annotations, &labels, &o->notes, NULL);
	ret->kind = DOC_MAP;
	add_copy(&annotations, "annotations", ret);
	add_copy(&labels, "labels", ret);
	return 0;
}

static void render_kai(struct observation *o, struct doc *ret)
{
	CLEANUP(kai_pods_release) struct kai_pods pods = {0};
	struct doc *items;

	kai_render(&o->node, &pods, &o->notes);
	ret->kind = DOC_MAP;
	doc_add_string(ret, "apiVersion", "v1");
	doc_add_string(ret, "kind", "List");
	items = doc_add_list(ret, "items");
	for (size_t i = 0; i < pods.n_items; i++)
		pod_annotation_object(&pods.items[i], doc_add_map(items, NULL));
}

static int render_stage(
	const struct options *options, struct observation *o, struct doc *ret, struct err *err)
{
	const struct nrt_config object_config = stage_nrt(options);
	const char *what = options->value[OPT_WHAT];

	if (!strcmp(what, "machine")) {
		machine_to_doc(&o->node.machine, ret);
		return 0;
	}
	if (!strcmp(what, "inventory")) {
		inventory_to_doc(o, ret);
		return 0;
	}
	if (!strcmp(what, "pods")) {
		observe_pod_memory(options, o, &o->notes);
		pods_to_doc(o, ret);
		return 0;
	}
	if (!strcmp(what, "numatopology")) {
		numatopology_render(&o->node, ret, &o->notes);
		numatopology_remove_pods(ret); /* CRDs before Volcano 1.16 have the other members only */
		return 0;
	}
	if (!strcmp(what, "kai")) {
		render_kai(o, ret);
		return 0;
	}
	if (!strcmp(what, "hints"))
		return render_hints(options, o, ret, err);
	nrt_render(&o->node, &object_config, ret, &o->notes);
	return 0;
}

int command_dump(const struct options *options)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(DUMP_MAX);
	CLEANUP(writer_release) struct writer w;
	struct err err = {""};
	int r;

	observation_init(&o);
	writer_init(&w, options->value[OPT_OUTPUT], true, &text);
	r = observe_local(options, &o, &err);
	if (r == 0)
		r = render_stage(options, &o, &w.doc, &err);
	if (r < 0) {
		log_error("%s", err.text);
		return EXIT_FAILURE;
	}
	log_notes(&o.notes);
	command_log_settings(&o.node.settings);
	return print_text(writer_finish(&w), &text) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
