/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * HTTP as bytes over a connection to the loopback, for tests of servers. Every function fails the test where it does
 * not come to an end.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/strbuf.h"

/* A connection from 127.0.0.`host` to a port of 127.0.0.1; the caller closes it. */
int http_dial(unsigned host, uint16_t port);

void http_send(int fd, const char *text, size_t len);

/* Append everything up to the end of the connection, or until `done` says that it is enough. */
void http_receive(int fd, bool (*done)(const struct strbuf *), struct strbuf *reply);

/* One request on a connection of its own, and the whole reply. */
void http_ask(unsigned host, uint16_t port, const char *request, size_t len, struct strbuf *reply);

/* The status of a reply, 0 when there is none. */
int http_status(const struct strbuf *reply);

/* What comes behind the headers. */
const char *http_body(const struct strbuf *reply);

/* Of the clock that goes on evenly. */
int64_t http_now_ms(void);
