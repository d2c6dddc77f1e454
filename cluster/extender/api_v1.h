/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Prints the answers of the API /v1, for schedulers that do not name the nodes in question.
 *
 * extender_v1_parse() reads the requests. doc/nrtd-extender-v1.schema.json describes requests and answers.
 */
#include "cluster/extender/verbs.h"

#define V1_REASONS_MAX 16u /* different reasons in an answer */

/* Prints the answer of /v1/choose and /v1/admit: nodeNames, the nodes that pass, or failedNodeNames, the nodes that do not. 0; -EFBIG of
 * `out`. */
int v1_choose_print(const struct extender_args *args, const struct verb_answer *answer, struct strbuf *out);
int v1_admit_print(const struct extender_args *args, const struct verb_answer *answer, struct strbuf *out);

/* Prints an answer with an error. */
int v1_error_print(const char *message, struct strbuf *out);
