/* SPDX-License-Identifier: Apache-2.0 */
/* The section of the node state that says what claims hold. */
#include "tests/lib/test.h"

#include <errno.h>

#include "agent/state/node_state_codec.h"
#include "common/cleanup.h"
#include "tests/lib/claims.h"
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

/* What a reader of the cluster gets to know: driver, pods, CPUs, memory, how many devices. */
static void claims_come_back(void **state)
{
	static const char want[] = ";claims=dra.cpu:C_taog:2-3|dra.memory::/c1g@0*2";
	CLEANUP(observation_release) struct observation o;
	CLEANUP(freep) char *text = NULL, *again = NULL;
	struct node_state parsed;
	struct err err = {""};
	struct claim *c;
	const char *at;

	(void)state;
	observation_of_picture(&o);
	c = test_add_claim(&o.node.claims, "dra.cpu", "a", "2-3", NULL, 0, 0);
	claim_add_pod(c, "ns", "p");
	c = test_add_claim(&o.node.claims, "dra.memory", "b", "", "memory", 1ull << 30, 0);
	strv_push(&c->devices, "n/a");
	strv_push(&c->devices, "n/b");
	node_state_complete(&o.node);
	text = print(&o.node);
	at = strstr(text, ";claims=");
	assert_non_null(at);
	test_assert_text("claims", at, want);
	if (node_state_parse(text, &parsed, &err) < 0)
		fail_msg("%s", err.text);
	node_state_complete(&parsed);
	again = print(&parsed);
	test_assert_text("again", again, text);
	assert_int_equal(parsed.claims.n_items, 2);
	assert_int_equal(parsed.claims.items[1].devices.n_items, 2);
	node_state_assert_same("claims", &o.node, &parsed);
	node_state_release(&parsed);
}

static void a_node_without_claims_does_not_mention_them(void **state)
{
	CLEANUP(observation_release) struct observation o;
	CLEANUP(freep) char *text = NULL;

	(void)state;
	observation_of_picture(&o);
	text = print(&o.node);
	assert_null(strstr(text, "claims"));
}

#define NODE                                                                                      \
	"1;cpu=static;memory=None;topology=none,?,8;ram=4k;nodes=0:4k;cores=0-1=0;sockets=0-1=0;" \
	"numa=0-1=0;uncore=0-1=0;types=memory;claims="

static void hostile_claims_are_refused_with_a_word(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{NODE "", "claims: "},
		{NODE "d", "claims: ':' is missing"},
		{NODE "d:", "claims: ':' is missing"},
		{NODE "d:short:", "claims: a hash of 6 characters is missing"},
		{NODE "d:abc", "claims: a hash of 6 characters is missing"},
		{NODE "d:abcdef:0-9999", "claims: 9999 is too large"},
		{NODE "d::/b1@0", "claims: a letter"},
		{NODE "d::/a1", "claims: '@' is missing"},
		{NODE "d::/a1@99999", "claims: 99999 is too large"},
		{NODE "d::*0", "claims: no device"},
		{NODE "d::*99999", "claims: 99999 is too large"},
		{NODE "d::*65536|d::*65536|d::*1", "claims: no device, or more than 131072 are held"},
		{NODE "d::0|", "claims: "},
		{NODE "d::0;pods=??:0", "end: an unknown section"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct node_state parsed;
		struct err err = {""};

		if (node_state_parse(cases[i].text, &parsed, &err) != -EINVAL)
			fail_msg("%s is not refused", cases[i].text);
		if (!strstr(err.text, cases[i].want))
			fail_msg("%s: '%s', not '%s'", cases[i].text, err.text, cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(claims_come_back),
		cmocka_unit_test(a_node_without_claims_does_not_mention_them),
		cmocka_unit_test(hostile_claims_are_refused_with_a_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
