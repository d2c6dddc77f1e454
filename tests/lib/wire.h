/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Protobuf messages for tests, written as text. */
#include "common/strbuf.h"

/*
 * Append the encoding of `text`: fields as NUMBER:VARINT, NUMBER'STRING', NUMBER{FIELDS} or NUMBER[VARINTS]
 * (packed), spaces between them; a VARINT may be negative. "1{1'pod' 3{3[4 5]}}". Aborts on text that is not
 * like this.
 */
void wire_add(struct strbuf *out, const char *text);
