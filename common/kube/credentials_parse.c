/* SPDX-License-Identifier: Apache-2.0 */
/* Parses kubeconfig files, the output of credential plugins, certificates and tokens. No I/O. */
#include <ctype.h>
#include <errno.h>

#include "common/cleanup.h"
#include "common/doc.h"
#include "common/io/json.h"
#include "common/io/time.h"
#include "common/io/yaml.h"
#include "common/kube/credentials.h"
#include "common/strbuf.h"
#include "common/text.h"
#include "common/xalloc.h"

#define TEXT_MAX            ((size_t)1 << 20)
#define SERVICE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"
#define EXEC_API            "client.authentication.k8s.io/"
#define YEAR_10000_S        INT64_C(253402300800)
#define PEM_BEGIN           "-----BEGIN CERTIFICATE-----"

void exec_config_release(struct exec_config *exec)
{
	free(exec->command);
	free(exec->api_version);
	free(exec->install_hint);
	strv_release(&exec->args);
	strv_release(&exec->env);
	*exec = (struct exec_config){0};
}

void credentials_config_release(struct credentials_config *c)
{
	char *texts[] = {c->context, c->cluster, c->namespace, c->server, c->tls_server_name, c->proxy, c->ca,
		c->ca_file, c->certificate, c->certificate_file, c->key, c->key_file, c->token,
		c->token_file};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		free(texts[i]);
	exec_config_release(&c->exec);
	*c = (struct credentials_config){0};
}

/* ---- kubeconfig: members */

/* Copies a string member; *ret is unchanged if it is absent, null or "". */
static int get_string(const struct doc *map, const char *key, char **ret, struct err *err)
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

