/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Kubernetes objects from where a person has them, one at a time. That is a file (JSON or YAML, one or many
 * documents, Lists), a directory of such files, or "-" for standard input.
 */
#include "agent/base/doc.h"

enum object_kind { OBJECT_NRT, OBJECT_NODE, OBJECT_POD, OBJECT_EVENT, OBJECT_KIND_COUNT };

/* Called with one object, which it may take apart or move away. 0, or -errno that ends the reading. */
typedef int object_fn(enum object_kind kind, struct doc *object, void *data, struct err *err);

#define OBJECT_INPUT_MAX 200000 /* objects: Kubernetes supports 5000 nodes and 150 000 pods */

/*
 * Call `fn` for every object. `kinds` has bit 1 << kind for each kind that may be there; a file without any
 * NodeResourceTopology is refused where that is one of them. JSON is read in pieces: no more than one object of
 * it is in memory. 0; -EINVAL with one line (not such objects, or broken: file and reason); -errno of open(2) and
 * read(2); what `fn` returned, its text behind the file's name.
 */
int object_input_read(const char *path, unsigned kinds, object_fn *fn, void *data, struct err *err);

/*
 * The one NodeResourceTopology of the node `name`, NULL = of the only node there is. 0; -EINVAL (none or several:
 * the text names the nodes there are); else as object_input_read(). `ret` is untouched on failure.
 */
int object_input_choose(const char *path, const char *name, struct doc *ret, struct err *err);
