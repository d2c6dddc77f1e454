/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/numa/object_word.h"

#include <errno.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/xalloc.h"

/* `kinds`: singular, plural and short name, as kubectl has them. */
static const char *strip_kind(const char *word, const char *const kinds[3])
{
	size_t len = strcspn(word, "/");

	for (size_t i = 0; i < 3 && word[len]; i++)
		if (strlen(kinds[i]) == len && !strncmp(word, kinds[i], len))
			return word + len + 1;
	return word;
}

const char *object_word_node(const char *word)
{
	static const char *const kinds[] = {"node", "nodes", "no"};

	return strip_kind(word, kinds);
}

int object_word_split_pod(const struct options *o, const char *word, char **ret_namespace,
	const char **ret_name, struct err *err)
{
	static const char *const kinds[] = {"pod", "pods", "po"};
	const char *name = strip_kind(word, kinds), *slash = strchr(name, '/');
	CLEANUP(freep) char *namespace = slash ? xstrndup(name, (size_t)(slash - name)) : NULL;

	if (!*name || (slash && (slash == name || !slash[1] || strchr(slash + 1, '/'))))
		return err_set(err, -EINVAL, "'%.100s': name the pod NAME, pod/NAME or NAMESPACE/NAME", word);
	if (namespace && option_set(o, OPT_NAMESPACE) && strcmp(namespace, o->value[OPT_NAMESPACE]) != 0)
		return err_set(err, -EINVAL, "'%.100s' names another namespace than --namespace does", word);
	*ret_name = slash ? slash + 1 : name;
	*ret_namespace = TAKE(namespace);
	return 0;
}
