/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the fuzz targets share. A broken rule aborts, so that libFuzzer keeps the input. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/notes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_require(int condition)
{
	if (!condition)
		abort();
}

/* Something is said, in one line of printable text. */
static inline void fuzz_check_line(const char *line)
{
	fuzz_require(*line != '\0');
	for (; *line; line++)
		fuzz_require((unsigned char)*line >= ' ' && *line != 0x7f);
}

static inline void fuzz_check_notes(const struct notes *notes)
{
	fuzz_require(notes->error == 0);
	for (size_t i = 0; i < notes->n_lines; i++)
		fuzz_check_line(notes->lines[i]);
}
