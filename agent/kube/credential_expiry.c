/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/kube/credential_expiry.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>

#include "agent/base/base64.h"
#include "agent/base/json.h"
#include "common/cleanup.h"

#define TEXT_MAX     ((size_t)1 << 20)
#define YEAR_10000_S INT64_C(253402300800)
#define PEM_BEGIN    "-----BEGIN CERTIFICATE-----"

/* ---- DER, as far as the beginning of a certificate needs it (X.690, section 8.1) */

enum der_tag {
	DER_INTEGER = 0x02,
	DER_UTC_TIME = 0x17,
	DER_GENERALIZED_TIME = 0x18,
	DER_SEQUENCE = 0x30,
	DER_VERSION = 0xa0 /* [0], the certificate's version; left out in version 1 */
};

struct der {
	const unsigned char *at;
	size_t len;
};

/* Take one element from the front. Lengths of more than three bytes are beyond TEXT_MAX. */
static bool der_take(struct der *from, unsigned *ret_tag, struct der *ret_value)
{
	size_t head = 2, len;

	if (from->len < 2)
		return false;
	len = from->at[1];
	if (len >= 0x80) {
		size_t n = len & 0x7f;

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

/* Take an element that has to be of this kind. */
static bool der_expect(struct der *from, unsigned tag, struct der *ret_value)
{
	unsigned got;

	return der_take(from, &got, ret_value) && got == tag;
}

/* "YYMMDDHHMMSSZ" (of 1950 to 2049) or "YYYYMMDDHHMMSSZ". */
static bool take_time(struct der *from, int64_t *ret)
{
	struct tm tm = {0};
	int digits[7] = {0}, century;
	unsigned tag;
	struct der value;
	size_t n;

	if (!der_take(from, &tag, &value) || (tag != DER_UTC_TIME && tag != DER_GENERALIZED_TIME))
		return false;
	n = tag == DER_UTC_TIME ? 6 : 7;
	if (value.len != 2 * n + 1 || value.at[2 * n] != 'Z')
		return false;
	for (size_t i = 0; i < 2 * n; i++) {
		if (!isdigit(value.at[i]))
			return false;
		digits[7 - n + i / 2] = digits[7 - n + i / 2] * 10 + (value.at[i] - '0');
	}
	century = tag == DER_GENERALIZED_TIME ? digits[0] : digits[1] < 50 ? 20 : 19;
	tm.tm_year = century * 100 + digits[1] - 1900;
	tm.tm_mon = digits[2] - 1;
	tm.tm_mday = digits[3];
	tm.tm_hour = digits[4];
	tm.tm_min = digits[5];
	tm.tm_sec = digits[6];
	*ret = timegm(&tm);
	return true;
}

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
		!der_expect(&tbs, DER_SEQUENCE, &part) || !take_time(&part, &v.from_s) ||
		!take_time(&part, &v.until_s))
		return false;
	*ret = v;
	return true;
}

int certificate_expiry(const char *pem, struct credential_expiry *ret)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX), bytes = STRBUF_INIT(TEXT_MAX);
	const char *begin = strstr(pem, PEM_BEGIN);
	int r;

	if (!begin)
		return -EINVAL;
	for (const char *p = begin + strlen(PEM_BEGIN); *p && *p != '-'; p++)
		if (!isspace((unsigned char)*p))
			strbuf_addch(&text, *p);
	r = strbuf_error(&text);
	if (r == 0)
		r = base64_decode(text.text, &bytes);
	if (r < 0)
		return -EINVAL;
	return parse_certificate((struct der){(const unsigned char *)bytes.text, bytes.len}, ret) ? 0
												  : -EINVAL;
}

/* ---- tokens */

/* Base64 as URLs have it: two other characters, no padding (RFC 4648, section 5). */
static int decode_base64url(const char *text, size_t len, struct strbuf *out)
{
	CLEANUP(strbuf_release) struct strbuf standard = STRBUF_INIT(TEXT_MAX);
	int r;

	for (size_t i = 0; i < len; i++)
		strbuf_addch(&standard, text[i] == '-' ? '+' : text[i] == '_' ? '/' : text[i]);
	while (standard.len % 4 != 0 && strbuf_error(&standard) == 0)
		strbuf_addch(&standard, '=');
	r = strbuf_error(&standard);
	return r < 0 ? r : base64_decode(standard.text, out);
}

/* A time that a calendar has; -EINVAL for none, and for one that is not said in whole seconds. */
static int take_claim(const struct doc *claims, const char *name, int64_t *ret)
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
	int r;

	if (!end)
		return -EINVAL;
	r = decode_base64url(begin + 1, (size_t)(end - begin - 1), &json);
	if (r == 0)
		r = json_parse(json.text, json.len, &claims, NULL);
	if (r < 0)
		return -EINVAL;
	if (claims.kind != DOC_MAP)
		return -EINVAL;
	if (take_claim(&claims, "nbf", &v.from_s) < 0)
		take_claim(&claims, "iat", &v.from_s);
	take_claim(&claims, "exp", &v.until_s);
	*ret = v;
	return 0;
}
