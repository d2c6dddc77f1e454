/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/observe/kubelet_places.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "agent/observe/fs_root.h"
#include "agent/observe/kubelet_k3s.h"
#include "agent/observe/service_unit.h"
#include "agent/observe/systemd_syntax.h"
#include "common/cleanup.h"
#include "common/io/fs.h"
#include "common/strbuf.h"
#include "common/text.h"
#include "common/xalloc.h"

#define MAX_FILES     4
#define MAX_UNITS     2
#define FLAG_LINE_MAX (1024u * 1024u)
#define MAX_WORDS     4096

void kubelet_files_release(struct kubelet_files *f)
{
	kubelet_args_release(&f->args);
	freep(&f->source);
	freep(&f->gap);
}

/* Takes ownership of the text. The first gap is kept. */
static void take_gap(struct kubelet_files *f, char *gap)
{
	if (!f->gap)
		f->gap = TAKE(gap);
	freep(&gap);
}

/* ---- the table */

enum reader {
	READER_COMMAND, /* the service's command line is the kubelet's */
	READER_K3S,     /* of k3s, or a program like it: kubelet_k3s.c */
	READER_K0S,     /* of k0s: --kubelet-extra-args */
	READER_FILES    /* the service is only a script: the files have all arguments */
};

enum format {
	FORMAT_NONE,  /* no flags: the file only shows that the distribution is installed */
	FORMAT_ENV,   /* environment file of the unit */
	FORMAT_ARGS,  /* arguments, separated by blanks */
	FORMAT_SIZING /* OpenShift's node sizing: SYSTEM_RESERVED_CPU=, SYSTEM_RESERVED_MEMORY= */
};

struct flag_file {
	const char *path;
	enum format format;
};

/* The services count before the files: config, config_dir and files are for a place whose service is not visible. */
struct distribution {
	const char *name;             /* as in doc/kubelet-settings.md */
	const char *units[MAX_UNITS]; /* patterns of the services' names, as of fnmatch(3) */
	const char *program;          /* of READER_K3S */

	const char *config;     /* KubeletConfiguration, or NULL */
	const char *config_dir; /* drop-ins that the unit names, or NULL */
	const char *root_dir;
	struct flag_file files[MAX_FILES]; /* later files override earlier files */
	enum reader reader;
	bool files_prove;             /* each of its flag files proves the distribution */
	bool config_needs_kind_check; /* other distributions use `config`'s path for another kind of file */
};

