/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first byte says what the rest is: a configuration file, one with a drop-in behind a "\n---\n", or a
 * file of flags of one of the four kinds.
 */
#include "tests/fuzz/fuzz.h"

#include "agent/observe/kubelet_args.h"
#include "agent/observe/kubelet_config.h"
#include "agent/observe/kubelet_k3s.h"
#include "agent/observe/systemd_syntax.h"
#include "common/cleanup.h"
#include "common/settings.h"
#include "common/settings_table.h"

static int read_files(
	const char *text, size_t len, bool with_drop_in, struct kubelet_config *config, struct err *err)
{
	static const char separator[] = "\n---\n";
	const char *at = with_drop_in ? memmem(text, len, separator, strlen(separator)) : NULL;
	size_t first = at ? (size_t)(at - text) : len;
	int r = kubelet_config_parse(text, first, false, "config", config, err);

	if (r < 0 || !at)
		return r;
	first += strlen(separator);
	return kubelet_config_parse(text + first, len - first, true, "drop-in", config, err);
}

static int read_k3s(const char *text, size_t len, struct kubelet_args *args, struct err *err)
{
	CLEANUP(k3s_options_release) struct k3s_options options = {.node_name = NULL};
	int r = k3s_options_add_file(&options, text, len, "k3s", err);

	return r < 0 ? r : k3s_options_apply(&options, args, err);
}

/* The words of a unit file's lines as arguments; the lines that are assignments are variables, too. */
static int read_unit(const char *text, struct kubelet_args *args, struct err *err)
{
	CLEANUP(strv_release) struct strv variables = {0};
	CLEANUP(strv_release) struct strv words = {0};
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT(1 << 20);

	for (; systemd_next_line(&text, &line); strbuf_reset(&line)) {
		CLEANUP(strbuf_release) struct strbuf word = STRBUF_INIT(1 << 20);
		CLEANUP(strbuf_release) struct strbuf known = STRBUF_INIT(1 << 21);
		const char *p = line.text;

		systemd_set_variable(&variables, line.text);
		for (; systemd_next_word(&p, line.len % 2 ? SYSTEMD_COMMAND : SYSTEMD_ASSIGNMENT, &word) > 0;
			strbuf_reset(&word)) {
			strbuf_reset(&known);
			if (systemd_add_specifiers(word.text, "kubelet.service", &known) &&
				words.n_items < 4096)
				systemd_expand_word(known.text, &variables, &words);
		}
	}
	return kubelet_args_add(args, (const char *const *)words.items, words.n_items, "unit", err);
}

static int read_flags(const char *text, size_t len, char kind, struct kubelet_config *config, struct err *err)
{
	static const char *const variables[] = {"SNAP_DATA", "/data", NULL};
	CLEANUP(kubelet_args_release) struct kubelet_args args = {0};
	int r;

	if (kind == 'e')
		r = kubelet_args_add_env(&args, text, len, "env", err);
	else if (kind == 'a')
		r = kubelet_args_add_file(&args, text, len, variables, "args", err);
	else if (kind == 'u')
		r = read_unit(text, &args, err);
	else
		r = read_k3s(text, len, &args, err);
	return r < 0 ? r : kubelet_config_overlay(config, &args.flags, err);
}

static void check(const struct settings *s)
{
	for (enum setting what = 0; what < SETTING_COUNT; what++) {
		CLEANUP(freep) char *text = s->from[what] ? settings_text(s, what) : strdup("");

		fuzz_require(text != NULL);
	}
	fuzz_require(s->kube_reserved_cpu >= 0 && s->system_reserved_memory >= 0);
}

void LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(kubelet_config_release) struct kubelet_config config = {0};
	CLEANUP(settings_release) struct settings s;
	CLEANUP(notes_release) struct notes notes = {0};
	CLEANUP(freep) char *text = NULL;
	struct err err = {""};
	int r;

	settings_init(&s);
	if (size == 0)
		return;
	text = strndup((const char *)data + 1, size - 1);
	fuzz_require(text != NULL);
	if (strchr("eaku", data[0]) && data[0])
		r = read_flags(text, strlen(text), (char)data[0], &config, &err);
	else
		r = read_files((const char *)data + 1, size - 1, data[0] == 'd', &config, &err);
	if (r == 0)
		r = settings_convert(&config, data[0] % 2, &s, &notes, &err);
	if (r < 0)
		fuzz_check_line(err.text);
	else
		check(&s);
	fuzz_check_notes(&notes);
}
