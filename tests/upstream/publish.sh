#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# publish.sh DIR: agent/publish/publish.c against the control plane in DIR (cluster.sh start, nodes node-a and node-b), with the
# rights and the admission policy of packaging/kubernetes. B/tests/upstream/steps goes through the lines below; what it
# prints has to be what stands behind the arrows.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
dir=$1
object=/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies/node-a
node=/api/v1/nodes/node-a
old_object=/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies/node-a
volcano=/apis/nodeinfo.volcano.sh/v1alpha1/numatopologies
definition='{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"numatopologies.nodeinfo.volcano.sh"},"spec":{"group":"nodeinfo.volcano.sh","scope":"Cluster","names":{"kind":"Numatopology","plural":"numatopologies"},"versions":[{"name":"v1alpha1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}'
crd=/apis/apiextensions.k8s.io/v1/customresourcedefinitions/noderesourcetopologies.topology.node.k8s.io
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. tests/lib/eventually.sh
passed=0
failed=0

hash() { sed -n 's/.*"nrtd.dev\/content-hash", *"value": *"\([0-9a-f]*\)".*/\1/p; /content-hash/{n;s/.*"value": *"\([0-9a-f]*\)".*/\1/p;}' "$1"; }
dump() { # dump FILE OPTION...: an object of this machine
	file=$1
	shift
	"$B/nrtd" dump --node-name node-a -o json "$@" 2>/dev/null >"$file" || exit 1
}
dump "$work/one.json" --topology-manager-policy restricted --topology-manager-scope pod
dump "$work/two.json" --topology-manager-policy best-effort --topology-manager-scope pod
"$B/nrtd" dump --node-name node-a -o json --what numatopology --topology-manager-policy best-effort 2>/dev/null \
	>"$work/numatopology.json" || exit 1
one=$(hash "$work/one.json")
two=$(hash "$work/two.json")

# steps NAME KUBECONFIG NODE: lines "step" and "-> answer" on standard input
steps() {
	cat >"$work/script"
	sed -n 's/^-> //p' "$work/script" >"$work/want"
	grep -v '^->' "$work/script" | "$B/tests/upstream/steps" "$2" "$dir/admin.kubeconfig" "$3" >"$work/got" 2>&1
	if cmp -s "$work/want" "$work/got"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "not ok $1"
		diff "$work/want" "$work/got" | sed 's/^/	/'
	fi
}

agent=$dir/agent-node-a.kubeconfig
steps "write, leave alone, change, rate limits" "$agent" node-a <<END
nrt $work/one.json
publish nrtd.dev/fit-hints=x
-> nrt=written node=written current again=+540000
version $object
-> new version
publish nrtd.dev/fit-hints=x
-> nrt=unchanged node=unchanged current again=+540000
nrt $work/two.json
publish nrtd.dev/fit-hints=y
-> nrt=written node=written current again=+540000
version $object
-> new version
show $node metadata annotations nrtd.dev/content-hash
-> "$two"
nrt $work/one.json
publish nrtd.dev/fit-hints=y
-> nrt=written node=written current again=+540000
advance 500
publish nrtd.dev/fit-hints=y
-> nrt=unchanged node=unchanged current again=+539500
show $node metadata annotations nrtd.dev/content-hash
-> "$one"
publish nrtd.dev/fit-hints=a
-> nrt=unchanged node=written current again=+539500
publish nrtd.dev/fit-hints=b
-> nrt=unchanged node=written current again=+539500
publish nrtd.dev/fit-hints=c
-> nrt=unchanged node=written current again=+539500
version $object
-> new version
publish nrtd.dev/fit-hints=d
-> nrt=unchanged node=deferred again=+4500
advance 4500
nrt $work/two.json
publish nrtd.dev/fit-hints=y
-> nrt=written node=written current again=+535000
show $node metadata annotations nrtd.dev/content-hash
-> "$two"
show $node metadata annotations nrtd.dev/fit-hints
-> "y"
version $object
-> new version
END

