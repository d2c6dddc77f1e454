/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcurl is loaded by the first client: with its dependencies it would cost every process 3 ms and 6 MiB at
 * its start, and most commands send no request. The types are those of its header, so a changed function
 * breaks the build; a library that lacks a function is rejected when it is loaded.
 */
#include "common/kube/api_client.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/mman.h>

#define CURL_DISABLE_DEPRECATION /* CURLOPT_PROTOCOLS, which every version has */
#include <curl/curl.h>

#include "common/cleanup.h"
#include "common/io/json.h"
#include "common/io/thread.h"
#include "common/io/time.h"
#include "common/text.h"
#include "common/xalloc.h"

#ifdef __APPLE__
#define CURL_LIBRARY "libcurl.4.dylib"
#else
#define CURL_LIBRARY "libcurl.so.4"
#endif
#define URL_MAX           8192u
#define WAIT_MS           3600000 /* longest wait of a request without deadline */
#define RETRY_AFTER_MAX_S 3600

/* clang-format off */
#define CURL_FUNCTIONS(X)                                                     \
	X(global_init) X(global_cleanup) X(easy_init) X(easy_cleanup)         \
	X(easy_setopt) X(easy_getinfo) X(easy_strerror)                       \
	X(multi_init) X(multi_cleanup) X(multi_setopt) X(multi_strerror)      \
	X(multi_add_handle) X(multi_remove_handle) X(multi_perform)           \
	X(multi_poll) X(multi_info_read)                                      \
	X(slist_append) X(slist_free_all) X(getdate)
/* clang-format on */

#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

struct curl_functions {
#define X(name) __typeof__(curl_##name) *name;
	CURL_FUNCTIONS(X)
#undef X
};

/* The receiver of a 2xx body. */
struct stream {
	api_stream_fn *fn; /* NULL: the body is stored in the reply */
	void *data;
	struct err *err;
	int r;               /* return value of fn, which is not called again after a failure */
	int64_t idle_ms;     /* 0 = no limit */
	int64_t received_ms; /* when data was last received, by the monotonic clock */
	bool idle;           /* idle_ms has passed without data */
};

struct api_client {
	struct curl_functions curl;
	CURL *easy;
	CURLM *multi; /* of `easy` alone: unlike curl_easy_perform(), its wait can be cancelled */
	struct credentials *credentials;
	struct api_client_options options;
	CURLcode code;        /* first error since the setters below began */
	struct strbuf server; /* URL as last used */
	struct strbuf base;   /* prefix of request paths: the server's URL, with its TLS name if it has one */
	char host_header[512]; /* "Host: ..." if `base` has the TLS name; otherwise "" */
	struct curl_slist *connect_to;
	int ca_fd; /* file that set_ca_file() keeps open; -1 = none */
	int64_t certificate_until_s;
	uint64_t generation;  /* of the credentials in use; 0 = none yet */
	struct strbuf *reply; /* of the current request */
	size_t reply_max;
	bool too_large;
	struct stream stream; /* of the current request */
	int64_t date_s;       /* Date of its response; -1 = none */
	char error[CURL_ERROR_SIZE];
};

void api_response_init(struct api_response *r)
{
	*r = (struct api_response){
		.retry_after_s = -1, .date_s = -1, .body = STRBUF_INIT(API_CLIENT_REPLY_MAX)};
}

void api_response_release(struct api_response *r)
{
	strbuf_release(&r->body);
}

