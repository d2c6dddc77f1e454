/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/parsed.h"

#include "common/cleanup.h"
#include "common/io/json.h"
#include "tests/lib/test.h"

void test_check_parse(
	test_parse_fn *parse, const char *text, size_t len, const char *want, const char *message)
{
	CLEANUP(doc_release) struct doc d = DOC_INIT;
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(1u << 20);
	struct err err = {""};
	int r = parse(text, len, &d, &err);

	if (want && r < 0)
		fail_msg("'%s': %s", text, err.text);
	if (!want && r >= 0)
		fail_msg("'%s' was accepted", text);
	if (!want && !strstr(err.text, message))
		fail_msg("'%s': message '%s' lacks '%s'", text, err.text, message);
	if (!want) {
		assert_int_equal(d.kind, DOC_NULL);
		return;
	}
	assert_int_equal(json_print_compact(&d, &out), 0);
	test_assert_text(text, out.text, want);
}
