/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/kube/credentials.h"

#include <ctype.h>
#include <errno.h>
#include <sys/stat.h>

#include "agent/base/fs.h"
#include "agent/kube/credentials_config.h"
#include "agent/kube/credentials_exec.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "common/xalloc.h"

#define TOKEN_MAX ((size_t)64 * 1024)
#define EARLY_S   10 /* a plugin is asked again this long before what it gave expires */

/* A file's content, and what shows that it is a different file now. */
struct content {
	char *text; /* NULL = not read yet */
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec modified;
};

struct credentials {
	char *api_server; /* --api-server */
	char *path;       /* kubeconfig file; NULL = none */
	char *context;
	bool in_cluster;
	bool refused;        /* by the server, since the last credentials_access() */
	struct content file; /* the kubeconfig */
	struct credentials_config config;
	struct content ca, certificate, key, token;
	struct exec_credential plugin;
	bool plugin_ran;
	uint64_t generation;
};

static void content_release(struct content *c)
{
	free(c->text);
	*c = (struct content){0};
}

static void forget_config(struct credentials *c)
{
	credentials_config_release(&c->config);
	content_release(&c->ca);
	content_release(&c->certificate);
	content_release(&c->key);
	content_release(&c->token);
	exec_credential_release(&c->plugin);
	c->plugin_ran = false;
}

void credentials_free(struct credentials *c)
{
	if (!c)
		return;
	forget_config(c);
	content_release(&c->file);
	free(c->api_server);
	free(c->path);
	free(c->context);
	free(c);
}

/* ---- files */

static bool is_same_file(const struct content *c, const struct stat *st)
{
	return c->text && c->device == st->st_dev && c->inode == st->st_ino && c->size == st->st_size &&
	       c->modified.tv_sec == st->st_mtim.tv_sec && c->modified.tv_nsec == st->st_mtim.tv_nsec;
}

/*
 * Read the file again if it is another one than before, or `anyway`. *changed is set when its content is
 * another. The state is taken before the content, so that a change in between is seen next time.
 */
static int content_update(
	struct content *c, const char *path, size_t max, bool anyway, bool *changed, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(max);
	struct stat st;
	char *fresh;
	int r;

	if (stat(path, &st) < 0) {
		r = -errno;
		return err_set(err, r, "cannot open '%s': %s", path, strerror(-r));
	}
	if (is_same_file(c, &st) && !anyway)
		return 0;
	r = fs_read("", path, &text, err);
	if (r < 0)
		return r;
	if (memchr(text.text, '\0', text.len))
		return err_set(err, -EINVAL, "'%s' is not text", path);
	fresh = strbuf_detach(&text);
	*changed |= !c->text || strcmp(c->text, fresh) != 0;
	free(c->text);
	*c = (struct content){.text = fresh,
		.device = st.st_dev,
		.inode = st.st_ino,
		.size = st.st_size,
		.modified = st.st_mtim};
	return 0;
}

/* The directory part of a path, "." where it has none. */
static char *directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return xstrdup(".");
	return slash == path ? xstrdup("/") : xstrndup(path, (size_t)(slash - path));
}

/* Without white space around it; what is left has to be fit for a header of HTTP. */
static int check_token(char *token, struct err *err)
{
	size_t len = strlen(token), blank = strspn(token, " \t\r\n");

	while (len > blank && isspace((unsigned char)token[len - 1]))
		token[--len] = '\0';
	memmove(token, token + blank, len - blank + 1);
	if (!*token)
		return err_set(err, -EINVAL, "the token is empty");
	for (const char *p = token; *p; p++)
		if (*p <= ' ' || *p > '~')
			return err_set(err, -EINVAL, "the token has characters that a token cannot have");
	return 0;
}

/* ---- where they are */

