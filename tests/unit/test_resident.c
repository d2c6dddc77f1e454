/* SPDX-License-Identifier: Apache-2.0 */
/* What is given back of the memory that is resident: here pages of a library that has been read from end to end. */
#include "tests/lib/test.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include "agent/run/resident.h"
#include "common/cleanup.h"

/* Pages of files that are resident. */
static long file_pages(void)
{
	CLEANUP(fclosep) FILE *f = fopen("/proc/self/statm", "re");
	long size, resident, shared;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%ld %ld %ld", &size, &resident, &shared), 3);
	return shared;
}

/* Read a byte of each page of libm's segments that may be read. */
static int touch(struct dl_phdr_info *object, size_t size, void *sum)
{
	(void)size;
	if (!strstr(object->dlpi_name, "libm.so"))
		return 0;
	for (size_t i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &object->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_R))
			continue;
		for (size_t at = 0; at < p->p_filesz; at += 4096)
			/* NOLINTNEXTLINE(performance-no-int-to-ptr): the loader gives addresses as numbers */
			*(unsigned *)sum += *(const unsigned char *)(object->dlpi_addr + p->p_vaddr + at);
	}
	return 0;
}

static void pages_of_files_are_given_back_and_come_again(void **state)
{
	unsigned sum = 0, again = 0;
	long before;

	(void)state;
	assert_non_null(dlopen("libm.so.6", RTLD_NOW));
	dl_iterate_phdr(touch, &sum);
	assert_true(sum > 0);
	before = file_pages();
	resident_trim();
	assert_true(file_pages() < before - 10);
	dl_iterate_phdr(touch, &again);
	assert_int_equal(again, sum);
}

static long resident_pages(void)
{
	CLEANUP(fclosep) FILE *f = fopen("/proc/self/statm", "re");
	long size, resident;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%ld %ld", &size, &resident), 2);
	return resident;
}

/* glibc's heap is not in use. */
static bool mallinfo_is_replaced(void)
{
	CLEANUP(freep) char *block = malloc(1000);
	CLEANUP(fclosep) FILE *f = fopen("/proc/self/maps", "re");
	char line[1024];

	assert_non_null(block);
	while (fgets(line, sizeof(line), f))
		if (strstr(line, "vgpreload") || strstr(line, "libasan") || strstr(line, "libtsan"))
			return true;
	return false;
}

/* Small blocks stay in the heap when they are freed. Few of them are not worth a call. */
static void much_free_memory_is_given_back(void **state)
{
	enum { BLOCKS = 200000, BYTES = 48 };
	char **blocks = calloc(BLOCKS, sizeof(*blocks)), *last;
	long before;

	(void)state;
	assert_non_null(blocks);
	for (size_t i = 0; i < BLOCKS; i++)
		blocks[i] = calloc(1, BYTES);
	last = malloc(BYTES); /* so that the heap does not shrink by itself */
	for (size_t i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	before = resident_pages();
	resident_trim_large();
	before -= resident_pages();
	free(last);
	free(blocks);
	if (mallinfo_is_replaced())
		skip(); /* by a sanitizer or valgrind, which have their own heap */
	assert_true(before > BLOCKS * BYTES / 2 / sysconf(_SC_PAGESIZE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_of_files_are_given_back_and_come_again),
		cmocka_unit_test(much_free_memory_is_given_back),
	};

	return cmocka_run_group_tests_name("resident", tests, NULL, NULL);
}