/* In order: rows whose configuration cannot be another distribution's first. */
static const struct distribution distributions[] = {
	{.name = "k3s",
		.units = {"k3s.service", "k3s-*.service"},
		.reader = READER_K3S,
		.program = "k3s",
		.config_dir = "/var/lib/rancher/k3s/agent/etc/kubelet.conf.d",
		.root_dir = KUBELET_ROOT,
		.files = {{"/etc/rancher/k3s/config.yaml", FORMAT_NONE},
			{"/etc/rancher/k3s/config.yaml.d", FORMAT_NONE}},
		.files_prove = true},
	{.name = "RKE2",
		.units = {"rke2-server.service", "rke2-agent.service"},
		.reader = READER_K3S,
		.program = "rke2",
		.config_dir = "/var/lib/rancher/rke2/agent/etc/kubelet.conf.d",
		.root_dir = KUBELET_ROOT,
		.files = {{"/etc/rancher/rke2/config.yaml", FORMAT_NONE},
			{"/etc/rancher/rke2/config.yaml.d", FORMAT_NONE}},
		.files_prove = true},
	{.name = "MicroK8s",
		.units = {"snap.microk8s.daemon-kubelite.service"},
		.reader = READER_FILES,
		.root_dir = "/var/snap/microk8s/common/var/lib/kubelet",
		.files = {{"/var/snap/microk8s/current/args/kubelet", FORMAT_ARGS}},
		.files_prove = true},
	{.name = "k0s",
		.units = {"k0sworker.service", "k0scontroller.service"},
		.reader = READER_K0S,
		.config = "/var/lib/k0s/kubelet-config.yaml",
		.root_dir = "/var/lib/k0s/kubelet"},
	{.name = "EKS, Amazon Linux 2023",
		.units = {"kubelet.service"},
		.config = "/etc/kubernetes/kubelet/config.json",
		.config_dir = "/etc/kubernetes/kubelet/config.json.d",
		.root_dir = KUBELET_ROOT,
		.files = {{"/etc/eks/kubelet/environment", FORMAT_ENV}}},
	{.name = "EKS, Amazon Linux 2",
		.units = {"kubelet.service"},
		.config = "/etc/kubernetes/kubelet/kubelet-config.json",
		.root_dir = KUBELET_ROOT},
	{.name = "Bottlerocket",
		.units = {"kubelet.service"},
		.config = "/etc/kubernetes/kubelet/config",
		.root_dir = KUBELET_ROOT},
	{.name = "GKE",
		.units = {"kubelet.service"},
		.config = "/home/kubernetes/kubelet-config.yaml",
		.root_dir = KUBELET_ROOT,
		.files = {{"/etc/default/kubelet", FORMAT_ENV}}},
	{.name = "AKS",
		.units = {"kubelet.service"},
		.config = "/etc/default/kubeletconfig.json",
		.root_dir = KUBELET_ROOT,
		.files = {{"/etc/default/kubelet", FORMAT_ENV}}},
	{.name = "Talos", .config = "/etc/kubernetes/kubelet.yaml", .root_dir = KUBELET_ROOT},
	{.name = "kubespray",
		.units = {"kubelet.service"},
		.config = "/etc/kubernetes/kubelet-config.yaml",
		.root_dir = KUBELET_ROOT,
		.files = {{"/etc/kubernetes/kubelet.env", FORMAT_ENV}}},
	/* Its unit: "$KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS". */
	{.name = "kubeadm, kind, Flatcar",
		.units = {"kubelet.service"},
		.config = "/var/lib/kubelet/config.yaml",
		.root_dir = KUBELET_ROOT,
		.files = {{"/var/lib/kubelet/kubeadm-flags.env", FORMAT_ENV},
			{"/etc/default/kubelet", FORMAT_ENV}, {"/etc/sysconfig/kubelet", FORMAT_ENV}}},
	/* kubeadm and kubespray have a kubeconfig there. */
	{.name = "OpenShift",
		.units = {"kubelet.service"},
		.config = "/etc/kubernetes/kubelet.conf",
		.config_dir = "/etc/openshift/kubelet.conf.d",
		.root_dir = KUBELET_ROOT,
		.files = {{"/etc/node-sizing.env", FORMAT_SIZING}},
		.config_needs_kind_check = true},
};

bool kubelet_places_list(size_t i, struct strv *ret)
{
	const struct distribution *p;

	if (i >= ARRAY_SIZE(distributions))
		return false;
	p = &distributions[i];
	strv_push(ret, p->name);
	for (size_t n = 0; n < MAX_UNITS && p->units[n]; n++)
		strv_push(ret, p->units[n]);
	if (p->config)
		strv_push(ret, p->config);
	if (p->config_dir)
		strv_push(ret, p->config_dir);
	for (size_t n = 0; n < MAX_FILES && p->files[n].path; n++)
		strv_push(ret, p->files[n].path);
	return true;
}

/* ---- paths */

/* 1 or 0; -errno if nrtd cannot tell now. A path that permissions hide does not prove a distribution. */
static int look_for(const char *sysroot, const char *path, struct err *err)
{
	int r = fs_lookup(sysroot, path, err);

	return fs_is_transient(r) ? r : r > 0;
}

