/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/http_client.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/cleanup.h"
#include "common/io/time.h"
#include "tests/lib/test.h"

#define DEADLINE_MS 30000

int64_t http_now_ms(void)
{
	return clock_ms(CLOCK_MONOTONIC);
}

int http_dial(unsigned host, uint16_t port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000000u + host)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(inet_pton(AF_INET, "127.0.0.1", &to.sin_addr), 1);
	assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

void http_send(int fd, const char *text, size_t len)
{
	assert_int_equal(send(fd, text, len, MSG_NOSIGNAL), len);
}

void http_receive(int fd, bool (*done)(const struct strbuf *), struct strbuf *reply)
{
	int64_t deadline = http_now_ms() + DEADLINE_MS;

	while (!done || !done(reply)) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		int left = (int)(deadline - http_now_ms());
		char bytes[4096];
		ssize_t n;

		assert_true(left > 0);
		assert_int_equal(poll(&p, 1, left), 1);
		n = recv(fd, bytes, sizeof(bytes), 0);
		if (n <= 0)
			return;
		strbuf_add(reply, bytes, (size_t)n);
		assert_int_equal(strbuf_error(reply), 0);
	}
}

void http_ask(unsigned host, uint16_t port, const char *request, size_t len, struct strbuf *reply)
{
	CLEANUP(closep) int fd = http_dial(host, port);

	strbuf_reset(reply);
	http_send(fd, request, len);
	http_receive(fd, NULL, reply);
}

int http_status(const struct strbuf *reply)
{
	return strncmp(reply->text, "HTTP/1.", 7) == 0 ? (int)strtol(reply->text + 9, NULL, 10) : 0;
}

const char *http_body(const struct strbuf *reply)
{
	const char *end = strstr(reply->text, "\r\n\r\n");

	assert_non_null(end);
	return end + 4;
}