steps "a refresh that finds nothing to repair writes nothing" "$agent" node-a <<END
nrt $work/two.json
publish nrtd.dev/fit-hints=y
-> nrt=written node=unchanged current again=+540000
version $object
-> new version
advance 540000
publish nrtd.dev/fit-hints=y
-> nrt=written node=unchanged current again=+540000
version $object
-> same version
END

steps "the startup taint goes when the rest is there, if it is where it was" "$agent" node-a <<END
request PATCH $node application/merge-patch+json {"spec":{"taints":[{"key":"a","effect":"NoSchedule"},{"key":"nrtd.dev/not-ready","effect":"NoSchedule"}]}}
-> 200
nrt $work/two.json
publish not.ours/x=1
-> nrt=written node=failed taint=deferred again=+1 error: 'not.ours/x' is not a string with a key under nrtd.dev/
show $node spec taints 1 key
-> "nrtd.dev/not-ready"
request PATCH $node application/merge-patch+json {"spec":{"taints":[{"key":"nrtd.dev/not-ready","effect":"NoSchedule"}]}}
-> 200
advance 1
publish nrtd.dev/fit-hints=y
-> nrt=unchanged node=unchanged taint=conflict again=+0 error: the taints of Node 'node-a' changed in the meantime
publish nrtd.dev/fit-hints=y
-> nrt=unchanged node=unchanged taint=deferred again=+1
advance 1
publish nrtd.dev/fit-hints=y
-> nrt=unchanged node=unchanged taint=written current again=+539998
show $node spec taints
-> absent
publish nrtd.dev/fit-hints=y
-> nrt=unchanged node=unchanged current again=+539998
END

steps "edited and deleted things are repaired" "$agent" node-a <<END
nrt $work/one.json
publish nrtd.dev/fit-hints=z
-> nrt=written node=written current again=+540000
request PATCH $object application/merge-patch+json {"zones":[],"attributes":[]}
-> 200
request PATCH $node application/merge-patch+json {"metadata":{"annotations":{"nrtd.dev/fit-hints":"edited","nrtd.dev/other":"x","example.com/y":"1"}}}
-> 200
publish nrtd.dev/fit-hints=z
-> nrt=unchanged node=unchanged current again=+540000
advance 540000
publish nrtd.dev/fit-hints=z
-> nrt=written node=written current again=+15000
show $object zones 0 name
-> "node-0"
show $node metadata annotations nrtd.dev/fit-hints
-> "z"
show $node metadata annotations nrtd.dev/other
-> absent
show $node metadata annotations example.com/y
-> "1"
request DELETE $object
-> 200
until 404 GET $object
-> 404
advance 540000
publish nrtd.dev/fit-hints=z
-> nrt=written node=unchanged current again=+15000
show $object metadata ownerReferences 0 name
-> "node-a"
END

steps "another exporter's rewrites are repaired once, then nrtd gives way until the refresh" "$agent" node-a <<END
nrt $work/one.json
publish nrtd.dev/fit-hints=z
-> nrt=written node=unchanged current again=+540000
request PATCH $object?fieldManager=kubectl application/merge-patch+json {"metadata":{"labels":{"a":"b"}}}
-> 200
advance 1000
nrt $work/two.json
publish nrtd.dev/fit-hints=z
-> nrt=written node=written current again=+539000
request PATCH $object?fieldManager=koordlet application/merge-patch+json {"zones":[]}
-> 200
advance 1000
nrt $work/one.json
publish nrtd.dev/fit-hints=z
-> nrt=written node=written current again=+15000
request PATCH $object?fieldManager=koordlet application/merge-patch+json {"zones":[]}
-> 200
advance 15000
publish nrtd.dev/fit-hints=y
-> nrt=contended node=written again=+523000 error: 'koordlet' keeps rewriting $object: nrtd backs off until the next refresh; that is Koordinator's: nrtd run --coexist=koordinator leaves the object to it, or set koordlet's feature gate NodeTopologyReport=false
version $object
-> new version
nrt $work/two.json
publish nrtd.dev/fit-hints=y
-> nrt=contended node=written again=+523000 error: 'koordlet' keeps rewriting $object: nrtd backs off until the next refresh; that is Koordinator's: nrtd run --coexist=koordinator leaves the object to it, or set koordlet's feature gate NodeTopologyReport=false
version $object
-> same version
show $object zones
-> []
advance 523000
publish nrtd.dev/fit-hints=y
-> nrt=written node=unchanged current again=+15000
show $object zones 0 name
-> "node-0"
advance 15000
publish nrtd.dev/fit-hints=y
-> nrt=unchanged node=unchanged current again=+15000
advance 525000
publish nrtd.dev/fit-hints=y
-> nrt=written node=unchanged current again=+540000
END