/* The base64 of a text file; line breaks within it are allowed, as in Go's decoder. */
static int get_data(const struct doc *map, const char *key, char **ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf bytes = STRBUF_INIT(TEXT_MAX);
	CLEANUP(freep) char *text = NULL;
	size_t len = 0;
	int r = get_string(map, key, &text, err);

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

/* A path; relative paths are relative to `dir`, unless NULL. */
static int get_path(const struct doc *map, const char *key, const char *dir, char **ret, struct err *err)
{
	CLEANUP(freep) char *path = NULL;
	int r = get_string(map, key, &path, err);

	if (r < 0 || !path)
		return r;
	free(*ret);
	*ret = path[0] == '/' || !dir ? TAKE(path) : xasprintf("%s/%s", dir, path);
	return 0;
}

/* KEY-data or KEY (a file); KEY-data has priority, as in kubectl. */
static int get_data_or_path(const struct doc *map, const char *key, const char *dir, char **ret_data,
	char **ret_file, struct err *err)
{
	char data_key[64];
	int r;

	snprintf(data_key, sizeof(data_key), "%s-data", key);
	r = get_data(map, data_key, ret_data, err);
	return r < 0 || *ret_data ? r : get_path(map, key, dir, ret_file, err);
}

/* Whether the map has the member, with another value than null, false or "". */
static bool is_set(const struct doc *map, const char *key)
{
	const struct doc *d = doc_get(map, key);

	return d && d->kind != DOC_NULL && !(d->kind == DOC_BOOL && !strcmp(d->text, "false")) &&
	       !(d->kind == DOC_STRING && !*d->text);
}

/* Parsed files, and the directory of each. */
struct parsed_files {
	struct doc docs[KUBECONFIG_FILES_MAX];
	const char *dirs[KUBECONFIG_FILES_MAX];
	size_t n;
};

static void parsed_files_release(struct parsed_files *files)
{
	for (size_t i = 0; i < files->n; i++)
		doc_release(&files->docs[i]);
}

/* The member `kind` of the first entry with this name, and the directory of its file. */
static int find_named(const struct parsed_files *files, const char *kind, const char *name,
	const struct doc **ret, const char **ret_dir, struct err *err)
{
	char plural[16]; /* the list of all clusters has the key "clusters" */

	snprintf(plural, sizeof(plural), "%ss", kind);
	for (size_t i = 0; i < files->n; i++) {
		const struct doc *entry = doc_find_named(doc_get(&files->docs[i], plural), name);
		const struct doc *value = doc_get(entry, kind);

		if (!entry)
			continue;
		if (!value || value->kind != DOC_MAP)
			return err_set(err, -EINVAL, "%s '%.100s' is empty", kind, name);
		*ret = value;
		*ret_dir = files->dirs[i];
		return 0;
	}
	return err_set(err, -EINVAL, "there is no %s named '%.100s'", kind, name);
}

/* ---- kubeconfig: server */

static bool is_loopback(const char *host)
{
	static const char *const prefixes[] = {"127.", "localhost", "[::1]"};

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		size_t len = strlen(prefixes[i]);
		const char *end = host + len;

		if (strncmp(host, prefixes[i], len) != 0)
			continue;
		if (prefixes[i][len - 1] == '.') /* 127.0.0.0/8: the rest of the address */
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
		return err_set(err, -EINVAL,
			"server '%.200s' is rejected: http:// is allowed only to this host", url);
	if (http && has_secret(c))
		return err_set(
			err, -EINVAL, "server '%.200s' is rejected: credentials require https://", url);
	while (len > 0 && url[len - 1] == '/')
		len--;
	free(c->server);
	c->server = xstrndup(url, len);
	return 0;
}

/* ---- kubeconfig: credential plugin */

static int parse_exec_args(const struct doc *exec, struct exec_config *ret, struct err *err)
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

static int parse_env(const struct doc *exec, struct exec_config *ret, struct err *err)
{
	const struct doc *env = doc_get(exec, "env");

	if (!env || env->kind == DOC_NULL)
		return 0;
	if (env->kind != DOC_LIST)
		return err_set(err, -EINVAL, "env is not a list");
	DOC_FOREACH (item, env) {
		const char *name = doc_string(doc_get(item, "name"));
		const char *value = doc_string(doc_get(item, "value"));

		if (!name || !*name || strchr(name, '=') || !value)
			return err_set(err, -EINVAL, "env has an entry without name and value");
		strv_take(&ret->env, xasprintf("%s=%s", name, value));
	}
	return 0;
}

static int parse_exec(const struct doc *exec, const char *dir, struct exec_config *ret, struct err *err)
{
	const char *mode = doc_string(doc_get(exec, "interactiveMode"));
	const char *command = doc_string(doc_get(exec, "command"));
	const char *version = doc_string(doc_get(exec, "apiVersion"));
	/* A name without a slash is searched in PATH; a relative path is relative to the kubeconfig. */
	bool is_relative = command && command[0] != '/' && strchr(command, '/');

	if (!command || !*command)
		return err_set(err, -EINVAL, "there is no command");
	if (!version || (strcmp(version, EXEC_API "v1") != 0 && strcmp(version, EXEC_API "v1beta1") != 0))
		return err_set(err, -EINVAL, "apiVersion '%.100s' is neither " EXEC_API "v1 nor v1beta1",
			text_or_empty(version));
	if (mode && !strcmp(mode, "Always"))
		return err_set(err, -EINVAL, "interactiveMode Always: nrtd has no terminal");
	if (is_set(exec, "provideClusterInfo"))
		return err_set(err, -EINVAL, "provideClusterInfo is not supported");
	if (get_path(exec, "command", is_relative ? dir : NULL, &ret->command, err) < 0 ||
		get_string(exec, "apiVersion", &ret->api_version, err) < 0 ||
		get_string(exec, "installHint", &ret->install_hint, err) < 0 ||
		parse_exec_args(exec, ret, err) < 0)
		return -EINVAL;
	return parse_env(exec, ret, err);
}

/* ---- kubeconfig: cluster, user, context */

static int parse_cluster(const struct doc *cluster, const char *dir, bool insecure,
	struct credentials_config *ret, struct err *err)
{
	CLEANUP(freep) char *server = NULL;

	if (get_string(cluster, "server", &server, err) < 0)
		return -EINVAL;
	if (!server)
		return err_set(err, -EINVAL, "there is no server");
	if (!insecure && is_set(cluster, "insecure-skip-tls-verify"))
		return err_set(err, -EINVAL,
			"insecure-skip-tls-verify is rejected: any server could receive the token; set certificate-authority-data");
	if (get_data_or_path(cluster, "certificate-authority", dir, &ret->ca, &ret->ca_file, err) < 0 ||
		get_string(cluster, "tls-server-name", &ret->tls_server_name, err) < 0 ||
		get_string(cluster, "proxy-url", &ret->proxy, err) < 0)
		return -EINVAL;
	return credentials_config_set_server(ret, server, err);
}

static int reject_unsupported(const struct doc *user, struct err *err)
{
	static const struct {
		const char *key, *why;
	} rejected[] = {
		{"auth-provider", "Kubernetes 1.26 has removed it; use exec"},
		{"username", "Kubernetes 1.19 has removed passwords; use a token or a certificate"},
		{"password", "Kubernetes 1.19 has removed passwords; use a token or a certificate"},
		{"as", "nrtd does not impersonate; give it an identity of its own"},
		{"as-uid", "nrtd does not impersonate; give it an identity of its own"},
		{"as-groups", "nrtd does not impersonate; give it an identity of its own"},
		{"as-user-extra", "nrtd does not impersonate; give it an identity of its own"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rejected); i++)
		if (is_set(user, rejected[i].key))
			return err_set(
				err, -EINVAL, "%s is not supported: %s", rejected[i].key, rejected[i].why);
	return 0;
}

static int parse_user(
	const struct doc *user, const char *dir, struct credentials_config *ret, struct err *err)
{
	const struct doc *exec = doc_get(user, "exec");

	if (reject_unsupported(user, err) < 0 ||
		get_data_or_path(user, "client-certificate", dir, &ret->certificate, &ret->certificate_file,
			err) < 0 ||
		get_data_or_path(user, "client-key", dir, &ret->key, &ret->key_file, err) < 0 ||
		get_path(user, "tokenFile", dir, &ret->token_file, err) < 0)
		return -EINVAL;
	/* tokenFile has priority over token, as in kubectl: the file is rotated. */
	if (!ret->token_file && get_string(user, "token", &ret->token, err) < 0)
		return -EINVAL;
	if ((ret->certificate || ret->certificate_file) != (ret->key || ret->key_file))
		return err_set(err, -EINVAL, "client-certificate and client-key must be given together");
	/* A token is used instead of a credential plugin. */
	if (!exec || exec->kind == DOC_NULL || ret->token || ret->token_file)
		return 0;
	return parse_exec(exec, dir, &ret->exec, err) < 0 ? err_wrap(err, -EINVAL, "exec") : 0;
}

static int parse_context(const struct parsed_files *files, const char *name,
	const struct kubeconfig_choice *choice, struct credentials_config *ret, struct err *err)
{
	const struct doc *context = NULL, *user = NULL, *cluster = NULL;
	const char *cluster_name = choice->cluster, *user_name = choice->user, *dir = NULL;
	int r = find_named(files, "context", name, &context, &dir, err);

	if (r < 0)
		return r;
	if (!cluster_name)
		cluster_name = doc_string(doc_get(context, "cluster"));
	if (!user_name)
		user_name = doc_string(doc_get(context, "user"));
	if (!cluster_name || !*cluster_name)
		return err_set(err, -EINVAL, "context '%.100s' names no cluster", name);
	r = get_string(context, "namespace", &ret->namespace, err);
	if (r < 0)
		return r;
	if (user_name && *user_name) {
		r = find_named(files, "user", user_name, &user, &dir, err);
		if (r < 0)
			return r;
		r = parse_user(user, dir, ret, err);
		if (r < 0)
			return err_wrap(err, r, "user '%.100s'", user_name);
	}
	r = find_named(files, "cluster", cluster_name, &cluster, &dir, err);
	if (r < 0)
		return r;
	r = parse_cluster(cluster, dir, choice->insecure, ret, err);
	if (r < 0)
		return err_wrap(err, r, "cluster '%.100s'", cluster_name);
	text_set(&ret->cluster, cluster_name);
	return 0;
}

/* The first current-context of the files; NULL = there is none. */
static const char *current_context(const struct parsed_files *files)
{
	for (size_t i = 0; i < files->n; i++) {
		const char *name = doc_string(doc_get(&files->docs[i], "current-context"));

		if (name && *name)
			return name;
	}
	return NULL;
}

int kubeconfig_parse(const struct kubeconfig_file *files, size_t n, const struct kubeconfig_choice *choice,
	struct credentials_config *ret, struct err *err)
{
	CLEANUP(parsed_files_release) struct parsed_files parsed = {.n = 0};
	const char *context = choice->context;
	int r;

	for (; parsed.n < n; parsed.n++) {
		parsed.docs[parsed.n] = (struct doc)DOC_INIT;
		parsed.dirs[parsed.n] = files[parsed.n].dir;
		r = yaml_parse(files[parsed.n].text, files[parsed.n].len, &parsed.docs[parsed.n], err);
		if (r < 0)
			return r;
	}
	*ret = (struct credentials_config){0};
	if (!context)
		context = current_context(&parsed);
	if (!context || !*context)
		return err_set(err, -EINVAL, "no kubeconfig: there is no current-context");
	r = parse_context(&parsed, context, choice, ret, err);
	if (r < 0)
		credentials_config_release(ret);
	else
		text_set(&ret->context, context);
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
	*ret = (struct credentials_config){0};
	url = xasprintf(strchr(host, ':') ? "https://[%s]:%s" : "https://%s:%s", host, port);
	ret->token_file = xasprintf("%s" SERVICE_ACCOUNT_DIR "/token", root);
	ret->ca_file = xasprintf("%s" SERVICE_ACCOUNT_DIR "/ca.crt", root);
	r = credentials_config_set_server(ret, url, err);
	if (r < 0)
		credentials_config_release(ret);
	return r;
}

/* ---- output of credential plugins */

void exec_credential_release(struct exec_credential *c)
{
	free(c->token);
	free(c->certificate);
	free(c->key);
	*c = (struct exec_credential){.expires_s = INT64_MAX};
}

static void copy_member(const struct doc *status, const char *key, char **ret)
{
	const char *text = doc_string(doc_get(status, key));

	if (text && *text)
		text_set(ret, text);
}

int exec_credential_parse(
	const char *text, size_t len, const char *api_version, struct exec_credential *ret, struct err *err)
{
	struct exec_credential c = {.expires_s = INT64_MAX};
	CLEANUP(doc_release) struct doc output = DOC_INIT;
	const struct doc *status;
	const char *version, *kind, *expires;
	int r = json_parse(text, len, &output, NULL);

	if (r < 0)
		return err_set(err, r, "the plugin's output is not JSON");
	kind = doc_string(doc_get(&output, "kind"));
	version = doc_string(doc_get(&output, "apiVersion"));
	if (!kind || strcmp(kind, "ExecCredential") != 0 || !version || strcmp(version, api_version) != 0)
		return err_set(err, -EINVAL, "the plugin returned no ExecCredential with apiVersion %s",
			api_version);
	status = doc_get(&output, "status");
	expires = doc_string(doc_get(status, "expirationTimestamp"));
	if (expires && timestamp_parse(expires, &c.expires_s) < 0)
		return err_set(err, -EINVAL, "expirationTimestamp is not a time");
	copy_member(status, "token", &c.token);
	copy_member(status, "clientCertificateData", &c.certificate);
	copy_member(status, "clientKeyData", &c.key);
	if (!c.certificate != !c.key)
		r = err_set(err, -EINVAL,
			"the plugin returned a certificate without key or a key without certificate");
	else if (!c.token && !c.certificate)
		r = err_set(err, -EINVAL, "the plugin returned neither token nor certificate");
	if (r < 0) {
		exec_credential_release(&c);
		return r;
	}
	*ret = c;
	return 0;
}

/* ---- tokens */

int credentials_trim_token(char *token, struct err *err)
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

/* ---- certificates: the subset of DER (X.690, section 8.1) at the beginning of a certificate */

enum der_tag {
	DER_INTEGER = 0x02,
	DER_UTC_TIME = 0x17,
	DER_GENERALIZED_TIME = 0x18,
	DER_SEQUENCE = 0x30,
	DER_VERSION = 0xa0 /* [0], the certificate's version; omitted in version 1 */
};

struct der {
	const unsigned char *at;
	size_t len;
};

/* Removes the first element. Lengths of more than three bytes exceed TEXT_MAX. */
static bool der_take(struct der *from, unsigned *ret_tag, struct der *ret_value)
{
	size_t head = 2, len;

	if (from->len < 2)
		return false;
	len = from->at[1];
	if (len >= 0x80) {
		size_t n = len & 0x7f; /* the length follows in this many bytes */

		if (n == 0 || n > 3 || from->len < 2 + n)
			return false;
		len = 0;
		for (size_t i = 0; i < n; i++)
			len = len << 8 | from->at[2 + i];
		head += n;
	}
	if (len > from->len - head)
		return false;
	*ret_tag = from->at[0];
	*ret_value = (struct der){from->at + head, len};
	from->at += head + len;
	from->len -= head + len;
	return true;
}

/* Removes the first element, which must have this tag. */
static bool der_expect(struct der *from, unsigned tag, struct der *ret_value)
{
	unsigned got;

	return der_take(from, &got, ret_value) && got == tag;
}

/* "YYMMDDHHMMSSZ" (1950 to 2049) or "YYYYMMDDHHMMSSZ". */
static bool der_take_time(struct der *from, int64_t *ret)
{
	struct tm tm = {0};
	int digits[7] = {0}; /* century, year, month, ... */
	unsigned tag;
	struct der value;
	size_t n;

	if (!der_take(from, &tag, &value) || (tag != DER_UTC_TIME && tag != DER_GENERALIZED_TIME))
		return false;
	n = tag == DER_UTC_TIME ? 6 : 7; /* pairs of digits: the last `n` items of digits[] */
	if (value.len != 2 * n + 1 || value.at[2 * n] != 'Z')
		return false;
	for (size_t i = 0; i < 2 * n; i++) {
		if (!isdigit(value.at[i]))
			return false;
		digits[7 - n + i / 2] = digits[7 - n + i / 2] * 10 + (value.at[i] - '0');
	}
	if (tag == DER_UTC_TIME) /* without a century: RFC 5280, section 4.1.2.5.1 */
		digits[0] = digits[1] < 50 ? 20 : 19;
	tm.tm_year = digits[0] * 100 + digits[1] - 1900;
	tm.tm_mon = digits[2] - 1;
	tm.tm_mday = digits[3];
	tm.tm_hour = digits[4];
	tm.tm_min = digits[5];
	tm.tm_sec = digits[6];
	*ret = timegm(&tm);
	return true;
}

/* Reads the validity, the fourth of the mandatory members of TBSCertificate (RFC 5280, section 4.1). */
static bool parse_certificate(struct der der, struct credential_expiry *ret)
{
	struct der certificate, tbs, part, rest;
	struct credential_expiry v;
	unsigned tag;

	if (!der_expect(&der, DER_SEQUENCE, &certificate) || !der_expect(&certificate, DER_SEQUENCE, &tbs))
		return false;
	rest = tbs;
	if (der_take(&rest, &tag, &part) && tag == DER_VERSION)
		tbs = rest;
	if (!der_expect(&tbs, DER_INTEGER, &part) ||      /* serial number */
		!der_expect(&tbs, DER_SEQUENCE, &part) || /* signature algorithm */
		!der_expect(&tbs, DER_SEQUENCE, &part) || /* issuer */
		!der_expect(&tbs, DER_SEQUENCE, &part) || /* validity */
		!der_take_time(&part, &v.from_s) || !der_take_time(&part, &v.until_s))
		return false;
	*ret = v;
	return true;
}

int certificate_expiry(const char *pem, struct credential_expiry *ret)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX), bytes = STRBUF_INIT(TEXT_MAX);
	const char *begin = strstr(pem, PEM_BEGIN);

	if (!begin)
		return -EINVAL;
	for (const char *p = begin + strlen(PEM_BEGIN); *p && *p != '-'; p++)
		if (!isspace((unsigned char)*p))
			strbuf_addch(&text, *p);
	if (strbuf_error(&text) < 0 || base64_decode(text.text, &bytes) < 0)
		return -EINVAL;
	return parse_certificate((struct der){(const unsigned char *)bytes.text, bytes.len}, ret) ? 0
												  : -EINVAL;
}

