/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/test.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/observe/fs_root.h"
#include "common/cleanup.h"
#include "common/kube/credentials.h"

#define EXEC_V1 "client.authentication.k8s.io/v1"

/* A kubeconfig with these members of the cluster and the user. */
static char *kubeconfig(const char *cluster, const char *user)
{
	char *text;

	if (asprintf(&text,
		    "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
		    "contexts: [{name: other, context: {cluster: nowhere}}, {name: c, context: {cluster: k, "
		    "user: u}}]\n"
		    "clusters: [{name: k, cluster: {%s}}]\nusers: [{name: u, user: {%s}}]\n",
		    cluster, user) < 0)
		fail_msg("out of memory");
	return text;
}

/* Parse one file with this directory. */
static int parse(const char *text, const char *dir, const char *context, struct credentials_config *ret,
	struct err *err)
{
	const struct kubeconfig_file file = {.text = text, .len = strlen(text), .dir = dir};
	const struct kubeconfig_choice choice = {.context = context};

	return kubeconfig_parse(&file, 1, &choice, ret, err);
}

static void config_freep(struct credentials_config *c)
{
	credentials_config_release(c);
}

static const char *or_none(const char *text)
{
	return text ? text : "-";
}

static void kubeconfigs_are_read(void **state)
{
	static const struct {
		const char *cluster, *user;
		const char *want; /* server ca ca_file certificate_file key_file token token_file */
	} cases[] = {
		{"server: 'https://h:6443/'", "", "https://h:6443 - - - - - -"},
		{"server: 'https://[::1]:6443', certificate-authority: ca.pem", "token: t",
			"https://[::1]:6443 - dir/ca.pem - - t -"},
		{"server: 'https://h', certificate-authority-data: UEVN, certificate-authority: ca.pem",
			"token: t, tokenFile: /run/t", "https://h PEM - - - - /run/t"},
		{"server: 'https://h', certificate-authority-data: \"UEV\\nN\"",
			"client-certificate: c, client-key: /k", "https://h PEM - dir/c /k - -"},
		{"server: 'https://h', insecure-skip-tls-verify: false, certificate-authority: ''",
			"as: '', username: null", "https://h - - - - - -"},
		{"server: 'http://127.0.0.1:8001'", "", "http://127.0.0.1:8001 - - - - - -"},
		{"server: 'http://[::1]:8001'", "", "http://[::1]:8001 - - - - - -"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(freep) char *text = kubeconfig(cases[i].cluster, cases[i].user);
		CLEANUP(config_freep) struct credentials_config c = {0};
		struct err err = {""};
		char got[256];

		if (parse(text, "dir", NULL, &c, &err) < 0)
			fail_msg("case %zu: %s", i, err.text);
		snprintf(got, sizeof(got), "%s %s %s %s %s %s %s", c.server, or_none(c.ca),
			or_none(c.ca_file), or_none(c.certificate_file), or_none(c.key_file),
			or_none(c.token), or_none(c.token_file));
		test_assert_text(cases[i].cluster, got, cases[i].want);
	}
}

static void what_is_wrong_or_unsupported_is_said(void **state)
{
#define S "server: 'https://h'"
	static const struct {
		const char *cluster, *user, *context, *want;
	} cases[] = {
		{S, "", "other", "there is no cluster named 'nowhere'"},
		{S, "", "none", "there is no context named 'none'"},
		{"", "", NULL, "cluster 'k': there is no server"},
		{"server: 7", "", NULL, "cluster 'k': server is a number, not a string"},
		{"server: h", "", NULL, "cluster 'k': server 'h' is not https://HOST:PORT"},
		{"server: 'https://u:p@h'", "", NULL,
			"cluster 'k': server: the URL must not have a user name, a query or spaces"},
		{"server: 'http://h'", "", NULL,
			"cluster 'k': server 'http://h' is rejected: http:// is allowed only to this host"},
		{"server: 'http://127.0.0.1.example.com'", "", NULL,
			"cluster 'k': server 'http://127.0.0.1.example.com' is rejected: http:// is "
			"allowed only to this host"},
		{"server: 'http://localhost:1'", "token: t", NULL,
			"cluster 'k': server 'http://localhost:1' is rejected: credentials require https://"},
		{S ", insecure-skip-tls-verify: true", "", NULL,
			"cluster 'k': insecure-skip-tls-verify is rejected: any server could receive the "
			"token; set certificate-authority-data"},
		{S ", certificate-authority-data: '*'", "", NULL,
			"cluster 'k': certificate-authority-data is not the base64 of a PEM text"},
		{S, "auth-provider: {name: gcp}", NULL,
			"user 'u': auth-provider is not supported: Kubernetes 1.26 has removed it; use exec"},
		{S, "username: x", NULL,
			"user 'u': username is not supported: Kubernetes 1.19 has removed passwords; use a "
			"token or a "
			"certificate"},
		{S, "as: x", NULL,
			"user 'u': as is not supported: nrtd does not impersonate; give it an identity of "
			"its own"},
		{S, "client-certificate: c", NULL,
			"user 'u': client-certificate and client-key must be given together"},
		{S, "exec: {apiVersion: " EXEC_V1 "}", NULL, "user 'u': exec: there is no command"},
		{S, "exec: {command: x, apiVersion: " EXEC_V1 "alpha1}", NULL,
			"user 'u': exec: apiVersion '" EXEC_V1 "alpha1' is neither " EXEC_V1 " nor v1beta1"},
		{S, "exec: {command: x, apiVersion: " EXEC_V1 ", interactiveMode: Always}", NULL,
			"user 'u': exec: interactiveMode Always: nrtd has no terminal"},
		{S, "exec: {command: x, apiVersion: " EXEC_V1 ", provideClusterInfo: true}", NULL,
			"user 'u': exec: provideClusterInfo is not supported"},
		{S, "exec: {command: x, apiVersion: " EXEC_V1 ", args: [1]}", NULL,
			"user 'u': exec: args has a number, not a string"},
		{S, "exec: {command: x, apiVersion: " EXEC_V1 ", env: [{name: a}]}", NULL,
			"user 'u': exec: env has an entry without name and value"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(freep) char *text = kubeconfig(cases[i].cluster, cases[i].user);
		CLEANUP(config_freep) struct credentials_config c = {0};
		struct err err = {""};
		int r = parse(text, "dir", cases[i].context, &c, &err);

		assert_int_equal(r, -EINVAL);
		test_assert_text(cases[i].cluster, err.text, cases[i].want);
		assert_null(c.server);
	}
}

static void a_service_account_has_its_places(void **state)
{
	static const struct {
		const char *host, *port, *server;
	} cases[] = {
		{"10.96.0.1", "443", "https://10.96.0.1:443"},
		{"fd00::1", "6443", "https://[fd00::1]:6443"},
		{"", "443", NULL},
		{"h", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(config_freep) struct credentials_config c = {0};
		int r = service_account_config("/root", cases[i].host, cases[i].port, &c, NULL);

		assert_int_equal(r, cases[i].server ? 0 : -ENOENT);
		if (!cases[i].server)
			continue;
		assert_string_equal(c.server, cases[i].server);
		assert_string_equal(c.token_file, "/root/var/run/secrets/kubernetes.io/serviceaccount/token");
		assert_string_equal(c.ca_file, "/root/var/run/secrets/kubernetes.io/serviceaccount/ca.crt");
	}
}

/* ---- files that rotate */

static char *below(const char *dir, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		fail_msg("out of memory");
	return path;
}

static void replace(const char *dir, const char *name, const char *text)
{
	CLEANUP(freep) char *fresh = below(dir, "fresh"), *path = below(dir, name);

	test_write_file(dir, "fresh", text);
	assert_int_equal(rename(fresh, path), 0);
}

static void files_that_change_are_read_again(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(freep) char *path = below(dir, "config");
	CLEANUP(freep)
	char *text = kubeconfig("server: 'https://h', certificate-authority: ca", "tokenFile: token");
	CLEANUP(freep) char *other = kubeconfig("server: 'https://other'", "token: inline");
	CLEANUP(credentials_freep) struct credentials *c = NULL;
	struct credentials_options options = {.kubeconfig = path};
	struct api_access a;
	struct err err = {""};
	uint64_t generation;

	(void)state;
	test_write_file(dir, "config", text);
	test_write_file(dir, "ca", "CA");
	test_write_file(dir, "token", "one\n");
	assert_int_equal(credentials_new(&options, &c, &err), 0);
	assert_int_equal(credentials_access(c, NULL, &a, &err), 0);
	assert_string_equal(a.token, "one");
	assert_string_equal(a.ca, "CA");
	generation = a.generation;
	assert_int_equal(credentials_access(c, NULL, &a, &err), 0);
	assert_int_equal(a.generation, generation);

	replace(dir, "token", " two ");
	assert_int_equal(credentials_access(c, NULL, &a, &err), 0);
	assert_string_equal(a.token, "two");
	assert_true(a.generation != generation);

	replace(dir, "token", "with\x01 control");
	assert_int_equal(credentials_access(c, NULL, &a, &err), -EINVAL);
	assert_non_null(strstr(err.text, "the token has characters that a token cannot have"));
	assert_null(strstr(err.text, "control"));
	assert_int_equal(credentials_access(c, NULL, &a, &err), -EINVAL);

	/* A kubeconfig that is broken for a moment: what it was is used no longer, what comes then is. */
	replace(dir, "config", "contexts: 1");
	assert_int_equal(credentials_access(c, NULL, &a, &err), -EINVAL);
	replace(dir, "config", other);
	assert_int_equal(credentials_access(c, NULL, &a, &err), 0);
	assert_string_equal(a.server, "https://other");
	assert_string_equal(a.token, "inline");
	assert_null(a.ca);
}

static void the_first_file_of_a_list_that_exists_counts(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(freep) char *text = kubeconfig("server: 'https://listed'", "");
	CLEANUP(freep) char *list = NULL;
	CLEANUP(credentials_freep) struct credentials *c = NULL, *none = NULL;
	struct credentials_options options = {.api_server = NULL};
	struct api_access a;
	struct err err = {""};

	(void)state;
	test_write_file(dir, "second", text);
	if (asprintf(&list, "::%s/first:%s/second", dir, dir) < 0)
		fail_msg("out of memory");
	setenv("KUBECONFIG", list, 1);
	assert_int_equal(credentials_new(&options, &c, &err), 0);
	assert_int_equal(credentials_access(c, NULL, &a, &err), 0);
	assert_string_equal(a.server, "https://listed");
	unsetenv("KUBECONFIG");
	unsetenv("KUBERNETES_SERVICE_HOST");
	assert_int_equal(credentials_new(&options, &none, &err), -ENOKEY);
	options.api_server = "http://127.0.0.1:8001/";
	assert_int_equal(credentials_new(&options, &none, &err), 0);
	assert_int_equal(credentials_access(none, NULL, &a, &err), 0);
	assert_string_equal(a.server, "http://127.0.0.1:8001");
}

/* ---- plugins */

static void what_plugins_print_is_checked(void **state)
{
#define HEAD "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" EXEC_V1 "\",\"status\":"
	static const struct {
		const char *text, *token;
		int64_t expires_s;
		const char *error;
	} cases[] = {
		{HEAD "{\"token\":\"t\"}}", "t", INT64_MAX, NULL},
		{HEAD "{\"token\":\"t\",\"expirationTimestamp\":\"1970-01-02T00:00:00Z\"}}", "t", 86400,
			NULL},
		{HEAD "{\"token\":\"t\",\"expirationTimestamp\":\"1970-01-02T00:00:00.25+01:30\"}}", "t",
			81000, NULL},
		{HEAD "{\"token\":\"t\",\"expirationTimestamp\":\"1970-01-01T00:00:00-00:01\"}}", "t", 60,
			NULL},
		{HEAD "{\"token\":\"t\",\"expirationTimestamp\":\"soon\"}}", NULL, 0,
			"expirationTimestamp is not a time"},
		{HEAD "{\"token\":\"t\",\"expirationTimestamp\":\"1970-01-02T00:00:00\"}}", NULL, 0,
			"expirationTimestamp is not a time"},
		{HEAD "{}}", NULL, 0, "the plugin returned neither token nor certificate"},
		{HEAD "{\"clientKeyData\":\"k\"}}", NULL, 0,
			"the plugin returned a certificate without key or a key without certificate"},
		{"{\"kind\":\"ExecCredential\",\"apiVersion\":\"" EXEC_V1
		 "beta1\",\"status\":{\"token\":\"t\"}}",
			NULL, 0, "the plugin returned no ExecCredential with apiVersion " EXEC_V1},
		{"secret", NULL, 0, "the plugin's output is not JSON"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct exec_credential c = {.expires_s = 0};
		struct err err = {""};
		int r = exec_credential_parse(cases[i].text, strlen(cases[i].text), EXEC_V1, &c, &err);

		assert_int_equal(r, cases[i].error ? -EINVAL : 0);
		if (cases[i].error) {
			test_assert_text(cases[i].text, err.text, cases[i].error);
			continue;
		}
		assert_string_equal(c.token, cases[i].token);
		assert_true(c.expires_s == cases[i].expires_s);
		exec_credential_release(&c);
	}
}

static int run_script(const char *dir, const char *script, unsigned deadline_ms, const struct cancel *cancel,
	struct exec_credential *ret, struct err *err)
{
	CLEANUP(freep) char *path = below(dir, "plugin");
	char *args[] = {(char[]){"first"}}, *env[] = {(char[]){"PLUGIN_SAYS=hello"}};
	struct exec_config config = {.command = path,
		.args = {.items = args, .n_items = 1},
		.env = {.items = env, .n_items = 1},
		.api_version = (char[]){EXEC_V1}};

	test_write_file(dir, "plugin", script);
	assert_int_equal(chmod(path, 0700), 0);
	return exec_credential_run(&config, deadline_ms, cancel, ret, err);
}

static void a_plugin_that_is_not_there_is_named_with_its_hint(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(credentials_config_release) struct credentials_config config = {0};
	CLEANUP(freep)
	char *text = kubeconfig("server: 'https://h'",
		"exec: {command: /none/plugin, installHint: 'apt install plugin', apiVersion: " EXEC_V1 "}");
	struct exec_credential c = {.expires_s = 0};
	struct err err = {""};

	(void)state;
	assert_int_equal(parse(text, dir, NULL, &config, &err), 0);
	assert_true(exec_credential_run(&config.exec, 30000, NULL, &c, &err) < 0);
	/* Under valgrind and QEMU the program is started by fork(2), and that it is not there is an exit status. */
	if (!test_runner())
		assert_non_null(strstr(err.text, "No such file or directory; apt install plugin"));
}

static void plugins_run(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	struct exec_credential c = {.expires_s = 0};
	struct err err = {""};
	int r = run_script(dir,
		"#!/bin/sh\ncase $KUBERNETES_EXEC_INFO in *'\"interactive\":false'*) ;; *) exit 9 ;; esac\n"
		"printf '{\"kind\":\"ExecCredential\",\"apiVersion\":\"" EXEC_V1
		"\",\"status\":{\"token\":\"%s-%s\"}}' $1 $PLUGIN_SAYS\n",
		5000, NULL, &c, &err);

	(void)state;
	if (r < 0)
		fail_msg("%s", err.text);
	assert_string_equal(c.token, "first-hello");
	exec_credential_release(&c);
	assert_int_equal(run_script(dir, "#!/bin/sh\nexit 3\n", 5000, NULL, &c, &err), -EIO);
	assert_non_null(strstr(err.text, "failed with exit status 3"));
}

/*
 * Within five seconds the child of a killed plugin has ended by SIGKILL. It is ours to wait for, or the plugin's shell,
 * woken in wait(2) by its own SIGKILL, has taken it along as its last act.
 */
static void assert_grandchild_killed(const char *dir)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(64);
	const struct timespec slice = {.tv_nsec = 10000000};
	int status = SIGKILL;
	pid_t child, done = 0;

	assert_int_equal(fs_read(dir, "/child", &text, NULL), 0);
	child = (pid_t)strtol(text.text, NULL, 10);
	assert_true(child > 0);
	for (int i = 0; i < 500 && done == 0; i++) {
		done = waitpid(child, &status, WNOHANG);
		nanosleep(&slice, NULL);
	}
	if (done < 0)
		assert_int_equal(kill(child, 0), -1);
	else
		assert_int_equal(done, child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void plugins_end_in_time(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(cancel_release) struct cancel cancel = CANCEL_INIT;
	struct exec_credential c;
	struct err err = {""};
	struct timespec from, to;

	(void)state;
	clock_gettime(CLOCK_MONOTONIC, &from);
	/* The child of the shell holds the pipe, too, and has to go with it. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 && errno == EINVAL)
		test_skip("nobody can wait for the child of a child here"); /* QEMU 7.2 for programs */
	assert_int_equal(run_script(dir, "#!/bin/sh\nsleep 60 &\necho $! >\"${0%/*}/child\"\nsleep 60\n",
				 3000, NULL, &c, &err),
		-ETIMEDOUT);
	assert_grandchild_killed(dir);
	assert_int_equal(cancel_init(&cancel), 0);
	cancel_request(&cancel);
	assert_int_equal(run_script(dir, "#!/bin/sh\nsleep 60\n", 60000, &cancel, &c, &err), -ECANCELED);
	assert_int_equal(run_script(dir, "#!/bin/sh\nexec >&-\nsleep 60\n", 200, NULL, &c, &err), -ETIMEDOUT);
	clock_gettime(CLOCK_MONOTONIC, &to);
	assert_true(to.tv_sec - from.tv_sec < 20);
}

static void a_plugin_is_asked_again_when_its_answer_is_old_or_refused(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(freep) char *path = below(dir, "config");
	CLEANUP(freep)
	char *text = kubeconfig(
		"server: 'https://h'", "exec: {command: ./plugin, apiVersion: " EXEC_V1 ", args: ['2100']}");
	CLEANUP(freep) char *plugin = below(dir, "plugin");
	CLEANUP(credentials_freep) struct credentials *c = NULL;
	struct credentials_options options = {.kubeconfig = path};
	struct api_access a;
	struct err err = {""};

	(void)state;
	test_write_file(dir, "config", text);
	/* Its token is the number of times it has run; the year its answer ends in comes from a file. */
	test_write_file(dir, "year", "2100");
	test_write_file(dir, "plugin",
		"#!/bin/sh\ncd \"$(dirname \"$0\")\" && echo >>count\n"
		"printf '{\"kind\":\"ExecCredential\",\"apiVersion\":\"" EXEC_V1
		"\",\"status\":{\"token\":\"%s\",\"expirationTimestamp\":\"%s-01-01T00:00:00Z\"}}' "
		"\"$(wc -l <count)\" \"$(cat year)\"\n");
	assert_int_equal(chmod(plugin, 0700), 0);
	assert_int_equal(credentials_new(&options, &c, &err), 0);
	for (int i = 0; i < 2; i++) {
		if (credentials_access(c, NULL, &a, &err) < 0)
			fail_msg("%s", err.text);
		assert_string_equal(a.token, "1");
	}
	test_write_file(dir, "year", "2000");
	credentials_rejected(c);
	assert_int_equal(credentials_access(c, NULL, &a, &err), 0);
	assert_string_equal(a.token, "2");
	assert_int_equal(credentials_access(c, NULL, &a, &err), 0);
	assert_string_equal(a.token, "3");
}

#define CONTEXTS                                                                                         \
	"current-context: a\ncontexts: [{name: a, context: {cluster: one, user: u1, namespace: team}}, " \
	"{name: b, context: {cluster: two, user: u2}}]\n"
#define CLUSTERS                                                                                    \
	"clusters: [{name: one, cluster: {server: 'https://one', certificate-authority: ca.crt}}, " \
	"{name: two, cluster: {server: 'https://two'}}]\n"
#define USERS "current-context: b\nusers: [{name: u1, user: {token: t1}}, {name: u2, user: {token: t2}}]\n"
#define LATER "clusters: [{name: one, cluster: {server: 'https://later'}}]\n"

/* Files of a list are merged: the first file that has an entry of a name counts. */
static void kubeconfigs_are_merged(void **state)
{
	static const struct kubeconfig_file files[] = {
		{CONTEXTS, sizeof(CONTEXTS) - 1, "first"},
		{CLUSTERS, sizeof(CLUSTERS) - 1, "second"},
		{USERS LATER, sizeof(USERS LATER) - 1, "third"},
	};
	static const struct {
		struct kubeconfig_choice choice;
		const char *want; /* context namespace server ca_file token */
	} cases[] = {
		{{NULL, NULL, NULL, false}, "a team https://one second/ca.crt t1"},
		{{"b", NULL, NULL, false}, "b - https://two - t2"},
		{{NULL, "two", NULL, false}, "a team https://two - t1"},
		{{NULL, NULL, "u2", false}, "a team https://one second/ca.crt t2"},
		{{"b", "one", "u1", false}, "b - https://one second/ca.crt t1"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(config_freep) struct credentials_config c = {0};
		struct err err = {""};
		char got[256];

		if (kubeconfig_parse(files, ARRAY_SIZE(files), &cases[i].choice, &c, &err) < 0)
			fail_msg("case %zu: %s", i, err.text);
		snprintf(got, sizeof(got), "%s %s %s %s %s", c.context, or_none(c.namespace), c.server,
			or_none(c.ca_file), or_none(c.token));
		test_assert_text(cases[i].want, got, cases[i].want);
	}
	for (size_t i = 0; i < 3; i++) {
		static const struct kubeconfig_choice missing[] = {
			{.context = "c"}, {.cluster = "c"}, {.user = "c"}};
		CLEANUP(config_freep) struct credentials_config c = {0};

		assert_int_equal(kubeconfig_parse(files, ARRAY_SIZE(files), &missing[i], &c, NULL), -EINVAL);
		assert_null(c.server);
	}
}

/* ~/.kube/config is read for a person only, and not beside KUBECONFIG. */
static void the_home_directory_is_a_persons(void **state)
{
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(credentials_freep) struct credentials *c = NULL;
	CLEANUP(freep) char *list = NULL;
	struct credentials_options options = {.home = true};
	struct credentials_origin origin;
	struct api_access access;

	(void)state;
	unsetenv("KUBECONFIG");
	unsetenv("KUBERNETES_SERVICE_HOST");
	setenv("HOME", dir, 1);
	assert_int_equal(credentials_new(&options, &c, NULL), -ENOKEY);
	test_write_file(dir, ".kube/config", CONTEXTS CLUSTERS "users: [{name: u1, user: {token: t1}}]\n");
	assert_int_equal(credentials_new(&options, &c, NULL), 0);
	test_assert_text("namespace", credentials_namespace(c), "team");
	credentials_free(TAKE(c));
	options.home = false;
	assert_int_equal(credentials_new(&options, &c, NULL), -ENOKEY);
	options.home = true;
	test_write_file(dir, "a", CONTEXTS);
	test_write_file(dir, "ca.crt", "PEM");
	test_write_file(dir, "b", CLUSTERS USERS);
	assert_true(asprintf(&list, "%s/none:%s/a::%s/b", dir, dir, dir) > 0);
	setenv("KUBECONFIG", list, 1);
	assert_int_equal(credentials_new(&options, &c, NULL), 0);
	credentials_origin(c, &origin);
	assert_string_equal(origin.kubeconfig + strlen(dir), "/a");
	test_assert_text("cluster", origin.cluster, "one");
	/* A changed file of the list is read again. */
	test_write_file(dir, "b", CLUSTERS "users: [{name: u1, user: {token: fresh}}]\n");
	assert_int_equal(credentials_access(c, NULL, &access, NULL), 0);
	test_assert_text("token", access.token, "fresh");
	unsetenv("KUBECONFIG");
}

static void check_access(const struct credentials_options *options, const char *want)
{
	CLEANUP(credentials_freep) struct credentials *c = NULL;
	struct api_access a;
	char got[512];
	struct err err = {""};

	if (credentials_new(options, &c, &err) < 0 || credentials_access(c, NULL, &a, &err) < 0)
		snprintf(got, sizeof(got), "%s", err.text);
	else
		snprintf(got, sizeof(got), "%s ca=%s cert=%s key=%s token=%s name=%s%s", a.server,
			a.ca ? a.ca : "-", a.certificate ? a.certificate : "-", a.key ? a.key : "-",
			a.token ? a.token : "-", a.tls_server_name ? a.tls_server_name : "-",
			a.insecure ? " insecure" : "");
	test_assert_text(want, got, want);
}

/* As kubectl's clientcmd: a URL makes the configured TLS name void, a token the plugin. */
static void flags_replace_what_is_configured(void **state)
{
	static const char config[] =
		"current-context: a\n"
		"contexts: [{name: a, context: {cluster: one, user: plugin}},"
		" {name: lab, context: {cluster: lab, user: file}}]\n"
		"clusters: [{name: one, cluster: {server: 'https://one', certificate-authority-data: b25l, tls-server-name: one.example}},"
		" {name: lab, cluster: {server: 'https://lab', insecure-skip-tls-verify: true}}]\n"
		"users: [{name: plugin, user: {exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: /none}}},"
		" {name: file, user: {tokenFile: t}}]\n";
	CLEANUP(test_rmtree) char *dir = test_tmpdir();
	CLEANUP(freep) char *file = NULL, *other = NULL, *refusal = NULL;
	struct credentials_options o = {.kubeconfig = NULL};

	(void)state;
	test_write_file(dir, "config", config);
	test_write_file(dir, "t", "from-file");
	test_write_file(dir, "other", "other");
	assert_true(asprintf(&file, "%s/config", dir) > 0 && asprintf(&other, "%s/other", dir) > 0);
	o = (struct credentials_options){.kubeconfig = file, .token = " flag\n"};
	check_access(&o, "https://one ca=one cert=- key=- token=flag name=one.example");
	o.api_server = "https://two";
	check_access(&o, "https://two ca=one cert=- key=- token=flag name=-");
	o.tls_server_name = "two.example";
	check_access(&o, "https://two ca=one cert=- key=- token=flag name=two.example");
	o.ca_file = other;
	check_access(&o, "https://two ca=other cert=- key=- token=flag name=two.example");
	o.certificate_file = other;
	check_access(&o, "a client certificate and its key must be given together");
	o.key_file = other;
	check_access(&o, "https://two ca=other cert=other key=other token=flag name=two.example");
	o = (struct credentials_options){.kubeconfig = file, .token = "flag", .insecure = true};
	check_access(&o, "https://one ca=- cert=- key=- token=flag name=one.example insecure");
	o = (struct credentials_options){.kubeconfig = file, .context = "lab", .insecure = true};
	check_access(&o, "https://lab ca=- cert=- key=- token=from-file name=- insecure");
	o.token = "flag";
	check_access(&o, "https://lab ca=- cert=- key=- token=flag name=- insecure");
	o.insecure = false;
	assert_true(
		asprintf(&refusal,
			"'%s': cluster 'lab': insecure-skip-tls-verify is rejected: any server could receive the token; set certificate-authority-data",
			file) > 0);
	check_access(&o, refusal);
	o = (struct credentials_options){
		.kubeconfig = file, .token = "flag", .api_server = "http://127.0.0.1:1"};
	check_access(&o, "server 'http://127.0.0.1:1' is rejected: credentials require https://");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kubeconfigs_are_read),
		cmocka_unit_test(kubeconfigs_are_merged),
		cmocka_unit_test(flags_replace_what_is_configured),
		cmocka_unit_test(the_home_directory_is_a_persons),
		cmocka_unit_test(what_is_wrong_or_unsupported_is_said),
		cmocka_unit_test(a_service_account_has_its_places),
		cmocka_unit_test(files_that_change_are_read_again),
		cmocka_unit_test(the_first_file_of_a_list_that_exists_counts),
		cmocka_unit_test(what_plugins_print_is_checked),
		cmocka_unit_test(a_plugin_that_is_not_there_is_named_with_its_hint),
		cmocka_unit_test(plugins_run),
		cmocka_unit_test(plugins_end_in_time),
		cmocka_unit_test(a_plugin_is_asked_again_when_its_answer_is_old_or_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
