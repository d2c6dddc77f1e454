/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/kube/credentials_config.h"

#include <errno.h>

#include "agent/base/base64.h"
#include "agent/base/doc.h"
#include "agent/base/yaml.h"
#include "common/cleanup.h"
#include "common/strbuf.h"
#include "common/text.h"
#include "common/xalloc.h"

#define DATA_MAX            ((size_t)1 << 20)
#define SERVICE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"
#define EXEC_API            "client.authentication.k8s.io/"

void credentials_config_init(struct credentials_config *c)
{
	*c = (struct credentials_config){0};
}

void credentials_config_release(struct credentials_config *c)
{
	char *texts[] = {c->context, c->server, c->tls_server_name, c->proxy, c->ca, c->ca_file,
		c->certificate, c->certificate_file, c->key, c->key_file, c->token, c->token_file,
		c->exec.command, c->exec.api_version, c->exec.install_hint};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		free(texts[i]);
	strv_release(&c->exec.args);
	strv_release(&c->exec.env);
	credentials_config_init(c);
}

/* ---- members of the file */

/* A string member, copied; absent, null and "" leave *ret alone. */
static int take_string(const struct doc *map, const char *key, char **ret, struct err *err)
{
	const struct doc *d = doc_get(map, key);
	const char *text = doc_string(d);

	if (!d || d->kind == DOC_NULL)
		return 0;
	if (!text)
		return err_set(err, -EINVAL, "%s is %s, not a string", key, doc_kind_name(d));
	if (!*text)
		return 0;
	text_set(ret, text);
	return 0;
}

/* Base64 of a text file; line breaks within it are allowed, as Go's decoder does. */
static int take_data(const struct doc *map, const char *key, char **ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf bytes = STRBUF_INIT(DATA_MAX);
	CLEANUP(freep) char *text = NULL;
	size_t len = 0;
	int r = take_string(map, key, &text, err);

	if (r < 0 || !text)
		return r;
	for (const char *p = text; *p; p++)
		if (*p != '\n' && *p != '\r')
			text[len++] = *p;
	text[len] = '\0';
	r = base64_decode(text, &bytes);
	if (r < 0 || memchr(bytes.text, '\0', bytes.len))
		return err_set(err, -EINVAL, "%s is not the base64 of a PEM text", key);
	free(*ret);
	*ret = strbuf_detach(&bytes);
	return 0;
}

/* A path; relative ones are relative to `dir`. */
static int take_path(const struct doc *map, const char *key, const char *dir, char **ret, struct err *err)
{
	CLEANUP(freep) char *path = NULL;
	char *joined = NULL;
	int r = take_string(map, key, &path, err);

	if (r < 0 || !path)
		return r;
	if (path[0] == '/')
		joined = TAKE(path);
	else
		joined = xasprintf("%s/%s", dir, path);
	free(*ret);
	*ret = joined;
	return 0;
}

/* KEY-data or KEY (a file); the data wins, as for kubectl. */
static int take_data_or_path(const struct doc *map, const char *key, const char *dir, char **ret_data,
	char **ret_file, struct err *err)
{
	char data_key[64];
	int r;

	snprintf(data_key, sizeof(data_key), "%s-data", key);
	r = take_data(map, data_key, ret_data, err);
	return r < 0 || *ret_data ? r : take_path(map, key, dir, ret_file, err);
}

static bool is_set(const struct doc *map, const char *key)
{
	const struct doc *d = doc_get(map, key);

	return d && d->kind != DOC_NULL && !(d->kind == DOC_BOOL && !strcmp(d->text, "false")) &&
	       !(d->kind == DOC_STRING && !*d->text);
}

/* The map `kind` of the entry of this name in the list kind + "s". */
static int find_named(
	const struct doc *file, const char *kind, const char *name, const struct doc **ret, struct err *err)
{
	const struct doc *list;
	char plural[16];

	snprintf(plural, sizeof(plural), "%ss", kind);
	list = doc_get(file, plural);
	if (list && list->kind == DOC_LIST)
		DOC_FOREACH (item, list) {
			const char *found = doc_string(doc_get(item, "name"));
			const struct doc *value = doc_get(item, kind);

			if (!found || strcmp(found, name) != 0)
				continue;
			if (!value || value->kind != DOC_MAP)
				return err_set(err, -EINVAL, "%s '%.100s' is empty", kind, name);
			*ret = value;
			return 0;
		}
	return err_set(err, -EINVAL, "there is no %s named '%.100s'", kind, name);
}

/* ---- server */

static bool is_loopback(const char *host)
{
	static const char *const prefixes[] = {"127.", "localhost", "[::1]"};

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		size_t len = strlen(prefixes[i]);
		const char *end = host + len;

		if (strncmp(host, prefixes[i], len) != 0)
			continue;
		if (prefixes[i][len - 1] == '.')
			end += strspn(end, "0123456789.");
		if (*end == '\0' || *end == ':' || *end == '/')
			return true;
	}
	return false;
}

