/* SPDX-License-Identifier: Apache-2.0 */
#include "common/io/node_name.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "common/xalloc.h"

#define NODE_NAME_MAX 253

static bool is_label_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

int node_name_check(const char *name, struct err *err)
{
	size_t len = strlen(name);

	if (len == 0 || len > NODE_NAME_MAX)
		return err_set(
			err, -EINVAL, "node name '%.100s' must have 1 to %d bytes", name, NODE_NAME_MAX);
	for (size_t i = 0; i < len; i++) {
		/* A dash must be between letters or digits of a label, a dot between two labels. */
		bool inside = i > 0 && i + 1 < len && name[i - 1] != '.' && name[i + 1] != '.';
		bool ok = is_label_char(name[i]) || (name[i] == '-' && inside) ||
			  (name[i] == '.' && inside && name[i - 1] != '-' && name[i + 1] != '-');

		if (!ok)
			return err_set(err, -EINVAL,
				"'%.100s' cannot name a Node: it is not a lower-case DNS name", name);
	}
	return 0;
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
