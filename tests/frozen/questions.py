# SPDX-License-Identifier: Apache-2.0
"""The questions of the commands: lists of a program and its arguments. They name files below the folder in which the programs run."""
import copy
import json
import os
import re

import cluster

TABLES = ["text", "wide", "json", "yaml"]
BAD_VALUES = ["", "?", "-1", "1e99"]


def nodes_and_pods(objects):
    nodes = sorted({item["metadata"]["name"] for kind in ("nrts", "nodes") for item in objects.get(kind, [])})
    return nodes, [item for item in objects.get("pods", []) if "name" in item["metadata"]]


def write_wanted(r, folder, drawer, kubelets):
    """Writes files of pods and workloads; returns their names."""
    names = []
    for i in range(4):
        pod, _ = drawer.pod(r.choice(kubelets))
        pod["metadata"] = {"name": f"wanted-{i}", "labels": pod["metadata"]["labels"]}
        if r.random() < 0.3:
            pod["metadata"]["namespace"] = "team"
        template = {"metadata": {"labels": pod["metadata"]["labels"]}, "spec": pod["spec"]}
        n = r.randint(1, 5)
        item = r.choice([
            pod, pod, pod,
            {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": pod["metadata"], "spec": {"replicas": n, "template": template}},
            {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": pod["metadata"], "spec": {"replicas": n, "template": template, "volumeClaimTemplates": [{}]}},
            {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": pod["metadata"], "spec": {"template": template}},
            {"apiVersion": "batch/v1", "kind": "Job", "metadata": pod["metadata"], "spec": {"parallelism": n, "completions": 2, "template": template}},
            {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": pod["metadata"], "spec": {"jobTemplate": {"spec": {"parallelism": n, "template": template}}}},
            {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": pod["metadata"], "spec": {"tasks": [
                {"name": "ps", "replicas": 1, "topologyPolicy": "restricted", "template": template}, {"name": "worker", "replicas": n, "template": template}]}},
        ])
        names.append(f"wanted-{i}.json")
        with open(os.path.join(folder, names[-1]), "w", encoding="utf-8") as file:
            json.dump(item, file)
    return names


def request(r, files):
    """Flags that describe a pod."""
    if files and r.random() < 0.7:
        name = r.choice(files)
        return ["-f", name] + (["--pod", "worker"] if r.random() < 0.1 else [])
    flags = ["--cpus", str(r.choice([1, 2, 4, 7, 8, 16, 33]))]
    if r.random() < 0.6:
        flags += ["--memory", r.choice(["1Gi", "64Mi", "900Gi", "100Gi"])]
    if r.random() < 0.15:
        flags += r.choice([["--hugepages-2Mi", "4"], ["--hugepages-1Gi", "1Gi"]])
    if r.random() < 0.2:
        flags += ["--device", r.choice(["nvidia.com/gpu=1", "nvidia.com/gpu=2", "example.com/nic=1"])]
        if r.random() < 0.5:
            flags += ["--device", "vendor.com/fpga=1"]
    if r.random() < 0.05:
        flags += ["--resource", "ephemeral-storage=1Gi"]
    return flags


def some_flags(r, flags, part=0.25):
    return [word for flag in flags if r.random() < part for word in flag]


def about_cluster(r, objects, files, source):
    """Questions about one cluster, whose objects the flags `source` name."""
    nodes, pods = nodes_and_pods(objects)
    node = r.choice(nodes) if nodes else "none"
    other = r.choice(nodes) if nodes else "none"
    selected = [["-l", "pool=hpc"], ["-l", "pool in (hpc,batch),topology.kubernetes.io/zone!=b"], ["-l", "!pool"]]
    plain = [["--no-headers"]]
    questions = []

    def ask(*words, columns=None):
        question = {"program": "kubectl-numa", "args": [words[0], *source, *words[1:]]}
        if columns:
            question["columns" if r.random() < 0.4 else "terminal"] = columns
        questions.append(question)

    def width():
        return r.choice([None, None, 40, 100, 200])

    for output in TABLES + ["html", "name"]:
        ask("top", "-o", output, *some_flags(r, plain + [["--sort-by", r.choice("node status label policy scope numa free 1-numa 2-numa stranded age exporter devices allocatable basis".split())],
            ["-L", "pool"], ["--color", "always"], ["--width", r.choice(["60", "130"])], request(r, files), ["--objects-only"], [node], ["--pool-label", "zone"]] + selected[:1]), columns=width())
    ask("top", *r.choice(selected), "--sort-by", "free", "-L", "pool")
    ask("top", "node/" + node, "--color", "always")
    for output in TABLES + ["name"]:
        ask("fit", "-o", output, *request(r, files), *some_flags(r, plain + [["--replicas", r.choice(["1", "3", "40"])], ["--what-frees"], ["--what-frees", "--below-priority", "1000"],
            ["--policy", r.choice(["none", "best-effort", "restricted", "single-numa-node"])], ["--scope", "pod"], ["--option", "full-pcpus-only=true"], ["--objects-only"], ["-n", "team"]] + selected), columns=width())
    for _ in range(3):
        ask("fit", node, "-o", r.choice(["text", "text", "json", "yaml"]), *request(r, files), *some_flags(r, [["--what-frees"], ["--policy", "restricted"], ["--replicas", "2"], ["--without-pod", "default/x"],
            ["--without-pod", "/".join((pods[0]["metadata"]["namespace"], pods[0]["metadata"]["name"])) if pods else "a/b"]], 0.4))
    for output in TABLES + ["name"]:
        ask("score", "-o", output, *request(r, files), *some_flags(r, plain + [["--strategy", r.choice(["MostAllocated", "LeastAllocated", "BalancedAllocation", "Volcano"])], ["--weight", "cpu=3"],
            ["--volcano-weight", "5"], ["--sort-by", r.choice(["name", "score"])], ["--objects-only"], [node]] + selected, 0.3), columns=width())
    for pod in r.sample(pods, min(len(pods), 8)):
        name, namespace = pod["metadata"]["name"], pod["metadata"].get("namespace", "default")
        ask("why", *r.choice([[name, "-n", namespace], [f"{namespace}/{name}"], ["pod/" + name, "-n", namespace], [f"{namespace}/{name}", "node/" + node]]), "-o", r.choice(TABLES + ["text", "text"]), columns=width())
    ask("why", "nobody")
    ask("why", pods[0]["metadata"]["name"] if pods else "x")
    for output in TABLES:
        ask("pods", "-o", output, *some_flags(r, plain + [["-A"], ["-n", "team"], ["--misaligned"], ["-l", "app=web,app!=db"], ["--node-selector", "pool=hpc"], [node]], 0.4), columns=width())
    ask("pods", "-A")
    for output in ["text", r.choice(["wide", "json", "yaml", "html"])]:
        ask("plan", "-o", output, "--pending", *some_flags(r, plain + [["--evict"], ["--allow-bare"], ["--allow-local-storage", "--allow-volumes"], ["--aligned"], ["--max-moves", r.choice(["1", "5"])],
            ["--below-priority", "8"], ["--keep", "kube-system"], ["--max-age", "1m"]] + selected[:1], 0.3), columns=width())
    for output in TABLES + ["html"]:
        ask("plan", "-o", output, *request(r, files), *some_flags(r, plain + [["--replicas", r.choice(["1", "2", "6"])], ["--evict"], ["--allow-bare", "--allow-volumes"], ["--aligned"], ["--max-moves", "3"],
            ["--below-priority", "1000"], ["--keep", "team"], ["--max-age", "0"]] + selected[:1], 0.3), columns=width())
    settings = [["--set", "topologyManagerPolicy=" + r.choice(["none", "best-effort", "restricted", "single-numa-node"])], ["--set", "reservedCPUs=" + r.choice(["2", "4", "0-3"])],
                ["--set", "full-pcpus-only=true"], ["--set", "cpuManagerPolicy=" + r.choice(["static", "none"])], ["--set", "topologyManagerScope=pod"], ["--set", "memoryManagerPolicy=Static"],
                ["--set", "strict-cpu-reservation=true"], ["--set", "distribute-cpus-across-numa=true"], ["--set", "prefer-closest-numa-nodes=true"]]
    for output in TABLES + ["html", "svg"]:
        ask("simulate", "-o", output, *r.choice(settings), *some_flags(r, plain + settings + [["--restart"], ["--without-node", other], ["--without-each"], ["--add", "2:2x2x8,64Gi"],
            ["--add", "1x2x4,16Gi", "--like", node], request(r, files)] + selected[:1], 0.2), columns=width())
    ask("simulate", "--restart", *r.choice(settings), "-o", r.choice(TABLES))
    ask("simulate", "--restart", *r.choice(settings), *r.choice(settings), *request(r, files))
    ask("simulate", "--without-node", node, "-o", r.choice(TABLES))
    ask("simulate", "--without-each", *r.choice(settings), "-o", r.choice(TABLES))
    ask("simulate", "--add", r.choice(["8:2x4x16,512Gi", "1x1x8,32Gi"]), *some_flags(r, [["--like", node]], 0.5), *request(r, files))
    for output in ["text", "svg", "json", "yaml"]:
        ask("show", node, "-o", output, *some_flags(r, [["--color", "always"], ["--width", r.choice(["40", "100", "240"])], ["--objects-only"]], 0.4), columns=width())
    ask("show", "node/" + other, columns=width())
    for output in TABLES:
        ask("config", "-o", output, *some_flags(r, plain + [["--different"], [node]] + selected[:1]), columns=width())
        ask("diff", node, other, "-o", output, *some_flags(r, plain), columns=width())
    for output in TABLES:
        ask("changes", r.choice(nodes) if nodes else "none", "-o", output, *some_flags(r, plain + [["--since", r.choice(["1m", "20m", "24h"])]]), columns=width())
    ask("config", "--different")
    ask("top", "nowhere")
    ask("show", "nowhere")
    return questions


def from_server(r, objects, files, kubeconfig):
    """Questions that the programs answer from the stand-in API server; plans that are applied are among them."""
    nodes, pods = nodes_and_pods(objects)
    source = ["--kubeconfig", kubeconfig]
    questions = [q for q in about_cluster(r, objects, files, source) if r.random() < 0.12]
    node = r.choice(nodes)
    for words in [["show", node], ["pods", "-A", node], ["changes", node], ["top", "-l", "pool=hpc"], ["why", pods[0]["metadata"]["name"], "-n", pods[0]["metadata"]["namespace"]] if pods else ["top"],
                  ["plan", "--pending", "--apply", "--allow-partial", "--timeout", "20s"] + r.choice([[], ["--extender-lease", "none"]]),
                  ["plan", "--apply", "--allow-bare", "--evict", "--hold", "5m", "--allow-partial", "--extender-lease", "none", *request(r, files)],
                  ["plan", "--apply", "--allow-volumes", "--allow-local-storage", "--allow-partial", "--extender-lease", "none", "--replicas", "2", *request(r, files)]]:
        questions.append({"program": "kubectl-numa", "args": [words[0], *source, *words[1:]]})
    return questions


def about_examples(r, files, pods):
    """Questions about objects of tests/fixtures or the demo."""
    questions = []
    for path, nodes in files:
        objects = {"nrts": [{"metadata": {"name": name}} for name in nodes], "pods": []}
        questions += about_cluster(r, objects, pods, ["--from", path])
    return questions


def about_flags(program, helps):
    """Wrong usage: each flag of each command with bad values, and without a value. `helps` has the help text of each command."""
    questions = []
    for command, text in helps.items():
        words = [command] if command else []
        end = ["unexpected", "words"] if command in ("run", "") else []  # so that no daemon starts
        if program == "nrtd" and command not in ("run", "completion"):
            end = ["--sysroot", "nowhere"]  # not the machine on which the comparison runs
        for flag, argument in re.findall(r"^\s+(?:-[a-zA-Z], )?(--[a-zA-Z0-9-]+)(?:[ =]\[?=?([^ ]+))?", text, re.M):
            if flag != "--watch":  # never ends
                questions.append({"program": program, "args": words + [flag, *end]})
            for value in BAD_VALUES if argument else ["x"]:
                questions.append({"program": program, "args": words + [f"{flag}={value}", *end]})
        questions.append({"program": program, "args": words + ["--no-such-flag"]})
        questions.append({"program": program, "args": words + ["a", "b", "c", *end]})
    return questions


def about_usage(program, commands):
    questions = [{"program": program, "args": words} for words in (["--help"], ["-h"], ["help"], ["--version"], ["version"], ["help", "nothing"], ["nothing"], ["-z"], ["completion", "bash"], ["completion", "zsh"],
                                                                   ["completion", "fish"], ["completion", "--shell", "tcsh"], ["completion", "csh"])]
    for command in commands:
        questions += [{"program": program, "args": words} for words in ([command, "--help"], ["help", command])]
        if program != "nrtd":
            questions.append({"program": program, "args": [command]})
    if program == "kubectl-numa":
        questions.append({"program": program, "args": []})
        for words in (["__complete", "top", "--s"], ["top", "--from", "none.json"], ["top", "--from", "."], ["fit", "--from", "-", "--cpus", "1"], ["top", "--from", ""], ["plan", "--from", "-"], ["score", "--from", "-", "-f", "-"],
                      ["top", "--kubeconfig", "none"], ["top", "--server", "http://127.0.0.1:1", "--kubeconfig", "/dev/null"]):
            questions.append({"program": program, "args": words, "stdin": ""})
    return questions


def configurations():
    """Kubelet configurations for `nrtd dump`, by name."""
    head = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
    static = dict(head, cpuManagerPolicy="static", reservedSystemCPUs="0")
    return {
        "none": head,
        "restricted": dict(static, topologyManagerPolicy="restricted"),
        "single": dict(static, topologyManagerPolicy="single-numa-node", topologyManagerScope="pod", cpuManagerPolicyOptions={"full-pcpus-only": "true"}),
        "memory": dict(static, topologyManagerPolicy="best-effort", memoryManagerPolicy="Static", kubeReserved={"memory": "1Gi", "cpu": "1"},
                       reservedMemory=[{"numaNode": 0, "limits": {"memory": "1124Mi"}}], topologyManagerPolicyOptions={"prefer-closest-numa-nodes": "true"}),
        "odd": dict(static, reservedSystemCPUs="0-1", topologyManagerPolicy="restricted", cpuManagerPolicyOptions={"distribute-cpus-across-numa": "true", "prefer-align-cpus-by-uncorecache": "true"},
                    featureGates={"AllAlpha": True, "CPUManagerPolicyBetaOptions": True}, topologyManagerPolicyOptions={"max-allowable-numa-nodes": "64"}),
    }


def about_machine(sysroot):
    """Questions of nrtd about a machine; its folder has the files of configurations() in etc/frozen."""
    questions = []

    def ask(*words):
        questions.append({"program": "nrtd", "args": [*words, "--sysroot", sysroot, "--node-name", "node-0"]})

    for name in configurations():
        config = ["--kubelet-config", f"/etc/frozen/{name}.json"]
        for release in ("v1.31.2", "v1.37.2"):
            ask("dump", *config, "--kubelet-version", release, "-o", "json")
        ask("dump", *config)
        ask("dump", *config, "--koordinator", "on", "--pcie-roots", "on")
        for what in ("machine", "inventory", "pods", "hints", "numatopology", "kai"):
            ask("dump", *config, "--what", what, *(["--labels", "--shape", "small=cpu=2,memory=1Gi"] if what == "hints" else []))
        for output in ("text", "json", "yaml"):
            ask("fit", *config, "--cpus", "4", "--memory", "2Gi", "--what-frees", "--assume-empty", "-o", output)
            ask("fit", *config, "--cpus", "2", "-o", output)
        ask("fit", *config, "--cpus", "64", "--memory", "1Ti", "--assume-empty")
        for output in ("text", "svg", "json", "yaml"):
            ask("show", *config, "-o", output)
        ask("show", *config, "--width", "60", "--color", "always")
        ask("check", *config, "-o", "json", "--pod-resources", "none", "--kubeconfig", "none")
    return questions


def wanted_of_examples():
    """Pods for questions about the examples."""
    return [copy.deepcopy({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"example-{cpus}"}, "spec": {"containers": [
        {"name": "c", "resources": {"limits": {"cpu": str(cpus), "memory": "1Gi"}}}]}}) for cpus in (1, 6, 20)]
