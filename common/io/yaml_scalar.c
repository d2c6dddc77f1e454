/* SPDX-License-Identifier: Apache-2.0 */
#include "common/io/yaml_scalar.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/xalloc.h"

/* ---- words */

static const struct word {
	const char *texts[12];
	struct yaml_scalar value;
} words[] = {
	{{"", "~", "null", "Null", "NULL"}, {.kind = DOC_NULL}},
	{{"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"},
		{.kind = DOC_BOOL, .text = "true"}},
	{{"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"},
		{.kind = DOC_BOOL, .text = "false"}},
	{{".nan", ".NaN", ".NAN"}, {.kind = DOC_NUMBER, .is_float = true, .value = NAN}},
	{{".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"},
		{.kind = DOC_NUMBER, .is_float = true, .value = INFINITY}},
	{{"-.inf", "-.Inf", "-.INF"}, {.kind = DOC_NUMBER, .is_float = true, .value = -INFINITY}},
};

static bool resolve_word(const char *text, struct yaml_scalar *ret)
{
	if (strlen(text) > 5)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		for (size_t k = 0; k < ARRAY_SIZE(words[i].texts) && words[i].texts[k]; k++)
			if (!strcmp(words[i].texts[k], text)) {
				*ret = words[i].value;
				return true;
			}
	return false;
}

/* ---- integers, as Go's strconv.ParseInt and ParseUint with base 0 */

/* The value of digits up to the end of the text. False: no digit of the base, or too large. */
static bool parse_in_base(const char *digits, unsigned base, uint64_t *ret)
{
	uint64_t value = 0;

	for (; *digits; digits++) {
		unsigned digit = base; /* not a digit */

		if (isdigit((unsigned char)*digits))
			digit = (unsigned)(*digits - '0');
		else if (isxdigit((unsigned char)*digits))
			digit = (unsigned)((*digits | 0x20) - 'a' + 10); /* 0x20: a small letter */
		if (digit >= base || __builtin_mul_overflow(value, base, &value) ||
			__builtin_add_overflow(value, digit, &value))
			return false;
	}
	*ret = value;
	return true;
}

/* The base of an integer, whose prefix is skipped: "0b", "0o", "0x", or "0" for octal. */
static unsigned find_base(const char **digits)
{
	static const char letters[] = "bBoOxX";
	static const unsigned bases[] = {2, 2, 8, 8, 16, 16};
	const char *p = *digits, *letter;

	if (*p != '0')
		return 10;
	letter = p[1] && p[2] ? strchr(letters, p[1]) : NULL;
	*digits += letter ? 2 : 1;
	return letter ? bases[letter - letters] : 8;
}

static bool set_integer(const char *digits, unsigned base, char sign, struct yaml_scalar *ret)
{
	uint64_t value, max = UINT64_MAX;

	if (sign == '-')
		max = (uint64_t)INT64_MAX + 1;
	else if (sign == '+')
		max = INT64_MAX; /* ParseUint takes no sign */
	if (!parse_in_base(digits, base, &value) || value > max)
		return false;
	*ret = (struct yaml_scalar){.kind = DOC_NUMBER};
	snprintf(ret->text, sizeof(ret->text), "%s%" PRIu64, sign == '-' && value > 0 ? "-" : "", value);
	return true;
}

static bool resolve_integer(const char *text, struct yaml_scalar *ret)
{
	char sign = *text == '-' || *text == '+' ? *text : '\0';
	const char *digits = text + (sign != '\0');
	unsigned base = find_base(&digits);

	if (base == 10 && !isdigit((unsigned char)*digits))
		return false;
	if (set_integer(digits, base, sign, ret))
		return true;
	/* go-yaml parses what follows "0b" once more, and then a sign may follow. */
	if (strncmp(text, "0b", 2) != 0 || !(text[2] == '-' || text[2] == '+') || !text[3])
		return false;
	return set_integer(text + 3, 2, text[2], ret);
}

