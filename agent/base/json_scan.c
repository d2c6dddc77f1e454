/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/base/json_scan.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

#include "agent/base/json.h"
#include "common/cleanup.h"

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static const char *skip_space(const char *at, const char *end)
{
	while (at < end && is_space(*at))
		at++;
	return at;
}

/* Behind the string that begins at `at`, or NULL when it does not end. */
static const char *skip_string(const char *at, const char *end)
{
	const char *quote = memchr(at + 1, '"', (size_t)(end - at) - 1);

	if (!quote || !memchr(at, '\\', (size_t)(quote - at)))
		return quote ? quote + 1 : NULL;
	for (at++; at < end && *at != '"'; at++)
		if (*at == '\\')
			at++;
	return at < end ? at + 1 : NULL;
}

/* Behind the map or list that begins at `at`, or NULL when it does not end. */
static const char *skip_nested(const char *at, const char *end)
{
	size_t depth = 0;

	while (at < end) {
		switch (*at) {
		case '"':
			at = skip_string(at, end);
			if (!at)
				return NULL;
			continue;
		case '{':
		case '[':
			depth++;
			break;
		case '}':
		case ']':
			if (--depth == 0)
				return at + 1;
			break;
		default:
			break;
		}
		at++;
	}
	return NULL;
}

/* Behind the value that begins at `at`, or NULL when there is none. */
static const char *skip_value(const char *at, const char *end)
{
	const char *begin = at;

	if (at == end)
		return NULL;
	if (*at == '"')
		return skip_string(at, end);
	if (*at == '{' || *at == '[')
		return skip_nested(at, end);
	while (at < end && !is_space(*at) && !strchr(",:]}", *at))
		at++;
	return at > begin ? at : NULL;
}

bool json_scan_begin(struct json_scan *s, struct json_piece value, char open)
{
	if (value.len < 2 || *value.text != open)
		return false;
	*s = (struct json_scan){
		.at = value.text + 1, .end = value.text + value.len, .close = open == '{' ? '}' : ']'};
	return true;
}

int json_scan_next(struct json_scan *s, struct json_piece *ret_key, struct json_piece *ret_value)
{
	struct json_piece key;
	const char *at = skip_space(s->at, s->end), *end;

	s->at = at;
	if (at < s->end && *at == s->close)
		return 0;
	if (s->begun) {
		if (at == s->end || *at != ',')
			return -EINVAL;
		at = skip_space(at + 1, s->end);
	}
	if (ret_key) {
		key.text = at;
		at = at < s->end && *at == '"' ? skip_string(at, s->end) : NULL;
		if (!at)
			return -EINVAL;
		key.len = (size_t)(at - key.text);
		at = skip_space(at, s->end);
		if (at == s->end || *at != ':')
			return -EINVAL;
		at = skip_space(at + 1, s->end);
		*ret_key = key;
	}
	end = skip_value(at, s->end);
	if (!end)
		return -EINVAL;
	*ret_value = (struct json_piece){.text = at, .len = (size_t)(end - at)};
	s->at = end;
	s->begun = true;
	return 1;
}

int json_scan_text(const char *text, size_t len, struct json_piece *ret)
{
	const char *end = text + len, *at = skip_space(text, end), *behind = skip_value(at, end);

	if (!behind || skip_space(behind, end) != end)
		return -EINVAL;
	*ret = (struct json_piece){.text = at, .len = (size_t)(behind - at)};
	return 0;
}

bool json_piece_is_null(struct json_piece p)
{
	return p.len == 4 && !memcmp(p.text, "null", 4);
}

bool json_piece_is_key(struct json_piece p, const char *name)
{
	size_t len = strlen(name);

	return p.len == len + 2 && !strncasecmp(p.text + 1, name, len);
}

/* Bytes of the string's value that mean themselves. */
static size_t plain_length(struct json_piece p)
{
	size_t i = 1;

	while (i + 1 < p.len && p.text[i] >= ' ' && p.text[i] <= '~' && p.text[i] != '\\')
		i++;
	return i - 1;
}

/* One with escapes, or with more than ASCII. */
static int copy_decoded(struct json_piece p, char *ret)
{
	CLEANUP(doc_release) struct doc d = DOC_INIT;
	int r = json_parse(p.text, p.len, &d, NULL);
	size_t size;

	if (r < 0)
		return r == -ENOMEM ? r : -EINVAL;
	size = doc_string(&d) ? strlen(d.text) + 1 : 0;
	if (size == 0 || size > p.len)
		return -EINVAL;
	memcpy(ret, d.text, size);
	return (int)size;
}

int json_piece_string(struct json_piece p, char *ret)
{
	size_t len;

	if (p.len < 2 || p.len > INT_MAX || *p.text != '"')
		return -EINVAL;
	len = plain_length(p);
	if (len + 2 != p.len)
		return copy_decoded(p, ret);
	memcpy(ret, p.text + 1, len);
	ret[len] = '\0';
	return (int)len + 1;
}
