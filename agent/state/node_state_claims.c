/* SPDX-License-Identifier: Apache-2.0 */
/* What DRA drivers gave to claims, as a section of the node state. */
#include "agent/state/node_state_sections.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/vec.h"
#include "common/xalloc.h"

#define HASH_CHARS  (NODE_STATE_HASH_SIZE - 2) /* without '#' and the closing NUL */
#define DRIVER_SIZE 128                        /* of what is written of a driver's name; it has 63 at most */
#define NO_DRIVER   "-"

/* ---- writing */

static void add_pod(struct strbuf *out, const struct pod_ref *pod)
{
	char hash[NODE_STATE_HASH_SIZE];

	if (*pod->name == '#')
		snprintf(hash, sizeof(hash), "%s", pod->name);
	else
		node_state_hash_pod(pod->namespace, pod->name, hash);
	strbuf_addstr(out, hash + 1);
}

static void add_claim(const struct node_state_printer *p, const struct claim *c)
{
	struct strbuf *out = p->out;
	char driver[DRIVER_SIZE];

	snprintf(driver, sizeof(driver), "%s", *c->driver ? c->driver : NO_DRIVER);
	text_add_name(out, driver);
	strbuf_addch(out, ':');
	for (size_t i = 0; i < c->n_pods; i++)
		add_pod(out, &c->pods[i]);
	strbuf_addch(out, ':');
	text_add_set(out, c->cpus, MACHINE_MAX_CPUS - 1);
	for (size_t i = 0; i < c->n_memory; i++) {
		strbuf_addch(out, '/');
		text_add_letters(out, 'a', node_state_type(p, c->memory[i].type));
		text_add_bytes(out, c->memory[i].bytes);
		strbuf_addch(out, '@');
		text_add_set(out, c->memory[i].nodes, MACHINE_MAX_NODES - 1);
	}
	if (c->devices.n_items > 0)
		strbuf_addf(out, "*%zu", c->devices.n_items);
}

static bool print_claims(const struct node_state_printer *p)
{
	const struct claims *claims = &p->state->claims;

	for (size_t i = 0; i < claims->n_items; i++) {
		strbuf_addstr(p->out, i > 0 ? "|" : "");
		add_claim(p, &claims->items[i]);
	}
	return claims->n_items > 0;
}

/* ---- reading */

static void read_pods(struct token_reader *r, struct claim *c)
{
	while (!r->error && *r->at && *r->at != ':') {
		char name[NODE_STATE_HASH_SIZE] = "#";

		for (size_t i = 0; i < HASH_CHARS && !r->error; i++) {
			char ch = r->at[i];

			if (!node_state_is_hash_digit(ch))
				token_reader_fail(r, "a hash of %d characters is missing", HASH_CHARS);
			else
				name[i + 1] = ch;
		}
		if (r->error)
			return;
		r->at += HASH_CHARS;
		claim_add_pod(c, "", name);
	}
}

static void read_block(struct node_state_parser *p, struct claim *c)
{
	struct token_reader *r = &p->reader;
	size_t type = token_reader_letters(r, 'a', p->types.n_items);
	uint64_t bytes = token_reader_bytes(r);
	struct memory_block *block;

	token_reader_expect(r, '@');
	if (r->error)
		return;
	block = vec_push(&c->memory, &c->n_memory, &c->memory_size, sizeof(*block));
	p->n_claim_blocks++;
	block->bytes = bytes;
	block->type = xstrdup(p->types.items[type]);
	block->nodes = token_reader_set(r, MACHINE_MAX_NODES - 1);
}

static void read_devices(struct node_state_parser *p, struct claim *c)
{
	struct token_reader *r = &p->reader;
	uint64_t n = token_reader_number(r, NODE_STATE_MAX_DEVICES);

	p->n_held += (size_t)n;
	if (n == 0 || p->n_held > NODE_STATE_MAX_HELD)
		token_reader_fail(r, "no device, or more than %u are held", NODE_STATE_MAX_HELD);
	for (size_t i = 0; i < n && !r->error; i++) {
		char id[NODE_STATE_ID_SIZE];

		node_state_id(i, id);
		strv_push(&c->devices, id);
	}
}

static void read_claim(struct node_state_parser *p)
{
	struct token_reader *r = &p->reader;
	CLEANUP(freep) char *driver = token_reader_name(r);
	CLEANUP(claim_release) struct claim c = {0};

	token_reader_expect(r, ':');
	if (r->error)
		return;
	claim_init(&c, driver, "", "", "");
	read_pods(r, &c);
	token_reader_expect(r, ':');
	if (r->error)
		return;
	hwloc_bitmap_free(c.cpus);
	c.cpus = token_reader_set(r, MACHINE_MAX_CPUS - 1);
	p->n_held_cpus += cpuset_size(c.cpus);
	if (p->n_held_cpus > NODE_STATE_MAX_HELD)
		token_reader_fail(r, "more than %u CPUs are held", NODE_STATE_MAX_HELD);
	while (!r->error && token_reader_skip(r, '/'))
		read_block(p, &c);
	if (!r->error && token_reader_skip(r, '*'))
		read_devices(p, &c);
	if (!r->error)
		claims_take(&p->state.claims, &c);
}

static void parse_claims(struct node_state_parser *p)
{
	do
		read_claim(p);
	while (!p->reader.error && token_reader_skip(&p->reader, '|'));
	if ((p->n_page_sizes + 2) * p->state.machine.n_nodes * (p->n_claim_blocks + p->state.claims.n_items) >
		NODE_STATE_MAX_WORK)
		token_reader_fail(&p->reader, "too many claims on too many NUMA nodes");
}

const struct node_state_section node_state_claims_sections[] = {
	{"claims", false, print_claims, parse_claims},
	{0},
};