# A client of the older version knows no attributes.
steps "an update by version v1alpha1 takes the attributes, and they are written again" "$agent" node-a <<END
nrt $work/two.json
publish nrtd.dev/fit-hints=y
-> nrt=written node=unchanged current again=+540000
request PATCH $old_object?fieldManager=koordlet application/merge-patch+json {"metadata":{"labels":{"a":"c"}}}
-> 200
show $object attributes
-> absent
advance 540000
publish nrtd.dev/fit-hints=y
-> nrt=written node=unchanged current again=+540000
show $object attributes 0 name
-> "topologyManagerPolicy"
END

steps "a Numatopology, its definition and its right" "$agent" node-a <<END
nrt $work/two.json
numatopology $work/numatopology.json
publish nrtd.dev/fit-hints=y
-> nrtd: warning: without the right to get $volcano/node-a nrtd does not see who else writes it
-> nrt=written node=unchanged numatopology=forbidden again=+1 error: the right to write the Numatopology object of 'node-a' is missing: apply packaging/kubernetes/numatopology.yaml: numatopologies.nodeinfo.volcano.sh "node-a" is forbidden: User "system:serviceaccount:nrtd:nrtd" cannot patch resource "numatopologies" in API group "nodeinfo.volcano.sh" at the cluster scope
END
"$B/upstream/kubectl" --kubeconfig "$dir/admin.kubeconfig" apply --server-side -f packaging/kubernetes/numatopology.yaml >/dev/null 2>&1 || failed=$((failed + 1))
steps "without its definition" "$agent" node-a <<END
nrt $work/two.json
numatopology $work/numatopology.json
publish nrtd.dev/fit-hints=y
-> nrt=written node=unchanged numatopology=not_found again=+1 error: the API server has no numatopologies of nodeinfo.volcano.sh/v1alpha1: apply the CRD of Volcano, or set --numatopology=auto
request POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions application/json $definition
-> 201
until 200 GET $volcano
-> 200
advance 1
publish nrtd.dev/fit-hints=y
-> nrt=unchanged node=unchanged numatopology=written current again=+539999
show $volcano/node-a spec policies TopologyManagerPolicy
-> "best-effort"
show $volcano/node-a metadata ownerReferences 0 name
-> "node-a"
version $volcano/node-a
-> new version
request PATCH $volcano/node-a?fieldManager=vc-exporter application/merge-patch+json {"spec":{"policies":{"TopologyManagerPolicy":"none"}}}
-> 200
advance 539999
publish nrtd.dev/fit-hints=y
-> nrt=written node=unchanged numatopology=written current again=+15000
show $volcano/node-a spec policies TopologyManagerPolicy
-> "best-effort"
cleanup
-> clean
until 404 GET $volcano/node-a
-> 404
END

