/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cluster/label_match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool has_items(const struct doc *d, enum doc_kind kind)
{
	return d && d->kind == kind && d->n_items > 0;
}

static bool is_one_of(const struct doc *values, const char *text)
{
	if (has_items(values, DOC_LIST))
		DOC_FOREACH (value, values) {
			const char *one = doc_string(value);

			if (one && !strcmp(one, text))
				return true;
		}
	return false;
}

/* As strconv.ParseInt(text, 10, 64) reads it. */
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
		return have && is_one_of(values, have);
	if (!strcmp(op, "NotIn"))
		return has_items(values, DOC_LIST) && (!have || !is_one_of(values, have));
	if (!strcmp(op, "Exists"))
		return have;
	if (!strcmp(op, "DoesNotExist"))
		return !have;
	return has_items(values, DOC_LIST) && values->n_items == 1 &&
	       label_compares(have, op, doc_string(values->items));
}

bool label_selector_is_empty(const struct doc *selector)
{
	return selector && selector->kind == DOC_MAP &&
	       !has_items(doc_get(selector, "matchLabels"), DOC_MAP) &&
	       !has_items(doc_get(selector, "matchExpressions"), DOC_LIST);
}

bool label_selector_matches(const struct doc *selector, const struct doc *labels)
{
	const struct doc *equal = doc_get(selector, "matchLabels"),
			 *expressions = doc_get(selector, "matchExpressions");

	if (!selector || selector->kind != DOC_MAP)
		return false;
	if (has_items(equal, DOC_MAP))
		DOC_FOREACH (want, equal) {
			const char *value = doc_string(want), *have = doc_string(doc_get(labels, want->key));

			if (!value || !have || strcmp(value, have) != 0)
				return false;
		}
	if (has_items(expressions, DOC_LIST))
		DOC_FOREACH (requirement, expressions)
			if (!label_requirement_matches(requirement, labels))
				return false;
	return true;
}

/* metadata.name is the only field, In and NotIn the only operators, of one value. */
static bool field_matches(const struct doc *requirement, const struct doc *node)
{
	const char *key = doc_string(doc_get(requirement, "key"));
	const char *op = doc_string(doc_get(requirement, "operator"));
	const struct doc *values = doc_get(requirement, "values");
	const char *name = doc_string(doc_get(doc_get(node, "metadata"), "name"));

	if (!key || strcmp(key, "metadata.name") != 0 || !op || !name || !has_items(values, DOC_LIST) ||
		values->n_items != 1)
		return false;
	if (!strcmp(op, "In"))
		return is_one_of(values, name);
	return !strcmp(op, "NotIn") && !is_one_of(values, name);
}

bool label_node_term_matches(const struct doc *term, const struct doc *node)
{
	const struct doc *fields = doc_get(term, "matchFields"),
			 *expressions = doc_get(term, "matchExpressions");
	const struct doc *labels = doc_get(doc_get(node, "metadata"), "labels");

	if (!has_items(fields, DOC_LIST) && !has_items(expressions, DOC_LIST))
		return false;
	if (has_items(fields, DOC_LIST))
		DOC_FOREACH (requirement, fields)
			if (!field_matches(requirement, node))
				return false;
	if (has_items(expressions, DOC_LIST))
		DOC_FOREACH (requirement, expressions)
			if (!label_requirement_matches(requirement, labels))
				return false;
	return true;
}
