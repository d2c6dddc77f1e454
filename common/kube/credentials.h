/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Finds and renews the credentials for the API server: a kubeconfig file or a pod's service account.
 * credentials.c reads files and runs credential plugins; changed files are read again, so rotated tokens and
 * certificates need no restart. credentials_parse.c parses the texts: kubeconfig, plugin output, certificates
 * and tokens.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/vec.h"

struct cancel; /* common/io/thread.h */

/* How to reach the API server. All texts are owned by the struct credentials that returned them. */
struct api_access {
	const char *server;          /* "https://10.0.0.1:6443/prefix", without a trailing slash */
	const char *ca;              /* PEM certificates to trust; NULL = the system's */
	const char *certificate;     /* PEM client certificate, or NULL */
	const char *key;             /* its PEM key, or NULL */
	const char *token;           /* bearer token, or NULL */
	const char *tls_server_name; /* name in the server's certificate; NULL = the URL's host */
	bool insecure;               /* the server's certificate is not verified */
	const char *proxy;           /* URL of the proxy; NULL = as the environment says */
	uint64_t generation;         /* changes whenever another member changes */
};

struct credentials_options {
	const char *api_server; /* --api-server: URL that replaces the configured URL; NULL = as configured */
	const char *kubeconfig; /* --kubeconfig: file; NULL = see credentials_new() */
	const char *context;    /* --context; NULL = the first current-context of the files */
	const char *cluster;    /* --cluster: instead of the context's cluster; NULL = the context's */
	const char *user;       /* --user: instead of the context's user; NULL = the context's */
	/* Instead of what is configured; NULL = as configured. A token is used instead of a credential plugin. */
	const char *token;                       /* --token */
	const char *ca_file;                     /* --certificate-authority */
	const char *certificate_file, *key_file; /* --client-certificate, --client-key */
	const char *tls_server_name; /* --tls-server-name; with `api_server`, none is configured */
	bool insecure; /* --insecure-skip-tls-verify: do not verify the server's certificate; excludes ca_file */
	bool home;     /* for a person's command: also read ~/.kube/config */
};

struct credentials;

/*
 * Finds the credentials: the file `kubeconfig`; otherwise the existing files of the list $KUBECONFIG, merged
 * as kubectl merges them: if names collide, the first file wins; otherwise, with `home`,
 * ~/.kube/config if the file exists; otherwise the pod's service account, if KUBERNETES_SERVICE_HOST is set.
 * Daemons do not set `home`, so that a daemon uses a person's rights only on request.
 *
 * The caller owns *ret and frees it with credentials_free(). 0; -ENOKEY without credentials; -EINVAL for a
 * file that is malformed or uses an unsupported feature; the errors of fs_read_file().
 */
int credentials_new(const struct credentials_options *options, struct credentials **ret, struct err *err);
void credentials_free(struct credentials *c);

static inline void credentials_freep(struct credentials **c)
{
	credentials_free(*c);
	*c = NULL;
}

/*
 * Returns the current credentials. Reads changed files again, and runs the credential plugin if its
 * credential has expired or was rejected. Cancelling through `cancel` (NULL = never) ends the plugin:
 * -ECANCELED. *ret is valid until the next call. 0; -ETIMEDOUT (plugin); -EINVAL; the errors of
 * fs_read_file(); `ret` is untouched on failure.
 */
int credentials_access(
	struct credentials *c, const struct cancel *cancel, struct api_access *ret, struct err *err);

/* The namespace of the kubeconfig's context, NULL = none. Valid until the next credentials_access(). */
const char *credentials_namespace(const struct credentials *c);

/* Where the credentials come from, to be printed; names only, owned by the struct credentials. NULL = not
 * used. */
struct credentials_origin {
	const char *kubeconfig; /* the first file; NULL: a pod's service account, or only an --api-server */
	const char *context;    /* NULL without a kubeconfig */
	const char *cluster;    /* of the kubeconfig; NULL also with --api-server */
	const char *certificate_file; /* rotated by another program */
	const char *token_file;       /* rotated by another program */
	const char *plugin;           /* command of the credential plugin */
};

/* Valid until the next credentials_access(). */
void credentials_origin(const struct credentials *c, struct credentials_origin *ret);

/* The API server rejected the credentials (401): the next credentials_access() reads every file and runs the
 * plugin again. */
void credentials_rejected(struct credentials *c);

/* ---- configuration */

/* A credential plugin. */
struct exec_config {
	char *command; /* path or name; NULL = no plugin */
	struct strv args;
	struct strv env;    /* "NAME=VALUE", added to nrtd's own environment */
	char *api_version;  /* "client.authentication.k8s.io/v1" or ".../v1beta1" */
	char *install_hint; /* printed when the command does not exist; or NULL */
};

