#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""extender_v1.py PORT SEED NODE...: compares /v1 of an nrtd-extender with /filter and /prioritize of the same extender.

Random pods are assumed one after the other. For each, /v1/choose must return the nodes that /filter passes when the nodes before are left
out, /v1/admit all of them, and /prioritize must give no later node a higher score. With python3-jsonschema, each request and answer is
compared with doc/nrtd-extender-v1.schema.json. Prints one line per difference.
"""
import http.client
import json
import random
import sys

try:
    import jsonschema
except ImportError:
    jsonschema = None

PORT, SEED, NAMES = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
SCHEMA = json.load(open("doc/nrtd-extender-v1.schema.json", encoding="utf-8"))
DRAWN = random.Random(SEED)
failed = False


def fail(*what):
    global failed
    failed = True
    print(f"seed {SEED}:", *what)


def validate(name, value):
    if jsonschema:
        jsonschema.Draft202012Validator({"$ref": "#/$defs/" + name, "$defs": SCHEMA["$defs"]}).validate(value)


def post(path, body):
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=10)
    connection.request("POST", path, json.dumps(body))
    response = connection.getresponse()
    answer = json.loads(response.read())
    connection.close()
    return response.status, answer


def ask(path, body, answer="error", status=200):
    if status == 200:
        validate(answer.replace("Answer", "Request"), body)
    got, value = post(path, body)
    validate(answer, value)
    if got != status:
        fail(path, body, "has the status", got, value)
    return value


def pod(uid, cpus, gib, kind="limits"):
    amounts = {"cpu": cpus, "memory": f"{gib}Gi"}
    return {"metadata": {"name": uid, "namespace": "default", "uid": uid},
            "spec": {"containers": [{"name": "app", "resources": {kind: amounts}}]}}


def cpus(p):
    return next(iter(p["spec"]["containers"][0]["resources"].values()))["cpu"]


def filter_names(p, names):
    return post("/filter", {"Pod": p, "NodeNames": names})[1]["NodeNames"]


def compare(p):
    """The nodes of /v1/choose, in order; None if every node passes."""
    choice = ask("/v1/choose", {"pod": p, "limit": 100}, "chooseAnswer")
    admission = ask("/v1/admit", {"pod": p}, "admitAnswer")
    if "failedNodeNames" in choice:
        if admission["failedNodeNames"] or filter_names(p, NAMES) != NAMES:
            fail("not every node passes", p)
        return None
    chosen = choice["nodeNames"]
    limit = DRAWN.randint(1, len(NAMES))
    first = ask("/v1/choose", {"pod": p, "limit": limit, "nodeNames": NAMES}, "chooseAnswer")["nodeNames"]
    if first != chosen[:limit]:
        fail("of", chosen, "the first", limit, "are", first)
    left = list(NAMES)
    for i, name in enumerate(chosen):
        passing = filter_names(p, left)
        # Kubelets assign no NUMA nodes to a pod without whole CPUs: /filter passes every node that admits the pod.
        if passing != [name] and not (cpus(p) == "500m" and sorted(passing) == sorted(chosen[i:])):
            fail("/filter of", left, "passes", passing, "and not", name)
        left.remove(name)
    if left and filter_names(p, left):
        fail("/filter of", left, "passes", filter_names(p, left))
    admitted = admission.get("nodeNames")
    if admitted is None:
        admitted = [name for name in NAMES if name not in admission["failedNodeNames"]]
    if sorted(admitted) != sorted(chosen):
        fail("/v1/admit:", admitted, "/v1/choose:", chosen)
    if bool(chosen) == bool(choice["reasons"]) or bool(chosen) == bool(admission["reasons"]):
        fail("reasons", choice["reasons"], admission["reasons"], "of", chosen)
    # /prioritize counts the pod where the last request has assumed it.
    ask("/v1/forget", {"pod": p}, "forgetAnswer")
    scores = {s["Host"]: s["Score"] for s in post("/prioritize", {"Pod": p, "NodeNames": NAMES})[1]}
    if any(scores[a] < scores[b] for a, b in zip(chosen, chosen[1:])):
        fail("scores of", chosen, "are", scores)
    return chosen


def main():
    assumed, n_chosen, n_full, n_any = [], 0, 0, 0
    for i in range(60):
        p = pod(f"u{i}", DRAWN.choice(["1", "2", "3", "5", "7", "9", "500m"]), DRAWN.randint(1, 4),
                DRAWN.choice(["limits"] * 9 + ["requests"]))
        chosen = compare(p)
        if chosen is None:
            n_any += 1
            continue
        answer = ask("/v1/choose", {"pod": p, "assume": True}, "chooseAnswer")
        if answer["nodeNames"][:1] != chosen[:1] or answer["assumed"] != bool(chosen):
            fail("assumed", answer, "of", chosen)
        n_chosen += bool(chosen)
        n_full += not chosen
        if chosen and cpus(p) != "500m":
            assumed.append((p, chosen[0]))
        if assumed and DRAWN.random() < 0.2:
            p, node = assumed.pop(DRAWN.randrange(len(assumed)))
            ask("/v1/forget", {"pod": p}, "forgetAnswer")
            again = pod("again", cpus(p), 1)
            answer = ask("/v1/choose", {"pod": again, "nodeNames": [node]}, "chooseAnswer")
            if answer["nodeNames"] != [node]:
                fail("what", p, "held of", node, "is not free again:", answer)
    if not (n_chosen and n_full and n_any):
        fail("too few kinds of pods:", n_chosen, n_full, n_any)
    ask("/v1/choose", {"pod": pod("u", "1", 1), "k": 3}, status=400)
    ask("/v1/choose", {"pod": pod("u", "1", 1), "limit": 0}, status=400)
    ask("/v1/admit", {"pod": pod("", "1", 1)}, status=400)
    ask("/v1/admit", {"pod": pod("u", "1", 1), "assume": True}, status=400)
    ask("/v1/forget", [], status=400)
    sys.exit(failed)


main()