void api_response_message(const struct api_response *r, char ret[API_MESSAGE_MAX])
{
	static const char more[] = " ...";
	CLEANUP(doc_release) struct doc status = DOC_INIT;
	const char *text = r->body.text;
	size_t len = r->body.len;

	if (json_parse(text, len, &status, NULL) == 0) {
		text = doc_string(doc_get(&status, "message"));
		len = text ? strlen(text) : 0;
	} else {
		while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == ' '))
			len--;
		text = len > 0 ? text : NULL;
	}
	if (!text) {
		text = "(no message)";
		len = strlen(text);
	}
	if (len >= API_MESSAGE_MAX) {
		len = API_MESSAGE_MAX - sizeof(more);
		while (len > API_MESSAGE_MAX / 2 && text[len] != ' ')
			len--;
		snprintf(ret, API_MESSAGE_MAX, "%.*s%s", (int)len, text, more);
	} else {
		snprintf(ret, API_MESSAGE_MAX, "%.*s", (int)len, text);
	}
}

static int load_curl(struct curl_functions *ret, struct err *err)
{
#define X(function) {"curl_" #function, offsetof(struct curl_functions, function)},
	static const struct {
		const char *name;
		size_t offset;
	} functions[] = {CURL_FUNCTIONS(X)};
#undef X
	/* Never unloaded: OpenSSL registers a handler for the end of the process. */
	void *library = dlopen(CURL_LIBRARY, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);

	if (!library)
		return err_set(err, -ENOSYS, "cannot load libcurl: %s", dlerror());
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		void *symbol = dlsym(library, functions[i].name);

		if (!symbol)
			return err_set(err, -ENOSYS, CURL_LIBRARY " has no %s", functions[i].name);
		memcpy((char *)ret + functions[i].offset, &symbol, sizeof(symbol));
	}
	return 0;
}

/* ---- options: these functions check the types of the values, and keep the first error in c->code */

static void keep_error(struct api_client *c, CURLcode code)
{
	if (c->code == CURLE_OK)
		c->code = code;
}

static void set_long(struct api_client *c, CURLoption option, long value)
{
	keep_error(c, c->curl.easy_setopt(c->easy, option, value));
}

static void set_pointer(struct api_client *c, CURLoption option, const void *value)
{
	keep_error(c, c->curl.easy_setopt(c->easy, option, value));
}

static void set_text(struct api_client *c, CURLoption option, const char *value)
{
	set_pointer(c, option, value);
}

/* A PEM text, copied; NULL resets the option. A library older than the header may not know the option. */
static CURLcode set_blob(struct api_client *c, CURLoption option, const char *pem)
{
	CLEANUP(freep) char *copy = pem ? xstrdup(pem) : NULL;
	struct curl_blob blob = {.data = copy, .len = copy ? strlen(copy) : 0, .flags = CURL_BLOB_COPY};

	return c->curl.easy_setopt(c->easy, option, pem ? &blob : NULL);
}

#ifdef MFD_CLOEXEC
/* The CA as a file, which libcurl before 7.77 reads for each connection: a memory file, named by its
 * descriptor. Systems without memory files require libcurl 7.77. */
