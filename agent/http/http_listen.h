/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Where a server listens, as --http says it. Depends on libc and common/ only.
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

#define HTTP_LISTEN_DEFAULT "127.0.0.1:8095"

/* What --http says. */
struct http_listen {
	bool off;
	char address[INET6_ADDRSTRLEN]; /* without brackets */
	uint16_t port;
};

/* Parse "127.0.0.1:8095", "[::1]:8095" or "off": addresses are numeric. 0 or -EINVAL; `ret` is untouched on
 * failure. */
int http_listen_parse(const char *text, struct http_listen *ret, struct err *err);

/* The same as the check of an option. */
int http_listen_check(const char *text, struct err *err);

/* The check of an option that is an address alone: numeric, without brackets. */
int http_listen_check_address(const char *text, struct err *err);

/*
 * A listening socket on a numeric address of either family; port 0 takes a free one. The caller closes it. -errno with
 * one line: no such address, port in use.
 */
int http_listen_open(const char *address, uint16_t port, bool *ret_v6, struct err *err);

/* The port of a socket, 0 when it has none. */
uint16_t http_listen_port(int fd);
