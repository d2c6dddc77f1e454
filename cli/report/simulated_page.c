/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/simulated_page.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/report/html.h"
#include "cli/report/show.h"
#include "scoring/node/node_derive.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "common/xalloc.h"

#define TEXT_MAX_BYTES (1u << 20) /* of a cell */
#define OPEN_MAX       16         /* nodes whose pictures are shown at once */

struct page {
	const struct simulated_cluster *c;
	const struct simulated_pictures *before;
	const char *pool_label;
	bool *drawn; /* per node of the cluster: a list names the node */
	struct strbuf *out;
};

/* ---- texts of a document */

/* "onMoreNumaNodes" as "on more NUMA nodes". */
static void add_words(struct strbuf *out, const char *key)
{
	for (const char *at = key; *at; at++) {
		if (isupper((unsigned char)*at) && at > key)
			strbuf_addch(out, ' ');
		if (!strncasecmp(at, "numa", 4)) {
			strbuf_addstr(out, "NUMA");
			at += 3;
			continue;
		}
		strbuf_addch(out, isupper((unsigned char)*at) ? (char)(*at - 'A' + 'a') : *at);
	}
}

/* A value as the text of a cell: the scalars of maps and lists one after the other. */
static void add_value(struct strbuf *out, const struct doc *value)
{
	if (value->kind != DOC_MAP && value->kind != DOC_LIST) {
		strbuf_addstr(out, value->kind == DOC_NULL ? "-" : value->text);
		return;
	}
	for (size_t i = 0; i < value->n_items; i++) {
		const struct doc *item = &value->items[i];

		if (i > 0)
			strbuf_addstr(out, value->kind == DOC_LIST ? "; " : ", ");
		if (item->key) {
			add_words(out, item->key);
			strbuf_addch(out, ' ');
		}
		add_value(out, item);
	}
	if (value->n_items == 0)
		strbuf_addch(out, '-');
}

static void add_words_element(struct page *p, const char *element, const char *key)
{
	CLEANUP(strbuf_release) struct strbuf words = STRBUF_INIT(TEXT_MAX_BYTES);

	add_words(&words, key);
	html_text(p->out, element, NULL, words.text);
}

static void add_cell(struct page *p, const struct doc *value)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX_BYTES);

	add_value(&text, value);
	html_text(p->out, "td", value->kind == DOC_NUMBER ? "number" : NULL, text.text);
}

/* ---- nodes */

static const char *pool_of(const struct page *p, size_t node)
{
	const struct doc *labels = doc_get(doc_get(&p->c->nodes[node].node, "metadata"), "labels");

	return doc_text(labels, p->pool_label);
}

/* Begins the row of an item: the filter's name is all texts of the row, its pool that of the row's last node. */
static void begin_row(struct page *p, const struct doc *item)
{
	static const char *const keys[] = {"node", "from", "to"};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX_BYTES);
	const char *pool = "";

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const char *name = doc_text(item, keys[i]);
		size_t node = *name ? simulated_cluster_find(p->c, name) : SIZE_MAX;

		if (node == SIZE_MAX)
			continue;
		p->drawn[node] = true;
		pool = pool_of(p, node);
	}
	add_value(&text, item);
	html_item(p->out, "tr", NULL, text.text, pool, false);
}

/* ---- the tables */

static void add_list(struct page *p, const struct doc *list)
{
	const struct doc *first = list->items;

	if (list->n_items == 0 || first->kind != DOC_MAP)
		return;
	add_words_element(p, "h2", list->key);
	strbuf_addstr(p->out, "<div class=\"p-wide\"><table>\n<thead><tr>");
	for (size_t i = 0; i < first->n_items; i++)
		add_words_element(p, "th", first->items[i].key);
	strbuf_addstr(p->out, "</tr></thead>\n<tbody>\n");
	for (size_t i = 0; i < list->n_items; i++) {
		begin_row(p, &list->items[i]);
		for (size_t k = 0; k < list->items[i].n_items; k++)
			add_cell(p, &list->items[i].items[k]);
		strbuf_addstr(p->out, "</tr>\n");
	}
	strbuf_addstr(p->out, "</tbody></table></div>\n");
}

/* A row for each member that is no list. */
static void add_members(struct page *p, const struct doc *map)
{
	strbuf_addstr(p->out, "<table>\n<tbody>\n");
	for (size_t i = 0; i < map->n_items; i++) {
		const struct doc *member = &map->items[i];

		if (member->kind == DOC_LIST || (member->kind == DOC_MAP && member->n_items == 0))
			continue;
		strbuf_addstr(p->out, "<tr>");
		add_words_element(p, "th", member->key);
		add_cell(p, member);
		strbuf_addstr(p->out, "</tr>\n");
	}
	strbuf_addstr(p->out, "</tbody></table>\n");
}

/* ---- the pictures */