static void set_ca_file(struct api_client *c, const char *pem)
{
	CLEANUP(closep) int fd = pem ? memfd_create("ca", MFD_CLOEXEC) : -1;
	char path[sizeof("/proc/self/fd/") + 10] = "";

	if (pem && (fd < 0 || write(fd, pem, strlen(pem)) != (ssize_t)strlen(pem))) {
		keep_error(c, CURLE_OUT_OF_MEMORY);
		return;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	/* Without a CA, only a path that was set before must be reset: libcurl's default stays. */
	if (pem || c->ca_fd >= 0)
		set_text(c, CURLOPT_CAINFO, pem ? path : NULL);
	closep(&c->ca_fd);
	c->ca_fd = fd;
	fd = -1;
}

#else
static void set_ca_file(struct api_client *c, const char *pem)
{
	if (pem)
		keep_error(c, CURLE_UNKNOWN_OPTION);
}
#endif

/* The CA as PEM text; NULL resets it. */
static void set_ca(struct api_client *c, const char *pem)
{
#if LIBCURL_VERSION_NUM >= 0x074d00
	CURLcode code = set_blob(c, CURLOPT_CAINFO_BLOB, pem);

	if (code != CURLE_UNKNOWN_OPTION) {
		keep_error(c, code);
		if (pem)
			set_text(c, CURLOPT_CAINFO, NULL); /* the system's CAs */
		return;
	}
#endif
	set_ca_file(c, pem);
}

/* ---- callbacks */

static bool is_streamed(const struct api_client *c)
{
	long status = 0;

	if (!c->stream.fn)
		return false;
	c->curl.easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
	return status >= 200 && status < 300;
}

static size_t pass_to_stream(struct api_client *c, const char *piece, size_t len)
{
	c->stream.r = c->stream.fn(piece, len, c->stream.data, c->stream.err);
	return c->stream.r < 0 ? 0 : len;
}

static size_t on_body_data(char *data, size_t size, size_t n, void *client)
{
	struct api_client *c = client;

	c->stream.received_ms = clock_ms(CLOCK_MONOTONIC);
	if (is_streamed(c))
		return pass_to_stream(c, data, size * n);
	if (c->reply->len + size * n > c->reply_max) {
		c->too_large = true;
		return 0;
	}
	strbuf_add(c->reply, data, size * n);
	return strbuf_error(c->reply) < 0 ? 0 : size * n;
}

/* Reads the server's time from the Date header. A status line begins another response, for example after a
 * proxy's. The oldest supported libcurl has no curl_easy_header(). */
static void read_date(struct api_client *c, const char *line, size_t len)
{
	static const char name[] = "Date:";
	char date[64];

	if (len >= 5 && !memcmp(line, "HTTP/", 5))
		c->date_s = -1;
	/* Only the first Date header of a response counts. */
	if (c->date_s != -1 || len < strlen(name) || len - strlen(name) >= sizeof(date) ||
		strncasecmp(line, name, strlen(name)) != 0)
		return;
	memcpy(date, line + strlen(name), len - strlen(name));
	date[len - strlen(name)] = '\0';
	c->date_s = (int64_t)c->curl.getdate(date, NULL);
}

/* A header line of the response; the last one is empty. */
static size_t on_response_header(char *data, size_t size, size_t n, void *client)
{
	struct api_client *c = client;

	c->stream.received_ms = clock_ms(CLOCK_MONOTONIC);
	read_date(c, data, size * n);
	if (size * n == 2 && !memcmp(data, "\r\n", 2) && is_streamed(c))
		pass_to_stream(c, "", 0);
	return c->stream.r < 0 ? 0 : size * n;
}

static void set_fixed_options(struct api_client *c)
{
	const struct {
		CURLoption option;
		long value;
	} options[] = {
		{CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1},
		{CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2},
		{CURLOPT_FOLLOWLOCATION, 0},
		{CURLOPT_NOSIGNAL, 1},
		{CURLOPT_SUPPRESS_CONNECT_HEADERS, 1}, /* of a proxy */
		{CURLOPT_TCP_KEEPALIVE, 1},
		{CURLOPT_CONNECTTIMEOUT_MS, (long)c->options.connect_ms},
	};

	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		set_long(c, options[i].option, options[i].value);
#if LIBCURL_VERSION_NUM >= 0x075700
	/* Do not wait for a hanging resolver. An older library does not know the option, and waits. */
	(void)c->curl.easy_setopt(c->easy, CURLOPT_QUICK_EXIT, 1L);
#endif
	set_text(c, CURLOPT_USERAGENT, "nrtd/" NRTD_VERSION);
	set_pointer(c, CURLOPT_ERRORBUFFER, c->error);
	keep_error(c, c->curl.easy_setopt(c->easy, CURLOPT_WRITEFUNCTION, on_body_data));
	set_pointer(c, CURLOPT_WRITEDATA, c);
	keep_error(c, c->curl.easy_setopt(c->easy, CURLOPT_HEADERFUNCTION, on_response_header));
	set_pointer(c, CURLOPT_HEADERDATA, c);
}

int api_client_new(struct credentials *credentials, const struct api_client_options *options,
	struct api_client **ret, struct err *err)
{
	CLEANUP(api_client_freep) struct api_client *c = xcalloc(1, sizeof(*c));
	CURLcode code;
	int r;

	c->server = (struct strbuf)STRBUF_INIT(URL_MAX);
	c->base = (struct strbuf)STRBUF_INIT(URL_MAX);
	c->credentials = credentials;
	c->options = *options;
	c->ca_fd = -1;
	if (!c->options.connect_ms)
		c->options.connect_ms = API_CLIENT_CONNECT_MS;
	if (!c->options.total_ms)
		c->options.total_ms = API_CLIENT_TOTAL_MS;
	c->reply_max = options->reply_max ? options->reply_max : API_CLIENT_REPLY_MAX;
	r = load_curl(&c->curl, err);
	if (r < 0)
		return r;
	code = c->curl.global_init(CURL_GLOBAL_DEFAULT);
	if (code != CURLE_OK)
		return err_set(err, -ENOSYS, "cannot start libcurl: %s", c->curl.easy_strerror(code));
	c->easy = c->curl.easy_init();
	c->multi = c->curl.multi_init();
	if (!c->easy || !c->multi)
		xalloc_failed();
	set_fixed_options(c);
	c->curl.multi_setopt(c->multi, CURLMOPT_MAXCONNECTS, 1L);
	if (c->code != CURLE_OK)
		return err_set(err, -ENOSYS, "cannot set up libcurl: %s", c->curl.easy_strerror(c->code));
	*ret = TAKE(c);
	return 0;
}

void api_client_free(struct api_client *c)
{
	if (!c)
		return;
	if (c->easy) {
		c->curl.easy_cleanup(c->easy);
		c->curl.multi_cleanup(c->multi);
		c->curl.slist_free_all(c->connect_to);
		c->curl.global_cleanup();
	}
	closep(&c->ca_fd);
	strbuf_release(&c->server);
	strbuf_release(&c->base);
	free(c);
}

/* ---- the server and the credentials */

/* Length of the "HOST:PORT" at the beginning of a URL without scheme; *ret_host is the length of HOST. */
static size_t authority_len(const char *url, size_t *ret_host)
{
	size_t len = strcspn(url, "/"), host = url[0] == '[' ? strcspn(url, "]") + 1 : strcspn(url, ":/");

	*ret_host = host < len ? host : len;
	return len;
}

/*
 * For a TLS name that is not the URL's host: the URL gets the TLS name, CONNECT_TO the address, and the Host
 * header the original host.
 */
static void use_tls_name(struct api_client *c, const struct api_access *access)
{
	CLEANUP(strbuf_release) struct strbuf route = STRBUF_INIT(URL_MAX);
	const char *authority = access->server + strlen("https://");
	size_t host, len = authority_len(authority, &host);
	const char *port = host < len ? authority + host + 1 : "443";
	int port_len = host < len ? (int)(len - host - 1) : 3;

	strbuf_addf(&c->base, "https://%s:%.*s%s", access->tls_server_name, port_len, port, authority + len);
	strbuf_addf(&route, "::%.*s:%.*s", (int)host, authority, port_len, port);
	snprintf(c->host_header, sizeof(c->host_header), "Host: %.*s", (int)len, authority);
	if (strbuf_error(&route) == 0)
		c->connect_to = c->curl.slist_append(NULL, route.text);
	if (!c->connect_to)
		keep_error(c, CURLE_OUT_OF_MEMORY);
}

static void use_server(struct api_client *c, const struct api_access *access)
{
	bool https = !strncmp(access->server, "https://", 8);

	strbuf_reset(&c->server);
	strbuf_reset(&c->base);
	strbuf_addstr(&c->server, access->server);
	c->host_header[0] = '\0';
	c->curl.slist_free_all(c->connect_to);
	c->connect_to = NULL;
	if (https && access->tls_server_name)
		use_tls_name(c, access);
	else
		strbuf_addstr(&c->base, access->server);
	if (strbuf_error(&c->server) < 0 || strbuf_error(&c->base) < 0)
		keep_error(c, CURLE_OUT_OF_MEMORY);
	set_pointer(c, CURLOPT_CONNECT_TO, c->connect_to);
	set_long(c, CURLOPT_PROTOCOLS, https ? CURLPROTO_HTTPS : CURLPROTO_HTTP);
	set_text(c, CURLOPT_PROXY, access->proxy);
	/* A proxy in the kubeconfig has priority over NO_PROXY. */
	set_text(c, CURLOPT_NOPROXY, access->proxy ? "" : NULL);
}

/* If the credentials have a CA, the system's CAs are not trusted; otherwise libcurl's defaults apply. */
static void use_identity(struct api_client *c, const struct api_access *access)
{
	set_long(c, CURLOPT_SSL_VERIFYPEER, !access->insecure);
	set_long(c, CURLOPT_SSL_VERIFYHOST, access->insecure ? 0 : 2);
	set_ca(c, access->ca);
	if (access->ca)
		set_text(c, CURLOPT_CAPATH, NULL);
	keep_error(c, set_blob(c, CURLOPT_SSLCERT_BLOB, access->certificate));
	keep_error(c, set_blob(c, CURLOPT_SSLKEY_BLOB, access->key));
	set_long(c, CURLOPT_HTTPAUTH, access->token ? (long)CURLAUTH_BEARER : CURLAUTH_NONE);
	set_text(c, CURLOPT_XOAUTH2_BEARER, access->token);
}

/* Configures the handle with the current credentials. */
static int use_access(struct api_client *c, struct err *err)
{
	struct api_access access;
	int r = credentials_access(c->credentials, c->options.cancel, &access, err);

	if (r < 0 || access.generation == c->generation)
		return r;
	c->generation = 0; /* after a failure below, the next request configures the handle again */
	c->code = CURLE_OK;
	use_server(c, &access);
	use_identity(c, &access);
	if (c->code == CURLE_OUT_OF_MEMORY)
		xalloc_failed();
	if (c->code != CURLE_OK)
		return err_set(
			err, -EINVAL, "cannot use these credentials: %s", c->curl.easy_strerror(c->code));
	c->generation = access.generation;
	c->certificate_until_s = certificate_until_s(access.certificate);
	return 0;
}

/* ---- a request */

static void add_header(struct api_client *c, struct curl_slist **list, const char *name, const char *value)
{
	CLEANUP(freep) char *line = xasprintf("%s%s", name, value);
	struct curl_slist *longer = c->curl.slist_append(*list, line);

	if (!longer)
		xalloc_failed();
	*list = longer;
}

static void add_headers(struct api_client *c, const struct api_request *request, struct curl_slist **list)
{
	add_header(c, list, "Accept: ", request->accept ? request->accept : "application/json");
	add_header(c, list, "Expect:", "");
	if (request->content_type)
		add_header(c, list, "Content-Type: ", request->content_type);
	if (c->host_header[0])
		add_header(c, list, c->host_header, "");
	if (c->options.impersonate)
		add_header(c, list, "Impersonate-User: ", c->options.impersonate);
	for (const char *const *g = c->options.impersonate_groups; g && *g; g++)
		add_header(c, list, "Impersonate-Group: ", *g);
}

static void set_request(
	struct api_client *c, const struct api_request *request, const struct curl_slist *headers)
{
	CLEANUP(strbuf_release) struct strbuf url = STRBUF_INIT(URL_MAX);

	strbuf_addf(&url, "%s%s", c->base.text, request->path);
	if (strbuf_error(&url) < 0)
		keep_error(c, CURLE_URL_MALFORMAT);
	set_text(c, CURLOPT_URL, url.text);
	set_long(c, CURLOPT_TIMEOUT_MS, c->stream.fn ? 0 : (long)c->options.total_ms);
	/* HTTPGET resets the body of the previous request. */
	set_long(c, CURLOPT_HTTPGET, 1);
	if (request->body) {
		set_long(c, CURLOPT_POSTFIELDSIZE, (long)request->body_len);
		set_text(c, CURLOPT_POSTFIELDS, request->body);
	}
	set_text(c, CURLOPT_CUSTOMREQUEST, request->method);
	set_pointer(c, CURLOPT_HTTPHEADER, headers);
}

/* What a callback noted comes first: libcurl knows only that the callback stopped the transfer. */
static int to_errno(const struct api_client *c, CURLcode code)
{
	static const struct {
		CURLcode code;
		int r;
	} table[] = {
		{CURLE_COULDNT_RESOLVE_HOST, -EHOSTUNREACH},
		{CURLE_COULDNT_RESOLVE_PROXY, -EHOSTUNREACH},
		{CURLE_OPERATION_TIMEDOUT, -ETIMEDOUT},
		{CURLE_ABORTED_BY_CALLBACK, -ECANCELED},
		{CURLE_SEND_ERROR, -ECONNRESET},
		{CURLE_RECV_ERROR, -ECONNRESET},
		{CURLE_GOT_NOTHING, -ECONNRESET},
		{CURLE_PARTIAL_FILE, -ECONNRESET},
	};
	long os_error = 0;

	if (code == CURLE_OUT_OF_MEMORY)
		xalloc_failed();
	if (c->too_large)
		return -EFBIG;
	if (c->stream.r < 0)
		return c->stream.r;
	if (c->stream.idle)
		return -ETIMEDOUT;
	if (code == CURLE_WRITE_ERROR)
		return -EIO;
	if (code == CURLE_COULDNT_CONNECT) {
		c->curl.easy_getinfo(c->easy, CURLINFO_OS_ERRNO, &os_error);
		return os_error == ENETUNREACH || os_error == EHOSTUNREACH ? -EHOSTUNREACH : -ECONNREFUSED;
	}
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].code == code)
			return table[i].r;
	return -EPROTO;
}

