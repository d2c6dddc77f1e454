/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>
#include <glob.h>

#include "agent/model/node_state_text.h"
#include "agent/observe/allocations_ended.h"
#include "common/cleanup.h"
#include "tests/lib/node_states.h"
#include "tests/lib/observations.h"

static char *print(const struct node_state *state)
{
	struct strbuf text = STRBUF_INIT(NODE_STATE_TEXT_MAX);
	char *out;

	assert_int_equal(node_state_print(state, &text), 0);
	out = strbuf_detach(&text);
	assert_non_null(out);
	return out;
}

static void parse(const char *text, struct node_state *ret)
{
	struct err err = {""};

	if (node_state_parse(text, ret, &err) < 0)
		fail_msg("%s\n%s", err.text, text);
	node_state_complete(ret);
}

/* Take the same pods away from both: the items of a text are in another order, so each is found by its hash. */
static void give_back(struct node_state *node, const char *uid)
{
	struct allocations *a = &node->allocations;
	CLEANUP(freep) bool *ended = calloc(a->n_items + 1, sizeof(*ended));
	char hash[NODE_STATE_HASH_SIZE];

	assert_non_null(ended);
	node_state_hash_uid(uid, hash);
	for (size_t i = 0; i < a->n_items; i++)
		ended[i] = !strcmp(a->items[i].pod_uid, uid) || !strcmp(a->items[i].pod_uid, hash);
	assert_int_equal(allocations_give_back(a, ended), 0);
	node_state_complete(node);
}

/* What is read from the text is the node: now, and after a pod has gone. */
static void check(const char *what, struct node_state *node, size_t n_pods, uint64_t *seed)
{
	CLEANUP(freep) char *text = print(node);
	CLEANUP(freep) char *again = NULL;
	CLEANUP(freep) char *uid = NULL;
	struct node_state parsed;

	parse(text, &parsed);
	again = print(&parsed);
	test_assert_text(what, again, text);
	node_state_assert_same(what, node, &parsed);
	node_state_assert_same_verdicts(what, node, &parsed, n_pods, seed);
	if (node->allocations.n_items > 0) {
		uid = strdup(node->allocations.items[node->allocations.n_items - 1].pod_uid);
		give_back(node, uid);
		give_back(&parsed, uid);
		node_state_assert_same(what, node, &parsed);
		node_state_assert_same_verdicts(what, node, &parsed, n_pods, seed);
	}
	node_state_release(&parsed);
}

static void a_node_with_pods_is_the_same(void **state)
{
	uint64_t seed = test_seed(1);
	struct observation o;

	(void)state;
	observation_of_picture(&o);
	check("picture", &o.node, 200, &seed);
	observation_release(&o);
}

static void random_states_are_the_same_on_every_machine(void **state)
{
	const char *top = getenv("NRTD_TOP");
	CLEANUP(freep) char *pattern = NULL;
	uint64_t seed = test_seed(14);
	glob_t g;

	(void)state;
	assert_true(asprintf(&pattern, "%s/tests/fixtures/machines/*.spec", top ? top : ".") > 0);
	assert_int_equal(glob(pattern, 0, NULL, &g), 0);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		CLEANUP(freep) char *name = strdup(strrchr(g.gl_pathv[i], '/') + 1);
		CLEANUP(observation_release) struct observation o;
		bool large;

		*strrchr(name, '.') = '\0';
		large = !strcmp(name, "64-nodes-1024-cpus") || !strcmp(name, "16-nodes");
		observation_of_machine(name, &o);
		for (size_t k = 0; k < (large ? 4 : 40); k++) {
			node_state_randomize(&o.node, &seed);
			check(name, &o.node, large ? 2 : 10, &seed);
		}
	}
	assert_true(g.gl_pathc >= 20);
	globfree(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_with_pods_is_the_same),
		cmocka_unit_test(random_states_are_the_same_on_every_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