/* The node's pods with the names of their objects. Borrows from the state and the cluster. */
static struct allocation *name_pods(
	const struct simulated_cluster *c, const struct simulated_node *node, const struct allocations *a)
{
	struct allocation *items = xcalloc(a->n_items + 1, sizeof(*items));

	for (size_t i = 0; i < a->n_items; i++) {
		items[i] = a->items[i];
		for (size_t k = 0; k < node->n_pods; k++) {
			const struct simulated_pod *pod = &c->pods[node->pods[k]];

			if (!pod_names_match(&pod->names, &items[i]))
				continue;
			items[i].namespace = pod->namespace;
			items[i].pod = pod->name;
		}
	}
	return items;
}

static void draw(const struct simulated_cluster *c, const struct simulated_node *node, struct strbuf *out)
{
	CLEANUP(notes_release) struct notes notes = {0};
	CLEANUP(show_view_release) struct show_view view;
	CLEANUP(inventory_release) struct inventory inventory;
	CLEANUP(freep) struct allocation *items = name_pods(c, node, &node->state.allocations);
	struct node_state state = node->state; /* borrows everything but the inventory and the items */

	inventory_init(&inventory);
	node_derive_inventory(&node->state, &inventory, &notes);
	state.inventory = inventory;
	state.allocations.items = items;
	show_view_init(&view);
	show_view(&state, &notes, &view);
	show_svg_inline(&view, SHOW_SVG_WIDTH, out);
}

void simulated_pictures_release(struct simulated_pictures *p)
{
	name_table_release(&p->by_node);
	strv_release(&p->nodes);
	strv_release(&p->pictures);
}

void simulated_pictures_draw(const struct simulated_cluster *c, struct simulated_pictures *ret)
{
	size_t bytes = 0;

	for (size_t i = 0; i < c->n_nodes && bytes < SIMULATED_PICTURES_MAX / 2; i++) {
		CLEANUP(strbuf_release) struct strbuf svg = STRBUF_INIT(SIMULATED_PICTURES_MAX);

		if (c->nodes[i].obstacle != SIMULATED_NO_OBSTACLE)
			continue;
		draw(c, &c->nodes[i], &svg);
		bytes += svg.len;
		strv_push(&ret->nodes, c->nodes[i].name);
		strv_push(&ret->pictures, svg.text);
	}
	for (size_t i = 0; i < ret->nodes.n_items; i++)
		name_table_add_index(&ret->by_node, ret->nodes.items[i], i);
}

/* `before` NULL = omitted. */
static void add_node(struct page *p, size_t node, const char *before, bool open)
{
	html_item(p->out, open ? "details open" : "details", NULL, p->c->nodes[node].name, pool_of(p, node),
		false);
	strbuf_addstr(p->out, "<summary>");
	html_text(p->out, "b", NULL, p->c->nodes[node].name);
	strbuf_addch(p->out, ' ');
	svg_escape(p->out, pool_of(p, node));
	strbuf_addstr(p->out, "</summary>\n");
	if (before) {
		html_text(p->out, "p", "note", "before");
		strbuf_addstr(p->out, before);
		html_text(p->out, "p", "note", "after");
	}
}

static void add_pictures(struct page *p)
{
	size_t begin = p->out->len, n = 0, at;
	bool any = false;

	for (size_t i = 0; i < p->c->n_nodes; i++)
		n += p->drawn[i];
	for (size_t i = 0; i < p->c->n_nodes; i++) {
		if (!p->drawn[i] || p->c->nodes[i].obstacle != SIMULATED_NO_OBSTACLE)
			continue;
		if (!any) {
			html_text(p->out, "h2", NULL, "The nodes before and after");
			html_pictures(p->out);
		}
		any = true;
		at = name_table_find_index(&p->before->by_node, p->c->nodes[i].name);
		add_node(p, i, at == SIZE_MAX ? NULL : p->before->pictures.items[at], n <= OPEN_MAX);
		if (p->out->len - begin < SIMULATED_PICTURES_MAX)
			draw(p->c, &p->c->nodes[i], p->out);
		else
			html_text(p->out, "p", "note", "the picture is omitted: the page would be too large");
		strbuf_addstr(p->out, "</details>\n");
	}
}

/* ---- the page */

int simulated_page(const char *title, const struct doc *report, const struct simulated_pictures *before,
	const struct simulated_cluster *c, const char *pool_label, struct strbuf *out)
{
	CLEANUP(freep) bool *drawn = xcalloc(c->n_nodes + 1, sizeof(*drawn));
	CLEANUP(strv_release) struct strv pools = {0};
	struct page p = {.c = c, .before = before, .pool_label = pool_label, .drawn = drawn, .out = out};

	html_begin(out, title);
	for (size_t i = 0; i < c->n_nodes; i++)
		strv_push(&pools, pool_of(&p, i));
	html_filter(out, &pools, NULL);
	add_members(&p, report);
	for (size_t i = 0; i < report->n_items; i++)
		if (report->items[i].kind == DOC_LIST)
			add_list(&p, &report->items[i]);
	add_pictures(&p);
	html_end(out);
	return strbuf_error(out);
}
