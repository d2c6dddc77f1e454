/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Whether an object's labels satisfy the selectors of the Kubernetes API.
 */
#include "agent/base/doc.h"

/*
 * One item of matchExpressions (key, operator, values) against metadata.labels (NULL = none). Gt and Lt compare integers.
 * False for an operator or a value that the API server would refuse.
 */
bool label_requirement_matches(const struct doc *requirement, const struct doc *labels);

/* The operator Gt or Lt of two integers: `have` is greater (less) than `bound`. NULL is never an integer. */
bool label_compares(const char *have, const char *op, const char *bound);

/* A LabelSelector: all of matchLabels and of matchExpressions. NULL matches nothing, an empty selector everything. */
bool label_selector_matches(const struct doc *selector, const struct doc *labels);

/* The LabelSelector is there and has no requirement. */
bool label_selector_is_empty(const struct doc *selector);

/*
 * Every item of matchFields and matchExpressions of one node selector term against a Node. A term without items matches
 * no node.
 */
bool label_node_term_matches(const struct doc *term, const struct doc *node);
