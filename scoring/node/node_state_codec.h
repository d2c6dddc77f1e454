/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Prints a node's state as one line of text, the attribute nrtd.dev/node-state, and parses it. Also finds the
 * attribute nrtd.dev/content-hash.
 *
 * The text has all that decides what the node's kubelet admits, and no more (nrtd-object(7) has the grammar).
 * A parsed state goes to the same functions as the node's own state, so it gives the same verdicts.
 */
#include "common/doc.h"
#include "common/err.h"
#include "common/node_state.h"
#include "common/strbuf.h"

#define NODE_STATE_ATTRIBUTE "nrtd.dev/node-state"
#define NODE_STATE_TEXT_MAX  (64u << 10) /* bytes; a longer text is neither written nor read */

/*
 * Append the text of a state as node_derive() left it. The same state gives the same bytes, and a parsed
 * state gives the text it was parsed from.
 *
 * 0; -EFBIG if the text is longer than NODE_STATE_TEXT_MAX or than the buffer takes, or if something has no
 * representation in the text (an id or an amount beyond every machine's); `out` then holds a part.
 */
int node_state_print(const struct node_state *state, struct strbuf *out);

/*
 * Parse the facts of a text, which node_derive() completes. Facts that were unknown to the printer are
 * unknown in `ret`. `ret` is written on success only, and is then to be released.
 *
 * Omitted: the node's name, the list of pods, offline CPUs, and the sources of settings. The text has only
 * the sum of kubeReserved and systemReserved, which `ret` has in kube_reserved_cpu and kube_reserved_memory.
 * Of an allocation, pod_uid and pod are hashes (pod_names.h; "" if unknown), namespace is "" and container a
 * number. Device ids are numbers.
 *
 * Sections of the form ";?NAME=VALUE" decide nothing about admission. Those of newer versions are skipped. A section that decides has no '?', so that older readers reject the text.
 *
 * 0; -ENOTSUP: written by a newer version; -EINVAL: damaged; each with one line.
 */
int node_state_parse(const char *text, struct node_state *ret, struct err *err);

/* The attribute with the hash of an object's content: equal hashes mean equal content. */
#define NRT_CONTENT_HASH "nrtd.dev/content-hash"

/* The attribute of a NodeResourceTopology object, NULL if it has none. Valid as long as the object. */
const char *nrt_content_hash(const struct doc *nrt);

/* The attribute with the text of the node state, NULL if the object has none. Valid as long as the object. */
const char *nrt_node_state(const struct doc *nrt);