static bool has_secret(const struct credentials_config *c)
{
	return c->token || c->token_file || c->key || c->key_file || c->exec.command;
}

int credentials_config_set_server(struct credentials_config *c, const char *url, struct err *err)
{
	bool https = !strncmp(url, "https://", 8), http = !strncmp(url, "http://", 7);
	const char *host = url + (https ? 8 : 7);
	size_t len = strlen(url);

	if ((!https && !http) || !*host || *host == '/')
		return err_set(err, -EINVAL, "server '%.200s' is not https://HOST:PORT", url);
	if (strpbrk(host, "@?# \t\r\n"))
		return err_set(err, -EINVAL, "server: the URL must not have a user name, a query or spaces");
	if (http && !is_loopback(host))
		return err_set(err, -EINVAL, "server '%.200s' is refused: http:// only to this host", url);
	if (http && has_secret(c))
		return err_set(err, -EINVAL, "server '%.200s' is refused: credentials need https://", url);
	while (len > 0 && url[len - 1] == '/')
		len--;
	free(c->server);
	c->server = xstrndup(url, len);
	return 0;
}

/* ---- credential plugin */

static int take_args(const struct doc *exec, struct exec_config *ret, struct err *err)
{
	const struct doc *args = doc_get(exec, "args");

	if (!args || args->kind == DOC_NULL)
		return 0;
	DOC_FOREACH (item, args) {
		const char *text = doc_string(item);

		if (!text)
			return err_set(err, -EINVAL, "args has %s, not a string", doc_kind_name(item));
		strv_push(&ret->args, text);
	}
	return args->kind == DOC_LIST ? 0 : err_set(err, -EINVAL, "args is not a list");
}

static int take_env(const struct doc *exec, struct exec_config *ret, struct err *err)
{
	const struct doc *env = doc_get(exec, "env");

	if (!env || env->kind == DOC_NULL)
		return 0;
	if (env->kind != DOC_LIST)
		return err_set(err, -EINVAL, "env is not a list");
	DOC_FOREACH (item, env) {
		const char *name = doc_string(doc_get(item, "name"));
		const char *value = doc_string(doc_get(item, "value"));
		char *both = NULL;

		if (!name || !*name || strchr(name, '=') || !value)
			return err_set(err, -EINVAL, "env has an entry without name and value");
		both = xasprintf("%s=%s", name, value);
		strv_take(&ret->env, both);
	}
	return 0;
}

static int take_exec(const struct doc *exec, const char *dir, struct exec_config *ret, struct err *err)
{
	const char *mode = doc_string(doc_get(exec, "interactiveMode"));
	const char *command = doc_string(doc_get(exec, "command"));
	const char *version = doc_string(doc_get(exec, "apiVersion"));
	int r;

	if (!command || !*command)
		return err_set(err, -EINVAL, "there is no command");
	if (!version || (strcmp(version, EXEC_API "v1") != 0 && strcmp(version, EXEC_API "v1beta1") != 0))
		return err_set(err, -EINVAL, "apiVersion '%.100s' is neither " EXEC_API "v1 nor v1beta1",
			version ? version : "");
	if (mode && !strcmp(mode, "Always"))
		return err_set(err, -EINVAL, "interactiveMode Always: nrtd has no terminal");
	if (is_set(exec, "provideClusterInfo"))
		return err_set(err, -EINVAL, "provideClusterInfo is not supported");
	/* A name without a slash is looked up in PATH, a relative path begins at the file. */
	r = command[0] != '/' && strchr(command, '/') ? take_path(exec, "command", dir, &ret->command, err)
						      : take_string(exec, "command", &ret->command, err);
	if (r == 0)
		r = take_string(exec, "apiVersion", &ret->api_version, err);
	if (r == 0)
		r = take_string(exec, "installHint", &ret->install_hint, err);
	if (r == 0)
		r = take_args(exec, ret, err);
	return r < 0 ? r : take_env(exec, ret, err);
}

/* ---- kubeconfig */

static int take_cluster(
	const struct doc *cluster, const char *dir, struct credentials_config *ret, struct err *err)
{
	CLEANUP(freep) char *server = NULL;
	int r = take_string(cluster, "server", &server, err);

	if (r == 0 && !server)
		return err_set(err, -EINVAL, "there is no server");
	if (r == 0 && is_set(cluster, "insecure-skip-tls-verify"))
		return err_set(err, -EINVAL,
			"insecure-skip-tls-verify is refused: the token would go to whoever answers; give certificate-authority-data");
	if (r == 0)
		r = take_data_or_path(cluster, "certificate-authority", dir, &ret->ca, &ret->ca_file, err);
	if (r == 0)
		r = take_string(cluster, "tls-server-name", &ret->tls_server_name, err);
	if (r == 0)
		r = take_string(cluster, "proxy-url", &ret->proxy, err);
	return r < 0 ? r : credentials_config_set_server(ret, server, err);
}

