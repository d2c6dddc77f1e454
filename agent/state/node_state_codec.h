/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A node's state as one line of text, and back: the attribute nrtd.dev/node-state.
 *
 * It carries all that decides what the node's kubelet admits, and no more (nrtd-object(7) has the grammar). A
 * state that was parsed is given to the same functions as the node's own, so it gives the same verdicts.
 */
#include "agent/state/node_state_names.h"
#include "common/err.h"
#include "common/node_state.h"
#include "common/strbuf.h"

#define NODE_STATE_ATTRIBUTE "nrtd.dev/node-state"
#define NODE_STATE_TEXT_MAX  (64u << 10) /* bytes; a longer text is neither written nor read */

/*
 * Append the text of a state as node_derive() left it. The same state gives the same bytes, and what was parsed
 * gives the text it was parsed from.
 *
 * 0; -EFBIG when it is longer than NODE_STATE_TEXT_MAX or than the buffer takes, or when something has no
 * place in the text (an id or an amount beyond every machine's); `out` then holds a part.
 */
int node_state_print(const struct node_state *state, struct strbuf *out);

/*
 * The facts of a text, for node_derive() to complete. What the text does not know is unknown. `ret` is written on
 * success only, and is then to be released.
 *
 * Not in it: the node's name, the list of pods, offline CPUs, where settings come from. Where only a sum decides,
 * it is the first of the two amounts (kube_reserved_cpu, kube_reserved_memory). Of an allocation, pod_uid and pod
 * are hashes as below ("" where not known), namespace is "" and container a number. Device ids are numbers.
 *
 * Sections of the form ";?NAME=VALUE" are skipped: newer versions add sections that decide nothing about admission in this form. A
 * section that decides has no '?', so that older readers do not take the text.
 *
 * 0; -ENOTSUP: written by a newer version; -EINVAL: damaged; each with one line.
 */
int node_state_parse(const char *text, struct node_state *ret, struct err *err);