static int set_curl_error(const struct api_client *c, CURLcode code, struct err *err)
{
	int r = to_errno(c, code);

	if (c->stream.r < 0)
		return r; /* the stream's function has set `err` */
	if (c->too_large)
		return err_set(err, r, "%s: answer larger than %zu bytes", c->server.text, c->reply_max);
	if (c->stream.idle)
		return err_set(err, r, "%s: no data for %lld s", c->server.text,
			(long long)(c->stream.idle_ms / 1000));
	if (r == -ECANCELED)
		return err_set(err, r, "%s: request cancelled", c->server.text);
	return err_set(
		err, r, "%s: %s", c->server.text, c->error[0] ? c->error : c->curl.easy_strerror(code));
}

/* How long a wait for data may take; 0 = the stream has been without data for idle_ms. */
static int64_t left_ms(struct api_client *c)
{
	int64_t left = c->stream.received_ms + c->stream.idle_ms - clock_ms(CLOCK_MONOTONIC);

	if (c->stream.idle_ms == 0 || left > WAIT_MS)
		return WAIT_MS;
	return left < 0 ? 0 : left;
}

/* Runs the transfer until it ends, the stream is idle or cancellation is requested. libcurl itself ends the wait at its
 * deadlines. */
static CURLcode run_transfer(struct api_client *c)
{
	const struct cancel *cancel = c->options.cancel;
	struct curl_waitfd cancelled = {.fd = cancel ? cancel->fd : -1, .events = CURL_WAIT_POLLIN};
	CURLMcode code = c->curl.multi_add_handle(c->multi, c->easy);
	CURLcode result = CURLE_ABORTED_BY_CALLBACK; /* unless libcurl ends the transfer */
	const CURLMsg *message;
	int n_running = 1, n_left;

	while (code == CURLM_OK && n_running > 0 && !cancel_requested(cancel)) {
		code = c->curl.multi_perform(c->multi, &n_running);
		c->stream.idle = n_running > 0 && left_ms(c) == 0;
		if (c->stream.idle)
			break;
		if (code == CURLM_OK && n_running > 0)
			code = c->curl.multi_poll(
				c->multi, &cancelled, cancel ? 1 : 0, (int)left_ms(c), NULL);
	}
	while ((message = c->curl.multi_info_read(c->multi, &n_left)))
		if (message->msg == CURLMSG_DONE)
			result = message->data.result;
	c->curl.multi_remove_handle(c->multi, c->easy);
	if (code == CURLM_OK)
		return result;
	snprintf(c->error, sizeof(c->error), "%s", c->curl.multi_strerror(code));
	return code == CURLM_OUT_OF_MEMORY ? CURLE_OUT_OF_MEMORY : CURLE_FAILED_INIT;
}