/* Services run in the root directory. An empty path counts as not given: *path becomes NULL. */
static void make_absolute(char **path)
{
	if (*path && !**path)
		freep(path);
	if (*path && **path != '/') {
		CLEANUP(freep) char *relative = TAKE(*path);

		*path = xasprintf("/%s", relative);
	}
}

/* Whether *path exists; otherwise it becomes NULL. */
static int keep_existing(const char *sysroot, char **path, struct err *err)
{
	int r = look_for(sysroot, *path, err);

	if (r == 0)
		freep(path);
	return r;
}

/* Complete what a service says about its kubelet. 1; 0 if its configuration file does not exist, so that it starts no kubelet; -errno. */
static int finish_service(const char *sysroot, struct kubelet_files *f, struct err *err)
{
	CLEANUP(freep) char *config_dir = NULL;
	int r;

	make_absolute(&f->args.config);
	make_absolute(&f->args.config_dir);
	make_absolute(&f->args.root_dir);
	r = f->args.config ? keep_existing(sysroot, &f->args.config, err) : 1;
	if (r <= 0 || !f->args.config_dir)
		return r;
	config_dir = xstrdup(f->args.config_dir);
	r = keep_existing(sysroot, &f->args.config_dir, err);
	if (r == 0)
		take_gap(f, xasprintf("%s: the directory '%s' does not exist", f->source, config_dir));
	return r < 0 ? r : 1;
}

/* ---- by the service */

/* The position behind the word that is the kubelet's program, which may be the argument of another program; 0 if there is none. A word
 * with a ':' is an image or a mount. */
static size_t find_program(const struct strv *words)
{
	for (size_t i = 0; i < words->n_items; i++) {
		const char *before = i > 0 ? words->items[i - 1] : "";
		bool is_value = before[0] == '-' && !strchr(before, '='); /* of the flag before the word */

		if (!is_value && !strcmp(text_basename(words->items[i]), "kubelet") &&
			!strchr(words->items[i], ':'))
			return i + 1;
	}
	return 0;
}

static bool runs_container(const struct strv *words)
{
	static const char *const programs[] = {"docker", "podman", "nerdctl", "rkt", "ctr", "crictl"};

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		if (!strcmp(text_basename(words->items[0]), programs[i]))
			return true;
	return false;
}

/* Whether the service's command line is that of a kubelet. */
static bool starts_kubelet(const struct service_unit *unit)
{
	size_t n = find_program(&unit->words);

	return n > 0 &&
	       kubelet_args_start_server((const char *const *)unit->words.items + n, unit->words.n_items - n);
}

static int read_kubelet_command(const struct service_unit *unit, struct kubelet_files *ret, struct err *err)
{
	size_t n = find_program(&unit->words);
	int r;

	if (!starts_kubelet(unit))
		return 0;
	r = kubelet_args_add(&ret->args, (const char *const *)unit->words.items + n, unit->words.n_items - n,
		ret->source, err);
	if (r == 0 && runs_container(&unit->words))
		take_gap(ret, xasprintf("%s runs its kubelet in a container, which may see other files",
				      ret->source));
	return r < 0 ? r : 1;
}

/* The value of a flag of k0s; NULL = not given. */
static const char *find_k0s_flag(const struct strv *words, const char *name)
{
	const char *value = NULL;

	for (size_t i = 1; !value && i < words->n_items; i++)
		value = kubelet_args_flag_value(
			(const char *const *)words->items + i, words->n_items - i, name);
	return value;
}

/* Whether the command is one with a kubelet (k0s: cmd/worker, cmd/controller). */
static bool starts_k0s_kubelet(const struct strv *words)
{
	static const char *const with_kubelet[] = {
		"--enable-worker", "--enable-worker=true", "--single", "--single=true"};

	if (words->n_items == 0 || strcmp(text_basename(words->items[0]), "k0s") != 0)
		return false;
	if (strv_contains(words, "worker"))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(with_kubelet) && strv_contains(words, "controller"); i++)
		if (strv_contains(words, with_kubelet[i]))
			return true;
	return false;
}