static int read_config(struct credentials *c, struct credentials_config *ret, struct err *err)
{
	CLEANUP(freep) char *dir = NULL;
	int r;

	if (c->in_cluster)
		return service_account_config(
			"", getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT"), ret, err);
	credentials_config_init(ret);
	if (!c->path)
		return 0;
	dir = directory_of(c->path);
	r = kubeconfig_parse(c->file.text, strlen(c->file.text), dir, c->context, ret, err);
	if (r == 0 && ret->token) {
		r = check_token(ret->token, err);
		if (r < 0)
			credentials_config_release(ret);
	}
	return r < 0 ? err_wrap(err, r, "'%.200s'", c->path) : 0;
}

/* Read what says where everything is. On failure what was known stays, and the next call tries again. */
static int load_config(struct credentials *c, struct err *err)
{
	struct credentials_config config;
	int r = read_config(c, &config, err);

	if (r < 0)
		return r;
	if (c->api_server) {
		r = credentials_config_set_server(&config, c->api_server, err);
		if (r < 0) {
			credentials_config_release(&config);
			return r;
		}
	}
	forget_config(c);
	c->config = config;
	return 0;
}

/* The first file of a list such as $KUBECONFIG that exists; where none does the first, so that the error
 * names it. */
static char *first_existing(const char *list)
{
	char *first = NULL;

	for (const char *at = list; *at;) {
		size_t len = strcspn(at, ":");
		CLEANUP(freep) char *path = xstrndup(at, len);

		if ((len > 0 && fs_exists("", path))) {
			free(first);
			return TAKE(path);
		}
		if (len > 0 && !first)
			first = TAKE(path);
		at += len + (at[len] == ':');
	}
	return first;
}

static int find(const struct credentials_options *options, struct credentials *c, struct err *err)
{
	const char *list = getenv("KUBECONFIG"), *host = getenv("KUBERNETES_SERVICE_HOST");

	if (options->api_server)
		text_set(&c->api_server, options->api_server);
	if (options->context)
		text_set(&c->context, options->context);
	if (options->kubeconfig)
		text_set(&c->path, options->kubeconfig);
	else if (list && list[strspn(list, ":")])
		c->path = first_existing(list);
	else if (host && *host)
		c->in_cluster = true;
	else if (!c->api_server)
		return err_set(err, -ENOKEY,
			"no credentials for the API server: give --kubeconfig FILE or KUBECONFIG, or run in a pod with a service account (KUBERNETES_SERVICE_HOST is not set)");
	return 0;
}

int credentials_new(const struct credentials_options *options, struct credentials **ret, struct err *err)
{
	CLEANUP(credentials_freep) struct credentials *c = xcalloc(1, sizeof(*c));
	bool changed = false;
	int r;

	c->plugin.expires_s = INT64_MAX;
	r = find(options, c, err);
	if (r == 0 && c->path)
		r = content_update(&c->file, c->path, FS_FILE_MAX, false, &changed, err);
	if (r == 0)
		r = load_config(c, err);
	if (r < 0)
		return r;
	c->generation = 1;
	*ret = TAKE(c);
	return 0;
}

/* ---- what holds now */

static int update_token(struct credentials *c, bool anyway, bool *changed, struct err *err)
{
	bool fresh = false;
	int r = content_update(&c->token, c->config.token_file, TOKEN_MAX, anyway, &fresh, err);

	if (r < 0 || !fresh)
		return r;
	*changed = true;
	r = check_token(c->token.text, err);
	if (r == 0)
		return 0;
	content_release(&c->token);
	return err_wrap(err, r, "'%.200s'", c->config.token_file);
}

static int update_files(struct credentials *c, bool anyway, bool *changed, struct err *err)
{
	const struct {
		struct content *content;
		const char *path;
	} files[] = {
		{&c->ca, c->config.ca_file},
		{&c->certificate, c->config.certificate_file},
		{&c->key, c->config.key_file},
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(files); i++)
		if (files[i].path)
			r = content_update(
				files[i].content, files[i].path, FS_FILE_MAX, anyway, changed, err);
	return r < 0 || !c->config.token_file ? r : update_token(c, anyway, changed, err);
}

static int update_plugin(
	struct credentials *c, bool anyway, const atomic_bool *cancel, bool *changed, struct err *err)
{
	struct exec_credential fresh;
	int r;

	if (c->plugin_ran && !anyway && (int64_t)time(NULL) < c->plugin.expires_s - EARLY_S)
		return 0;
	r = exec_credential_run(&c->config.exec, EXEC_DEADLINE_MS, cancel, &fresh, err);
	if (r < 0)
		return r;
	if (fresh.token && check_token(fresh.token, err) < 0) {
		exec_credential_release(&fresh);
		return err_wrap(err, -EINVAL, "credential plugin '%.100s'", c->config.exec.command);
	}
	exec_credential_release(&c->plugin);
	c->plugin = fresh;
	c->plugin_ran = true;
	*changed = true;
	return 0;
}

static int update(struct credentials *c, const atomic_bool *cancel, bool *changed, struct err *err)
{
	bool anyway = c->refused, other = false;
	int r;

	if (c->path) {
		r = content_update(&c->file, c->path, FS_FILE_MAX, anyway, &other, err);
		if (r == 0 && other)
			r = load_config(c, err);
		if (r < 0) {
			content_release(&c->file);
			return r;
		}
		*changed |= other;
	}
	r = update_files(c, anyway, changed, err);
	if (r == 0 && c->config.exec.command)
		r = update_plugin(c, anyway, cancel, changed, err);
	return r;
}

static const char *either(const char *text, const char *otherwise)
{
	return text ? text : otherwise;
}

int credentials_access(
	struct credentials *c, const atomic_bool *cancel, struct api_access *ret, struct err *err)
{
	bool changed = false;
	int r = update(c, cancel, &changed, err);

	if (changed)
		c->generation++;
	if (r < 0)
		return r;
	c->refused = false;
	*ret = (struct api_access){.server = c->config.server,
		.ca = either(c->config.ca, c->ca.text),
		.certificate =
			either(c->plugin.certificate, either(c->config.certificate, c->certificate.text)),
		.key = either(c->plugin.key, either(c->config.key, c->key.text)),
		.token = either(c->plugin.token, either(c->config.token, c->token.text)),
		.tls_server_name = c->config.tls_server_name,
		.proxy = c->config.proxy,
		.generation = c->generation};
	return 0;
}

void credentials_origin(const struct credentials *c, struct credentials_origin *ret)
{
	*ret = (struct credentials_origin){.kubeconfig = c->path,
		.context = c->config.context,
		.certificate_file = c->config.certificate_file,
		.token_file = c->config.token_file,
		.plugin = c->config.exec.command};
}

void credentials_refused(struct credentials *c)
{
	c->refused = true;
}
