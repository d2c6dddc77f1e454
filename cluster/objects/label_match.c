/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/objects/label_match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/xalloc.h"

bool label_in(const struct doc *values, const char *text)
{
	DOC_FOREACH_ITEM (value, values) {
		const char *string = doc_string(value);

		if (string && !strcmp(string, text))
			return true;
	}
	return false;
}

/* As Go's strconv.ParseInt(text, 10, 64): unlike strtoll(3), without blanks before the number. */
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

	if (!greater && strcmp(op, "Lt") != 0)
		return false;
	if (!have || !bound || !parse_integer(have, &a) || !parse_integer(bound, &b))
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

#define LABEL_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./"

/* A part of a selector's text, and the rest of the text. */
struct selector_text {
	const char *at;
	char word[320]; /* a label's prefix, name or value */
};

static void skip_blanks(struct selector_text *t)
{
	t->at += strspn(t->at, " \t");
}

/* Skips the token. False = the text does not begin with the token. */
static bool skip_token(struct selector_text *t, const char *token)
{
	skip_blanks(t);
	if (strncmp(t->at, token, strlen(token)) != 0)
		return false;
	t->at += strlen(token);
	return true;
}

/* Reads the next word, which may be empty, into t->word. False = too long. */
static bool read_word(struct selector_text *t)
{
	size_t len;

	skip_blanks(t);
	len = strspn(t->at, LABEL_CHARACTERS);
	if (len >= sizeof(t->word))
		return false;
	memcpy(t->word, t->at, len);
	t->word[len] = '\0';
	t->at += len;
	return true;
}

/* Reads a set of values, "(a, b)". */
static bool read_set(struct selector_text *t, struct doc *values)
{
	if (!skip_token(t, "("))
		return false;
	do {
		if (!read_word(t))
			return false;
		doc_add_string(values, NULL, t->word);
	} while (skip_token(t, ","));
	return skip_token(t, ")");
}

/* Reads the operator after a label's name. The table has "==" before "=", because "==" also begins with "=". */
static bool read_operator(struct selector_text *t, struct doc *requirement)
{
	static const struct {
		const char *token, *name;
		bool set;
	} operators[] = {{"==", "In", false}, {"=", "In", false}, {"!=", "NotIn", false}, {">", "Gt", false},
		{"<", "Lt", false}, {"in ", "In", true}, {"in(", "In", true}, {"notin ", "NotIn", true},
		{"notin(", "NotIn", true}};
	struct doc *values;

	for (size_t i = 0; i < ARRAY_SIZE(operators); i++) {
		if (!skip_token(t, operators[i].token))
			continue;
		doc_add_string(requirement, "operator", operators[i].name);
		values = doc_add_list(requirement, "values");
		if (operators[i].set) {
			t->at--; /* read_set() begins with the bracket; before a blank this has no effect */
			return read_set(t, values);
		}
		if (!read_word(t))
			return false;
		doc_add_string(values, NULL, t->word);
		return true;
	}
	doc_add_string(requirement, "operator", "Exists");
	return true;
}

static bool read_requirement(struct selector_text *t, struct doc *requirement)
{
	bool absent = skip_token(t, "!");

	if (!read_word(t) || !*t->word)
		return false;
	doc_add_string(requirement, "key", t->word);
	if (!absent)
		return read_operator(t, requirement);
	doc_add_string(requirement, "operator", "DoesNotExist");
	return true;
}

int label_selector_parse(const char *text, struct doc *ret, struct err *err)
{
	CLEANUP(doc_release) struct doc selector = {.kind = DOC_MAP};
	struct doc *requirements = doc_add_list(&selector, "matchExpressions");
	struct selector_text t = {.at = text};

	do {
		if (!read_requirement(&t, doc_add_map(requirements, NULL)))
			return err_set(err, -EINVAL, "'%.100s' is not a label selector", text);
	} while (skip_token(&t, ","));
	skip_blanks(&t);
	if (*t.at)
		return err_set(err, -EINVAL, "'%.100s' is not a label selector", text);
	*ret = selector;
	selector = (struct doc)DOC_INIT;
	return 0;
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

static bool is_label(const struct doc *label)
{
	return *label->key && doc_string(label);
}

char *label_pack(const struct doc *labels, size_t max, size_t *ret_len)
{
	size_t len = 0;
	char *packed, *at;

	if (labels && labels->kind == DOC_MAP)
		DOC_FOREACH (label, labels)
			len += is_label(label) ? strlen(label->key) + strlen(label->text) + 2 : 0;
	*ret_len = len > 0 ? len + 1 : 0;
	if (len == 0 || *ret_len > max)
		return NULL;
	packed = at = xcalloc(1, *ret_len);
	DOC_FOREACH (label, labels)
		if (is_label(label)) {
			at = stpcpy(at, label->key) + 1;
			at = stpcpy(at, label->text) + 1;
		}
	return packed;
}

void label_unpack(const char *packed, struct doc *ret)
{
	for (const char *key = packed, *value; *key; key = value + strlen(value) + 1) {
		value = key + strlen(key) + 1;
		doc_add_string(ret, key, value);
	}
}