static int read_k0s(const struct service_unit *unit, struct kubelet_files *ret, struct err *err)
{
	CLEANUP(strv_release) struct strv words = {0};
	CLEANUP(strbuf_release) struct strbuf word = STRBUF_INIT(FLAG_LINE_MAX);
	const char *data_dir = find_k0s_flag(&unit->words, "data-dir");
	const char *root_dir = find_k0s_flag(&unit->words, "kubelet-root-dir");
	const char *extra = find_k0s_flag(&unit->words, "kubelet-extra-args");
	int r;

	if (!starts_k0s_kubelet(&unit->words))
		return 0;
	for (; extra && systemd_next_word(&extra, SYSTEMD_VARIABLE, &word) > 0 && words.n_items < MAX_WORDS;
		strbuf_reset(&word))
		strv_push(&words, word.text);
	r = kubelet_args_add(&ret->args, (const char *const *)words.items, words.n_items, ret->source, err);
	if (r < 0)
		return r;
	data_dir = data_dir ? data_dir : "/var/lib/k0s";
	if (!ret->args.config)
		ret->args.config = xasprintf("%s/kubelet-config.yaml", data_dir);
	if (!ret->args.root_dir)
		ret->args.root_dir = root_dir ? xstrdup(root_dir) : xasprintf("%s/kubelet", data_dir);
	return 1;
}

static int add_flag_files(
	const struct distribution *p, const char *sysroot, struct kubelet_args *ret, struct err *err);

/* The files of a distribution whose service only calls a script; they must exist. */
static int read_service_files(
	const struct distribution *p, const char *sysroot, struct kubelet_files *ret, struct err *err)
{
	int r = look_for(sysroot, p->files[0].path, err);

	if (r <= 0)
		return r;
	r = add_flag_files(p, sysroot, &ret->args, err);
	return r < 0 ? r : 1;
}

/* 1; 0 if the service starts no kubelet; -errno. */
static int read_distribution_unit(const struct distribution *p, const char *sysroot,
	const struct service_unit *unit, const char *name, struct kubelet_files *ret, struct err *err)
{
	switch (p->reader) {
	case READER_K3S:
		return kubelet_k3s_read(sysroot, p->program, unit, name, &ret->args, &ret->gap, err);
	case READER_K0S:
		return read_k0s(unit, ret, err);
	case READER_FILES:
		return read_service_files(p, sysroot, ret, err);
	case READER_COMMAND:
	default:
		return read_kubelet_command(unit, ret, err);
	}
}

static int read_distribution_service(const struct distribution *p, const char *sysroot, const char *name,
	struct kubelet_files *ret, struct err *err)
{
	CLEANUP(service_unit_release) struct service_unit unit = {.gap = NULL};
	int r = service_unit_read(sysroot, name, &unit, err);

	if (r <= 0)
		return r;
	ret->source = xstrdup(name);
	r = read_distribution_unit(p, sysroot, &unit, name, ret, err);
	if (r > 0 && unit.gap && p->reader != READER_FILES)
		take_gap(ret, TAKE(unit.gap));
	if (r > 0)
		r = finish_service(sysroot, ret, err);
	if (r > 0 && !ret->args.root_dir)
		ret->args.root_dir = xstrdup(p->root_dir);
	return r;
}

static bool has_unit(const struct distribution *p, const char *name)
{
	for (size_t i = 0; i < MAX_UNITS && p->units[i]; i++)
		if (fnmatch(p->units[i], name, 0) == 0)
			return true;
	return false;
}

/* Read the first of the services in this state that starts a kubelet. Services in `tried` are skipped; each service that is read is added. */
static int read_services(const char *sysroot, const struct service_units *units, enum service_state state,
	struct strv *tried, struct kubelet_files *ret, struct err *err)
{
	const struct strv *names = &units->names[state];