# The CRD of Volcano 1.15, without podAllocations, and that of 1.16, as far as nrtd writes them.
schema_has() { # schema_has NAME: it is in the published schema, and so is cpuDetail
	"$B/upstream/kubectl" --kubeconfig "$dir/admin.kubeconfig" get --raw /openapi/v3/apis/nodeinfo.volcano.sh/v1alpha1 >"$work/schema" 2>&1
	grep -q cpuDetail "$work/schema" && grep -q "$1" "$work/schema"
}
structure() { # structure MORE: the CRD's merge patch
	printf '%s' '{"spec":{"versions":[{"name":"v1alpha1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"policies":{"type":"object","additionalProperties":{"type":"string"}},"resReserved":{"type":"object","additionalProperties":{"type":"string"}},"cpuDetail":{"type":"object","additionalProperties":{"type":"object","properties":{"numa":{"type":"integer"},"socket":{"type":"integer"},"core":{"type":"integer"}}}},"numares":{"type":"object","additionalProperties":{"type":"object","properties":{"allocatable":{"type":"string"},"capacity":{"type":"integer"}}}}'"$1"'}}}}}}]}}'
}
jq '.spec.podAllocations = [{uid: "u1", name: "p", namespace: "d", containerAllocations: [{name: "c", allocations: {cpu: "0,2-4"}}]}]' \
	"$work/numatopology.json" >"$work/pods.json"
crds=/apis/apiextensions.k8s.io/v1/customresourcedefinitions/numatopologies.nodeinfo.volcano.sh
for release in 1.15 1.16; do
	case $release in
	1.15) more='' allocations=absent ;;
	1.16) more=',"podAllocations":{"type":"array","items":{"type":"object","properties":{"uid":{"type":"string"},"name":{"type":"string"},"namespace":{"type":"string"},"containerAllocations":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"allocations":{"type":"object","additionalProperties":{"type":"string"}}}}}}}}' allocations='"0,2-4"' ;;
	esac
	printf 'request PATCH %s application/merge-patch+json %s\n' "$crds" "$(structure "$more")" |
		"$B/tests/upstream/steps" "$agent" "$dir/admin.kubeconfig" node-a >/dev/null
	# The API server publishes the schema of a changed CRD up to some seconds later.
	eventually 20 schema_has "${more:+podAllocations}"
	steps "podAllocations with the CRD of $release" "$agent" node-a <<END
nrt $work/two.json
numatopology $work/pods.json
publish nrtd.dev/fit-hints=y
-> nrt=written node=written numatopology=written current again=+540000
show $volcano/node-a spec podAllocations 0 containerAllocations 0 allocations cpu
-> $allocations
show $volcano/node-a spec policies TopologyManagerPolicy
-> "best-effort"
cleanup
-> clean
until 404 GET $volcano/node-a
-> 404
END
done

steps "another node's Numatopology" "$dir/agent-node-b.kubeconfig" node-a <<END
agent PATCH $volcano/node-a?fieldManager=nrtd application/apply-patch+yaml {"apiVersion":"nodeinfo.volcano.sh/v1alpha1","kind":"Numatopology","metadata":{"name":"node-a"},"spec":{"policies":{"TopologyManagerPolicy":"none"}}}
-> 403 numatopologies.nodeinfo.volcano.sh "node-a" is forbidden: ValidatingAdmissionPolicy 'nrtd-own-node' with binding 'nrtd-own-node' denied request: the agent of node node-b may not write objects of node-a
END

