/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/run/resident.h"

#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGE_BYTES (128 << 10)
#define FREE_MAX    (2u << 20)

/*
 * For dl_iterate_phdr(3): releases the pages of one program or library that the kernel can read again from the file. Skips
 * writable segments, because the loader has written relocations to them, even if they are read-only now. Skips the whole
 * object if its text contains relocations.
 */
static int drop_pages(struct dl_phdr_info *object, size_t size, void *data)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	(void)size;
	(void)data;
	for (size_t i = 0; i < object->dlpi_phnum; i++) {
		if (object->dlpi_phdr[i].p_type != PT_DYNAMIC)
			continue;
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): the loader gives addresses as numbers */
		for (const ElfW(Dyn) *d = (const void *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
			d->d_tag != DT_NULL; d++)
			if (d->d_tag == DT_TEXTREL || (d->d_tag == DT_FLAGS && (d->d_un.d_val & DF_TEXTREL)))
				return 0;
	}
	for (size_t i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &object->dlpi_phdr[i];
		uintptr_t first = (object->dlpi_addr + p->p_vaddr) & ~(page - 1);
		uintptr_t end = (object->dlpi_addr + p->p_vaddr + p->p_filesz) & ~(page - 1);

		/* May fail for a segment without a file (the vDSO); then its pages stay. */
		if (p->p_type == PT_LOAD && !(p->p_flags & PF_W) && end > first)
			/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
			(void)madvise((void *)first, end - first, MADV_DONTNEED);
	}
	return 0;
}

void resident_trim(void)
{
	malloc_trim(0);
	dl_iterate_phdr(drop_pages, NULL);
}

void resident_prepare(void)
{
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
	resident_trim();
}

/* Bytes of the heap that are not in use. */
static size_t free_bytes(void)
{
#if __GLIBC_PREREQ(2, 33)
	return mallinfo2().fordblks;
#else
	return (size_t)(unsigned)mallinfo().fordblks;
#endif
}

void resident_trim_large(void)
{
	if (free_bytes() > FREE_MAX)
		resident_trim();
}
