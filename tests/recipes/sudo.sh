#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sudo and kubeadm of the recipes: the command sees, and writes, the host $HOST in place of this machine's /etc and /var/lib/kubelet. The
# host is a copy of this machine's /etc, with the credentials that kubeadm gives an administrator and the node worker-1.
set -eu
: "${HOST:=$WORLD/host}"
if [ ! -d "$HOST" ]; then
	mkdir -p "$HOST/kubelet"
	cp -a /etc "$HOST/"
	mkdir -p "$HOST/etc/kubernetes"
	printf 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n' >"$HOST/kubelet/config.yaml"
	echo 'KUBELET_KUBEADM_ARGS="--node-ip=127.0.0.1"' >"$HOST/kubelet/kubeadm-flags.env"
	cp "$KUBECONFIG" "$HOST/etc/kubernetes/admin.conf"
	cp "$WORLD/cluster/kubelet-worker-1.kubeconfig" "$HOST/etc/kubernetes/kubelet.conf"
fi
case ${0##*/} in
kubeadm) set -- "$PROGRAMS/kubeadm" "$@" ;;
sudo) [ "${1##*/}" != kubeadm ] || { shift && set -- "$PROGRAMS/kubeadm" "$@"; } ;;
esac
# shellcheck disable=SC2016 # expanded inside
exec unshare -m sh -euc 'mkdir -p /var/lib/kubelet && mount --bind "$0/etc" /etc && mount --bind "$0/kubelet" /var/lib/kubelet && exec "$@"' "$HOST" "$@"
