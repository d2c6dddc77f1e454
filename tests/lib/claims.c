/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/claims.h"

#include <inttypes.h>

#include "common/cleanup.h"
#include "common/vec.h"
#include "tests/lib/test.h"

static void add_list(struct strbuf *out, const char *what, const struct strv *list)
{
	for (size_t i = 0; i < list->n_items; i++)
		strbuf_addf(out, "%s%s", i > 0 ? "," : what, list->items[i]);
}

static void claim_text(const struct claim *c, struct strbuf *out)
{
	CLEANUP(freep) char *cpus = cpuset_print(c->cpus);

	strbuf_addf(out, "%s %s", c->driver, c->uid);
	if (*c->namespace || *c->name)
		strbuf_addf(out, " %s/%s", c->namespace, c->name);
	for (size_t i = 0; i < c->n_pods; i++)
		strbuf_addf(out, "%s%s/%s", i > 0 ? "," : " pods ", c->pods[i].namespace, c->pods[i].name);
	if (*cpus)
		strbuf_addf(out, " cpus %s", cpus);
	for (size_t i = 0; i < c->n_memory; i++) {
		CLEANUP(freep) char *nodes = cpuset_print(c->memory[i].nodes);

		strbuf_addf(out, " %s %" PRIu64 "@%s", c->memory[i].type, c->memory[i].bytes, nodes);
	}
	add_list(out, " devices ", &c->devices);
	add_list(out, " cdi ", &c->cdi);
	strbuf_addch(out, ';');
}

void test_claims_text(const struct claims *claims, struct strbuf *out)
{
	for (size_t i = 0; i < claims->n_items; i++)
		claim_text(&claims->items[i], out);
	assert_int_equal(strbuf_error(out), 0);
}

struct claim *test_add_claim(struct claims *claims, const char *driver, const char *uid, const char *cpus,
	const char *type, uint64_t bytes, unsigned node)
{
	CLEANUP(claim_release) struct claim c = {0};

	claim_init(&c, driver, uid, "", "");
	hwloc_bitmap_free(c.cpus);
	assert_int_equal(cpuset_parse(cpus, &c.cpus, NULL), 0);
	if (type) {
		struct memory_block *block = vec_push(&c.memory, &c.n_memory, &c.memory_size, sizeof(*block));

		assert_non_null(block);
		*block = (struct memory_block){
			.type = strdup(type), .bytes = bytes, .nodes = hwloc_bitmap_alloc()};
		hwloc_bitmap_set(block->nodes, node);
	}
	claims_append(claims, &c);
	return &claims->items[claims->n_items - 1];
}
