/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * yaml: parses and prints YAML text. yaml.c is the only file that includes libyaml.
 */
#include "agent/base/doc.h"
#include "common/strbuf.h"

/*
 * Parse the first document of a YAML or JSON text. Plain scalars become null, bool or number as Kubernetes
 * reads them (YAML 1.1, sigs.k8s.io/yaml); quoted scalars are strings. Limits: 100 levels of nesting, 100
 * anchors per document, and 100000 nodes per stream that anchors and aliases repeat. 0; -EINVAL with line and
 * column. *ret is untouched on failure.
 */
int yaml_parse(const char *text, size_t len, struct doc *ret, struct err *err);

/* The same for YAML only, with -ENOENT when the text has no document. */
int yaml_parse_first(const char *text, size_t len, struct doc *ret, struct err *err);

/* Parse all documents of the stream into a list; a JSON text is one document. Returns as
 * yaml_parse_first(). */
int yaml_parse_all(const char *text, size_t len, struct doc *ret, struct err *err);

/* Called with one document, whose members the function may move out. 0; -errno stops the parser. */
typedef int yaml_fn(struct doc *document, void *data, struct err *err);

/* Pass the documents of a YAML stream to `fn`, one at a time; an empty stream has none. Returns as
 * yaml_parse(), or the error of `fn`. */
int yaml_parse_each(const char *text, size_t len, yaml_fn *fn, void *data, struct err *err);

/* Append as block YAML; strings that would parse as another kind are quoted. 0 or -EFBIG. */
int yaml_print(const struct doc *d, struct strbuf *out);