static int refuse_unsupported(const struct doc *user, struct err *err)
{
	static const struct {
		const char *key, *why;
	} refused[] = {
		{"auth-provider", "Kubernetes 1.26 has removed it; use exec"},
		{"username", "Kubernetes 1.19 has removed passwords; use a token or a certificate"},
		{"password", "Kubernetes 1.19 has removed passwords; use a token or a certificate"},
		{"as", "nrtd does not impersonate; give it an identity of its own"},
		{"as-uid", "nrtd does not impersonate; give it an identity of its own"},
		{"as-groups", "nrtd does not impersonate; give it an identity of its own"},
		{"as-user-extra", "nrtd does not impersonate; give it an identity of its own"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		if (is_set(user, refused[i].key))
			return err_set(
				err, -EINVAL, "%s is not supported: %s", refused[i].key, refused[i].why);
	return 0;
}

static int take_user(const struct doc *user, const char *dir, struct credentials_config *ret, struct err *err)
{
	const struct doc *exec = doc_get(user, "exec");
	int r = refuse_unsupported(user, err);

	if (r == 0)
		r = take_data_or_path(
			user, "client-certificate", dir, &ret->certificate, &ret->certificate_file, err);
	if (r == 0)
		r = take_data_or_path(user, "client-key", dir, &ret->key, &ret->key_file, err);
	/* The file wins over the text, as for kubectl: it is the one that rotates. */
	if (r == 0)
		r = take_path(user, "tokenFile", dir, &ret->token_file, err);
	if (r == 0 && !ret->token_file)
		r = take_string(user, "token", &ret->token, err);
	if (r < 0)
		return r;
	if ((ret->certificate || ret->certificate_file) != (ret->key || ret->key_file))
		return err_set(err, -EINVAL, "client-certificate and client-key must be given together");
	if (!exec || exec->kind == DOC_NULL || ret->token || ret->token_file)
		return 0;
	r = take_exec(exec, dir, &ret->exec, err);
	return r < 0 ? err_wrap(err, r, "exec") : 0;
}

static int take_context(const struct doc *file, const char *name, const char *dir,
	struct credentials_config *ret, struct err *err)
{
	const struct doc *context, *cluster, *user;
	const char *cluster_name, *user_name;
	int r = find_named(file, "context", name, &context, err);

	if (r < 0)
		return r;
	cluster_name = doc_string(doc_get(context, "cluster"));
	user_name = doc_string(doc_get(context, "user"));
	if (!cluster_name || !*cluster_name)
		return err_set(err, -EINVAL, "context '%.100s' names no cluster", name);
	if (user_name && *user_name) {
		r = find_named(file, "user", user_name, &user, err);
		if (r < 0)
			return r;
		r = take_user(user, dir, ret, err);
		if (r < 0)
			return err_wrap(err, r, "user '%.100s'", user_name);
	}
	r = find_named(file, "cluster", cluster_name, &cluster, err);
	if (r < 0)
		return r;
	r = take_cluster(cluster, dir, ret, err);
	return r < 0 ? err_wrap(err, r, "cluster '%.100s'", cluster_name) : 0;
}

int kubeconfig_parse(const char *text, size_t len, const char *dir, const char *context,
	struct credentials_config *ret, struct err *err)
{
	CLEANUP(doc_release) struct doc file = DOC_INIT;
	int r = yaml_parse(text, len, &file, err);

	if (r < 0)
		return r;
	credentials_config_init(ret);
	if (!context)
		context = doc_string(doc_get(&file, "current-context"));
	if (!context || !*context)
		return err_set(err, -EINVAL, "no kubeconfig: there is no current-context");
	r = take_context(&file, context, dir, ret, err);
	if (r == 0)
		text_set(&ret->context, context);
	if (r < 0)
		credentials_config_release(ret);
	return r;
}

/* ---- service account */

int service_account_config(
	const char *root, const char *host, const char *port, struct credentials_config *ret, struct err *err)
{
	CLEANUP(freep) char *url = NULL;
	int r;

	if (!host || !*host || !port || !*port)
		return err_set(
			err, -ENOENT, "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set");
	credentials_config_init(ret);
	url = xasprintf(strchr(host, ':') ? "https://[%s]:%s" : "https://%s:%s", host, port);
	ret->token_file = xasprintf("%s" SERVICE_ACCOUNT_DIR "/token", root);
	ret->ca_file = xasprintf("%s" SERVICE_ACCOUNT_DIR "/ca.crt", root);
	r = credentials_config_set_server(ret, url, err);
	if (r < 0)
		credentials_config_release(ret);
	return r;
}