pods=/api/v1/namespaces/nrtd/pods
steps "annotations of pods, without the right" "$agent" node-a <<END
nrt $work/two.json
pods nrtd/nrtd-node-a=[1]
publish nrtd.dev/fit-hints=y
-> nrt=written node=written pods=forbidden again=+1 error: the right to write the annotations of pods of 'node-a' is missing: apply packaging/kubernetes/kai.yaml: pods "nrtd-node-a" is forbidden: User "system:serviceaccount:nrtd:nrtd" cannot patch resource "pods" in API group "" in the namespace "nrtd"
END
"$B/upstream/kubectl" --kubeconfig "$dir/admin.kubeconfig" apply --server-side -f packaging/kubernetes/kai.yaml >/dev/null 2>&1 || failed=$((failed + 1))
# annotate POD: as the agent of node-a, what the policy denies for a pod of node-b
annotate() {
	echo "agent PATCH $pods/$1?fieldManager=nrtd&dryRun=All application/merge-patch+json {\"metadata\":{\"annotations\":{\"kai.scheduler/numa-placement-observed\":\"[2]\"}}}"
}
denied_by_policy() { annotate nrtd-node-b | "$B/tests/upstream/steps" "$agent" "$dir/admin.kubeconfig" node-a 2>&1 | grep -q nrtd-own-pods; }
eventually 20 denied_by_policy
denied="is forbidden: ValidatingAdmissionPolicy 'nrtd-own-pods' with binding 'nrtd-own-pods' denied request:"
of_others="-> 403 pods \"nrtd-node-b\" $denied the agent of node node-a may not write pods of other nodes"
only="-> 403 pods \"nrtd-node-a\" $denied an agent may change only the annotation kai.scheduler/numa-placement-observed of a pod"
patch="agent PATCH $pods/nrtd-node-a?fieldManager=nrtd application/merge-patch+json"
steps "one annotation of this node's pods" "$agent" node-a <<END
$(annotate nrtd-node-b)
$of_others
request PATCH $pods/nrtd-node-a application/merge-patch+json {"metadata":{"annotations":{"example.com/x":"1"}}}
-> 200
$patch {"metadata":{"annotations":{"example.com/x":"2"}}}
$only
$patch {"metadata":{"annotations":{"example.com/x":null}}}
$only
$patch {"metadata":{"annotations":{"kai.scheduler/numa-placement-predicted":"[]"}}}
$only
$patch {"metadata":{"labels":{"example.com/x":"1"}}}
$only
$patch {"metadata":{"finalizers":["example.com/x"]}}
$only
$patch {"spec":{"activeDeadlineSeconds":100}}
$only
$patch {"metadata":{"managedFields":[{}]}}
-> 403 pods "nrtd-node-a" $denied an agent may not change the managedFields of other managers
agent GET $pods/nrtd-node-a
-> 403 pods "nrtd-node-a" is forbidden: User "system:serviceaccount:nrtd:nrtd" cannot get resource "pods" in API group "" in the namespace "nrtd"
END
steps "annotations of pods are written when they change, and repaired" "$agent" node-a <<END
nrt $work/two.json
pods nrtd/nrtd-node-a=[1] nrtd/gone=[1]
publish nrtd.dev/fit-hints=y
-> nrt=written node=unchanged pods=written current again=+540000
show $pods/nrtd-node-a metadata annotations kai.scheduler/numa-placement-observed
-> "[1]"
version $pods/nrtd-node-a
-> new version
publish nrtd.dev/fit-hints=y
-> nrt=unchanged node=unchanged current again=+540000
version $pods/nrtd-node-a
-> same version
request PATCH $pods/nrtd-node-a?fieldManager=numa-placement-exporter application/merge-patch+json {"metadata":{"annotations":{"kai.scheduler/numa-placement-observed":"[9]"}}}
-> 200
advance 540000
publish nrtd.dev/fit-hints=y
-> nrt=written node=unchanged pods=written current again=+540000
show $pods/nrtd-node-a metadata annotations kai.scheduler/numa-placement-observed
-> "[1]"
version $pods/nrtd-node-a
-> new version
advance 540000
publish nrtd.dev/fit-hints=y
-> nrt=written node=unchanged pods=written current again=+540000
version $pods/nrtd-node-a
-> same version
pods nrtd/nrtd-node-a=[2]
publish nrtd.dev/fit-hints=y
-> nrt=unchanged node=unchanged pods=written current again=+540000
show $pods/nrtd-node-a metadata annotations example.com/x
-> "1"
END
steps "a CRD that goes away and comes back" "$agent" node-a <<END
nrt $work/one.json
request DELETE $crd
-> 200
until 404 GET $object
-> 404
until 404 GET $crd
-> 404
publish
-> nrt=not_found node=deferred again=+1 error: the API server has no noderesourcetopologies of topology.node.k8s.io/v1alpha2: apply the CRD, kubectl apply --server-side -k packaging/kubernetes/crd
END
"$B/upstream/kubectl" --kubeconfig "$dir/admin.kubeconfig" apply --server-side -k packaging/kubernetes/crd >/dev/null 2>&1 || failed=$((failed + 1))
steps "the CRD is back" "$agent" node-a <<END
nrt $work/one.json
until 200 GET /apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies
-> 200
publish nrtd.dev/fit-hints=z
-> nrt=written node=written current again=+540000
END

