/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/observe/settings_find.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>

#include "agent/observe/fs_root.h"
#include "agent/observe/kubelet_args.h"
#include "agent/observe/kubelet_config.h"
#include "agent/observe/kubelet_places.h"
#include "agent/observe/kubelet_process.h"
#include "common/cleanup.h"
#include "common/io/fs.h"
#include "common/io/time.h"
#include "common/strbuf.h"
#include "common/xalloc.h"

static void forget_before(struct settings_finding *f)
{
	if (f->before)
		settings_finding_release(f->before);
	freep(&f->before);
}

void settings_finding_release(struct settings_finding *f)
{
	kubelet_config_release(&f->config);
	free(f->root_dir);
	free(f->hostname);
	free(f->hostname_from);
	free(f->gap);
	free(f->files_root);
	strv_release(&f->files);
	forget_before(f);
	*f = (struct settings_finding){.found = false};
}

void kubelet_place_release(struct kubelet_place *p)
{
	free(p->root);
	free(p->hostname);
	free(p->hostname_from);
	*p = (struct kubelet_place){.root = NULL};
}

/* As the kubelet changes the host name (pkg/util/node, GetHostname): without white space around it, in lower case. NULL if nothing is
 * left. */
static char *make_node_name(const char *hostname)
{
	static const char white[] = " \t\r\n\v\f";
	char *name = xstrdup(hostname + strspn(hostname, white));
	size_t len = strlen(name);

	while (len > 0 && strchr(white, name[len - 1]))
		name[--len] = '\0';
	for (char *p = name; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	if (len == 0)
		freep(&name);
	return name;
}

/* Merge configuration file, drop-ins and flags. The paths are below `root`. */
static int merge_settings_sources(struct settings_finding *f, const char *root, const char *config,
	const char *config_dir, struct kubelet_args *args, struct err *err)
{
	int r = config ? kubelet_config_read(root, config, &f->config, err)
		       : kubelet_config_without_file(&f->config, err);

	if (r < 0)
		return r;
	if (config)
		strv_push(&f->files, config);
	r = config_dir ? kubelet_config_read_dropins(root, config_dir, &f->config, &f->files, err) : 0;
	if (r < 0)
		return r;
	r = kubelet_config_overlay(&f->config, &args->flags, err);
	f->found = r == 0;
	f->hostname = args->hostname ? make_node_name(args->hostname) : NULL;
	f->hostname_from = args->hostname_from ? xstrdup(args->hostname_from) : NULL;
	return r;
}

/* The kubelet's --root-dir, or the default, as a path below the sysroot that leads to what the process sees
 * there. */
static int set_root_dir(const char *sysroot, const struct kubelet_process *process, const char *root_dir,
	struct settings_finding *f, struct err *err)
{
	CLEANUP(freep) char *absolute = NULL;
	int r = kubelet_process_path(
		process, root_dir && *root_dir ? root_dir : KUBELET_ROOT, &absolute, err);

	if (r < 0)
		return r;
	/* process->root begins with the sysroot. */
	f->root_dir = xasprintf("%s%s", process->root + strlen(sysroot), absolute);
	return 0;
}

static int read_process_settings(const char *sysroot, const struct kubelet_process *process,
	struct settings_finding *f, struct err *err)
{
	CLEANUP(kubelet_args_release) struct kubelet_args args = {0};
	CLEANUP(freep) char *config = NULL;
	CLEANUP(freep) char *config_dir = NULL;
	char source[64];
	int r;

	snprintf(source, sizeof(source), "kubelet (pid %u)", process->pid);
	r = kubelet_args_add(
		&args, (const char *const *)process->words.items, process->words.n_items, source, err);
	if (r == 0 && args.config && *args.config)
		r = kubelet_process_path(process, args.config, &config, err);
	if (r == 0 && args.config_dir && *args.config_dir)
		r = kubelet_process_path(process, args.config_dir, &config_dir, err);
	if (r < 0)
		return r;
	r = set_root_dir(sysroot, process, args.root_dir, f, err);
	return r < 0 ? r : merge_settings_sources(f, process->root, config, config_dir, &args, err);
}

/* kubeadm puts the configuration into the kubelet's root directory. Without such a file `f` stays as it was (f->found). */
static int read_kubeadm(
	const char *sysroot, const char *kubelet_root, struct settings_finding *f, struct err *err)
{
	CLEANUP(kubelet_args_release) struct kubelet_args args = {0};
	CLEANUP(strbuf_release) struct strbuf config = STRBUF_INIT(PATH_MAX);
	CLEANUP(strbuf_release) struct strbuf flags = STRBUF_INIT(PATH_MAX);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(FS_FILE_MAX);
	int r;

	strbuf_addf(&config, "%s/config.yaml", kubelet_root);
	strbuf_addf(&flags, "%s/kubeadm-flags.env", kubelet_root);
	if (strbuf_error(&config) < 0 || strbuf_error(&flags) < 0)
		return err_set(err, -ENAMETOOLONG, "path too long: '%.200s'", kubelet_root);
	r = fs_lookup(sysroot, config.text, err);
	if (r <= 0)
		return r;
	r = fs_read(sysroot, flags.text, &text, err);
	if (r < 0 && !fs_is_absent(r))
		return r;
	r = kubelet_args_add_env(&args, text.text, text.len, flags.text, err);
	return r < 0 ? r : merge_settings_sources(f, sysroot, config.text, NULL, &args, err);
}

static int add_overrides(
	const struct settings_overrides *overrides, struct kubelet_config *config, struct err *err)
{
	CLEANUP(kubelet_config_release) struct kubelet_config explicit = {.unknown_field = NULL};

	for (enum setting what = 0; what < SETTING_COUNT; what++) {
		const char *value = overrides->settings[what].value;
		const char *from = overrides->settings[what].from;
		int r = value ? kubelet_config_set_flag(&explicit, what, value, from, err) : 0;

		if (r < 0)
			return r;
	}
	return kubelet_config_overlay(config, &explicit, err);
}

/* ---- the running kubelet and the last one */

/* The first file that has changed since the kubelet's start; NULL = none is known. */
static const char *find_changed_file(const struct settings_finding *f)
{
	if (f->start_time == 0)
		return NULL;
	/* Both times are whole seconds: within one second the order is unknown. */
	for (size_t i = 0; i < f->files.n_items; i++) {
		struct stat st;
		int r = fs_stat(f->files_root, f->files.items[i], &st);

		if (r == -ENOENT || (r == 0 && st.st_ctim.tv_sec > f->start_time + 1))
			return f->files.items[i];
	}
	return NULL;
}

/* Reads the command line and the files of the process. The kubelet read the same files, unless one has changed since. */
static int read_kubelet(const char *sysroot, const struct kubelet_process *process,
	const struct settings_overrides *overrides, struct settings_finding *f, struct err *err)
{
	int r = read_process_settings(sysroot, process, f, err);

	if (r < 0)
		return r;
	r = add_overrides(overrides, &f->config, err);
	if (r < 0)
		return r;
	f->pid = process->pid;
	f->start = process->start;
	f->start_time = process->start_time;
	f->files_root = xstrdup(process->root);
	f->changed_before_read = find_changed_file(f) != NULL;
	return 0;
}

static void note_changed(const struct settings_finding *f, struct notes *notes)
{
	const char *file = find_changed_file(f);

	/* `f` has the new content of the file, and the kubelet may have the old. */
	if (f->changed_before_read && file)
		notes_add(notes,
			"'%s' changed after the kubelet (pid %u) started: the kubelet may run with older settings; restart it",
			file, f->pid);
	/* `f` was read before the change, so it has what the kubelet has. */
	else if (file)
		notes_add(notes,
			"'%s' changed after the kubelet (pid %u) started: the old settings apply until the kubelet restarts",
			file, f->pid);
}

/* ---- all sources */

/* Reads the sources that are used when no kubelet runs. */
static int read_without_kubelet(const char *sysroot, const struct settings_overrides *overrides,
	struct settings_finding *f, struct err *err)
{
	CLEANUP(kubelet_files_release) struct kubelet_files files = {.source = NULL};
	int r = 0;

	if (overrides->kubelet_root && strcmp(overrides->kubelet_root, KUBELET_ROOT) != 0)
		r = read_kubeadm(sysroot, overrides->kubelet_root, f, err);
	if (r < 0 || f->found)
		return r;
	r = kubelet_places_read(sysroot, &files, err);
	if (r <= 0)
		return r;
	f->root_dir = TAKE(files.args.root_dir);
	f->gap = TAKE(files.gap);
	return merge_settings_sources(f, sysroot, files.args.config, files.args.config_dir, &files.args, err);
}

/* Whether the settings are those of this process. */
static bool same_process(const struct settings_finding *f, const struct kubelet_process *p)
{
	return p->start > 0 && p->pid == f->pid && p->start == f->start;
}

/* Note that not exactly one kubelet runs: `n` run, `process` is the first. The settings of `last`, if
 * known, still count. */
static void note_number(const struct settings_finding *last, int n, const struct kubelet_process *process,
	struct notes *notes)
{
	if (n == 0 && last)
		notes_add(
			notes, "the kubelet (pid %u) is not running: its last settings are used", last->pid);
	if (n > 1)
		notes_add(notes,
			"%d kubelets run here (the first is pid %u), and nrtd cannot tell which is this node's%s: name its configuration with --kubelet-config",
			n, process->pid, last ? "; the last kubelet's settings are used" : "");
}

/* The last kubelet has ended. If it ran for less than SETTINGS_PROOF_MS, which is as long as it has a `before`, the kubelet before it becomes
 * the last one again. */
static void take_back(struct settings_finding *last)
{
	CLEANUP(freep) struct settings_finding *before = TAKE(last->before);

	if (!before)
		return;
	settings_finding_release(last);
	*last = *before;
}

/* `f` becomes the last kubelet. The kubelet before it is the last one that ran long enough: `last`, unless it still has a `before`. */
static void replace_last(struct settings_finding *last, struct settings_finding *f)
{
	if (!last->before && last->pid) {
		f->before = xcalloc(1, sizeof(*f->before));
		*f->before = *last;
	} else {
		f->before = TAKE(last->before);
		settings_finding_release(last);
	}
	f->since_ms = clock_ms(CLOCK_BOOTTIME);
	*last = *f;
	*f = (struct settings_finding){.found = false};
}

/* Fill `f` from the first source; or leave `f` empty and set *ret_last when the settings of `last` (NULL =
 * none) still hold, and *ret_kept when the kubelet of `last` does not run. */
static int read_sources(const char *sysroot, const struct settings_overrides *overrides,
	struct settings_finding *last, struct settings_finding *f, bool *ret_last, bool *ret_kept,
	struct notes *notes, struct err *err)
{
	CLEANUP(kubelet_process_release) struct kubelet_process process = {0};
	CLEANUP(kubelet_args_release) struct kubelet_args no_args = {0};
	int n, r = 0;

	if (overrides->kubelet_config) {
		r = merge_settings_sources(f, sysroot, overrides->kubelet_config, NULL, &no_args, err);
		return r < 0 ? r : add_overrides(overrides, &f->config, err);
	}
	n = kubelet_process_find(sysroot, overrides->proc, &process, notes, err);
	if (n < 0)
		return n;
	f->n_running = (unsigned)n;
	if (last && n == 0)
		take_back(last);
	note_number(last, n, &process, notes);
	/* The last kubelet still runs, or no other kubelet is known to have taken its place. */
	if (last && (n != 1 || same_process(last, &process))) {
		if (n == 1 && clock_ms(CLOCK_BOOTTIME) - last->since_ms >= SETTINGS_PROOF_MS)
			forget_before(last);
		*ret_last = true;
		*ret_kept = n != 1;
		return 0;
	}
	if (n == 1)
		return read_kubelet(sysroot, &process, overrides, f, err);
	if (n == 0)
		r = read_without_kubelet(sysroot, overrides, f, err);
	return r < 0 ? r : add_overrides(overrides, &f->config, err);
}

/* Whether `root_dir` leads into the mount namespace of the kubelet's process, and this process has ended: 1, 0 or -errno. */
static int is_root_ended(const char *sysroot, const struct settings_overrides *overrides,
	const struct settings_finding *f, struct err *err)
{
	char own[64];
	int r;

	snprintf(own, sizeof(own), "/proc/%u/root/", f->pid);
	if (f->pid == 0 || !f->root_dir || strncmp(f->root_dir, own, strlen(own)) != 0)
		return 0;
	r = kubelet_process_runs(sysroot, overrides->proc, f->pid, f->start, err);
	return r < 0 ? r : !r;
}

/* `s` was converted from `f`. */
static void rate_sources(const struct settings_finding *f, const struct settings_overrides *overrides,
	const struct settings *s, enum evidence ret[SETTING_COUNT])
{
	bool process = f->pid != 0;

	for (enum setting what = 0; what < SETTING_COUNT; what++)
		if (overrides->settings[what].value)
			ret[what] = EVIDENCE_USER;
		else if (!s->from[what])
			ret[what] = EVIDENCE_NONE;
		else if (!strcmp(s->from[what], SETTINGS_KUBELET_DEFAULT))
			ret[what] = process ? EVIDENCE_PROCESS : EVIDENCE_DEFAULT;
		else
			ret[what] = process || overrides->kubelet_config ? EVIDENCE_PROCESS : EVIDENCE_PLACE;
}

static int convert_finding(const char *sysroot, const struct settings_finding *f,
	const struct settings_overrides *overrides, struct settings *ret, struct kubelet_place *place,
	struct notes *notes, struct err *err)
{
	int ended = overrides->kubelet_root ? 0 : is_root_ended(sysroot, overrides, f, err), r;

	if (ended < 0)
		return ended;
	r = settings_convert(&f->config, f->found && !f->gap, ret, notes, err);
	if (r < 0)
		return r;
	if (f->gap)
		notes_add(notes, "%s: settings that no file mentions are not known", f->gap);
	rate_sources(f, overrides, ret, place->evidence);
	if (overrides->kubelet_root)
		place->root = xstrdup(overrides->kubelet_root);
	else
		place->root = xstrdup(f->root_dir ? f->root_dir : KUBELET_ROOT);
	place->root_ended = ended > 0;
	place->hostname = f->hostname ? xstrdup(f->hostname) : NULL;
	place->hostname_from = f->hostname_from ? xstrdup(f->hostname_from) : NULL;
	return 0;
}

/* A path that the user gave, as an absolute path below the sysroot. Without a sysroot the path is below the working directory. */
static char *path_below(const char *sysroot, const char *path)
{
	return path ? xasprintf("%s%s", *sysroot && *path != '/' ? "/" : "", path) : NULL;
}

int settings_find(const char *sysroot, const struct settings_overrides *overrides,
	struct settings_finding *last, struct settings *ret, struct kubelet_place *ret_place,
	struct notes *notes, struct err *err)
{
	CLEANUP(settings_finding_release) struct settings_finding f = {.found = false};
	CLEANUP(freep) char *config = path_below(sysroot, overrides->kubelet_config);
	CLEANUP(freep) char *root = path_below(sysroot, overrides->kubelet_root);
	struct settings_overrides below = *overrides;
	struct kubelet_place place = {.root = NULL};
	bool from_last = false;
	int r;

	below.kubelet_config = config;
	below.kubelet_root = root;
	/* A `last` without a process id has no kubelet's settings yet. */
	r = read_sources(
		sysroot, &below, last && last->pid ? last : NULL, &f, &from_last, &place.kept, notes, err);
	if (r < 0)
		return r;
	r = convert_finding(sysroot, from_last ? last : &f, &below, ret, &place, notes, err);
	if (r < 0)
		return r;
	if (!place.kept)
		note_changed(from_last ? last : &f, notes);
	*ret_place = place;
	if (last)
		last->n_running = f.n_running;
	if (last && f.pid)
		replace_last(last, &f);
	return 0;
}

bool settings_kubelet_is_down(const struct settings_finding *last)
{
	return last->pid > 0 && last->n_running == 0;
}

int settings_kubelet_is_same(const char *sysroot, const struct settings_overrides *overrides,
	const struct settings_finding *last, struct err *err)
{
	CLEANUP(kubelet_process_release) struct kubelet_process process = {0};
	int n;

	if (last->pid == 0 || last->n_running > 1 || overrides->kubelet_config)
		return 1;
	if (last->n_running == 1)
		return kubelet_process_runs(sysroot, overrides->proc, last->pid, last->start, err);
	/* No kubelet ran at the last settings_find(). */
	n = kubelet_process_find(sysroot, overrides->proc, &process, NULL, err);
	return n < 0 ? n : n == 0;
}