	for (size_t i = 0; i < ARRAY_SIZE(distributions); i++)
		for (size_t n = 0; n < names->n_items; n++) {
			int r;

			if (!has_unit(&distributions[i], names->items[n]) ||
				strv_contains(tried, names->items[n]))
				continue;
			strv_push(tried, names->items[n]);
			r = read_distribution_service(&distributions[i], sysroot, names->items[n], ret, err);
			if (r != 0)
				return r;
			kubelet_files_release(ret);
		}
	return 0;
}

/* ---- by files alone */

/* True also for a file that cannot be read, so that the failure is reported later. */
static bool is_kubelet_configuration(const char *sysroot, const char *path)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(FS_FILE_MAX);
	struct err err;

	return fs_read(sysroot, path, &text, &err) < 0 || strstr(text.text, "KubeletConfiguration");
}

/* Whether the path is there: 1 and *ret_proof = path, 0, or -errno. NULL is nowhere. */
static int find_proof(const char *sysroot, const char *path, const char **ret_proof, struct err *err)
{
	int r = path ? look_for(sysroot, path, err) : 0;

	if (r > 0)
		*ret_proof = path;
	return r;
}

/* 1 and *ret_proof, the path that proves that the distribution is installed; 0; or -errno. If the distribution has a `config`, only this file is
 * a proof. */
static int is_installed(
	const struct distribution *p, const char *sysroot, const char **ret_proof, struct err *err)
{
	int r;

	if (p->config) {
		r = find_proof(sysroot, p->config, ret_proof, err);
		return r > 0 && p->config_needs_kind_check ? is_kubelet_configuration(sysroot, p->config) : r;
	}
	r = find_proof(sysroot, p->config_dir, ret_proof, err);
	for (size_t i = 0; r == 0 && p->files_prove && i < MAX_FILES; i++)
		r = find_proof(sysroot, p->files[i].path, ret_proof, err);
	return r;
}

/* 1, *ret and *ret_proof; 0 if there is none; or -errno. */
static int find_installed(
	const char *sysroot, const struct distribution **ret, const char **ret_proof, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(distributions); i++) {
		int r = is_installed(&distributions[i], sysroot, ret_proof, err);

		if (r > 0)
			*ret = &distributions[i];
		if (r != 0)
			return r;
	}
	return 0;
}

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
			const char *value = line + strlen(known[i].variable);

			if (!strncmp(line, known[i].variable, strlen(known[i].variable)))
				strbuf_addf(&flag, "%s%s=%.*s",
					flag.len ? "," : "--system-reserved=", known[i].resource,
					(int)strcspn(value, "\n\r "), value);
		}
	if (strbuf_error(&flag) < 0)
		return err_set(err, strbuf_error(&flag), "longer than allowed");
	words[0] = flag.text;
	return flag.len ? kubelet_args_add(a, words, 1, source, err) : 0;
}

static int add_flag_text(
	struct kubelet_args *a, const struct flag_file *file, const struct strbuf *text, struct err *err)
{
	static const char *const snap[] = {
		"SNAP_COMMON", "/var/snap/microk8s/common", "SNAP_DATA", "/var/snap/microk8s/current", NULL};

	switch (file->format) {
	case FORMAT_ENV:
		return kubelet_args_add_env(a, text->text, text->len, file->path, err);
	case FORMAT_ARGS:
		return kubelet_args_add_file(a, text->text, text->len, snap, file->path, err);
	case FORMAT_SIZING:
		return add_sizing(a, text->text, file->path, err);
	case FORMAT_NONE:
	default:
		return 0;
	}
}

/* Add the flags of the place's files. A missing file is empty. */
static int add_flag_files(
	const struct distribution *p, const char *sysroot, struct kubelet_args *ret, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < MAX_FILES && p->files[i].path && p->files[i].format != FORMAT_NONE;
		i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(FS_FILE_MAX);

		r = fs_read(sysroot, p->files[i].path, &text, err);
		if (r == 0)
			r = add_flag_text(ret, &p->files[i], &text, err);
		else if (fs_is_absent(r))
			r = 0;
	}
	return r;
}

