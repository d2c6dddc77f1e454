/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/observe/settings_distro.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>

#include "agent/base/fs.h"
#include "common/cleanup.h"
#include "common/strbuf.h"
#include "common/xalloc.h"

#define MAX_FILES 4

enum format {
	FORMAT_ENV,   /* environment file of the unit */
	FORMAT_ARGS,  /* one flag a line */
	FORMAT_K3S,   /* k3s' and RKE2's configuration, kubelet-arg in it; FILE.d/ *.yaml after it */
	FORMAT_SIZING /* OpenShift's node sizing: SYSTEM_RESERVED_CPU=, SYSTEM_RESERVED_MEMORY= */
};

struct flag_file {
	const char *path;
	enum format format;
};

struct distribution {
	const char *config;     /* KubeletConfiguration, or NULL */
	const char *config_dir; /* drop-ins that the unit names, or NULL */
	const char *root_dir;
	struct flag_file files[MAX_FILES]; /* later ones beat earlier ones */
	bool by_files;                     /* its flag files are its own, so that any of them shows it */
	bool by_kind;                      /* elsewhere a file of that name is something else */
};

/* kubeadm's unit: "$KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS". */
#define KUBEADM_FILES                                                                                     \
	{                                                                                                 \
		{"/var/lib/kubelet/kubeadm-flags.env", FORMAT_ENV}, {"/etc/default/kubelet", FORMAT_ENV}, \
			{"/etc/sysconfig/kubelet", FORMAT_ENV},                                           \
	}

/* In order: the rows whose configuration cannot be another distribution's come first. */
static const struct distribution distributions[] = {
	/* k3s */
	{.config_dir = "/var/lib/rancher/k3s/agent/etc/kubelet.conf.d",
		.root_dir = KUBELET_ROOT,
		.files = {{"/etc/rancher/k3s/config.yaml", FORMAT_K3S}},
		.by_files = true},
	/* RKE2 */
	{.config_dir = "/var/lib/rancher/rke2/agent/etc/kubelet.conf.d",
		.root_dir = KUBELET_ROOT,
		.files = {{"/etc/rancher/rke2/config.yaml", FORMAT_K3S}},
		.by_files = true},
	/* MicroK8s */
	{.root_dir = "/var/snap/microk8s/common/var/lib/kubelet",
		.files = {{"/var/snap/microk8s/current/args/kubelet", FORMAT_ARGS}},
		.by_files = true},
	/* k0s */
	{.config = "/var/lib/k0s/kubelet-config.yaml", .root_dir = "/var/lib/k0s/kubelet"},
	/* EKS (nodeadm) */
	{.config = "/etc/kubernetes/kubelet/config.json",
		.config_dir = "/etc/kubernetes/kubelet/config.json.d",
		.root_dir = KUBELET_ROOT},
	/* EKS */
	{.config = "/etc/kubernetes/kubelet/kubelet-config.json", .root_dir = KUBELET_ROOT},
	/* Bottlerocket */
	{.config = "/etc/kubernetes/kubelet/config", .root_dir = KUBELET_ROOT},
	/* GKE */
	{.config = "/home/kubernetes/kubelet-config.yaml",
		.root_dir = KUBELET_ROOT,
		.files = {{"/etc/default/kubelet", FORMAT_ENV}}},
	/* AKS */
	{.config = "/etc/default/kubeletconfig.json",
		.root_dir = KUBELET_ROOT,
		.files = {{"/etc/default/kubelet", FORMAT_ENV}}},
	/* Talos */
	{.config = "/etc/kubernetes/kubelet.yaml", .root_dir = KUBELET_ROOT},
	/* kubeadm */
	{.config = "/var/lib/kubelet/config.yaml", .root_dir = KUBELET_ROOT, .files = KUBEADM_FILES},
	/* OpenShift; kubeadm and kubespray have a kubeconfig there */
	{.config = "/etc/kubernetes/kubelet.conf",
		.config_dir = "/etc/openshift/kubelet.conf.d",
		.root_dir = KUBELET_ROOT,
		.files = {{"/etc/node-sizing.env", FORMAT_SIZING}},
		.by_kind = true},
};

const char *distribution_root_dir(const struct distribution *d)
{
	return d->root_dir;
}

/* One that cannot be read counts, so that this is reported. */
static bool has_kind(const char *sysroot, const char *path)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(FS_FILE_MAX);
	struct err err;

	return fs_read(sysroot, path, &text, &err) < 0 || strstr(text.text, "KubeletConfiguration");
}

static bool is_here(const struct distribution *d, const char *sysroot)
{
	if (d->config)
		return fs_exists(sysroot, d->config) && (!d->by_kind || has_kind(sysroot, d->config));
	if (d->config_dir && fs_exists(sysroot, d->config_dir))
		return true;
	for (size_t i = 0; d->by_files && i < MAX_FILES && d->files[i].path; i++)
		if (fs_exists(sysroot, d->files[i].path))
			return true;
	return false;
}

