/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/wire.h"

#include <stdint.h>

#include "common/cleanup.h"

#define MESSAGE_MAX (64u << 20)

enum wire_type { WIRE_VARINT = 0, WIRE_BYTES = 2 };

static void add_varint(struct strbuf *out, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		strbuf_addch(out, (char)(uint8_t)(value | 0x80));
	strbuf_addch(out, (char)(uint8_t)value);
}

static void add_bytes(struct strbuf *out, uint64_t field, const char *bytes, size_t len)
{
	add_varint(out, field << 3 | WIRE_BYTES);
	add_varint(out, len);
	strbuf_add(out, bytes, len);
}

static uint64_t number(const char **p)
{
	char *end;
	uint64_t value = (uint64_t)strtoll(*p, &end, 10);

	if (end == *p)
		abort();
	*p = end;
	return value;
}

static void skip_spaces(const char **p)
{
	while (**p == ' ')
		++*p;
}

static void add_packed(struct strbuf *out, const char **p)
{
	for (skip_spaces(p); **p != ']'; skip_spaces(p))
		add_varint(out, number(p));
	++*p;
}

/* Fields up to `stop`, which is passed over. */
static void add_fields(struct strbuf *out, const char **p, char stop)
{
	for (skip_spaces(p); **p != stop; skip_spaces(p)) {
		CLEANUP(strbuf_release) struct strbuf inner = STRBUF_INIT(MESSAGE_MAX);
		uint64_t field = number(p);
		char kind = *(*p)++;
		const char *end;

		switch (kind) {
		case ':':
			add_varint(out, field << 3 | WIRE_VARINT);
			add_varint(out, number(p));
			continue;
		case '\'':
			end = strchr(*p, '\'');
			if (!end)
				abort();
			strbuf_add(&inner, *p, (size_t)(end - *p));
			*p = end + 1;
			break;
		case '{':
			add_fields(&inner, p, '}');
			break;
		case '[':
			add_packed(&inner, p);
			break;
		default:
			abort();
		}
		add_bytes(out, field, inner.text, inner.len);
	}
	if (stop)
		++*p;
}

void wire_add(struct strbuf *out, const char *text)
{
	add_fields(out, &text, '\0');
	if (strbuf_error(out) < 0)
		abort();
}
