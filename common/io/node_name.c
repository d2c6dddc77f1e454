/* SPDX-License-Identifier: Apache-2.0 */
#include "common/io/node_name.h"

#include <ctype.h>
#include <errno.h>
#include <unistd.h>

#include "common/text.h"
#include "common/xalloc.h"

#define NODE_NAME_MAX 253

int node_name_check(const char *name, struct err *err)
{
	size_t len = strlen(name);

	if (len == 0 || len > NODE_NAME_MAX)
		return err_set(
			err, -EINVAL, "node name '%.100s' must have 1 to %d bytes", name, NODE_NAME_MAX);
	return text_is_dns_subdomain(name, len)
		       ? 0
		       : err_set(err, -EINVAL, "'%.100s' cannot name a Node: it is not a lower-case DNS name",
				 name);
}

int node_name_find(const char *given, char **ret_name, struct err *err)
{
	char host[NODE_NAME_MAX + 2] = ""; /* node_name_check() rejects a truncated name as too long */
	const char *name = given ? given : getenv("NODE_NAME");
	int r;

	if (!name || !*name) {
		if (gethostname(host, sizeof(host) - 1) < 0)
			return err_set(err, -errno, "cannot read the host name: %s", strerror(errno));
		for (char *p = host; *p; p++)
			*p = (char)tolower((unsigned char)*p);
		name = host;
	}
	r = node_name_check(name, err);
	if (r < 0)
		return name == host ? err_wrap(err, r, "host name (--node-name sets another)") : r;
	*ret_name = xstrdup(name);
	return 0;
}
