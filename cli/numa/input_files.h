/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Reads the objects of the files of --from, of each file once.
 */
#include <stdio.h>

#include "cli/opts.h"
#include "cluster/objects/object_input.h"

struct input_files {
	const struct options *options;
	FILE **copies; /* of --from, in order: copies of pipes and standard input; NULL = not read yet, or a file */
	size_t n;
	char name[256]; /* for messages */
};

void input_files_init(const struct options *options, struct input_files *ret);
void input_files_release(struct input_files *f);

/* As object_input_read(), and skips objects of other kinds. May be called again: pipes and standard input are kept. */
int input_files_read(struct input_files *f, unsigned kinds, object_fn *fn, void *data, struct err *err);