/* The flags in the variables of a kubelet's service whose command line is not visible. A service with a visible one was rejected by
 * finish_service(). */
static int add_unit_variables(
	const struct distribution *p, const char *sysroot, struct kubelet_args *ret, struct err *err)
{
	CLEANUP(service_unit_release) struct service_unit unit = {.gap = NULL};
	int r = p->reader == READER_COMMAND && p->units[0]
			? service_unit_read(sysroot, p->units[0], &unit, err)
			: 0;

	if (r <= 0 || starts_kubelet(&unit))
		return r < 0 ? r : 0;
	return kubelet_args_add_variables(ret, &unit.variables, p->units[0], err);
}

static int read_distribution_flags(
	const struct distribution *p, const char *sysroot, struct kubelet_files *ret, struct err *err)
{
	int r;

	if (p->reader == READER_K3S) {
		r = kubelet_k3s_read(sysroot, p->program, NULL, NULL, &ret->args, &ret->gap, err);
		return r < 0 ? r : 0;
	}
	r = add_unit_variables(p, sysroot, &ret->args, err);
	return r < 0 ? r : add_flag_files(p, sysroot, &ret->args, err);
}

/* *path is what a flag names, or otherwise becomes `usual` (NULL = none). A path that does not exist becomes NULL. */
static int set_path(const char *sysroot, const char *usual, char **path, struct err *err)
{
	int r;

	make_absolute(path);
	if (!*path && usual)
		*path = xstrdup(usual);
	r = *path ? keep_existing(sysroot, path, err) : 0;
	return r < 0 ? r : 0;
}

/* Whether the system has a service of the place, even if only its drop-ins are there. */
static bool has_service(const struct distribution *p, const struct service_units *units)
{
	const struct strv *names = &units->names[SERVICE_PRESENT];

	for (size_t i = 0; i < names->n_items; i++)
		if (has_unit(p, names->items[i]))
			return true;
	return false;
}

/* Reads the files of a distribution of which no service starts a kubelet, as far as nrtd can see. */
static int read_installed(const struct distribution *p, const char *sysroot,
	const struct service_units *units, struct kubelet_files *ret, struct err *err)
{
	/* k3s, and distributions without services, start their kubelets with flags that no file has; a service may have further flags. */
	bool has_unseen_flags = p->reader == READER_K3S || !p->units[0] || has_service(p, units);
	int r = read_distribution_flags(p, sysroot, ret, err);

	if (r == 0)
		r = set_path(sysroot, p->config, &ret->args.config, err);
	if (r == 0)
		r = set_path(sysroot, p->config_dir, &ret->args.config_dir, err);
	if (r < 0)
		return r;
	if (!ret->args.root_dir)
		ret->args.root_dir = xstrdup(p->root_dir);
	if (p->reader != READER_FILES && has_unseen_flags)
		take_gap(ret,
			xasprintf("the command line of the kubelet of '%s' is not visible", ret->source));
	return 1;
}

int kubelet_places_read(const char *sysroot, struct kubelet_files *ret, struct err *err)
{
	CLEANUP(service_units_release) struct service_units units = {0};
	CLEANUP(strv_release) struct strv tried = {0};
	const struct distribution *p = NULL;
	const char *proof = NULL;
	int r = service_units_list(sysroot, &units, err);

	for (int state = SERVICE_STATE_COUNT - 1; r == 0 && state >= 0; state--)
		r = read_services(sysroot, &units, (enum service_state)state, &tried, ret, err);
	if (r != 0)
		return r;
	r = find_installed(sysroot, &p, &proof, err);
	if (r <= 0)
		return r;
	ret->source = xstrdup(proof);
	return read_installed(p, sysroot, &units, ret, err);
}
