/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include "common/text.h"

static void appended_texts_are_cut(void **state)
{
	char text[8] = "";

	(void)state;
	text_addf(text, sizeof(text), "%s", "ab");
	text_addf(text, sizeof(text), "%d", 34);
	test_assert_text("whole", text, "ab34");
	text_addf(text, sizeof(text), "%s", "56789");
	test_assert_text("cut", text, "ab34567");
	text_addf(text, sizeof(text), "%s", "8");
	test_assert_text("full", text, "ab34567");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(appended_texts_are_cut)};

	return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