int64_t certificate_until_s(const char *pem)
{
	struct credential_expiry expiry;

	return pem && certificate_expiry(pem, &expiry) == 0 ? expiry.until_s : 0;
}

/* ---- JSON Web Tokens */

/* Base64url: two other characters, no padding (RFC 4648, section 5). */
static int decode_base64url(const char *text, size_t len, struct strbuf *out)
{
	CLEANUP(strbuf_release) struct strbuf standard = STRBUF_INIT(TEXT_MAX);
	int r;

	for (size_t i = 0; i < len; i++)
		if (text[i] == '-')
			strbuf_addch(&standard, '+');
		else if (text[i] == '_')
			strbuf_addch(&standard, '/');
		else
			strbuf_addch(&standard, text[i]);
	while (standard.len % 4 != 0 && strbuf_error(&standard) == 0)
		strbuf_addch(&standard, '=');
	r = strbuf_error(&standard);
	return r < 0 ? r : base64_decode(standard.text, out);
}

/* A time in whole seconds before the year 10000. 0 or -EINVAL. */
static int get_time_claim(const struct doc *claims, const char *name, int64_t *ret)
{
	int64_t seconds;

	if (doc_int64(doc_get(claims, name), &seconds) < 0 || seconds < 0 || seconds > YEAR_10000_S)
		return -EINVAL;
	*ret = seconds;
	return 0;
}

int token_expiry(const char *token, struct credential_expiry *ret)
{
	CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT(TEXT_MAX);
	CLEANUP(doc_release) struct doc claims = DOC_INIT;
	struct credential_expiry v = {.from_s = INT64_MIN, .until_s = INT64_MAX};
	const char *begin = strchr(token, '.'), *end = begin ? strchr(begin + 1, '.') : NULL;

	if (!end || decode_base64url(begin + 1, (size_t)(end - begin - 1), &json) < 0 ||
		json_parse(json.text, json.len, &claims, NULL) < 0 || claims.kind != DOC_MAP)
		return -EINVAL;
	if (get_time_claim(&claims, "nbf", &v.from_s) < 0)
		get_time_claim(&claims, "iat", &v.from_s);
	get_time_claim(&claims, "exp", &v.until_s);
	*ret = v;
	return 0;
}