/* Sends the request once. 0 with any HTTP status; -errno if the transfer failed. */
static int perform_request(struct api_client *c, const struct api_request *request, api_stream_fn *fn,
	void *data, struct api_response *response, struct err *err)
{
	struct curl_slist *headers = NULL;
	long status = 0;
	curl_off_t wait = 0;

	strbuf_reset(&response->body);
	response->body.max = c->reply_max;
	c->reply = &response->body;
	c->too_large = false;
	c->date_s = -1;
	c->stream = (struct stream){.fn = fn,
		.data = data,
		.err = err,
		.idle_ms = fn ? request->idle_ms : 0,
		.received_ms = clock_ms(CLOCK_MONOTONIC)};
	c->error[0] = '\0';
	add_headers(c, request, &headers);
	c->code = CURLE_OK;
	set_request(c, request, headers);
	if (c->code == CURLE_OK)
		c->code = run_transfer(c);
	c->curl.easy_setopt(c->easy, CURLOPT_HTTPHEADER, NULL);
	c->curl.slist_free_all(headers);
	if (c->code != CURLE_OK)
		return set_curl_error(c, c->code, err);
	c->curl.easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
	c->curl.easy_getinfo(c->easy, CURLINFO_RETRY_AFTER, &wait);
	response->status = (int)status;
	if (wait > RETRY_AFTER_MAX_S)
		wait = RETRY_AFTER_MAX_S;
	response->retry_after_s = wait > 0 ? (int)wait : -1;
	response->date_s = c->date_s;
	return 0;
}

