/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node state from somebody else's object: what is read is printed, reads the same again, and can be modelled and
 * asked.
 */
#include "tests/fuzz/fuzz.h"

#include <errno.h>

#include "common/cleanup.h"
#include "scoring/node/node_admission.h"
#include "scoring/node/node_derive.h"
#include "scoring/node/node_state_codec.h"
#include "scoring/nrt_match.h"

static char *print(const struct node_state *state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(NODE_STATE_TEXT_MAX);
	int r = node_state_print(state, &text);
	char *out;

	/* What is read is longer where the writer would have shortened it. */
	fuzz_require(r == 0 || r == -EFBIG);
	if (r < 0)
		return NULL;
	out = strbuf_detach(&text);
	fuzz_require(out != NULL);
	return out;
}

static void check_again(const struct node_state *state)
{
	CLEANUP(freep) char *first = print(state);
	CLEANUP(freep) char *second = NULL;
	struct node_state again;
	struct err err = {""};

	if (!first)
		return;
	fuzz_require(node_state_parse(first, &again, &err) == 0);
	second = print(&again);
	node_state_release(&again);
	fuzz_require(second && !strcmp(first, second));
}

/* A container of two of everything that the node has a name for. */
static void add_container(const struct node_state *state, enum container_kind kind, struct pod_request *pod)
{
	static const struct quantity amount = {.nano = 2 * QTY_UNIT};
	struct container_request *c = pod_request_add(pod, kind, "app");

	for (int limits = 0; limits < 2; limits++) {
		struct resource_list *list = limits ? &c->limits : &c->requests;

		resource_list_append(list, "cpu", amount);
		resource_list_append(list, "memory", amount);
		for (size_t i = 0; i < state->inventory.n_resources; i++)
			resource_list_append(list, state->inventory.resources[i], amount);
		resource_list_sort(list);
	}
}

/* What the plugin would make of the node's Topology Manager. */
static void check_score(const struct node_state *state)
{
	const struct pod_fit fit = {.verdict = FIT_FOUND, .n_nodes = 1, .min_distance = FIT_MIN_DISTANCE_YES};
	int score = strategy_fit_score(&fit, &state->settings.topology);

	fuzz_require(score >= 0 && score <= 100);
}

/* Every node can be asked, as no answer takes more than its limit; one that is given holds with a higher limit. */
static void ask(const struct node_state *state)
{
	CLEANUP(node_admission_release) struct node_admission admission = {0};
	CLEANUP(pod_request_release) struct pod_request pod = {0};
	enum kubelet_answer before = KUBELET_UNKNOWN;
	struct kubelet_verdict answer;

	add_container(state, CONTAINER_INIT, &pod);
	add_container(state, CONTAINER_APP, &pod);
	node_admission_init(&admission, state);
	for (uint64_t limit = 1 << 10; limit <= 1 << 20; limit <<= 5) {
		admission.work_limit = limit;
		node_admission_judge(&admission, &pod, &answer);
		fuzz_require(before == KUBELET_UNKNOWN || before == answer.answer);
		fuzz_require(!answer.beyond_limit || answer.answer == KUBELET_UNKNOWN);
		before = answer.answer;
	}
}

void LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(notes_release) struct notes notes = {0};
	CLEANUP(freep) char *text = strndup((const char *)data, size);
	const struct derive_config config = {0};
	struct node_state state;
	struct err err = {""};
	int r;

	fuzz_require(text != NULL);
	r = node_state_parse(text, &state, &err);
	if (r < 0) {
		fuzz_require(r == -EINVAL || r == -ENOTSUP);
		fuzz_check_line(err.text);
		return;
	}
	check_again(&state);
	r = node_derive(&config, &state, &notes, &err);
	if (r < 0)
		fuzz_check_line(err.text);
	else
		ask(&state);
	check_score(&state);
	node_state_release(&state);
}
