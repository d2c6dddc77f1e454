/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A file, directory or standard input as a source of objects. */
#include "cluster/objects/object_input.h"

static inline int file_reader_read(void *path, unsigned kinds, object_fn *fn, void *data, struct err *err)
{
	return object_input_read(path, kinds, fn, data, err);
}

/* `path` must outlive the reader. */
static inline struct object_reader file_reader(char *path)
{
	return (struct object_reader){.read = file_reader_read, .source = path, .name = path};
}