/* ---- fractions */

/* [-+]?(digits[.digits]|.digits)([eE][-+]?digits)? */
static bool looks_like_float(const char *p)
{
	size_t before, after = 0, exponent;

	if (*p == '-' || *p == '+')
		p++;
	before = strspn(p, "0123456789");
	p += before;
	if (*p == '.') {
		p++;
		after = strspn(p, "0123456789");
		p += after;
	}
	if (before + after == 0)
		return false;
	if (*p == 'e' || *p == 'E') {
		p++;
		if (*p == '-' || *p == '+')
			p++;
		exponent = strspn(p, "0123456789");
		p += exponent;
		if (exponent == 0)
			return false;
	}
	return *p == '\0';
}

/* A number that is too large is no number. */
static bool resolve_float(const char *text, struct yaml_scalar *ret)
{
	double value = looks_like_float(text) ? strtod(text, NULL) : (double)INFINITY;

	if (!isfinite(value))
		return false;
	*ret = (struct yaml_scalar){.kind = DOC_NUMBER, .is_float = true, .value = value};
	return true;
}

/* ---- all types */

/* Whether each underscore is between two digits. */
static bool separates_digits(const char *text)
{
	for (const char *c = strchr(text, '_'); c; c = strchr(c + 1, '_'))
		if (c == text || !isdigit((unsigned char)c[-1]) || !isdigit((unsigned char)c[1]))
			return false;
	return true;
}

static char *copy_without_underscores(const char *text)
{
	char *copy = xstrdup(text);
	size_t n = 0;

	for (; *text; text++)
		if (*text != '_')
			copy[n++] = *text;
	copy[n] = '\0';
	return copy;
}

static bool resolve_number(const char *text, struct yaml_scalar *ret)
{
	CLEANUP(freep) char *plain = NULL;

	if (!strchr("+-.0123456789", *text) || strspn(text, "+-._0123456789abcdefABCDEFoOxX") != strlen(text))
		return false;
	plain = copy_without_underscores(text);
	/* Only here go-yaml leaves the underscores to Go, for which they may only separate digits. */
	if (*text == '.')
		return separates_digits(text) && resolve_float(plain, ret);
	return resolve_integer(plain, ret) || resolve_float(plain, ret);
}

struct yaml_scalar yaml_scalar_resolve(const char *text)
{
	struct yaml_scalar value;

	if (resolve_word(text, &value) || resolve_number(text, &value))
		return value;
	return (struct yaml_scalar){.kind = DOC_STRING};
}

static bool convert_to_float(struct yaml_scalar *value)
{
	if (value->kind != DOC_NUMBER)
		return false;
	/* go-yaml converts only integers of an int64. */
	if (!value->is_float && value->text[0] != '-' && strtoull(value->text, NULL, 10) > INT64_MAX)
		return false;
	if (!value->is_float)
		value->value = (double)strtoll(value->text, NULL, 10);
	value->is_float = true;
	return true;
}

bool yaml_scalar_resolve_tagged(const char *text, const char *tag, struct yaml_scalar *ret)
{
	static const char prefix[] = "tag:yaml.org,2002:";
	struct yaml_scalar value = yaml_scalar_resolve(text);
	const char *type = !strncmp(tag, prefix, strlen(prefix)) ? tag + strlen(prefix) : "";
	bool ok = true;

	if (!strcmp(type, "int"))
		ok = value.kind == DOC_NUMBER && !value.is_float;
	else if (!strcmp(type, "float"))
		ok = convert_to_float(&value);
	else if (!strcmp(type, "bool"))
		ok = value.kind == DOC_BOOL;
	else if (!strcmp(type, "null"))
		ok = value.kind == DOC_NULL;
	else
		value = (struct yaml_scalar){.kind = DOC_STRING};
	if (ok)
		*ret = value;
	return ok;
}
