/* SPDX-License-Identifier: Apache-2.0 */
#include "common/kube/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/io/fs.h"
#include "common/io/thread.h"
#include "common/io/time.h"
#include "common/strbuf.h"
#include "common/text.h"
#include "common/xalloc.h"

#define TOKEN_MAX  ((size_t)64 * 1024)
#define OUTPUT_MAX ((size_t)1 << 20)
#define EARLY_S    10 /* the plugin runs again this long before its credential expires */
#define SLICE_MS   2  /* how often the end of a plugin's process is checked */

/* A file's content, and the file status that shows whether it has changed. */
struct content {
	char *text; /* NULL = not read yet */
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec modified;
};

#ifdef __APPLE__
extern char **environ;
#endif

/* Held from the creation of a plugin's pipe to the plugin's start: another plugin would inherit the pipe. */
static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;

struct credentials {
	char *api_server;  /* --api-server */
	struct strv paths; /* kubeconfig files; the first file's entries count */
	char *context, *cluster, *user;
	struct credentials_config flags; /* what flags set instead of the configuration */
	bool insecure;
	bool in_cluster;
	bool rejected; /* by the API server, since the last credentials_access() */
	struct content files[KUBECONFIG_FILES_MAX]; /* the kubeconfig files */
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
	for (size_t i = 0; i < c->paths.n_items; i++)
		content_release(&c->files[i]);
	free(c->api_server);
	strv_release(&c->paths);
	free(c->context);
	free(c->cluster);
	free(c->user);
	credentials_config_release(&c->flags);
	free(c);
}

/* ---- files */

static bool is_unchanged(const struct content *c, const struct stat *st)
{
	return c->text && c->device == st->st_dev && c->inode == st->st_ino && c->size == st->st_size &&
	       c->modified.tv_sec == st->st_mtim.tv_sec && c->modified.tv_nsec == st->st_mtim.tv_nsec;
}

/*
 * Reads the file again if its status has changed, or if `reread`. Sets *changed if the content differs. The
 * status is read before the content, so a change in between is noticed by the next call.
 */
