/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcurl is loaded when the first client is made: with what it depends on it costs 3 ms and 6 MiB at the
 * start of every process, and most commands never speak to the API server. Types come from its header, so a
 * function that changes breaks the build; a library without one of them is refused when loaded.
 */
#include "agent/kube/api_client.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/mman.h>

#define CURL_DISABLE_DEPRECATION /* CURLOPT_PROTOCOLS, which every version has */
#include <curl/curl.h>

#include "agent/kube/credential_expiry.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/text.h"
#include "common/xalloc.h"

#define CURL_LIBRARY "libcurl.so.4"
#define URL_MAX      8192u

/* clang-format off */
#define CURL_FUNCTIONS(X)                                                     \
	X(global_init) X(global_cleanup) X(easy_init) X(easy_cleanup)         \
	X(easy_setopt) X(easy_perform) X(easy_getinfo) X(easy_strerror)       \
	X(slist_append) X(slist_free_all) X(getdate)
/* clang-format on */

#undef curl_easy_setopt
#undef curl_easy_getinfo

struct curl_functions {
#define X(name) __typeof__(curl_##name) *name;
	CURL_FUNCTIONS(X)
#undef X
};

/* Where the body of a 2xx goes. */
struct stream {
	api_stream_fn *fn; /* NULL: into the reply, as every other body */
	void *data;
	struct err *err;
	int r;            /* what fn returned; after a failure it is not called again */
	int64_t idle_ms;  /* 0 = never ends for that */
	int64_t moved_ms; /* when something came, by the monotonic clock */
	bool idle;        /* ended for that */
};

