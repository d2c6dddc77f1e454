/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reads the words of a command line that name objects: NAME, node/NAME, NAMESPACE/NAME.
 */
#include "cli/opts.h"
#include "common/err.h"

/* The NAME of NAME, node/NAME, nodes/NAME or no/NAME. Part of `word`. */
const char *object_word_node(const char *word);

/*
 * Splits NAME, pod/NAME (pods, po) or NAMESPACE/NAME. *ret_namespace: a new string, or NULL if the word has none; *ret_name: part of
 * the word. 0; -EINVAL with one line if the word is malformed, or names another namespace than --namespace.
 */
int object_word_split_pod(const struct options *o, const char *word, char **ret_namespace,
	const char **ret_name, struct err *err);
