/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * YAML text <-> doc. The only file that includes libyaml is yaml.c.
 */
#include "agent/base/doc.h"
#include "common/strbuf.h"

/*
 * Parse the first document of a YAML (or JSON) text. Plain scalars become null, bool or number by the YAML
 * core schema as Kubernetes reads it (sigs.k8s.io/yaml), quoted ones strings. Nesting ends at 100 levels, and
 * what anchors and aliases repeat at a million nodes of 100 anchors. 0; -EINVAL with line and column. *ret untouched on failure.
 */
int yaml_parse(const char *text, size_t len, struct doc *ret, struct err *err);

/* The same, -ENOENT when there is no document in it. */
int yaml_parse_first(const char *text, size_t len, struct doc *ret, struct err *err);

/* The same, every document of the stream, as a list; a JSON text is the only one. */
int yaml_parse_all(const char *text, size_t len, struct doc *ret, struct err *err);

/* Called with one document, which it may take apart. 0, or -errno that ends the reading. */
typedef int yaml_fn(struct doc *document, void *data, struct err *err);

/* Every document of the stream to `fn`, one at a time; an empty stream has none. Returns as yaml_parse(), or what `fn`
 * returned. */
int yaml_parse_each(const char *text, size_t len, yaml_fn *fn, void *data, struct err *err);

/* Print as block YAML; strings that would read as something else are quoted. 0 or -EFBIG. */
int yaml_print(const struct doc *d, struct strbuf *out);
