/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Releases resident memory that is not needed. Depends on libc only.
 */

/*
 * Releases free heap, and unmodified pages of programs and libraries. Loading a library or a TLS request
 * touches many of these pages; used pages are read again from the page cache.
 */
void resident_trim(void);
