/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Matches labels against the selectors of the Kubernetes API.
 *
 * `labels` is metadata.labels; NULL = no labels.
 */
#include "common/doc.h"

/*
 * Whether the labels satisfy one item of matchExpressions: key, operator, values. Gt and Lt compare integers. False for an
 * operator or a value that the API server would reject.
 */
bool label_requirement_matches(const struct doc *requirement, const struct doc *labels);

/* Whether the text is one of `values`, a list of strings. */
bool label_in(const struct doc *values, const char *text);

/* The operators Gt and Lt: whether the integer `have` is greater (less) than the integer `bound`. False if either text
 * is not an integer; both may be NULL. */
bool label_compares(const char *have, const char *op, const char *bound);

/* The first item of `equal`, a map of labels such as matchLabels, that is not among `labels`. NULL = none is missing. */
const struct doc *label_find_missing(const struct doc *equal, const struct doc *labels);

/* Whether the labels match a LabelSelector. NULL matches nothing, an empty selector everything. */
bool label_selector_matches(const struct doc *selector, const struct doc *labels);

/*
 * Parses a selector as kubectl takes it, "pool=hpc,zone!=b,gpu,!spot,disk in (ssd,nvme)", into a LabelSelector with
 * matchExpressions. 0; -EINVAL with one line. `ret` is untouched on failure.
 */
int label_selector_parse(const char *text, struct doc *ret, struct err *err);

/* Whether the LabelSelector is set and has no requirement. */
bool label_selector_is_empty(const struct doc *selector);

/*
 * The labels as one text: keys and values with their NUL bytes, and an empty key at the end. *ret_len: its bytes. NULL if there are
 * no labels (*ret_len is 0), or if the text would be longer than `max` bytes. The caller owns the result.
 */
char *label_pack(const struct doc *labels, size_t max, size_t *ret_len);

/* Adds the labels of label_pack() to a map. */
void label_unpack(const char *packed, struct doc *ret);
