#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kubectl of the recipes: the real one, but for `logs` and `exec`, which ask a node's kubelet: kubelet.sh has no port, so this
# reads the log and enters the container itself. `-n NAMESPACE` comes first, then POD or KIND/NAME, then `--`.
set -eu
case " ${1:-} " in
" logs " | " exec ")
	command=$1
	shift
	namespace=default
	name=
	while [ $# -gt 0 ]; do
		case $1 in
		-n) namespace=$2 && shift ;;
		--) break ;;
		-*) echo "kubectl $command of the recipes does not know $1" >&2 && exit 2 ;;
		*) name=$1 ;;
		esac
		shift
	done
	case $name in
	*/*)
		pod=$("$PROGRAMS/kubectl" get pods -n "$namespace" -o json | jq -r --arg name "${name#*/}" \
			'[.items[] | select(any(.metadata.ownerReferences[]?; .name == $name)) | .metadata.uid] | sort_by(.)[0] // empty')
		;;
	*) pod=$("$PROGRAMS/kubectl" get pod -n "$namespace" "$name" -o 'jsonpath={.metadata.uid}') ;;
	esac
	folder=$WORLD/pods/$pod
	if [ "$command" = logs ]; then
		exec cat "$folder/log"
	fi
	shift # --
	# shellcheck disable=SC2046 # a word for each variable
	exec nsenter -t "$(cat "$folder/pid")" -m -- chroot "$folder/root" env -i $(cat "$folder/env") "$@"
	;;
esac
exec "$PROGRAMS/kubectl" "$@"