struct api_client {
	struct curl_functions curl;
	CURL *easy;
	struct credentials *credentials;
	struct api_client_options options;
	struct strbuf server;  /* as last used */
	struct strbuf base;    /* what paths are added to: the server, by its TLS name where it has one */
	char host_header[512]; /* "Host: ..." where base has another name; else "" */
	struct curl_slist *connect_to;
	int ca_fd; /* what set_ca() keeps open; -1 = nothing */
	int64_t certificate_until_s;
	uint64_t generation;  /* of the credentials the handle is set to; 0 = none yet */
	struct strbuf *reply; /* of the request under way */
	size_t reply_max;
	bool too_large;
	struct stream stream; /* of the request under way */
	int64_t date_s;       /* of its answer, by the server's clock; -1 = none */
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

static int load(struct curl_functions *ret, struct err *err)
{
	/* Never unloaded: OpenSSL leaves a handler for the end of the process. */
	void *library = dlopen(CURL_LIBRARY, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
	const char *missing = NULL;

	if (!library)
		return err_set(err, -ENOSYS, "cannot load libcurl: %s", dlerror());
#define X(function)                                               \
	{                                                         \
		void *symbol = dlsym(library, "curl_" #function); \
                                                                  \
		memcpy(&ret->function, &symbol, sizeof(symbol));  \
		if (!symbol)                                      \
			missing = #function;                      \
	}
	CURL_FUNCTIONS(X)
#undef X
	return missing ? err_set(err, -ENOSYS, CURL_LIBRARY " has no curl_%s", missing) : 0;
}

/* ---- options: what they take is checked by these functions' parameters; a library older than the header may not know one */

static CURLcode set_long(struct api_client *c, CURLoption option, long value)
{
	return c->curl.easy_setopt(c->easy, option, value);
}

static CURLcode set_text(struct api_client *c, CURLoption option, const char *value)
{
	return c->curl.easy_setopt(c->easy, option, value);
}

/* A PEM text, copied; NULL takes the option back. */
static CURLcode set_blob(struct api_client *c, CURLoption option, const char *pem)
{
	CLEANUP(freep) char *copy = pem ? xstrdup(pem) : NULL;
	struct curl_blob blob = {.data = copy, .len = copy ? strlen(copy) : 0, .flags = CURL_BLOB_COPY};

	if (pem && !copy)
		return CURLE_OUT_OF_MEMORY;
	return c->curl.easy_setopt(c->easy, option, pem ? &blob : NULL);
}

/* The CA as a file: libcurl before 7.77 reads it at each connection. It is in memory, by the name of its descriptor. */
static CURLcode set_ca_file(struct api_client *c, const char *pem)
{
	CLEANUP(closep) int fd = pem ? memfd_create("ca", MFD_CLOEXEC) : -1;
	char path[sizeof("/proc/self/fd/") + 10] = "";
	CURLcode code = CURLE_OK;

	if (pem && (fd < 0 || write(fd, pem, strlen(pem)) != (ssize_t)strlen(pem)))
		return CURLE_OUT_OF_MEMORY;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (pem || c->ca_fd >= 0)
		code = set_text(c, CURLOPT_CAINFO, pem ? path : NULL);
	if (code == CURLE_OK) {
		closep(&c->ca_fd);
		c->ca_fd = fd;
		fd = -1;
	}
	return code;
}

/* The CA as PEM text; NULL takes it back. */
static CURLcode set_ca(struct api_client *c, const char *pem)
{
#if LIBCURL_VERSION_NUM >= 0x074d00
	CURLcode code = set_blob(c, CURLOPT_CAINFO_BLOB, pem);

	if (code != CURLE_UNKNOWN_OPTION)
		return code == CURLE_OK && pem ? set_text(c, CURLOPT_CAINFO, NULL) : code;
#endif
	return set_ca_file(c, pem);
}

static bool is_streamed(const struct api_client *c)
{
	long status = 0;

	if (!c->stream.fn)
		return false;
	c->curl.easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
	return status >= 200 && status < 300;
}

static size_t hand_on(struct api_client *c, const char *piece, size_t len)
{
	c->stream.r = c->stream.fn(piece, len, c->stream.data, c->stream.err);
	return c->stream.r < 0 ? 0 : len;
}

static size_t on_data(char *data, size_t size, size_t n, void *client)
{
	struct api_client *c = client;

	c->stream.moved_ms = clock_ms(CLOCK_MONOTONIC);
	if (is_streamed(c))
		return hand_on(c, data, size * n);
	if (c->reply->len + size * n > c->reply_max) {
		c->too_large = true;
		return 0;
	}
	strbuf_add(c->reply, data, size * n);
	return strbuf_error(c->reply) < 0 ? 0 : size * n;
}

/* The server's time, from the header Date; curl_easy_header() is younger than the oldest libcurl. */
static void note_date(struct api_client *c, const char *line, size_t len)
{
	static const char name[] = "Date:";
	char date[64];

	if (len >= 5 && !memcmp(line, "HTTP/", 5))
		c->date_s = -1;
	if (c->date_s != -1 || len < strlen(name) || len - strlen(name) >= sizeof(date) ||
		strncasecmp(line, name, strlen(name)) != 0)
		return;
	memcpy(date, line + strlen(name), len - strlen(name));
	date[len - strlen(name)] = '\0';
	c->date_s = (int64_t)c->curl.getdate(date, NULL);
}

/* A line of the answer's head; the last one is empty. */
static size_t on_header(char *data, size_t size, size_t n, void *client)
{
	struct api_client *c = client;

	c->stream.moved_ms = clock_ms(CLOCK_MONOTONIC);
	note_date(c, data, size * n);
	if (size * n == 2 && !memcmp(data, "\r\n", 2) && is_streamed(c))
		hand_on(c, "", 0);
	return c->stream.r < 0 ? 0 : size * n;
}

static int on_progress(void *client, curl_off_t a, curl_off_t b, curl_off_t d, curl_off_t e)
{
	struct api_client *c = client;

	(void)a, (void)b, (void)d, (void)e;
	c->stream.idle =
		c->stream.idle_ms && clock_ms(CLOCK_MONOTONIC) - c->stream.moved_ms >= c->stream.idle_ms;
	return c->stream.idle || (c->options.cancel && atomic_load(c->options.cancel));
}

static CURLcode set_fixed(struct api_client *c)
{
	const struct {
		CURLoption option;
		long value;
	} options[] = {
		{CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1},
		{CURLOPT_SSL_VERIFYPEER, 1},
		{CURLOPT_SSL_VERIFYHOST, 2},
		{CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2},
		{CURLOPT_FOLLOWLOCATION, 0},
		{CURLOPT_NOSIGNAL, 1},
		{CURLOPT_NOPROGRESS, 0},
		{CURLOPT_SUPPRESS_CONNECT_HEADERS, 1}, /* a proxy's */
		{CURLOPT_MAXCONNECTS, 1},
		{CURLOPT_TCP_KEEPALIVE, 1},
		{CURLOPT_CONNECTTIMEOUT_MS, (long)c->options.connect_ms},
	};
	CURLcode code = CURLE_OK;

	for (size_t i = 0; code == CURLE_OK && i < ARRAY_SIZE(options); i++)
		code = set_long(c, options[i].option, options[i].value);
#if LIBCURL_VERSION_NUM >= 0x075700
	if (code == CURLE_OK) {
		code = set_long(c, CURLOPT_QUICK_EXIT, 1); /* do not wait for a resolver that hangs */
		if (code == CURLE_UNKNOWN_OPTION)
			code = CURLE_OK; /* older ones wait */
	}
#endif
	if (code == CURLE_OK)
		code = set_text(c, CURLOPT_USERAGENT, "nrtd/" NRTD_VERSION);
	if (code == CURLE_OK)
		code = c->curl.easy_setopt(c->easy, CURLOPT_ERRORBUFFER, c->error);
	if (code == CURLE_OK)
		code = c->curl.easy_setopt(c->easy, CURLOPT_WRITEFUNCTION, on_data);
	if (code == CURLE_OK)
		code = c->curl.easy_setopt(c->easy, CURLOPT_WRITEDATA, (void *)c);
	if (code == CURLE_OK)
		code = c->curl.easy_setopt(c->easy, CURLOPT_HEADERFUNCTION, on_header);
	if (code == CURLE_OK)
		code = c->curl.easy_setopt(c->easy, CURLOPT_HEADERDATA, (void *)c);
	if (code == CURLE_OK)
		code = c->curl.easy_setopt(c->easy, CURLOPT_XFERINFOFUNCTION, on_progress);
	if (code == CURLE_OK)
		code = c->curl.easy_setopt(c->easy, CURLOPT_XFERINFODATA, (void *)c);
	return code;
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
	r = load(&c->curl, err);
	if (r < 0)
		return r;
	code = c->curl.global_init(CURL_GLOBAL_DEFAULT);
	if (code != CURLE_OK)
		return err_set(err, -ENOSYS, "cannot start libcurl: %s", c->curl.easy_strerror(code));
	c->easy = c->curl.easy_init();
	if (!c->easy)
		xalloc_failed();
	code = set_fixed(c);
	if (code != CURLE_OK)
		return err_set(err, -ENOSYS, "cannot set up libcurl: %s", c->curl.easy_strerror(code));
	*ret = TAKE(c);
	return 0;
}

void api_client_free(struct api_client *c)
{
	if (!c)
		return;
	if (c->easy) {
		c->curl.easy_cleanup(c->easy);
		c->curl.slist_free_all(c->connect_to);
		c->curl.global_cleanup();
	}
	closep(&c->ca_fd);
	strbuf_release(&c->server);
	strbuf_release(&c->base);
	free(c);
}

/* ---- the server and the credentials */

/* Bytes of the "HOST:PORT" that an URL without scheme begins with; *ret_host are those of HOST. */
static size_t authority_len(const char *url, size_t *ret_host)
{
	size_t len = strcspn(url, "/"), host = url[0] == '[' ? strcspn(url, "]") + 1 : strcspn(url, ":/");

	*ret_host = host < len ? host : len;
	return len;
}

/*
 * A name for TLS that is not the URL's host: the URL then has that name, CONNECT_TO says where it is, and the
 * header Host is what it would have been.
 */
static CURLcode use_tls_name(struct api_client *c, const struct api_access *access)
{
	CLEANUP(strbuf_release) struct strbuf route = STRBUF_INIT(URL_MAX);
	const char *authority = access->server + strlen("https://");
	size_t host, len = authority_len(authority, &host);
	const char *port = host < len ? authority + host + 1 : "443";
	int port_len = host < len ? (int)(len - host - 1) : 3;

	strbuf_addf(&c->base, "https://%s:%.*s%s", access->tls_server_name, port_len, port, authority + len);
	strbuf_addf(&route, "::%.*s:%.*s", (int)host, authority, port_len, port);
	snprintf(c->host_header, sizeof(c->host_header), "Host: %.*s", (int)len, authority);
	if (strbuf_error(&route) < 0)
		return CURLE_OUT_OF_MEMORY;
	c->connect_to = c->curl.slist_append(NULL, route.text);
	return c->connect_to ? CURLE_OK : CURLE_OUT_OF_MEMORY;
}

static CURLcode use_server(struct api_client *c, const struct api_access *access)
{
	bool https = !strncmp(access->server, "https://", 8);
	CURLcode code = CURLE_OK;

	strbuf_reset(&c->server);
	strbuf_reset(&c->base);
	strbuf_addstr(&c->server, access->server);
	c->host_header[0] = '\0';
	c->curl.slist_free_all(c->connect_to);
	c->connect_to = NULL;
	if (https && access->tls_server_name)
		code = use_tls_name(c, access);
	else
		strbuf_addstr(&c->base, access->server);
	if (code == CURLE_OK && (strbuf_error(&c->server) < 0 || strbuf_error(&c->base) < 0))
		code = CURLE_OUT_OF_MEMORY;
	if (code == CURLE_OK)
		code = c->curl.easy_setopt(c->easy, CURLOPT_CONNECT_TO, c->connect_to);
	if (code == CURLE_OK)
		code = set_long(c, CURLOPT_PROTOCOLS, https ? CURLPROTO_HTTPS : CURLPROTO_HTTP);
	if (code == CURLE_OK)
		code = set_text(c, CURLOPT_PROXY, access->proxy);
	/* A proxy that the kubeconfig names is meant, whatever NO_PROXY says. */
	if (code == CURLE_OK)
		code = set_text(c, CURLOPT_NOPROXY, access->proxy ? "" : NULL);
	return code;
}

static int64_t until(const char *certificate)
{
	struct credential_expiry credential_expiry;

	return certificate && certificate_expiry(certificate, &credential_expiry) == 0
		       ? credential_expiry.until_s
		       : 0;
}

/* With a CA of its own the system's are not trusted; without one libcurl's defaults stay. */
static CURLcode use_identity(struct api_client *c, const struct api_access *access)
{
	CURLcode code = set_ca(c, access->ca);

	if (code == CURLE_OK && access->ca)
		code = set_text(c, CURLOPT_CAPATH, NULL);
	if (code == CURLE_OK)
		code = set_blob(c, CURLOPT_SSLCERT_BLOB, access->certificate);
	if (code == CURLE_OK)
		code = set_blob(c, CURLOPT_SSLKEY_BLOB, access->key);
	if (code == CURLE_OK)
		code = set_long(c, CURLOPT_HTTPAUTH, access->token ? (long)CURLAUTH_BEARER : CURLAUTH_NONE);
	if (code == CURLE_OK)
		code = set_text(c, CURLOPT_XOAUTH2_BEARER, access->token);
	return code;
}

/* Set the handle to the credentials that hold now. */
static int use_access(struct api_client *c, struct err *err)
{
	struct api_access access;
	int r = credentials_access(c->credentials, c->options.cancel, &access, err);
	CURLcode code;

	if (r < 0 || access.generation == c->generation)
		return r;
	c->generation = 0;
	code = use_server(c, &access);
	if (code == CURLE_OK)
		code = use_identity(c, &access);
	if (code == CURLE_OUT_OF_MEMORY)
		xalloc_failed();
	if (code != CURLE_OK)
		return err_set(err, -EINVAL, "cannot use these credentials: %s", c->curl.easy_strerror(code));
	c->generation = access.generation;
	c->certificate_until_s = until(access.certificate);
	return 0;
}

/* ---- a request */

static void add_header(struct api_client *c, struct curl_slist **list, const char *name, const char *value)
{
	CLEANUP(freep) char *line = NULL;
	struct curl_slist *longer;

	line = xasprintf("%s%s", name, value);
	longer = c->curl.slist_append(*list, line);
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
}

static CURLcode set_request(
	struct api_client *c, const struct api_request *request, struct curl_slist *headers)
{
	CLEANUP(strbuf_release) struct strbuf url = STRBUF_INIT(URL_MAX);
	CURLcode code;

	strbuf_addf(&url, "%s%s", c->base.text, request->path);
	if (strbuf_error(&url) < 0)
		return CURLE_URL_MALFORMAT;
	code = set_text(c, CURLOPT_URL, url.text);
	if (code == CURLE_OK)
		code = set_long(c, CURLOPT_TIMEOUT_MS, c->stream.fn ? 0 : (long)c->options.total_ms);
	/* HTTPGET takes back the body of the request before this one. */
	if (code == CURLE_OK)
		code = set_long(c, CURLOPT_HTTPGET, 1);
	if (code == CURLE_OK && request->body)
		code = set_long(c, CURLOPT_POSTFIELDSIZE, (long)request->body_len);
	if (code == CURLE_OK && request->body)
		code = set_text(c, CURLOPT_POSTFIELDS, request->body);
	if (code == CURLE_OK)
		code = set_text(c, CURLOPT_CUSTOMREQUEST, request->method);
	if (code == CURLE_OK)
		code = c->curl.easy_setopt(c->easy, CURLOPT_HTTPHEADER, headers);
	return code;
}

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

static int describe(const struct api_client *c, CURLcode code, struct err *err)
{
	int r = to_errno(c, code);

	if (c->stream.r < 0)
		return r;
	if (c->too_large)
		return err_set(err, r, "%s: answer larger than %zu bytes", c->server.text, c->reply_max);
	if (c->stream.idle)
		return err_set(err, r, "%s: nothing came for %lld s", c->server.text,
			(long long)(c->stream.idle_ms / 1000));
	if (r == -ECANCELED)
		return err_set(err, r, "%s: request cancelled", c->server.text);
	return err_set(
		err, r, "%s: %s", c->server.text, c->error[0] ? c->error : c->curl.easy_strerror(code));
}

static int perform(struct api_client *c, const struct api_request *request, api_stream_fn *fn, void *data,
	struct api_response *response, struct err *err)
{
	struct curl_slist *headers = NULL;
	long status = 0;
	curl_off_t wait = 0;
	CURLcode code;

	strbuf_reset(&response->body);
	response->body.max = c->reply_max;
	c->reply = &response->body;
	c->too_large = false;
	c->date_s = -1;
	c->stream = (struct stream){.fn = fn,
		.data = data,
		.err = err,
		.idle_ms = fn ? request->idle_ms : 0,
		.moved_ms = clock_ms(CLOCK_MONOTONIC)};
	c->error[0] = '\0';
	add_headers(c, request, &headers);
	code = set_request(c, request, headers);
	if (code == CURLE_OK)
		code = c->curl.easy_perform(c->easy);
	c->curl.easy_setopt(c->easy, CURLOPT_HTTPHEADER, NULL);
	c->curl.slist_free_all(headers);
	if (code != CURLE_OK)
		return describe(c, code, err);
	c->curl.easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
	c->curl.easy_getinfo(c->easy, CURLINFO_RETRY_AFTER, &wait);
	response->status = (int)status;
	response->retry_after_s = wait <= 0 ? -1 : wait > 3600 ? 3600 : (int)wait;
	response->date_s = c->date_s;
	return 0;
}

int api_client_stream(struct api_client *c, const struct api_request *request, api_stream_fn *fn, void *data,
	struct api_response *response, struct err *err)
{
	uint64_t before;
	int r = use_access(c, err);

	if (r == 0)
		r = perform(c, request, fn, data, response, err);
	if (r < 0 || response->status != HTTP_UNAUTHORIZED)
		return r;
	credentials_refused(c->credentials);
	before = c->generation;
	r = use_access(c, err);
	return r < 0 || c->generation == before ? r : perform(c, request, fn, data, response, err);
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
