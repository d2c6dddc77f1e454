/* SPDX-License-Identifier: Apache-2.0 */
/* gettid() of the tarball's program, for the libraries beside it: glibc has it from 2.30 on (reversion.pl). */
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((visibility("default"))) pid_t gettid(void);

pid_t gettid(void)
{
	return (pid_t)syscall(SYS_gettid);
}
