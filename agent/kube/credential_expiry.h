/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * How long a client certificate and a bearer token are valid, read from themselves. Nothing is verified: it
 * is the API server that decides, this is for a person beforehand. Depends on agent/base/doc.h, agent/base/json.h,
 * agent/base/base64.h and common/.
 */
#include <stdint.h>

struct credential_expiry {
	int64_t from_s, until_s; /* seconds since 1970; INT64_MIN and INT64_MAX where nothing is said */
};

/* notBefore and notAfter (RFC 5280, section 4.1.2.5) of the first certificate in a PEM text. 0; -EINVAL for
 * what is not a certificate. `ret` is untouched on failure. */
int certificate_expiry(const char *pem, struct credential_expiry *ret);

/* The claims nbf, or else iat, and exp of a JSON Web Token (RFC 7519). 0; -EINVAL for a token of another
 * kind, which says nothing about itself. `ret` is untouched on failure. */
int token_expiry(const char *token, struct credential_expiry *ret);
