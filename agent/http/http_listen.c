/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/http/http_listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>

#include "common/cleanup.h"

#define BACKLOG 128

static int parse_port(const char *text, uint16_t *ret)
{
	unsigned long port;
	char *end;

	errno = 0;
	port = strtoul(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end || port == 0 || port > UINT16_MAX)
		return -EINVAL;
	*ret = (uint16_t)port;
	return 0;
}

int http_listen_parse(const char *text, struct http_listen *ret, struct err *err)
{
	const char *colon = strrchr(text, ':');
	bool v6 = *text == '[';
	struct http_listen l = {.off = !strcmp(text, "off")};
	struct in6_addr parsed;
	size_t len;

	if (l.off) {
		*ret = l;
		return 0;
	}
	if (!colon || parse_port(colon + 1, &l.port) < 0)
		return err_set(err, -EINVAL, "'%.100s' is not ADDRESS:PORT or 'off'", text);
	len = (size_t)(colon - text);
	if (v6 && text[len - 1] == ']') {
		text++;
		len -= 2;
	}
	if (len >= sizeof(l.address))
		return err_set(err, -EINVAL, "'%.100s' is not an address", text);
	memcpy(l.address, text, len);
	if (inet_pton(v6 ? AF_INET6 : AF_INET, l.address, &parsed) != 1)
		return err_set(err, -EINVAL,
			"'%.100s' is not a numeric address; IPv6 addresses are in brackets", l.address);
	*ret = l;
	return 0;
}

int http_listen_check(const char *text, struct err *err)
{
	struct http_listen ignored;

	return http_listen_parse(text, &ignored, err);
}

int http_listen_check_address(const char *text, struct err *err)
{
	struct in6_addr parsed;

	if (inet_pton(AF_INET, text, &parsed) == 1 || inet_pton(AF_INET6, text, &parsed) == 1)
		return 0;
	return err_set(err, -EINVAL, "'%.100s' is not a numeric address", text);
}

int http_listen_open(const char *address, uint16_t port, bool *ret_v6, struct err *err)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	bool is_v6 = inet_pton(AF_INET6, address, &v6.sin6_addr) == 1;
	const void *sockaddr = is_v6 ? (const void *)&v6 : &v4;
	CLEANUP(closep) int fd = -1;
	int on = 1, r;

	if (!is_v6 && inet_pton(AF_INET, address, &v4.sin_addr) != 1)
		return err_set(err, -EINVAL, "HTTP: '%.100s' is not a numeric address", address);
	fd = socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
		bind(fd, sockaddr, is_v6 ? sizeof(v6) : sizeof(v4)) < 0 || listen(fd, BACKLOG) < 0)
		return err_set(
			err, -errno, "HTTP: cannot listen on %s port %u: %s", address, port, strerror(errno));
	*ret_v6 = is_v6;
	r = fd;
	fd = -1;
	return r;
}

uint16_t http_listen_port(int fd)
{
	struct sockaddr_in6 a = {0}; /* its port is where that of the other family is */
	socklen_t len = sizeof(a);

	return getsockname(fd, (struct sockaddr *)&a, &len) < 0 ? 0 : ntohs(a.sin6_port);
}
