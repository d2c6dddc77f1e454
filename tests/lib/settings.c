/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/settings.h"

#include "common/cleanup.h"
#include "common/settings.h"
#include "common/settings_table.h"
#include "tests/lib/test.h"

char *test_setting_line(const struct settings *s, enum setting what)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(65536);
	CLEANUP(freep) char *text = NULL;
	char *line;

	if (s->from[what]) {
		text = settings_text(s, what);
		assert_non_null(text);
		strbuf_addf(&out, "%s=%s [%s]", settings_table[what].name, text, s->from[what]);
	}
	line = strbuf_detach(&out);
	assert_non_null(line);
	return line;
}

void test_settings_text(const struct settings *s, struct strbuf *out)
{
	for (enum setting what = 0; what < SETTING_COUNT; what++) {
		CLEANUP(freep) char *line = test_setting_line(s, what);

		if (*line)
			strbuf_addf(out, "%s\n", line);
	}
	assert_int_equal(strbuf_error(out), 0);
}
