/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * manifest: reads the documents of a file as `kubectl -f` does: JSON texts one after the other, or YAML documents
 * between lines of "---".
 */
#include "common/doc.h"
#include "common/vec.h"

/* Called with one document, whose members the function may move out. 0; -errno stops the reader. */
typedef int manifest_fn(struct doc *document, void *data, struct err *err);

/*
 * Pass the documents of a text to `fn`, one at a time, each as doc_normalize() leaves it; an empty document is null. A text that
 * begins with a brace is JSON; from the first or second value that is not JSON, the rest is YAML (yaml_parse()). A YAML document ends
 * at a line that begins with "---", even within a quoted string; what follows "..." is ignored. UTF-16 is read if it has a byte
 * order mark; kubectl also replaces invalid UTF-8, which is refused here. 0; -EINVAL with the line; the error of `fn`.
 */
int manifest_parse_each(const char *text, size_t len, manifest_fn *fn, void *data, struct err *err);

/* Read all documents into a list. -ENOENT when there are none. *ret is untouched on failure. */
int manifest_parse_all(const char *text, size_t len, struct doc *ret, struct err *err);

#define MANIFEST_FILES_MAX 10000u

/*
 * Appends the files of a file argument: the argument itself, or the .yaml, .yml and .json files of a directory in the order of their names,
 * as `kubectl -f` reads them; with `recursive` also those of the directories below. Names that begin with a dot are skipped, and links to
 * directories are not followed. 0; -EINVAL: a directory has no such file, or the argument is a URL; -EFBIG: more than MANIFEST_FILES_MAX;
 * -errno of scandir(3), with one line.
 */
int manifest_files(const char *argument, bool recursive, struct strv *ret, struct err *err);
