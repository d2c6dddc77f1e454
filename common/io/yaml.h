/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * yaml: parses and prints YAML text. yaml.c is the only file that includes libyaml.
 */
#include "common/doc.h"
#include "common/strbuf.h"

/*
 * Parse the first document of a YAML text as sigs.k8s.io/yaml converts it to JSON, or refuse it:
 * - Scalars have the types of YAML 1.1 (yaml_scalar.h). Integers and booleans as keys become strings.
 * - "<<" merges maps: its members count as if they were written there. Of equal keys the last counts.
 * - UTF-8 or UTF-16 with a byte order mark.
 * Refused although sigs.k8s.io/yaml reads them: the tags !!binary and !!timestamp, NUL characters, fractions as keys, equal keys of
 * which one is not a string, more than 300 levels of nesting, 100 anchors, and 100000 nodes that anchors and aliases repeat.
 * 0; -EINVAL with the line. *ret is untouched on failure.
 */
int yaml_parse(const char *text, size_t len, struct doc *ret, struct err *err);

/* As yaml_parse(), with -ENOENT when the text has no document. */
int yaml_parse_first(const char *text, size_t len, struct doc *ret, struct err *err);

/* As yaml_parse_first(); `line`, in which the text begins in its file, is for messages. */
int yaml_parse_at_line(const char *text, size_t len, size_t line, struct doc *ret, struct err *err);

/* As yaml_parse(), with -EINVAL for a map that has a key twice, also by a merge: sigs.k8s.io/yaml's UnmarshalStrict. */
int yaml_parse_unique(const char *text, size_t len, struct doc *ret, struct err *err);

/*
 * Parse a text as the kubelet reads its configuration: a text that begins with a brace is JSON (json_parse_unique()), any other is YAML
 * (yaml_parse(); with `unique_keys` yaml_parse_unique(), as for the kubelet's drop-in files). The kubelet accepts a JSON file in
 * which a key appears twice, and merges the values.
 */
int yaml_parse_config(const char *text, size_t len, bool unique_keys, struct doc *ret, struct err *err);

/* Append as block YAML; strings that would parse as another kind are quoted. 0 or -EFBIG. */
int yaml_print(const struct doc *d, struct strbuf *out);
