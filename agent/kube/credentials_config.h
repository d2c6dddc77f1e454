/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a kubeconfig file or a pod's environment says about the API server and the credentials for it.
 * Texts and names of files only; agent/kube/credentials.c reads those files. Depends on agent/base/
 * and common/.
 */
#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "common/strv.h"

/* A credential plugin. */
struct exec_config {
	char *command; /* path or name; NULL = no plugin */
	struct strv args;
	struct strv env;    /* "NAME=VALUE", on top of nrtd's own environment */
	char *api_version;  /* "client.authentication.k8s.io/v1" or ".../v1beta1" */
	char *install_hint; /* for a person, when the command is not there; or NULL */
};

/* Of each pair of text and file at most one is set; NULL = not given. Paths are absolute, or relative to
 * where nrtd runs when the kubeconfig's own path was. */
struct credentials_config {
	char *context; /* of the kubeconfig; or NULL */
	char *server;  /* URL without a slash at the end */
	char *tls_server_name, *proxy;
	char *ca, *ca_file;
	char *certificate, *certificate_file;
	char *key, *key_file;
	char *token, *token_file;
	struct exec_config exec;
};

void credentials_config_init(struct credentials_config *c);
void credentials_config_release(struct credentials_config *c);

/*
 * The cluster and the user of a context in the text of a kubeconfig file. `dir` is the file's directory, to
 * which the paths in it are relative; context NULL = current-context. Refused, each with its reason:
 * insecure-skip-tls-verify (nrtd would hand its token to whoever answers), auth-provider (removed in
 * Kubernetes 1.26: use exec), user names with passwords (removed in 1.19), impersonation, plugins that want a
 * terminal or provideClusterInfo, http:// to a host that is not this one. Unknown members are passed over, as
 * kubectl does. 0; -EINVAL with one line. *ret is as after init on failure.
 */
int kubeconfig_parse(const char *text, size_t len, const char *dir, const char *context,
	struct credentials_config *ret, struct err *err);

/*
 * The service account of a pod: `root` + /var/run/secrets/kubernetes.io/serviceaccount and the two variables'
 * values (an IPv6 address gets its brackets). 0; -ENOENT when host or port is NULL or empty; -EINVAL.
 */
int service_account_config(const char *root, const char *host, const char *port,
	struct credentials_config *ret, struct err *err);

/* Set the server's URL. Returns as kubeconfig_parse(), also when `c` has a token or key and the URL is not
 * https://. */
int credentials_config_set_server(struct credentials_config *c, const char *url, struct err *err);