const struct distribution *distribution_find(const char *sysroot)
{
	for (size_t i = 0; i < ARRAY_SIZE(distributions); i++)
		if (is_here(&distributions[i], sysroot))
			return &distributions[i];
	return NULL;
}

/* ---- flag files */

/* OpenShift's unit passes --system-reserved=cpu=${SYSTEM_RESERVED_CPU},memory=${SYSTEM_RESERVED_MEMORY}. */
static int add_sizing(struct kubelet_args *a, const char *text, const char *source, struct err *err)
{
	static const struct {
		const char *variable, *resource;
	} known[] = {{"SYSTEM_RESERVED_CPU=", "cpu"}, {"SYSTEM_RESERVED_MEMORY=", "memory"}};
	CLEANUP(strbuf_release) struct strbuf flag = STRBUF_INIT(FS_FILE_MAX);
	const char *words[1];

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
		for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
			size_t len = strlen(known[i].variable);
			int value =
				(int)strcspn(line + len * !strncmp(line, known[i].variable, len), "\n\r ");

			if (!strncmp(line, known[i].variable, len))
				strbuf_addf(&flag, "%s%s=%.*s",
					flag.len ? "," : "--system-reserved=", known[i].resource, value,
					line + len);
		}
	if (strbuf_error(&flag) < 0)
		return err_set(err, strbuf_error(&flag), "longer than allowed");
	words[0] = flag.text;
	return flag.len ? kubelet_args_add(a, words, 1, source, err) : 0;
}

static int add_text(struct kubelet_args *a, const struct flag_file *file, const char *source,
	const struct strbuf *text, struct err *err)
{
	static const char *const snap[] = {
		"SNAP_COMMON", "/var/snap/microk8s/common", "SNAP_DATA", "/var/snap/microk8s/current", NULL};

	switch (file->format) {
	case FORMAT_ENV:
		return kubelet_args_add_env(a, text->text, text->len, source, err);
	case FORMAT_ARGS:
		return kubelet_args_add_file(a, text->text, text->len, snap, source, err);
	case FORMAT_K3S:
		return kubelet_args_add_k3s(a, text->text, text->len, source, err);
	case FORMAT_SIZING:
	default:
		return add_sizing(a, text->text, source, err);
	}
}

/* A file that is not there says nothing. */
static int add_file(struct kubelet_args *a, const struct flag_file *file, const char *sysroot,
	const char *path, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(FS_FILE_MAX);
	int r = fs_read(sysroot, path, &text, err);

	if (r == -ENOENT)
		return 0;
	return r < 0 ? r : add_text(a, file, path, &text, err);
}

/* sysroot + path + ".d/ *.yaml", in their order. */
static int add_directory(
	struct kubelet_args *a, const struct flag_file *file, const char *sysroot, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf pattern = STRBUF_INIT(2 * PATH_MAX);
	CLEANUP(globfree) glob_t names = {0};
	char dir[PATH_MAX];
	size_t dir_len;
	int r;

	snprintf(dir, sizeof(dir), "%s.d", file->path);
	r = fs_resolve(sysroot, dir, &pattern);
	dir_len = pattern.len;
	strbuf_addstr(&pattern, "/*.yaml");
	if (r < 0 || strbuf_error(&pattern) < 0)
		return err_set(err, r < 0 ? r : strbuf_error(&pattern), "cannot read '%s%s'", sysroot, dir);
	r = glob(pattern.text, 0, NULL, &names);
	if (r == GLOB_NOMATCH)
		return 0;
	if (r == GLOB_NOSPACE)
		xalloc_failed();
	if (r != 0)
		return err_set(err, -EIO, "cannot list '%s'", pattern.text);
	for (size_t i = 0; i < names.gl_pathc; i++) {
		CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(2 * PATH_MAX);

		strbuf_addf(&path, "%s%s", dir, names.gl_pathv[i] + dir_len);
		r = strbuf_error(&path);
		r = r < 0 ? err_set(err, r, "%s%s: the path is too long", dir, names.gl_pathv[i] + dir_len)
			  : add_file(a, file, sysroot, path.text, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* What the flags do not name, where the distribution's own is there. */
static void default_path(char **path, const char *own, const char *sysroot)
{
	if (*path || !own || !fs_exists(sysroot, own))
		return;
	*path = xstrdup(own);
}

int distribution_args(
	const struct distribution *d, const char *sysroot, struct kubelet_args *ret, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < MAX_FILES && d->files[i].path; i++) {
		r = add_file(ret, &d->files[i], sysroot, d->files[i].path, err);
		if (r == 0 && d->files[i].format == FORMAT_K3S)
			r = add_directory(ret, &d->files[i], sysroot, err);
	}
	if (r == 0)
		default_path(&ret->config, d->config, sysroot);
	if (r == 0)
		default_path(&ret->config_dir, d->config_dir, sysroot);
	return r;
}
