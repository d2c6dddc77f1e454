/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Base64 (RFC 4648, section 4), as Go's encoding/json writes bytes. Depends on common/ only.
 */
#include "common/strbuf.h"

/*
 * Decode strictly: the standard alphabet, padded to a multiple of four, no white space, the unused bits zero.
 * The bytes are appended to `out`. 0; -EINVAL (not base64, `out` then unchanged); -EFBIG.
 */
int base64_decode(const char *text, struct strbuf *out);
