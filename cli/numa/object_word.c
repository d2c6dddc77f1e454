/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/numa/object_word.h"

#include <errno.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/xalloc.h"

const char *object_word_strip_kind(const char *word, const char *kind)
{
	size_t len = strlen(kind);

	return !strncmp(word, kind, len) && word[len] == '/' ? word + len + 1 : word;
}

int object_word_split_pod(const struct options *o, const char *word, char **ret_namespace,
	const char **ret_name, struct err *err)
{
	const char *name = object_word_strip_kind(word, "pod"), *slash = strchr(name, '/');
	CLEANUP(freep) char *namespace = slash ? xstrndup(name, (size_t)(slash - name)) : NULL;

	if (!*name || (slash && (slash == name || !slash[1] || strchr(slash + 1, '/'))))
		return err_set(err, -EINVAL, "'%.100s': name the pod NAME, pod/NAME or NAMESPACE/NAME", word);
	if (namespace && option_set(o, OPT_NAMESPACE) && strcmp(namespace, o->value[OPT_NAMESPACE]) != 0)
		return err_set(err, -EINVAL, "'%.100s' names another namespace than --namespace does", word);
	*ret_name = slash ? slash + 1 : name;
	*ret_namespace = TAKE(namespace);
	return 0;
}
