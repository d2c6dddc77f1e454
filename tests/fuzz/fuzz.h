/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the fuzz targets share. A broken rule aborts, so that libFuzzer keeps the input. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "common/err.h"

void LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The stack of an abort lacks the line, because the compiler inlines. */
static inline void fuzz_require_at(int condition, const char *text, const char *file, int line)
{
	if (condition)
		return;
	fprintf(stderr, "%s:%d: not true: %s\n", file, line, text);
	abort();
}

#define fuzz_require(condition) fuzz_require_at((condition) ? 1 : 0, #condition, __FILE__, __LINE__)

/* The CPU time of this process. */
static inline double fuzz_cpu_seconds(void)
{
	struct timespec t;

	fuzz_require(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Under sanitizers, whatever the input: work that grows with the square of an input takes longer. */
#define FUZZ_CPU_SECONDS 2

/* Something is said, in one line of printable text. */
static inline void fuzz_check_line(const char *line)
{
	fuzz_require(*line != '\0');
	for (; *line; line++)
		fuzz_require((unsigned char)*line >= ' ' && *line != 0x7f);
}

/* The two texts that the input stands for: a length in its first two bytes, then both. *ret_first is the
 * first one's, the second is *size - *ret_first long. 0 when it is too short for that. */
static inline int fuzz_split(const uint8_t **data, size_t *size, size_t *ret_first)
{
	size_t first;

	if (*size < 2)
		return 0;
	first = (size_t)(*data)[0] << 8 | (*data)[1];
	*data += 2;
	*size -= 2;
	*ret_first = first > *size ? *size : first;
	return 1;
}

static inline void fuzz_check_notes(const struct notes *notes)
{
	for (size_t i = 0; i < notes->lines.n_items; i++)
		fuzz_check_line(notes->lines.items[i]);
}

/* A file that holds the input, for functions that want a path. It is the same each time. */
static inline const char *fuzz_file(const uint8_t *data, size_t size)
{
	static char path[40];
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("fuzz", MFD_CLOEXEC);
		fuzz_require(fd >= 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	fuzz_require(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
	return path;
}
