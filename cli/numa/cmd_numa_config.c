/* SPDX-License-Identifier: Apache-2.0 */
/* kubectl numa config and diff: where the kubelets' settings of nodes differ, and in what two nodes differ. */
#include "cli/commands.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/numa/object_word.h"
#include "cli/numa/source.h"
#include "cli/report/hugepages_report.h"
#include "cli/report/node_comparison.h"
#include "cli/report/terminal.h"
#include "common/cleanup.h"
#include "common/io/fs.h"
#include "common/log.h"
#include "common/vec.h"

#define OUTPUT_MAX ((size_t)1 << 30)

struct comparison {
	const struct options *options;
	struct source *source;
	struct node_facts *nodes;
	size_t n_nodes, nodes_size;
	bool whole; /* not only the settings */
	struct hugepages_report hugepages;
	bool has_hugepages;
	struct cluster cluster; /* read if a node has hugepages */
	struct strv without_object;
};

static void comparison_release(struct comparison *c)
{
	for (size_t i = 0; i < c->n_nodes; i++)
		node_facts_release(&c->nodes[i]);
	free(c->nodes);
	hugepages_report_release(&c->hugepages);
	cluster_release(&c->cluster);
	strv_release(&c->without_object);
	source_close(c->source);
}

static int config_add_node(struct cluster_node *node, void *data, struct err *err)
{
	struct comparison *c = data;
	struct node_facts *f = vec_push(&c->nodes, &c->n_nodes, &c->nodes_size, sizeof(*f));

	(void)err;
	node_comparison_add_settings(f, node);
	if (c->whole)
		node_comparison_add_rest(f, node);
	else if (node->basis == CLUSTER_EXACT && hugepages_report_add(&c->hugepages, &node->state))
		c->has_hugepages = true;
	return 0;
}

static int read_nodes(struct comparison *c, struct err *err)
{
	int r = options_stdin_once(c->options, err);

	if (r == 0)
		r = source_open(c->options, 0, &c->source, err);
	if (r == 0)
		r = source_each_node(c->source, config_add_node, c, err);
	if (r == 0 && !c->whole)
		r = source_read_nodes_without_object(c->source, &c->without_object, err);
	if (r == 0 && c->has_hugepages && !option_set(c->options, OPT_DIFFERENT))
		r = source_fill_cluster(c->source, &c->cluster, NULL, NULL, err);
	return r;
}

static bool is_node_named(const struct node_facts *f, const char *word)
{
	return !strcmp(f->node, object_word_node(word));
}

/* Puts the two nodes into the order of the command line. */
static int order_nodes(struct comparison *c, struct err *err)
{
	struct node_facts first;

	if (c->n_nodes != 2)
		return err_set(err, -EINVAL, "the two nodes have %zu object%s: name two different nodes",
			c->n_nodes, c->n_nodes == 1 ? "" : "s");
	if (is_node_named(&c->nodes[0], c->options->words[0]))
		return 0;
	first = c->nodes[0];
	c->nodes[0] = c->nodes[1];
	c->nodes[1] = first;
	return 0;
}

/* The sections of --ignore, as a set of bits. */
static unsigned find_ignored(const struct options *o)
{
	unsigned ignored = 0;
	const char *value;
	size_t pos = 0;

	while ((value = options_next(o, OPT_IGNORE, &pos)))
		for (enum fact_section s = 0; s < FACT_SECTION_COUNT; s++)
			if (!strcmp(value, fact_section_names[s]))
				ignored |= 1u << s;
	return ignored;
}

static int print_comparison(const struct comparison *c, size_t *ret_different)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(OUTPUT_MAX);
	CLEANUP(writer_release) struct writer w;
	const struct options *o = c->options;

	writer_init(&w, o->value[OPT_OUTPUT], !option_set(o, OPT_NO_HEADERS), &text);
	w.width = terminal_table_width(STDOUT_FILENO);
	*ret_different = c->whole ? node_comparison_write_diff(&w, c->nodes, find_ignored(o))
				  : node_comparison_write_settings(
					    &w, c->nodes, c->n_nodes, option_set(o, OPT_DIFFERENT));
	if (!c->whole && (writer_is_doc(&w) || w.headings))
		writer_without_object(&w, &c->without_object);
	if (!c->whole && !option_set(o, OPT_DIFFERENT))
		hugepages_report_write(&w, &c->hugepages, &c->cluster);
	return print_text(writer_finish(&w), &text);
}

static int run_comparison(struct comparison *c)
{
	struct err err = {""};
	size_t different;
	int r;

	if (c->whole && c->options->n_words != 2)
		r = err_set(&err, -EINVAL, "name two nodes: kubectl numa diff NODE NODE [FLAG...]");
	else
		r = read_nodes(c, &err);
	if (r == 0 && c->whole)
		r = order_nodes(c, &err);
	else if (r == 0 && c->n_nodes == 0)
		r = err_set(&err, -ENOENT, "no node is selected");
	if (r < 0) {
		log_error("%s", err.text);
		return source_exit_status(c->options, r);
	}
	if (print_comparison(c, &different) < 0)
		return EXIT_FAILURE;
	return different > 0 ? EXIT_DOES_NOT_FIT : EXIT_SUCCESS;
}

int command_numa_config(const struct options *options)
{
	CLEANUP(comparison_release) struct comparison c = {.options = options, .cluster = {.n_nodes = 0}};

	return run_comparison(&c);
}

int command_numa_diff(const struct options *options)
{
	CLEANUP(comparison_release) struct comparison c = {.options = options, .whole = true};

	return run_comparison(&c);
}
