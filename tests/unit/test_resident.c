/* SPDX-License-Identifier: Apache-2.0 */
/* What is given back of the memory that is resident: here pages of a library that has been read from end to end. */
#include "tests/lib/test.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include "agent/node/run/resident.h"
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_of_files_are_given_back_and_come_again),
	};

	return cmocka_run_group_tests_name("resident", tests, NULL, NULL);
}
