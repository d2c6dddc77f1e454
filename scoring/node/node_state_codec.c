/* SPDX-License-Identifier: Apache-2.0 */
#include "scoring/node/node_state_codec.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/cpuset.h"
#include "common/vec.h"
#include "common/xalloc.h"
#include "scoring/node/node_state_sections.h"

#define VERSION 1

static const struct node_state_section *const all_sections[] = {node_state_settings_sections,
	node_state_machine_sections, node_state_held_sections, node_state_pods_sections,
	node_state_pci_sections};

/* ---- printing */

static void printer_release(struct node_state_printer *p)
{
	strv_release(&p->types);
	strv_release(&p->resources);
	free(p->printed);
	device_index_release(&p->registered);
	device_index_release(&p->held);
}

static void collect_printed_types(const struct node_state *s, struct strv *types)
{
	const struct allocations *a = &s->allocations;

	for (size_t i = 0; i < a->memory.n_nodes && a->memory_known; i++)
		for (size_t t = 0; t < a->memory.nodes[i].n_tables; t++)
			strv_push_new(types, a->memory.nodes[i].tables[t].type);
	for (size_t i = 0; i < a->n_items; i++)
		for (size_t b = 0; b < a->items[i].n_memory; b++)
			strv_push_new(types, a->items[i].memory[b].type);
	for (size_t i = 0; i < s->claims.n_items; i++)
		for (size_t b = 0; b < s->claims.items[i].n_memory; b++)
			strv_push_new(types, s->claims.items[i].memory[b].type);
	for (size_t i = 0; i < s->settings.n_memory_reservations; i++)
		strv_push_new(types, s->settings.memory_reservations[i].type);
	strv_sort(types);
}

static void add_device_resources(const struct device_index *index, struct strv *resources)
{
	for (size_t i = 0; i < index->n_items; i++)
		if (i == 0 ||
			strcmp(index->items[i].block->resource, index->items[i - 1].block->resource) != 0)
			strv_push_new(resources, index->items[i].block->resource);
}

/* Keep only held devices that are not registered. */
static void remove_registered(const struct device_index *registered, struct device_index *held)
{
	size_t kept = 0;

	for (size_t i = 0; i < held->n_items; i++)
		if (!device_index_find(registered, held->items[i].block->resource, held->items[i].id))
			held->items[kept++] = held->items[i];
	held->n_items = kept;
}

/* Returns the number of devices of `resource`, which begin at *at, and moves *at after them. The index is sorted by resource. */
static size_t skip_devices(
	const struct device_index *index, const char *resource, size_t *at, size_t *ret_first)
{
	*ret_first = *at;
	while (*at < index->n_items && !strcmp(index->items[*at].block->resource, resource))
		++*at;
	return *at - *ret_first;
}

static void collect_devices(struct node_state_printer *p)
{
	size_t at = 0, at_held = 0; /* behind the devices of the resources before */

	device_index_registered(&p->state->allocations, &p->registered);
	device_index_held(&p->state->allocations, &p->held);
	remove_registered(&p->registered, &p->held);
	add_device_resources(&p->registered, &p->resources);
	add_device_resources(&p->held, &p->resources);
	strv_sort(&p->resources);
	p->printed = xcalloc(p->resources.n_items + 1, sizeof(*p->printed));
	for (size_t i = 0; i < p->resources.n_items; i++) {
		struct printed_resource *d = &p->printed[i];
		const char *name = p->resources.items[i];

		d->n = skip_devices(&p->registered, name, &at, &d->first);
		d->n_held_only = skip_devices(&p->held, name, &at_held, &d->first_held_only);
	}
}

/* Removes the section's name again if the section is omitted. */
static void print_section(const struct node_state_printer *p, const struct node_state_section *section)
{
	struct strbuf *out = p->out;
	size_t len = out->len;

	strbuf_addf(out, ";%s=", section->name);
	if (!section->print(p) && !out->error) {
		out->len = len;
		out->text[len] = '\0';
	}
}

int node_state_print(const struct node_state *state, struct strbuf *out)
{
	CLEANUP(printer_release) struct node_state_printer p = {.state = state, .out = out};
	size_t start = out->len;

	collect_printed_types(state, &p.types);
	collect_devices(&p);
	strbuf_addf(out, "%d", VERSION);
	for (size_t i = 0; i < ARRAY_SIZE(all_sections); i++)
		for (const struct node_state_section *s = all_sections[i]; s->name && !out->error; s++)
			print_section(&p, s);
	if (out->len - start > NODE_STATE_TEXT_MAX || p.types.n_items > NODE_STATE_MAX_TYPES ||
		p.resources.n_items > NODE_STATE_MAX_RESOURCES)
		return -EFBIG;
	return strbuf_error(out);
}

/* ---- parsing */

