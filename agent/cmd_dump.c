/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/commands.h"

#include <errno.h>

#include "agent/hints.h"
#include "agent/inventory_doc.h"
#include "agent/json.h"
#include "agent/machine_doc.h"
#include "agent/nrt.h"
#include "agent/observe.h"
#include "agent/output.h"
#include "agent/render.h"
#include "agent/settings_text.h"
#include "agent/yaml.h"
#include "common/cleanup.h"
#include "common/log.h"

#define DUMP_MAX (256u << 20)

static void log_notes(const struct notes *notes)
{
	for (size_t i = 0; i < notes->n_lines; i++)
		log_warning("%s", notes->lines[i]);
}

void command_log_settings(const struct settings *s)
{
	for (enum setting what = 0; what < SETTING_COUNT; what++) {
		CLEANUP(freep) char *value = s->from[what] ? settings_text(s, what) : NULL;

		if (value)
			log_info("setting %s='%s' from='%s'", setting_names[what], value, s->from[what]);
		else
			log_info("setting %s is unknown", setting_names[what]);
	}
}

static int add_copy(const struct doc *from, const char *key, struct doc *to)
{
	struct doc *child = doc_add(to, key);
	char *own = child ? child->key : NULL;
	int r = child ? doc_copy(from, child) : -ENOMEM;

	if (child)
		child->key = own;
	return r;
}

/* What the Node is to carry. */
static int render_hints(const struct options *options, struct observation *o, struct doc *ret)
{
	CLEANUP(hints_config_release) struct hints_config config = {0};
	CLEANUP(doc_release) struct doc nrt = DOC_INIT;
	CLEANUP(doc_release) struct doc annotations = DOC_INIT;
	CLEANUP(doc_release) struct doc labels = DOC_INIT;
	struct err err = {""};
	int r = hints_config_read(options, &config, &err);

	if (r < 0) {
		log_error("%s", err.text);
		return r;
	}
	r = render_nrt(options, o, &nrt, &o->notes);
	if (r == 0)
		r = hints_make(&config, o, nrt_content_hash(&nrt), &annotations, &labels, &o->notes);
	if (r < 0)
		return r;
	ret->kind = DOC_MAP;
	r = add_copy(&annotations, "annotations", ret);
	return r < 0 ? r : add_copy(&labels, "labels", ret);
}

static int render(const struct options *options, struct observation *o, struct doc *ret)
{
	const char *what = options->value[OPT_WHAT];

	if (!strcmp(what, "machine"))
		return machine_to_doc(&o->machine, ret);
	if (!strcmp(what, "inventory"))
		return inventory_to_doc(o, ret);
	return !strcmp(what, "hints") ? render_hints(options, o, ret)
				      : render_nrt(options, o, ret, &o->notes);
}

static int print(const struct options *options, const struct doc *doc)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(DUMP_MAX);
	bool json = !strcmp(options->value[OPT_OUTPUT], "json");
	int r = json ? json_print(doc, &text) : yaml_print(doc, &text);

	return r < 0 ? r : output_write(text.text, text.len);
}

int command_dump(const struct options *options)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(doc_release) struct doc doc = DOC_INIT;
	struct err err = {""};
	int r;

	observation_init(&o);
	r = observe(options, &o, &err);
	if (r < 0) {
		log_error("%s", err.text);
		return EXIT_FAILURE;
	}
	r = render(options, &o, &doc);
	log_notes(&o.notes);
	command_log_settings(&o.settings);
	if (r == 0)
		r = print(options, &doc);
	if (r < 0) {
		log_error("cannot print: %s", strerror(-r));
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}
