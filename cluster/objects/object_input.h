/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reads Kubernetes objects one at a time: from a file, a directory of files, or standard input ("-").
 *
 * Files are JSON or YAML, with one or more documents or Lists.
 */
#include "common/doc.h"

enum object_kind {
	OBJECT_NRT,
	OBJECT_NODE,
	OBJECT_POD,
	OBJECT_PDB,
	OBJECT_EVENT,
	OBJECT_CLAIM,
	OBJECT_SLICE,
	OBJECT_KIND_COUNT
};

extern const char *const object_kind_names[OBJECT_KIND_COUNT]; /* "NodeResourceTopology", "Node", ... */

/* metadata.creationTimestamp in seconds since the epoch; 0 = not set. */
int64_t object_created_s(const struct doc *object);

/* Called with one object, from which it may move content. 0, or -errno, which ends the reading. */
typedef int object_fn(enum object_kind kind, struct doc *object, void *data, struct err *err);

/* A source of objects. */
struct object_reader {
	/* Calls `fn` for every object of the kinds (bit 1 << kind). 0; -errno with one line; what `fn` returned. */
	int (*read)(void *source, unsigned kinds, object_fn *fn, void *data, struct err *err);
	void *source;
	const char *name; /* for messages */
};

/* In `kinds`: skip objects of other kinds instead of rejecting them. */
#define OBJECT_SKIP_OTHERS (1u << OBJECT_KIND_COUNT)

#define OBJECT_INPUT_MAX 200000 /* objects; Kubernetes supports 5000 nodes and 150 000 pods */

/*
 * Calls `fn` for each object. `kinds` has bit 1 << kind for each accepted kind; if NodeResourceTopology is accepted,
 * each file must contain at least one. JSON is parsed in pieces: only one object is in memory,
 * or the items without a kind that precede the kind of their List. 0; -EINVAL with one line:
 * an object of another kind, or invalid text, with file and reason; -errno of open(2) and read(2); the error of `fn`,
 * its text prefixed with the file name.
 */
int object_input_read(const char *path, unsigned kinds, object_fn *fn, void *data, struct err *err);

/* As object_input_read(), of an open file with this name, from its current position. */
int object_input_read_fd(
	int fd, const char *name, unsigned kinds, object_fn *fn, void *data, struct err *err);
