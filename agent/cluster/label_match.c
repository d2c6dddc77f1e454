/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cluster/label_match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool label_in(const struct doc *values, const char *text)
{
	DOC_FOREACH_ITEM (value, values) {
		const char *string = doc_string(value);

		if (string && !strcmp(string, text))
			return true;
	}
	return false;
}

/* As Go's strconv.ParseInt(text, 10, 64). */
static bool parse_integer(const char *text, int64_t *ret)
{
	const char *digits = text + (*text == '-' || *text == '+');
	char *end;

	if (*digits < '0' || *digits > '9')
		return false;
	errno = 0;
	*ret = strtoll(text, &end, 10);
	return errno == 0 && !*end;
}

bool label_compares(const char *have, const char *op, const char *bound)
{
	bool greater = !strcmp(op, "Gt");
	int64_t a, b;

	if ((!greater && strcmp(op, "Lt") != 0) || !have || !bound || !parse_integer(have, &a) ||
		!parse_integer(bound, &b))
		return false;
	return greater ? a > b : a < b;
}

bool label_requirement_matches(const struct doc *requirement, const struct doc *labels)
{
	const char *key = doc_string(doc_get(requirement, "key"));
	const char *op = doc_string(doc_get(requirement, "operator"));
	const struct doc *values = doc_get(requirement, "values");
	const char *have = key ? doc_string(doc_get(labels, key)) : NULL;

	if (!key || !op)
		return false;
	if (!strcmp(op, "In"))
		return have && label_in(values, have);
	if (!strcmp(op, "NotIn"))
		return doc_list_items(values) && (!have || !label_in(values, have));
	if (!strcmp(op, "Exists"))
		return have;
	if (!strcmp(op, "DoesNotExist"))
		return !have;
	return doc_list_items(values) && values->n_items == 1 &&
	       label_compares(have, op, doc_string(values->items));
}

const struct doc *label_find_missing(const struct doc *equal, const struct doc *labels)
{
	if (equal && equal->kind == DOC_MAP)
		DOC_FOREACH (want, equal) {
			const char *value = doc_string(want), *have = doc_string(doc_get(labels, want->key));

			if (!value || !have || strcmp(value, have) != 0)
				return want;
		}
	return NULL;
}

bool label_selector_is_empty(const struct doc *selector)
{
	const struct doc *equal = doc_get(selector, "matchLabels");

	return selector && selector->kind == DOC_MAP &&
	       !(equal && equal->kind == DOC_MAP && equal->n_items > 0) &&
	       !doc_list_items(doc_get(selector, "matchExpressions"));
}

bool label_selector_matches(const struct doc *selector, const struct doc *labels)
{
	const struct doc *expressions = doc_get(selector, "matchExpressions");

	if (!selector || selector->kind != DOC_MAP ||
		label_find_missing(doc_get(selector, "matchLabels"), labels))
		return false;
	DOC_FOREACH_ITEM (requirement, expressions)
		if (!label_requirement_matches(requirement, labels))
			return false;
	return true;
}
