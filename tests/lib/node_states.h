/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Node states made at random, and whether two of them give the same answers. For the tests of the node state's
 * text.
 */
#include "common/node_state.h"

/*
 * Settings, reservations, memory tables, devices and holders at random on the machine that `node` has; part of it
 * is not known, and not all of it is what a kubelet would do. Completed by node_derive().
 */
void node_state_randomize(struct node_state *node, uint64_t *seed);

/* Complete a state's reserved CPUs, shared pool and inventory anew. */
void node_state_complete(struct node_state *node);

/* Fails unless both have the same inventory, reserved CPUs and shared pool. */
void node_state_assert_same(const char *what, const struct node_state *a, const struct node_state *b);

/* Ask both about `n` random pods: answer, reason, placements, free amounts and the whole admission are the same. */
void node_state_assert_same_verdicts(
	const char *what, const struct node_state *a, const struct node_state *b, size_t n, uint64_t *seed);

/* The state's text, which the caller frees. */
char *node_state_print_text(const struct node_state *state);

/* Parses and completes the state of a text that is not damaged. */
void node_state_parse_text(const char *text, struct node_state *ret);