steps "a Node that is deleted and registered anew" "$agent" node-a <<END
nrt $work/one.json
publish nrtd.dev/fit-hints=z
-> nrt=written node=unchanged current again=+540000
request DELETE $node
-> 200
advance 540000
publish nrtd.dev/fit-hints=z
-> nrt=deferred node=not_found again=+1 error: there is no Node 'node-a': either its kubelet has not registered it yet, or --node-name is wrong
advance 1
request POST /api/v1/nodes application/json {"apiVersion":"v1","kind":"Node","metadata":{"name":"node-a"}}
-> 201
publish nrtd.dev/fit-hints=z
-> nrt=written node=written current again=+539999
show $node metadata annotations nrtd.dev/fit-hints
-> "z"
END

steps "a Node that is replaced between two looks" "$agent" node-a <<END
nrt $work/one.json
publish nrtd.dev/fit-hints=z
-> nrt=written node=unchanged current again=+540000
request DELETE $node
-> 200
request POST /api/v1/nodes application/json {"apiVersion":"v1","kind":"Node","metadata":{"name":"node-a"}}
-> 201
advance 5000
publish nrtd.dev/fit-hints=other
-> nrt=unchanged node=conflict again=+1 error: the Node 'node-a' was replaced by another one of this name
advance 1
publish nrtd.dev/fit-hints=other
-> nrt=written node=written current again=+534999
END

steps "what is ours goes, what is not stays" "$agent" node-a <<END
nrt $work/one.json
publish nrtd.dev/fit-hints=z
-> nrt=written node=written current again=+540000
request PATCH $node application/merge-patch+json {"metadata":{"annotations":{"example.com/y":"1"}}}
-> 200
cleanup
-> clean
until 404 GET $object
-> 404
show $node metadata annotations
-> {"example.com/y":"1"}
cleanup
-> clean
request POST /apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies application/json {"apiVersion":"topology.node.k8s.io/v1alpha2","kind":"NodeResourceTopology","metadata":{"name":"node-a"},"zones":[]}
-> 201
cleanup
-> clean
request DELETE $object
-> 200
END

steps "another node's objects" "$dir/agent-node-b.kubeconfig" node-a <<END
nrt $work/one.json
publish nrtd.dev/fit-hints=z
-> nrt=forbidden node=deferred again=+1 error: an admission policy denies the NodeResourceTopology object of 'node-a': does nrtd run on that node? --node-name must be the one its token is bound to: noderesourcetopologies.topology.node.k8s.io "node-a" is forbidden: ValidatingAdmissionPolicy 'nrtd-own-node' with binding 'nrtd-own-node' denied request: the agent of node node-b may not write objects of node-a
END

# A kubeconfig whose token the server refuses, and what takes its place while the publisher holds it.
sed 's/token: .*/token: x.y.z/' "$agent" >"$work/held.kubeconfig"
cp "$work/held.kubeconfig" "$work/bad.kubeconfig"
cp "$agent" "$work/good.kubeconfig"
steps "a token that expires is replaced in the file" "$work/held.kubeconfig" node-a <<END
nrt $work/one.json
publish
-> nrt=deferred node=unauthorized again=+1 error: the API server does not accept the credentials (401: Unauthorized): has the token or certificate expired, or is it from another cluster?
rename $work/good.kubeconfig $work/held.kubeconfig
advance 1
publish nrtd.dev/fit-hints=z
-> nrt=written node=written current again=+539999
rename $work/bad.kubeconfig $work/held.kubeconfig
advance 539999
publish nrtd.dev/fit-hints=z
-> nrt=unauthorized node=unauthorized again=+1 error: the API server does not accept the credentials (401: Unauthorized): has the token or certificate expired, or is it from another cluster?
END
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
