/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * banned: turns calls of libc functions that have a safer alternative into compile errors. The build includes
 * this header in every file (-include common/banned.h); the idea is git's banned.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BANNED(fn) nrtd_banned_##fn##_use_strbuf_or_a_checked_parser

#undef strcpy
#define strcpy(d, s) BANNED(strcpy)
#undef strcat
#define strcat(d, s) BANNED(strcat)
#undef strncpy
#define strncpy(d, s, n) BANNED(strncpy)
#undef strncat
#define strncat(d, s, n) BANNED(strncat)
#undef sprintf
#define sprintf(...) BANNED(sprintf)
#undef vsprintf
#define vsprintf(...) BANNED(vsprintf)
#undef strtok
#define strtok(s, d) BANNED(strtok)
#undef atoi
#define atoi(s) BANNED(atoi)
#undef atol
#define atol(s) BANNED(atol)
#undef gmtime
#define gmtime(t) BANNED(gmtime)
#undef localtime
#define localtime(t) BANNED(localtime)
