/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Releases resident memory that is not needed. Depends on libc only.
 */

/*
 * Makes free(3) release large blocks at once: glibc would otherwise keep blocks in the heap that are as large as one that
 * was freed before. Then trims what the start of the process has touched. Call before the first thread starts.
 */
void resident_prepare(void);

/*
 * Releases free heap, and unmodified pages of programs and libraries. Loading a library or a TLS request
 * touches many of these pages; used pages are read again from the page cache.
 */
void resident_trim(void);

/* The same if much of the heap is free, as after reading a node with ten thousands of devices. */
void resident_trim_large(void);