static void parser_release(struct node_state_parser *p)
{
	node_state_release(&p->state);
	hwloc_bitmap_free(p->reserved);
	free(p->page_bytes);
	strv_release(&p->types);
	strv_release(&p->resources);
	free(p->first_device);
	free(p->run_of);
	for (size_t i = 0; i < p->n_runs; i++)
		hwloc_bitmap_free(p->runs[i].nodes);
	free(p->runs);
}

/* A text of an older version than VERSION does not exist. */
static int check_version(struct token_reader *r)
{
	uint64_t version = token_reader_number(r, UINT64_MAX);

	if (!r->error && version > VERSION)
		return err_set(r->err, -ENOTSUP,
			"the node state is of version %" PRIu64 ", this nrtd reads version %d", version,
			VERSION);
	if (version != VERSION)
		token_reader_fail(r, "no version");
	return r->error;
}

/* Bytes of the section name at `text`, 0 if there is none. */
static size_t section_name_length(const char *text)
{
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz-");

	return text[len] == '=' ? len : 0;
}

/* Whether the name at `text`, which may begin with '?', is that of a section. */
static bool is_known_section(const char *text)
{
	size_t marker = *text == '?' ? 1 : 0;
	size_t len = marker + section_name_length(text + marker);

	for (size_t i = 0; i < ARRAY_SIZE(all_sections); i++)
		for (const struct node_state_section *s = all_sections[i]; s->name; s++)
			if (strlen(s->name) == len && !strncmp(s->name, text, len))
				return true;
	return false;
}

/* A '?' marks sections that decide nothing about admission. Skip those of newer versions. */
static void skip_marked_sections(struct token_reader *r)
{
	r->section = "optional";
	while (!r->error && r->at[0] == ';' && r->at[1] == '?' && !is_known_section(r->at + 1)) {
		size_t len = section_name_length(r->at + 2);

		if (len == 0)
			token_reader_fail(r, "the name is missing");
		else
			r->at += 3 + len + strcspn(r->at + 3 + len, ";");
	}
}

static void parse_section(struct node_state_parser *p, const struct node_state_section *section)
{
	struct token_reader *r = &p->reader;
	size_t len = strlen(section->name);

	skip_marked_sections(r);
	if (r->error)
		return;
	r->section = section->name;
	if (*r->at == ';' && !strncmp(r->at + 1, section->name, len) && r->at[len + 1] == '=') {
		r->at += len + 2;
		section->parse(p);
	} else if (section->required) {
		token_reader_fail(r, "the section is missing");
	}
	if (*r->at && *r->at != ';')
		token_reader_fail(r, "text after the value");
}

static int parse_all(struct node_state_parser *p)
{
	struct token_reader *r = &p->reader;

	for (size_t i = 0; i < ARRAY_SIZE(all_sections); i++) {
		for (const struct node_state_section *s = all_sections[i]; s->name && !r->error; s++)
			parse_section(p, s);
		if (all_sections[i] == node_state_machine_sections)
			node_state_finish_machine(p); /* later sections need the whole machine */
	}
	skip_marked_sections(r);
	r->section = "end";
	/* A section of a newer version that decides about admission. */
	if (!r->error && *r->at == ';' && section_name_length(r->at + 1) > 0 && !is_known_section(r->at + 1))
		return err_set(r->err, -ENOTSUP, "the section '%.*s' is not known",
			(int)section_name_length(r->at + 1), r->at + 1);
	if (*r->at)
		token_reader_fail(r, "an unknown section, or one that is out of order");
	node_state_finish_shared(p);
	/* The CPUs that a running kubelet may give to containers: all but its reserved CPUs. */
	if (!r->error && p->reserved) {
		hwloc_bitmap_t *set = &p->state.allocatable_cpus;

		*set = machine_counted_cpus(&p->state.machine);
		cpuset_andnot(*set, *set, p->reserved);
	}
	return r->error;
}

int node_state_parse(const char *text, struct node_state *ret, struct err *err)
{
	CLEANUP(parser_release)
	struct node_state_parser p = {.reader = {.start = text, .at = text, .section = "start", .err = err}};
	int r;

	node_state_init(&p.state);
	node_state_know_all(&p);
	if (strnlen(text, NODE_STATE_TEXT_MAX + 1) > NODE_STATE_TEXT_MAX)
		return err_set(err, -EINVAL, "the node state is longer than %u bytes", NODE_STATE_TEXT_MAX);
	r = check_version(&p.reader);
	if (r < 0)
		return r;
	r = parse_all(&p);
	if (r < 0)
		return r;
	*ret = p.state;
	node_state_init(&p.state);
	return 0;
}

static const char *find_nrt_attribute(const struct doc *nrt, const char *wanted)
{
	return doc_string(doc_get(doc_find_named(doc_get(nrt, "attributes"), wanted), "value"));
}

const char *nrt_content_hash(const struct doc *nrt)
{
	return find_nrt_attribute(nrt, NRT_CONTENT_HASH);
}

const char *nrt_node_state(const struct doc *nrt)
{
	return find_nrt_attribute(nrt, NODE_STATE_ATTRIBUTE);
}
