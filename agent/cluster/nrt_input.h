/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * NodeResourceTopology objects from where a person has them: a file (YAML with one or many documents, JSON, a
 * List), a directory of such files, or "-" for standard input.
 */
#include "agent/cluster/nrt_parse.h"

#define NRT_INPUT_MAX_OBJECTS 100000 /* Kubernetes supports 5000 nodes */

/* 0; -EINVAL (no such objects in it, or a broken one: file and reason in `err`); -errno; -ENOMEM. `ret`
 * (zeroed) is untouched on failure. */
int nrt_input_read(const char *path, struct nrt_nodes *ret, struct err *err);

/*
 * The one object of the node `name`, NULL = of the only node there is. 0; -EINVAL (none or several: the text
 * names the nodes there are); else as nrt_input_read(). `ret` is untouched on failure.
 */
int nrt_input_choose(const char *path, const char *name, struct doc *ret, struct err *err);
