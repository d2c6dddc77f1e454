/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/settings_find.h"

#include <errno.h>
#include <limits.h>

#include "agent/fs.h"
#include "agent/settings_args.h"
#include "agent/settings_distro.h"
#include "agent/settings_file.h"
#include "agent/settings_proc.h"
#include "common/cleanup.h"
#include "common/strbuf.h"

/* What a source told, before explicit values are laid over it. */
struct finding {
	struct settings_raw raw;
	char *root_dir; /* NULL = not told */
	bool found;     /* a kubelet's configuration was found, so that the rest is the kubelet's defaults */
};

static void finding_release(struct finding *f)
{
	settings_raw_release(&f->raw);
	free(f->root_dir);
}

static int no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

/* Configuration file, drop-ins and flags, as the kubelet lays them over one another. The paths are below
 * `root`. */
static int read_config(struct finding *f, const char *root, const char *config, const char *config_dir,
	struct kubelet_args *args, struct err *err)
{
	int r = config ? settings_file_read(root, config, &f->raw, err)
		       : settings_raw_default_eviction(&f->raw, false, err);

	if (r == 0 && config_dir)
		r = settings_dropins_read(root, config_dir, &f->raw, err);
	if (r == 0)
		r = settings_raw_overlay(&f->raw, &args->flags, err);
	f->found = r == 0;
	return r;
}

/* Its --root-dir, or the default one, as a path below the sysroot that leads to where the process sees it. */
static int find_root_dir(const char *sysroot, const struct kubelet_process *process, const char *root_dir,
	struct finding *f, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(2 * PATH_MAX);
	CLEANUP(freep) char *absolute = NULL;
	int r = kubelet_process_path(
		process, root_dir && *root_dir ? root_dir : KUBELET_ROOT, &absolute, err);

	if (r < 0)
		return r;
	strbuf_addf(&path, "%s%s", process->root + strlen(sysroot), absolute);
	f->root_dir = strbuf_detach(&path);
	return f->root_dir ? 0 : no_memory(err);
}

/* The running kubelet. */
static int read_process(
	const char *sysroot, const struct kubelet_process *process, struct finding *f, struct err *err)
{
	CLEANUP(kubelet_args_release) struct kubelet_args args = {0};
	CLEANUP(freep) char *config = NULL;
	CLEANUP(freep) char *config_dir = NULL;
	char source[64];
	int r;

	snprintf(source, sizeof(source), "kubelet (pid %u)", process->pid);
	r = kubelet_args_add(&args, (const char *const *)process->words, process->n_words, source, err);
	if (r == 0 && args.config && *args.config)
		r = kubelet_process_path(process, args.config, &config, err);
	if (r == 0 && args.config_dir && *args.config_dir)
		r = kubelet_process_path(process, args.config_dir, &config_dir, err);
	if (r == 0)
		r = find_root_dir(sysroot, process, args.root_dir, f, err);
	return r < 0 ? r : read_config(f, process->root, config, config_dir, &args, err);
}

/* The usual places. */
static int read_distribution(const char *sysroot, struct finding *f, struct err *err)
{
	CLEANUP(kubelet_args_release) struct kubelet_args args = {0};
	const struct distribution *d = distribution_find(sysroot);
	int r;

	if (!d)
		return 0;
	r = distribution_args(d, sysroot, &args, err);
	if (r < 0)
		return r;
	f->root_dir = args.root_dir ? TAKE(args.root_dir) : strdup(distribution_root_dir(d));
	if (!f->root_dir)
		return no_memory(err);
	return read_config(f, sysroot, args.config, args.config_dir, &args, err);
}

/* A kubelet's root directory that was named has its configuration in it, where kubeadm put it there. */
static int read_root(const char *sysroot, const char *kubelet_root, struct finding *f, struct err *err)
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
	if (!fs_exists(sysroot, config.text))
		return 0;
	r = fs_exists(sysroot, flags.text) ? fs_read(sysroot, flags.text, &text, err) : 0;
	if (r == 0)
		r = kubelet_args_add_env(&args, text.text, text.len, flags.text, err);
	return r < 0 ? r : read_config(f, sysroot, config.text, NULL, &args, err);
}

static int look(const char *sysroot, const struct settings_overrides *overrides, struct finding *f,
	struct notes *notes, struct err *err)
{
	CLEANUP(kubelet_process_release) struct kubelet_process process = {0};
	CLEANUP(kubelet_args_release) struct kubelet_args none = {0};
	int n, r = 0;

	if (overrides->kubelet_config)
		return read_config(f, sysroot, overrides->kubelet_config, NULL, &none, err);
	n = kubelet_process_find(sysroot, overrides->proc, &process, err);
	if (n < 0)
		return n;
	if (n == 1)
		return read_process(sysroot, &process, f, err);
	if (n > 1) {
		notes_add(notes,
			"%d kubelets run here (the first is pid %u), and which one is this node's is "
			"unknown: "
			"name its configuration with --kubelet-config",
			n, process.pid);
		return 0;
	}
	if (overrides->kubelet_root && strcmp(overrides->kubelet_root, KUBELET_ROOT) != 0)
		r = read_root(sysroot, overrides->kubelet_root, f, err);
	return r < 0 || f->found ? r : read_distribution(sysroot, f, err);
}

static int add_overrides(
	const struct settings_overrides *overrides, struct settings_raw *raw, struct err *err)
{
	CLEANUP(settings_raw_release) struct settings_raw explicit;

	settings_raw_init(&explicit);
	for (enum setting what = 0; what < SETTING_COUNT; what++) {
		const char *value = overrides->settings[what].value;
		const char *from = overrides->settings[what].from;
		int r = value ? settings_raw_flag(&explicit, what, value, from, err) : 0;

		if (r < 0)
			return r;
	}
	return settings_raw_overlay(raw, &explicit, err);
}

int settings_find(const char *sysroot, const struct settings_overrides *overrides, struct settings *ret,
	char **ret_root, struct notes *notes, struct err *err)
{
	CLEANUP(finding_release) struct finding f = {.found = false};
	CLEANUP(settings_release) struct settings s;
	CLEANUP(freep) char *root = NULL;
	int r;

	settings_init(&s);
	r = look(sysroot, overrides, &f, notes, err);
	if (r == 0)
		r = add_overrides(overrides, &f.raw, err);
	if (r == 0)
		r = settings_convert(&f.raw, f.found, &s, notes, err);
	if (r < 0)
		return r;
	root = strdup(overrides->kubelet_root ? overrides->kubelet_root
		      : f.root_dir            ? f.root_dir
					      : KUBELET_ROOT);
	if (!root)
		return no_memory(err);
	*ret = s;
	settings_init(&s);
	*ret_root = TAKE(root);
	return 0;
}
