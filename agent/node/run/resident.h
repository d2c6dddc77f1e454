/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Resident memory of the process. Depends on libc only. */

/*
 * Give back what is resident without being needed: free heap, and pages of programs and libraries that hold
 * nothing but what their files hold. Loading a library or a request by TLS touches many of the latter; those
 * used again come back from the page cache.
 */
void resident_trim(void);
