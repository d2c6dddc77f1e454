/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/kubelet_tree.h"

#include "common/cleanup.h"
#include "tests/lib/settings.h"
#include "tests/lib/states.h"
#include "tests/lib/test.h"

void test_write_tree(const char *dir, const struct test_tree_file *files)
{
	for (; files->path; files++)
		test_write_file(dir, files->path, files->text);
}

void test_check_find(const char *what, const char *dir, const struct settings_overrides *overrides,
	const enum setting *only, size_t n_only, const char *want)
{
	static const struct settings_overrides none = {.kubelet_config = NULL};
	CLEANUP(settings_release) struct settings s;
	CLEANUP(notes_release) struct notes notes = {0};
	CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(65536);
	CLEANUP(kubelet_place_release) struct kubelet_place place = {.root = NULL};
	struct err err = {""};
	int r;

	settings_init(&s);
	r = settings_find(dir, overrides ? overrides : &none, NULL, &s, &place, &notes, &err);
	if (r < 0) {
		const char *at = strstr(err.text, dir);

		assert_null(place.root);
		strbuf_add(&got, err.text, at ? (size_t)(at - err.text) : strlen(err.text));
		strbuf_addstr(&got, at ? at + strlen(dir) : "");
		test_assert_text(what, got.text, want);
		return;
	}
	for (size_t i = 0; i < n_only; i++) {
		CLEANUP(freep) char *line = test_setting_line(&s, only[i]);

		strbuf_addf(&got, "%s\n", line);
	}
	if (!only)
		test_settings_text(&s, &got);
	strbuf_addf(&got, "root %s\n", place.root);
	if (place.hostname)
		strbuf_addf(&got, "host name %s [%s]\n", place.hostname, text_or_empty(place.hostname_from));
	test_notes_text(&notes, &got);
	test_assert_text(what, got.text, want);
}

static const enum setting policies[] = {SETTING_CPU_MANAGER_POLICY, SETTING_TOPOLOGY_MANAGER_POLICY};

void test_check_policies(
	const char *what, const char *dir, const struct settings_overrides *overrides, const char *want)
{
	test_check_find(what, dir, overrides, policies, ARRAY_SIZE(policies), want);
}