int api_client_stream(struct api_client *c, const struct api_request *request, api_stream_fn *fn, void *data,
	struct api_response *response, struct err *err)
{
	uint64_t before;
	int r = use_access(c, err);

	if (r == 0)
		r = perform_request(c, request, fn, data, response, err);
	if (r < 0 || response->status != HTTP_UNAUTHORIZED)
		return r;
	credentials_rejected(c->credentials);
	before = c->generation;
	r = use_access(c, err);
	/* Unchanged credentials would be rejected again. */
	return r < 0 || c->generation == before ? r : perform_request(c, request, fn, data, response, err);
}

int api_client_request(struct api_client *c, const struct api_request *request, struct api_response *response,
	struct err *err)
{
	return api_client_stream(c, request, NULL, NULL, response, err);
}

int64_t api_client_certificate_until(const struct api_client *c)
{
	return c->certificate_until_s;
}

const char *api_client_server(const struct api_client *c)
{
	return c->server.text;
}

void api_path_escape(struct strbuf *path, const char *value)
{
	for (; *value; value++) {
		unsigned char ch = (unsigned char)*value;
		bool plain = (ch >= '0' && ch <= '9') || (ch >= 'A' && ch <= 'Z') ||
			     (ch >= 'a' && ch <= 'z') || strchr("-._~", ch);

		strbuf_addf(path, plain ? "%c" : "%%%02X", ch);
	}
}