static int read_if_changed(
	struct content *c, const char *path, size_t max, bool reread, bool *changed, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(max);
	struct stat st;
	char *fresh;
	int r;

	if (stat(path, &st) < 0)
		return err_set(err, -errno, "cannot open '%s': %s", path, strerror(errno));
	if (is_unchanged(c, &st) && !reread)
		return 0;
	r = fs_read_file(path, &text, err);
	if (r < 0)
		return r;
	if (memchr(text.text, '\0', text.len))
		return err_set(err, -EINVAL, "'%s' is not a text file", path);
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

/* ---- configuration */

static int parse_files(struct credentials *c, struct credentials_config *ret, struct err *err)
{
	const struct kubeconfig_choice choice = {
		.context = c->context, .cluster = c->cluster, .user = c->user, .insecure = c->insecure};
	struct kubeconfig_file files[KUBECONFIG_FILES_MAX];
	char *dirs[KUBECONFIG_FILES_MAX];
	size_t n = c->paths.n_items;
	int r;

	for (size_t i = 0; i < n; i++) {
		dirs[i] = directory_of(c->paths.items[i]);
		files[i] = (struct kubeconfig_file){
			.text = c->files[i].text, .len = strlen(c->files[i].text), .dir = dirs[i]};
	}
	r = kubeconfig_parse(files, n, &choice, ret, err);
	for (size_t i = 0; i < n; i++)
		free(dirs[i]);
	return r;
}

static int read_config(struct credentials *c, struct credentials_config *ret, struct err *err)
{
	int r;

	if (c->in_cluster)
		return service_account_config(
			"", getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT"), ret, err);
	*ret = (struct credentials_config){0};
	if (c->paths.n_items == 0)
		return 0;
	r = parse_files(c, ret, err);
	if (r == 0 && ret->token) {
		r = credentials_trim_token(ret->token, err);
		if (r < 0)
			credentials_config_release(ret);
	}
	return r < 0 ? err_wrap(err, r, "'%.200s'", c->paths.items[0]) : 0;
}

/* A flag replaces the configured member, also if the other member of its pair (`ca` and `ca_file`, ...) is configured instead. */
static void set_flag(const char *flag, char **value, char **other_of_pair)
{
	if (!flag)
		return;
	text_set(value, flag);
	free(*other_of_pair);
	*other_of_pair = NULL;
}

/* Replaces what is configured by what flags say, as kubectl does. */
static int apply_flags(const struct credentials *c, struct credentials_config *config, struct err *err)
{
	CLEANUP(freep) char *server = NULL;
	const char *url = c->api_server ? c->api_server : config->server;

	set_flag(c->flags.ca_file, &config->ca_file, &config->ca);
	set_flag(c->flags.certificate_file, &config->certificate_file, &config->certificate);
	set_flag(c->flags.key_file, &config->key_file, &config->key);
	set_flag(c->flags.token, &config->token, &config->token_file);
	if (c->flags.token)
		exec_config_release(&config->exec);
	if (c->insecure) {
		free(config->ca);
		free(config->ca_file);
		config->ca = config->ca_file = NULL;
	}
	/* The configured name is that of the configured server, which --api-server replaces. */
	if (c->api_server || c->flags.tls_server_name) {
		free(config->tls_server_name);
		config->tls_server_name = c->flags.tls_server_name ? xstrdup(c->flags.tls_server_name) : NULL;
	}
	if ((config->certificate || config->certificate_file) != (config->key || config->key_file))
		return err_set(err, -EINVAL, "a client certificate and its key must be given together");
	server = url ? xstrdup(url) : NULL;
	return server ? credentials_config_set_server(config, server, err) : 0;
}

/* Reads the configuration. On failure the previous configuration stays, and the next call tries again. */
static int load_config(struct credentials *c, struct err *err)
{
	struct credentials_config config;
	int r = read_config(c, &config, err);

	if (r < 0)
		return r;
	r = apply_flags(c, &config, err);
	if (r < 0) {
		credentials_config_release(&config);
		return r;
	}
	forget_config(c);
	c->config = config;
	return 0;
}

/* The existing files of a list such as $KUBECONFIG; if none exists, the first name, so that the error names it. */
static int add_existing(const char *list, struct strv *ret, struct err *err)
{
	CLEANUP(freep) char *first = NULL;

	for (const char *at = list; *at;) {
		size_t len = strcspn(at, ":");
		CLEANUP(freep) char *path = xstrndup(at, len);

		at += len;
		if (*at == ':')
			at++;
		if (len == 0)
			continue;
		if (access(path, F_OK) == 0)
			strv_push(ret, path);
		if (!first)
			first = TAKE(path);
	}
	if (ret->n_items == 0 && first)
		strv_push(ret, first);
	return ret->n_items <= KUBECONFIG_FILES_MAX
		       ? 0
		       : err_set(err, -EINVAL, "KUBECONFIG: more than %d files", KUBECONFIG_FILES_MAX);
}

/* ~/.kube/config if it exists. */
static bool add_home(struct strv *ret)
{
	const char *home = getenv("HOME");
	CLEANUP(freep) char *path = home ? xasprintf("%s/.kube/config", home) : NULL;

	if (!path || access(path, F_OK) < 0)
		return false;
	strv_push(ret, path);
	return true;
}

static void keep_text(const char *text, char **ret)
{
	if (text)
		text_set(ret, text);
}

static int keep_flags(const struct credentials_options *options, struct credentials *c, struct err *err)
{
	keep_text(options->api_server, &c->api_server);
	keep_text(options->context, &c->context);
	keep_text(options->cluster, &c->cluster);
	keep_text(options->user, &c->user);
	keep_text(options->token, &c->flags.token);
	keep_text(options->ca_file, &c->flags.ca_file);
	keep_text(options->certificate_file, &c->flags.certificate_file);
	keep_text(options->key_file, &c->flags.key_file);
	keep_text(options->tls_server_name, &c->flags.tls_server_name);
	c->insecure = options->insecure;
	return c->flags.token ? credentials_trim_token(c->flags.token, err) : 0;
}

static int choose_sources(const struct credentials_options *options, struct credentials *c, struct err *err)
{
	const char *list = getenv("KUBECONFIG"), *host = getenv("KUBERNETES_SERVICE_HOST");

	if (options->kubeconfig)
		strv_push(&c->paths, options->kubeconfig);
	else if (list && list[strspn(list, ":")]) /* KUBECONFIG has a name, not only separators */
		return add_existing(list, &c->paths, err);
	else if (options->home && add_home(&c->paths))
		return 0;
	else if (host && *host)
		c->in_cluster = true;
	else if (!c->api_server)
		return err_set(err, -ENOKEY,
			options->home
				? "no credentials for the API server: give --kubeconfig FILE or KUBECONFIG, or create ~/.kube/config"
				: "no credentials for the API server: give --kubeconfig FILE or KUBECONFIG, or run in a pod with a service account (KUBERNETES_SERVICE_HOST is not set)");
	return 0;
}

/* Reads the changed kubeconfig files. */
static int read_kubeconfigs(struct credentials *c, bool reread, bool *changed, struct err *err)
{
	for (size_t i = 0; i < c->paths.n_items; i++) {
		int r = read_if_changed(&c->files[i], c->paths.items[i], FS_FILE_MAX, reread, changed, err);

		if (r < 0)
			return r;
	}
	return 0;
}

int credentials_new(const struct credentials_options *options, struct credentials **ret, struct err *err)
{
	CLEANUP(credentials_freep) struct credentials *c = xcalloc(1, sizeof(*c));
	bool changed = false; /* not used: whatever is read first has changed */
	int r;

	c->plugin.expires_s = INT64_MAX;
	r = keep_flags(options, c, err);
	if (r == 0)
		r = choose_sources(options, c, err);
	if (r < 0)
		return r;
	r = read_kubeconfigs(c, false, &changed, err);
	if (r < 0)
		return r;
	r = load_config(c, err);
	if (r < 0)
		return r;
	c->generation = 1;
	*ret = TAKE(c);
	return 0;
}

/* ---- running a plugin */

/* Whether the list sets the variable of `entry` ("NAME=VALUE"). */
static bool is_overridden(const char *entry, char *const *list, size_t n)
{
	size_t len = strcspn(entry, "=") + 1;

	for (size_t i = 0; i < n; i++)
		if (!strncmp(entry, list[i], len))
			return true;
	return false;
}

/* nrtd's environment, overridden by the plugin's `env` and by `info`. The caller owns the array but not its
 * texts. */
static char **make_environment(const struct exec_config *config, char *info)
{
	size_t n = 0, at = 0;
	char **all;

	while (environ[n])
		n++;
	all = xcalloc(n + config->env.n_items + 2, sizeof(*all));
	for (size_t i = 0; i < n; i++)
		if (!is_overridden(environ[i], config->env.items, config->env.n_items) &&
			!is_overridden(environ[i], &info, 1))
			all[at++] = environ[i];
	for (size_t i = 0; i < config->env.n_items; i++)
		all[at++] = config->env.items[i];
	all[at] = info;
	return all;
}

static int spawn(const struct exec_config *config, char **argv, char **env, int output, pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int r;

	r = posix_spawn_file_actions_init(&actions);
	if (r)
		return -r;
	r = posix_spawnattr_init(&attributes);
	if (r) {
		posix_spawn_file_actions_destroy(&actions);
		return -r;
	}
	sigemptyset(&none);
	sigfillset(&all);
	/* Its own process group, to be killed as a whole; default signal handling. */
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setflags(
		&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	r = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	if (r == 0)
		r = posix_spawnp(ret, config->command, &actions, &attributes, argv, env);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

static int exec_plugin(const struct exec_config *config, int output, pid_t *ret, struct err *err)
{
	CLEANUP(freep) char **argv = xcalloc(config->args.n_items + 2, sizeof(*argv));
	CLEANUP(freep)
	char *info = xasprintf(
		"KUBERNETES_EXEC_INFO={\"kind\":\"ExecCredential\",\"apiVersion\":\"%s\",\"spec\":{\"interactive\":false}}",
		config->api_version);
	CLEANUP(freep) char **env = make_environment(config, info);
	int r;

	argv[0] = config->command;
	for (size_t i = 0; i < config->args.n_items; i++)
		argv[i + 1] = config->args.items[i];
	r = spawn(config, argv, env, output, ret);
	return r < 0 ? err_set(err, r, "%s%s%s", strerror(-r), config->install_hint ? "; " : "",
			       config->install_hint ? config->install_hint : "")
		     : 0;
}

static int read_output(
	int fd, int64_t deadline, const struct cancel *cancel, struct strbuf *out, struct err *err)
{
	char chunk[4096];

	for (;;) {
		int64_t left = deadline - clock_ms(CLOCK_MONOTONIC);
		int r = cancel_poll(cancel, fd, POLLIN, left > 0 ? (int)left : 0);
		ssize_t n;

		if (r < 0)
			return err_set(err, r, "%s", strerror(-r));
		if (cancel_requested(cancel))
			return err_set(err, -ECANCELED, "cancelled");
		if (left <= 0)
			return err_set(err, -ETIMEDOUT, "no answer in time");
		if (r == 0)
			continue; /* a signal, or the deadline, which is checked above */
		n = read(fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, -errno, "%s", strerror(errno));
		if (n == 0)
			return 0;
		strbuf_add(out, chunk, (size_t)n);
		if (strbuf_error(out) < 0)
			return err_set(err, strbuf_error(out), "its output is too large");
	}
}

/* Waits for the end of the process, which may be later than the end of its output. */
static int wait_for_exit(
	pid_t pid, int64_t deadline, const struct cancel *cancel, int *ret_status, struct err *err)
{
	for (;;) {
		pid_t done = waitpid(pid, ret_status, WNOHANG);

		if (done == pid)
			return 0;
		if (done < 0 && errno != EINTR)
			return err_set(err, -errno, "cannot wait for it: %s", strerror(errno));
		if (cancel_requested(cancel))
			return err_set(err, -ECANCELED, "cancelled");
		if (clock_ms(CLOCK_MONOTONIC) >= deadline)
			return err_set(err, -ETIMEDOUT, "it did not end in time");
		(void)cancel_poll(cancel, -1, 0, SLICE_MS);
	}
}

/* Starts the plugin. *ret_from becomes the read end of a pipe with the plugin's output. */
static int start_plugin(const struct exec_config *config, int *ret_from, pid_t *ret_pid, struct err *err)
{
	int fds[2], r;

	pthread_mutex_lock(&start_lock);
	r = thread_pipe(fds);
	if (r < 0) {
		err_set(err, r, "%s", strerror(-r));
	} else {
		*ret_from = fds[0];
		r = exec_plugin(config, fds[1], ret_pid, err);
		close(fds[1]);
	}
	pthread_mutex_unlock(&start_lock);
	return r;
}

static void kill_plugin(pid_t pid)
{
	int status;

	kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
}

static int run_plugin(const struct exec_config *config, unsigned deadline_ms, const struct cancel *cancel,
	struct strbuf *output, struct err *err)
{
	CLEANUP(closep) int from = -1;
	int64_t deadline = clock_ms(CLOCK_MONOTONIC) + deadline_ms;
	int status = 0, r;
	pid_t pid;

	r = start_plugin(config, &from, &pid, err);
	if (r < 0)
		return r;
	r = read_output(from, deadline, cancel, output, err);
	r = r < 0 ? r : wait_for_exit(pid, deadline, cancel, &status, err);
	if (r < 0) {
		kill_plugin(pid);
		return r;
	}
	if (WIFSIGNALED(status))
		return err_set(err, -EIO, "ended by signal %d", WTERMSIG(status));
	if (WEXITSTATUS(status))
		return err_set(err, -EIO, "failed with exit status %d", WEXITSTATUS(status));
	return 0;
}

int exec_credential_run(const struct exec_config *config, unsigned deadline_ms, const struct cancel *cancel,
	struct exec_credential *ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf output = STRBUF_INIT(OUTPUT_MAX);
	int r = run_plugin(config, deadline_ms, cancel, &output, err);

	r = r < 0 ? r : exec_credential_parse(output.text, output.len, config->api_version, ret, err);
	return r < 0 ? err_wrap(err, r, "credential plugin '%.100s'", config->command) : 0;
}

/* ---- current credentials: `reread` and *changed as in read_if_changed() */

static int update_token(struct credentials *c, bool reread, bool *changed, struct err *err)
{
	bool fresh = false;
	int r = read_if_changed(&c->token, c->config.token_file, TOKEN_MAX, reread, &fresh, err);

	if (r < 0 || !fresh)
		return r;
	*changed = true;
	r = credentials_trim_token(c->token.text, err);
	if (r < 0) {
		content_release(&c->token); /* the next call reads the file again */
		return err_wrap(err, r, "'%.200s'", c->config.token_file);
	}
	return 0;
}

static int update_files(struct credentials *c, bool reread, bool *changed, struct err *err)
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
			r = read_if_changed(
				files[i].content, files[i].path, FS_FILE_MAX, reread, changed, err);
	return r < 0 || !c->config.token_file ? r : update_token(c, reread, changed, err);
}

/* Runs the plugin if its credential has expired or is about to, or if `reread`. */
static int update_plugin(
	struct credentials *c, bool reread, const struct cancel *cancel, bool *changed, struct err *err)
{
	struct exec_credential fresh;
	int r;

	if (c->plugin_ran && !reread && (int64_t)time(NULL) < c->plugin.expires_s - EARLY_S)
		return 0;
	r = exec_credential_run(&c->config.exec, EXEC_DEADLINE_MS, cancel, &fresh, err);
	if (r < 0)
		return r;
	if (fresh.token && credentials_trim_token(fresh.token, err) < 0) {
		exec_credential_release(&fresh);
		return err_wrap(err, -EINVAL, "credential plugin '%.100s'", c->config.exec.command);
	}
	exec_credential_release(&c->plugin);
	c->plugin = fresh;
	c->plugin_ran = true;
	*changed = true;
	return 0;
}

static int update_all(struct credentials *c, const struct cancel *cancel, bool *changed, struct err *err)
{
	bool reread = c->rejected, config_changed = false;
	int r;

	r = read_kubeconfigs(c, reread, &config_changed, err);
	if (r == 0 && config_changed)
		r = load_config(c, err);
	if (r < 0) {
		/* Forget all files, so that the next call reads them again and does not miss a change. */
		for (size_t i = 0; i < c->paths.n_items; i++)
			content_release(&c->files[i]);
		return r;
	}
	*changed |= config_changed;
	r = update_files(c, reread, changed, err);
	if (r == 0 && c->config.exec.command)
		r = update_plugin(c, reread, cancel, changed, err);
	return r;
}

static const char *first_of(const char *text, const char *otherwise)
{
	return text ? text : otherwise;
}

int credentials_access(
	struct credentials *c, const struct cancel *cancel, struct api_access *ret, struct err *err)
{
	bool changed = false;
	int r = update_all(c, cancel, &changed, err);

	/* Also after a failure: the next call finds nothing changed in what this call has read. */
	if (changed)
		c->generation++;
	if (r < 0)
		return r;
	c->rejected = false;
	*ret = (struct api_access){.server = c->config.server,
		.ca = first_of(c->config.ca, c->ca.text),
		.certificate =
			first_of(c->plugin.certificate, first_of(c->config.certificate, c->certificate.text)),
		.key = first_of(c->plugin.key, first_of(c->config.key, c->key.text)),
		.token = first_of(c->plugin.token, first_of(c->config.token, c->token.text)),
		.tls_server_name = c->config.tls_server_name,
		.insecure = c->insecure,
		.proxy = c->config.proxy,
		.generation = c->generation};
	return 0;
}

const char *credentials_namespace(const struct credentials *c)
{
	return c->config.namespace;
}

void credentials_origin(const struct credentials *c, struct credentials_origin *ret)
{
	*ret = (struct credentials_origin){.kubeconfig = c->paths.n_items > 0 ? c->paths.items[0] : NULL,
		.context = c->config.context,
		.cluster = c->api_server ? NULL : c->config.cluster,
		.certificate_file = c->config.certificate_file,
		.token_file = c->config.token_file,
		.plugin = c->config.exec.command};
}

void credentials_rejected(struct credentials *c)
{
	c->rejected = true;
}
