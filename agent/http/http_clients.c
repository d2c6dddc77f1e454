/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/http/http_clients.h"

#include <sys/socket.h>

static void drop(struct http_clients *c, struct http_client *client)
{
	client->fd = -1;
	c->n--;
}

/* A client without a certificate goes before one with, whoever asked last. */
static bool goes_before(const struct http_client *a, const struct http_client *b)
{
	return a->known != b->known ? b->known : a->number < b->number;
}

/* The library sees the end of its input, and closes. */
static void end_oldest(struct http_clients *c)
{
	struct http_client *oldest = NULL;

	for (size_t i = 0; i < HTTP_CLIENTS_MAX; i++) {
		struct http_client *client = &c->items[i];

		if (client->open && client->fd >= 0 && (!oldest || goes_before(client, oldest)))
			oldest = client;
	}
	if (!oldest)
		return;
	shutdown(oldest->fd, SHUT_RDWR);
	drop(c, oldest);
}

struct http_client *http_clients_add(struct http_clients *c, int fd)
{
	size_t i = 0;

	if (c->n >= HTTP_CLIENTS_KEPT)
		end_oldest(c);
	while (i < HTTP_CLIENTS_MAX && c->items[i].open)
		i++;
	if (i == HTTP_CLIENTS_MAX)
		return NULL;
	c->items[i] = (struct http_client){.open = true, .fd = fd, .number = c->n_uses++};
	c->n++;
	return &c->items[i];
}

void http_clients_use(struct http_clients *c, struct http_client *client)
{
	client->number = c->n_uses++;
}

void http_clients_remove(struct http_clients *c, struct http_client *client)
{
	if (client->fd >= 0)
		drop(c, client);
	client->open = false;
}
