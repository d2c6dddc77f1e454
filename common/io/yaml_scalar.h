/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * yaml_scalar: finds the type and value of a YAML scalar as kubectl and the kubelet do. The rules are YAML 1.1's with
 * some integers of Go's, as in resolve.go of go.yaml.in/yaml/v2. Depends on common/ and doc.h only.
 */
#include <stdbool.h>

#include "common/doc.h"

struct yaml_scalar {
	enum doc_kind kind; /* not a list and not a map */
	bool is_float;      /* DOC_NUMBER: the value is in `value`, otherwise in `text` */
	double value;       /* may be infinite or not a number */
	char text[24];      /* DOC_BOOL: "true" or "false"; integers: decimal, from INT64_MIN to UINT64_MAX */
};

/* The value of a scalar without quotes and without a tag. */
struct yaml_scalar yaml_scalar_resolve(const char *text);

/* The value of a scalar with a tag such as "tag:yaml.org,2002:int". False: the text has no such value. Tags without a type in
 * JSON, such as "!local", give strings. */
bool yaml_scalar_resolve_tagged(const char *text, const char *tag, struct yaml_scalar *ret);