/* The settings of a kubeconfig or of a pod's environment. Of each pair (`ca` and `ca_file`, ...) at most one
 * is set; NULL = not given. Paths are absolute, or relative to nrtd's working directory if the path of the
 * kubeconfig is. */
struct credentials_config {
	char *context;   /* of the kubeconfig; or NULL */
	char *cluster;   /* its name in the kubeconfig; or NULL */
	char *namespace; /* of the context; or NULL */
	char *server;    /* URL without a trailing slash */
	char *tls_server_name, *proxy;
	char *ca, *ca_file;
	char *certificate, *certificate_file;
	char *key, *key_file;
	char *token, *token_file;
	struct exec_config exec;
};

void exec_config_release(struct exec_config *exec);
void credentials_config_release(struct credentials_config *c);

/* A kubeconfig file's content. Its paths are relative to its directory `dir`. */
struct kubeconfig_file {
	const char *text;
	size_t len;
	const char *dir;
};

/* Which entries of the files count; NULL = current-context, and the cluster and the user of the context. */
struct kubeconfig_choice {
	const char *context, *cluster, *user;
	bool insecure; /* accept insecure-skip-tls-verify */
};

#define KUBECONFIG_FILES_MAX 16

/*
 * Parses one cluster and one user from at most KUBECONFIG_FILES_MAX files. Of entries with the same name the
 * first file's counts. Rejects, with a reason: insecure-skip-tls-verify (any server could read the token)
 * unless choice->insecure,
 * auth-provider (removed in Kubernetes 1.26: use exec), user names with passwords (removed in 1.19),
 * impersonation, plugins that require a terminal or provideClusterInfo, http:// to another host. Ignores
 * unknown members, as kubectl does. 0; -EINVAL with one line. *ret is zeroed on failure.
 */
int kubeconfig_parse(const struct kubeconfig_file *files, size_t n, const struct kubeconfig_choice *choice,
	struct credentials_config *ret, struct err *err);

/*
 * The configuration of a pod's service account: the files in `root` +
 * /var/run/secrets/kubernetes.io/serviceaccount and the values of KUBERNETES_SERVICE_HOST and _PORT (an IPv6
 * address gets brackets). 0; -ENOENT if host or port is NULL or empty; -EINVAL.
 */
int service_account_config(const char *root, const char *host, const char *port,
	struct credentials_config *ret, struct err *err);

/* Sets the server's URL. 0; -EINVAL for a URL that kubeconfig_parse() rejects, or if `c` has a token or key
 * and the URL is not https://. */
int credentials_config_set_server(struct credentials_config *c, const char *url, struct err *err);

/* Removes surrounding white space from a token. -EINVAL if it then cannot be sent in an HTTP header. */
int credentials_trim_token(char *token, struct err *err);

/* ---- credential plugins: client.authentication.k8s.io/v1 and v1beta1 */

#define EXEC_DEADLINE_MS 10000u

/* A plugin's credential. Owned texts, NULL = not given. */
struct exec_credential {
	char *token;
	char *certificate, *key; /* PEM; both or none */
	int64_t expires_s;       /* seconds since 1970, INT64_MAX = no expiry given */
};

void exec_credential_release(struct exec_credential *c);

/*
 * Parses a plugin's output: an ExecCredential of the requested version whose status has a token, or a
 * certificate and its key. 0; -EINVAL with one line that does not quote the output.
 */
int exec_credential_parse(
	const char *text, size_t len, const char *api_version, struct exec_credential *ret, struct err *err);

/*
 * Runs the plugin without a terminal and with an empty standard input; its stderr is nrtd's. Kills the
 * plugin's process group after `deadline_ms` (-ETIMEDOUT) or when cancelled (-ECANCELED; `cancel` NULL =
 * never). 0; -ENOENT if the command does not exist; -EIO if the plugin failed; the errors of
 * exec_credential_parse(). The caller owns *ret; untouched on failure.
 */
int exec_credential_run(const struct exec_config *config, unsigned deadline_ms, const struct cancel *cancel,
	struct exec_credential *ret, struct err *err);

/* ---- expiry, as certificates and tokens state it. Verifies nothing: only the API server decides. */

struct credential_expiry {
	int64_t from_s, until_s; /* seconds since 1970; INT64_MIN and INT64_MAX if not stated */
};

/* notBefore and notAfter (RFC 5280, section 4.1.2.5) of the first certificate in a PEM text. 0; -EINVAL if it
 * is not a certificate. `ret` is untouched on failure. */
int certificate_expiry(const char *pem, struct credential_expiry *ret);

/* When a PEM certificate expires, in seconds since 1970; 0 if `pem` is NULL or not a certificate. */
int64_t certificate_until_s(const char *pem);

/* The claims nbf (otherwise iat) and exp of a JSON Web Token (RFC 7519). 0; -EINVAL for an opaque token.
 * `ret` is untouched on failure. */
int token_expiry(const char *token, struct credential_expiry *ret);
