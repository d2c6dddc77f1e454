/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and checks the TLS files of the HTTP server. */
#include "common/http/http.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "common/cleanup.h"
#include "common/io/fs.h"
#include "common/xalloc.h"

#define LIBRARY "libgnutls.so.30"

void http_tls_init(struct http_tls *t)
{
	*t = (struct http_tls){.certificate = STRBUF_INIT(FS_FILE_MAX),
		.key = STRBUF_INIT(FS_FILE_MAX),
		.client_ca = STRBUF_INIT(FS_FILE_MAX)};
}

void http_tls_release(struct http_tls *t)
{
	strbuf_release(&t->certificate);
	strbuf_release(&t->key);
	strbuf_release(&t->client_ca);
}

int http_tls_read(const struct http_tls_files *files, struct http_tls *t, struct err *err)
{
	int r;

	if (!files->certificate != !files->key)
		return err_set(
			err, -EINVAL, "HTTP: a certificate and its key are given together or not at all");
	if (files->client_ca && !files->certificate)
		return err_set(err, -EINVAL, "HTTP: a client CA requires a server certificate");
	if (!files->certificate)
		return 0;
	r = fs_read_file(files->certificate, &t->certificate, err);
	if (r == 0)
		r = fs_read_file(files->key, &t->key, err);
	if (r == 0 && files->client_ca)
		r = fs_read_file(files->client_ca, &t->client_ca, err);
	return r < 0 ? err_wrap(err, r, "HTTP") : 0;
}

static bool is_equal_text(const struct strbuf *a, const struct strbuf *b)
{
	return a->len == b->len && !memcmp(a->text, b->text, a->len);
}

bool http_tls_equal(const struct http_tls *a, const struct http_tls *b)
{
	return is_equal_text(&a->certificate, &b->certificate) && is_equal_text(&a->key, &b->key) &&
	       is_equal_text(&a->client_ca, &b->client_ca);
}

/* ---- GnuTLS; the types of its functions are those of its header */

struct library {
	void *handle;
	__typeof__(&gnutls_certificate_allocate_credentials) certificate_allocate_credentials;
	__typeof__(&gnutls_certificate_free_credentials) certificate_free_credentials;
	__typeof__(&gnutls_certificate_set_x509_key_mem) certificate_set_x509_key_mem;
	__typeof__(&gnutls_certificate_set_x509_trust_mem) certificate_set_x509_trust_mem;
	__typeof__(&gnutls_certificate_verify_peers) certificate_verify_peers;
	__typeof__(&gnutls_strerror) strerror;
};

#define LOAD(lib, name) ((lib)->name = (__typeof__((lib)->name))dlsym((lib)->handle, "gnutls_" #name))

static void library_release(struct library *lib)
{
	if (lib->handle)
		dlclose(lib->handle);
}

static int load_gnutls(struct library *lib, struct err *err)
{
	lib->handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!lib->handle)
		return err_set(err, -ENOENT, "HTTP: %s; install GnuTLS, or serve without TLS", dlerror());
	if (!LOAD(lib, certificate_allocate_credentials) || !LOAD(lib, certificate_free_credentials) ||
		!LOAD(lib, certificate_set_x509_key_mem) || !LOAD(lib, certificate_set_x509_trust_mem) ||
		!LOAD(lib, certificate_verify_peers) || !LOAD(lib, strerror))
		return err_set(err, -ENOENT, "HTTP: a function is missing in " LIBRARY);
	return 0;
}

static gnutls_datum_t datum(const struct strbuf *text)
{
	return (gnutls_datum_t){.data = (unsigned char *)text->text, .size = (unsigned)text->len};
}

static int check_credentials(const struct library *lib, gnutls_certificate_credentials_t credentials,
	const struct http_tls *t, const struct http_tls_files *files, struct err *err)
{
	gnutls_datum_t certificate = datum(&t->certificate), key = datum(&t->key),
		       client_ca = datum(&t->client_ca);
	int r = lib->certificate_set_x509_key_mem(credentials, &certificate, &key, GNUTLS_X509_FMT_PEM);

	if (r < 0)
		return err_set(err, -EINVAL, "HTTP: certificate '%.100s' and key '%.100s': %s",
			files->certificate, files->key, lib->strerror(r));
	if (!files->client_ca)
		return 0;
	r = lib->certificate_set_x509_trust_mem(credentials, &client_ca, GNUTLS_X509_FMT_PEM);
	if (r <= 0)
		return err_set(err, -EINVAL, "HTTP: client CA '%.100s': %s", files->client_ca,
			r < 0 ? lib->strerror(r) : "no certificate in it");
	return 0;
}

int http_tls_check(const struct http_tls *t, const struct http_tls_files *files, struct err *err)
{
	CLEANUP(library_release) struct library lib = {.handle = NULL};
	gnutls_certificate_credentials_t credentials;
	int r;

	if (!files->certificate)
		return 0;
	r = load_gnutls(&lib, err);
	if (r < 0)
		return r;
	if (lib.certificate_allocate_credentials(&credentials) < 0)
		xalloc_failed();
	r = check_credentials(&lib, credentials, t, files, err);
	lib.certificate_free_credentials(credentials);
	return r;
}

const char *http_tls_client_problem(void *session)
{
	CLEANUP(library_release) struct library lib = {.handle = NULL};
	unsigned char client[] = GNUTLS_KP_TLS_WWW_CLIENT;
	gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID, .data = client};
	unsigned status = 0;

	if (load_gnutls(&lib, NULL) < 0 || lib.certificate_verify_peers(session, &purpose, 1, &status) != 0)
		return "no certificate";
	if (status & GNUTLS_CERT_SIGNER_NOT_FOUND)
		return "a certificate of another CA";
	if (status & GNUTLS_CERT_EXPIRED)
		return "an expired certificate";
	if (status & GNUTLS_CERT_NOT_ACTIVATED)
		return "a certificate that is not valid yet";
	if (status & GNUTLS_CERT_PURPOSE_MISMATCH)
		return "a certificate that is not for clients";
	return status ? "an invalid certificate" : NULL;
}
