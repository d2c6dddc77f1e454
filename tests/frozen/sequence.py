# SPDX-License-Identifier: Apache-2.0
"""Plays a sequence of events and scheduler requests for two nrtd-extenders, and compares their answers.

Both watch the same stand-in for the API server. Their clocks stand still (clock.c) until this program sets them. After an event it waits
until the metrics of both show that they have processed the event, so each request meets the same cache in both.
"""
import collections
import copy
import http.client
import json
import mmap
import os
import re
import shutil
import socket
import struct
import subprocess
import time

import api
import cluster

WATCHED = {"nrts": "noderesourcetopologies", "nodes": "nodes", "pods": "pods", "budgets": "poddisruptionbudgets"}
LIMIT_S = 60  # for everything that this program waits for


class Extender:
    """A running nrtd-extender."""

    def __init__(self, program, folder, name, flags, url, clock, env):
        self.name, self.folder = name, folder
        self.log_path = os.path.join(folder, name + ".log")
        clock_path = os.path.join(folder, name + ".clock")
        with open(clock_path, "wb") as file:
            file.write(struct.pack("=qqQ", cluster.NOW * 1000, 0, 0))
        with open(clock_path, "r+b") as file:
            self.clock = mmap.mmap(file.fileno(), 24)
        env = dict(env, LD_PRELOAD=clock, FROZEN_CLOCK=clock_path)
        for _ in range(20):
            with socket.socket() as s:
                s.bind(("127.0.0.1", 0))
                self.port = s.getsockname()[1]
            with open(self.log_path, "wb") as log:
                self.process = subprocess.Popen(["nrtd-extender", "--api-server", url, "--http", f"127.0.0.1:{self.port}", *flags], executable=program, env=env, cwd=folder,
                                                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            if self.listens():
                break
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)

    def listens(self):
        """Waits until the extender accepts connections; False if it has ended, because another program has the port."""
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end and self.process.poll() is None:
            if "listening on" in cluster.read(self.log_path):
                return True
            time.sleep(0.005)
        return False

    def request(self, method, path, body=None):
        try:
            self.connection.request(method, path, body)
            response = self.connection.getresponse()
            return {"status": str(response.status), "output": response.read().decode(errors="replace")}
        except (OSError, http.client.HTTPException) as error:
            self.connection.close()
            return {"status": "none", "output": f"no answer: {error!r}, exit status {self.process.poll()}"}

    def metrics(self):
        return self.request("GET", "/metrics")["output"]

    def seen(self):
        """How many events and lists of each kind the extender has processed."""
        return {(kind, what): int(n) for kind, what, n in re.findall(r'nrtd_extender_watch_total\{kind="([a-z]+)",what="([a-z]+)"\} ([0-9]+)', self.metrics())}

    def wait_for(self, wanted):
        end = time.monotonic() + LIMIT_S
        while True:
            seen = self.seen()
            if all(seen.get(key, 0) >= n for key, n in wanted.items()):
                return
            if time.monotonic() > end:
                raise RuntimeError(f"{self.name} has not processed all events: {wanted} are wanted, {seen} are seen")
            time.sleep(0.0005)

    def set_clock(self, passed_ms):
        self.clock[8:16] = struct.pack("=q", passed_ms)
        self.wait_for_ticks()

    def wait_for_ticks(self):
        """Waits until the main loop has run with the present time and has found what has expired."""
        end, begun = time.monotonic() + LIMIT_S, struct.unpack("=Q", self.clock[16:24])[0]
        while struct.unpack("=Q", self.clock[16:24])[0] < begun + 2:
            if time.monotonic() > end:
                raise RuntimeError(f"{self.name}: the main loop does not run")
            time.sleep(0.0005)

    def stop(self):
        self.connection.close()
        self.process.terminate()
        try:
            return str(self.process.wait(timeout=LIMIT_S))
        except subprocess.TimeoutExpired:
            self.process.kill()
            return "killed"

    def log(self):
        """The lines of the log in a fixed order: four threads write them."""
        return "\n".join(sorted(cluster.read(self.log_path).replace(str(self.port), "PORT").splitlines()))


def comparable_metrics(text):
    """The extender's metrics. Of those about the process only the names, HELP and TYPE lines: their values are not the program's."""
    return "\n".join(line if line.startswith(("#", "nrtd_extender_")) else re.sub(r" [^ ]*$", "", line) for line in text.splitlines())


class Play:
    """One sequence."""

    def __init__(self, options, answers, r, machines, scratch, folder):
        self.options, self.answers, self.r, self.folder = options, answers, r, folder
        self.drawn = cluster.Cluster(r, machines, options.base, scratch, most=r.choice([2, 4, 6]))
        self.store = api.Store(self.drawn.objects)
        self.server = api.Server(self.store)
        self.events = collections.Counter()
        self.store.waiting = set(WATCHED)
        self.lists = collections.Counter()
        self.passed_ms, self.steps = 0, 0
        self.assumed = []  # pods that a filter request has passed on one node, with the node
        self.journal = open(os.path.join(folder, "journal"), "w", encoding="utf-8")
        self.flags = self.draw_flags()
        env = {name: value for name, value in os.environ.items() if name in ("PATH", "GCOV_PREFIX", "GCOV_PREFIX_STRIP")}
        env.update(LC_ALL="C", HOME="/nonexistent")
        self.extenders = [Extender(os.path.join(build, "nrtd-extender"), folder, name, self.flags, self.server.url, options.clock, env)
                          for name, build in (("base", os.path.join(options.base, "build")), ("now", options.build))]

    def draw_flags(self):
        r, flags = self.r, ["-v"]
        if r.random() < 0.3:
            flags += ["--answer", "all"]
        if r.random() < 0.4:
            flags += ["--strategy", r.choice(["MostAllocated", "LeastAllocated", "BalancedAllocation", "Volcano"])]
        if r.random() < 0.3:
            flags += ["--unknown", "fail"]
        if r.random() < 0.3:
            flags += ["--assume-timeout", "5s"]
        if r.random() < 0.1:
            flags += ["--max-kubelet-time", r.choice(["1ms", "0"])]
        if r.random() < 0.2:
            flags += ["--stale", "open"]
        return flags

    # ---- events

    def note(self, text):
        self.journal.write(text + "\n")
        self.journal.flush()

    def settle(self):
        wanted = {(WATCHED[kind], "event"): self.events[kind] for kind in WATCHED}
        wanted.update({(WATCHED[kind], "bookmark"): self.events[kind, "bookmark"] for kind in WATCHED})
        wanted.update({(WATCHED[kind], "list"): n for kind, n in self.lists.items()})
        for extender in self.extenders:
            extender.wait_for(wanted)

    def apply(self, kind, item):
        """An event; every kind is watched by a thread of its own, so the next event waits for this one."""
        self.note(f"apply {kind} {json.dumps(item)}")
        applied = self.store.apply(kind, item)
        self.events[kind] += 1
        self.settle()
        return applied

    def delete(self, kind, key):
        if key in self.store.objects[kind]:
            self.note(f"delete {kind} {key}")
            self.store.delete(kind, key)
            self.events[kind] += 1
            self.settle()

    def expire(self, kind):
        self.note(f"expire {kind}")
        self.store.expire(kind)
        self.lists[kind] += 1
        self.settle()
        self.bookmark(kind)  # else a further end of the watch is a failure, after which the extender waits

    def bookmark(self, kind):
        self.store.bookmark(kind)
        self.events[kind, "bookmark"] += 1
        self.settle()

    def advance(self, ms):
        self.note(f"advance {ms} ms")
        self.passed_ms += ms
        for extender in self.extenders:
            extender.set_clock(self.passed_ms)

    def items(self, kind):
        return [copy.deepcopy(self.store.objects[kind][key]) for key in sorted(self.store.objects[kind])]

    def pods(self, *, bound=None, phase=None):
        return [pod for pod in self.items("pods") if (bound is None or bool(pod["spec"].get("nodeName")) == bound) and (phase is None or pod["status"].get("phase") in phase)]

    def publish(self, name):
        """The node's agent writes its object."""
        nrt = self.drawn.kubelets[name].dump(self.options.base, self.drawn.scratch)
        nrt["metadata"]["managedFields"][0]["time"] = cluster.timestamp(self.passed_ms // 1000)
        n = self.r.random()
        old = next((item for item in self.items("nrts") if item["metadata"]["name"] == name), None)
        was_foreign = old and not any(a["name"].startswith("nrtd.dev/") for a in old.get("attributes", []))
        if was_foreign or n < 0.05:
            nrt = cluster.foreign(nrt, self.r)
            nrt["metadata"]["managedFields"][0]["time"] = cluster.timestamp(self.passed_ms // 1000)
            nrt["apiVersion"] = "topology.node.k8s.io/v1alpha2"
        elif n < 0.08:
            nrt = cluster.damage(nrt, self.r)
        self.apply("nrts", nrt)

    def admit(self, pod):
        """The kubelet admits a bound pod, or rejects it; then its node's object may change."""
        name = pod["spec"]["nodeName"]
        kubelet = self.drawn.kubelets.get(name)
        if not kubelet:
            return
        containers = [{"name": c["name"], "amounts": {resource: self.parse(q) for resource, q in c["resources"].get("limits", {}).items()}} for c in pod["spec"]["containers"]]
        metadata = pod["metadata"]
        guaranteed = all("limits" in c["resources"] for c in pod["spec"]["containers"]) and "resources" not in pod["spec"]
        first = self.r.random() < 0.5
        if guaranteed and metadata["uid"] not in kubelet.held and not kubelet.hold(metadata["uid"], metadata["namespace"], metadata["name"], containers):
            cluster.reject(pod, name, self.r)
            self.apply("pods", pod)
            return
        if first and guaranteed:
            self.publish(name)
        cluster.run_pod(pod, name, self.r)
        pod["status"]["startTime"] = cluster.timestamp(self.passed_ms // 1000)
        self.apply("pods", pod)
        if not first and guaranteed and self.r.random() < 0.7:
            self.publish(name)

    @staticmethod
    def parse(quantity):
        for suffix, factor in (("Ki", 1 << 10), ("Mi", 1 << 20), ("Gi", 1 << 30), ("m", 0.001)):
            if quantity.endswith(suffix):
                return float(quantity[: -len(suffix)]) * factor if suffix == "m" else int(quantity[: -len(suffix)]) * factor
        return int(quantity)

    def end_pod(self):
        running = self.pods(bound=True, phase=("Running", "Pending"))
        if not running:
            return
        pod = self.r.choice(running)
        name, key, uid = pod["spec"]["nodeName"], api.key_of(pod), pod["metadata"]["uid"]
        n = self.r.random()
        if n < 0.4:
            pod["metadata"]["deletionTimestamp"] = cluster.timestamp(self.passed_ms // 1000 + 30)
            pod["metadata"]["deletionGracePeriodSeconds"] = 30
            self.apply("pods", pod)
            if self.r.random() < 0.3:
                return
        elif n < 0.6:
            pod["status"]["phase"] = self.r.choice(["Succeeded", "Failed"])
            self.apply("pods", pod)
        kubelet = self.drawn.kubelets.get(name)
        held = kubelet and uid in kubelet.held
        if held:
            kubelet.end(uid)
        if held and self.r.random() < 0.4:
            self.publish(name)
            held = False
        if n < 0.4 or n >= 0.6 or self.r.random() < 0.5:
            self.delete("pods", key)
        if held and self.r.random() < 0.6:
            self.publish(name)

    def change_node(self):
        r, nodes = self.r, self.items("nodes")
        if not nodes:
            return
        node = r.choice(nodes)
        metadata, spec = node["metadata"], node["spec"]
        n = r.random()
        if n < 0.45:
            if r.random() < 0.35 and metadata.get("annotations"):
                metadata["annotations"].pop(r.choice(sorted(metadata["annotations"])))
            else:
                key, value = self.drawn.draw_reservation(self.drawn.kubelets[metadata["name"]])
                metadata.setdefault("annotations", {})[key] = value
        elif n < 0.6:
            spec["unschedulable"] = not spec.get("unschedulable", False)
        elif n < 0.75:
            node["status"]["allocatable"]["cpu"] = str(r.randint(1, 32))
        elif n < 0.85:
            self.delete("nodes", api.key_of(node))
            if r.random() < 0.5:
                return
        else:
            node["status"]["allocatable"]["pods"] = str(r.randint(1, 110))
        self.apply("nodes", node)

    def change_budget(self):
        budgets = self.items("budgets")
        if budgets and self.r.random() < 0.3:
            self.delete("budgets", api.key_of(self.r.choice(budgets)))
        else:
            self.apply("budgets", self.drawn.draw_budget(self.r.choice(["web", "db", "batch", "train"])))

    def change_object(self):
        r, nrts = self.r, self.items("nrts")
        if not nrts:
            return
        nrt = r.choice(nrts)
        if r.random() < 0.3:
            self.delete("nrts", api.key_of(nrt))
        elif nrt["metadata"]["name"] in self.drawn.kubelets:
            self.publish(nrt["metadata"]["name"])

    def resize(self):
        running = self.pods(bound=True, phase=("Running",))
        if running:
            pod = self.r.choice(running)
            cluster.resize(pod, self.r)
            self.apply("pods", pod)

    # ---- requests

    def ask(self, method, path, body=None):
        self.steps += 1
        text = body if body is None or isinstance(body, str) else json.dumps(body)
        self.note(f"{method} {path} {text}")
        both = [extender.request(method, path, text) for extender in self.extenders]
        if path == "/metrics":
            for answer in both:
                answer["output"] = comparable_metrics(answer["output"])
        question = f"nrtd-extender {' '.join(self.flags)}; request {self.steps} of the file journal: {method} {path}; FROZEN='-seed {self.options.seed} -only {self.answers.name}' make frozen"
        self.answers.compare(question, both[0], both[1], self.folder)
        if both[0]["status"] == both[1]["status"] == "none":
            raise RuntimeError(f"both extenders do not answer: {both[0]['output']}")
        return both[0]

    def names(self):
        names = sorted(self.drawn.kubelets)
        if self.r.random() < 0.3:
            names = self.r.sample(names, self.r.randint(1, len(names)))
        if self.r.random() < 0.05:
            names.append("unknown-node")
        return names

    def scheduler_args(self, pod, names):
        if self.r.random() < 0.3:
            known = {node["metadata"]["name"]: node for node in self.items("nodes")}
            return {"Pod": pod, "Nodes": {"items": [known.get(name, {"metadata": {"name": name}}) for name in names]}, "NodeNames": None}
        return {"Pod": pod, "Nodes": None, "NodeNames": names}

    def filter(self, pod, names=None):
        answer = self.ask("POST", "/filter", self.scheduler_args(pod, names or self.names()))
        if answer["status"] != "200":
            return
        value = json.loads(answer["output"])
        passing = value["NodeNames"] if value.get("NodeNames") is not None else [node["metadata"]["name"] for node in (value.get("Nodes") or {}).get("items", [])]
        if self.r.random() < 0.3:
            self.ask("POST", "/prioritize", self.scheduler_args(pod, passing or self.names()))
        if passing:
            self.assumed.append((pod, self.r.choice(passing)))
        elif self.r.random() < 0.6:
            self.preempt(pod)

    def schedule(self):
        waiting = self.pods(bound=False, phase=("Pending",))
        if not waiting or self.r.random() < 0.4:
            pod = self.drawn.draw_pending()
            waiting = [self.apply("pods", pod)]
        pod = self.r.choice(waiting)
        group = pod["spec"].get("schedulingGroup")
        if not group:
            self.filter(pod)
            return
        gang = [other for other in self.pods(bound=False) if other["spec"].get("schedulingGroup") == group and other["metadata"]["namespace"] == pod["metadata"]["namespace"]]
        while len(gang) < 3 and self.r.random() < 0.7:
            other = self.drawn.draw_pending()
            other["spec"]["schedulingGroup"] = group
            other["metadata"]["namespace"] = pod["metadata"]["namespace"]
            gang.append(self.apply("pods", other))
        for _ in range(self.r.randint(1, 3)):  # placements
            names = self.names()
            for member in gang:
                self.filter(member, names)

    def bind(self):
        while self.assumed and self.r.random() < 0.8:
            pod, name = self.assumed.pop(self.r.randrange(len(self.assumed)))
            now = self.store.objects["pods"].get(api.key_of(pod))
            if not now or now["spec"].get("nodeName"):
                continue
            now = copy.deepcopy(now)
            now["spec"]["nodeName"] = name
            now["status"] = {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}]}
            bound = self.apply("pods", now)
            if self.r.random() < 0.6:
                self.admit(copy.deepcopy(bound))

    def start_bound(self):
        starting = [pod for pod in self.pods(bound=True, phase=("Pending",)) if "startTime" not in pod["status"]]
        if starting:
            self.admit(self.r.choice(starting))

    def preempt(self, pod=None):
        r = self.r
        if pod is None:
            waiting = self.pods(bound=False, phase=("Pending",))
            if not waiting:
                return
            pod = r.choice(waiting)
        if r.random() < 0.6:
            pod = copy.deepcopy(pod)
            pod["spec"]["priority"] = r.choice([1000, 2000000000])
            pod = self.apply("pods", pod)
        priority = pod["spec"].get("priority", 0)
        meta = r.random() < 0.6
        nodes = {}
        for name in self.names():
            lower = [p for p in self.pods(bound=True, phase=("Running", "Pending")) if p["spec"]["nodeName"] == name and p["spec"].get("priority", 0) < priority]
            victims = r.sample(lower, r.randint(0, min(3, len(lower))))
            nodes[name] = {"Pods": [{"UID": v["metadata"]["uid"]} if meta else v for v in victims], "NumPDBViolations": r.choice([0, 0, 1])}
        answer = self.ask("POST", "/preempt", {"Pod": pod, "NodeNameToMetaVictims" if meta else "NodeNameToVictims": nodes})
        if answer["status"] != "200" or r.random() < 0.3:
            return
        chosen = json.loads(answer["output"]).get("NodeNameToMetaVictims") or {}
        if not chosen:
            return
        name = r.choice(sorted(chosen))
        pod = copy.deepcopy(self.store.objects["pods"].get(api.key_of(pod), pod))
        pod["status"]["nominatedNodeName"] = name
        pod = self.apply("pods", pod)
        uids = {victim["UID"] for victim in chosen[name]["Pods"]}
        for victim in self.pods(bound=True):
            if victim["metadata"]["uid"] in uids:
                victim["metadata"]["deletionTimestamp"] = cluster.timestamp(self.passed_ms // 1000 + 30)
                self.apply("pods", victim)
                if r.random() < 0.7:
                    kubelet = self.drawn.kubelets.get(name)
                    if kubelet:
                        kubelet.end(victim["metadata"]["uid"])
                    self.delete("pods", api.key_of(victim))
        if r.random() < 0.7:
            self.filter(pod, [name] if r.random() < 0.5 else None)

    def ask_nonsense(self):
        pod = self.drawn.draw_pending()
        body = self.r.choice(["nonsense", "{}", "[]", '{"Pod":{}}', '{"Pod":null,"NodeNames":[]}', '{"Pod":{"metadata":{"name":"p"}},"NodeNames":7}', '{"Pod":{"spec":{"containers":[{"resources":{"limits":{"cpu":"x"}}}]}},"NodeNames":["a"]}',
                              json.dumps({"Pod": pod, "NodeNames": [""]}), json.dumps({"Pod": pod, "Nodes": {"items": [{}]}}), json.dumps({"Pod": pod, "NodeNameToMetaVictims": {"node-0": {"Pods": [{}]}}}),
                              json.dumps({"pod": pod, "nodenames": ["node-0"]}), json.dumps({"Pod": pod, "NodeNameToMetaVictims": []}), '{"Pod":'])
        self.ask("POST", self.r.choice(["/filter", "/prioritize", "/preempt", "/bind"]), body)

    # ---- the sequence

    def begin(self):
        # One list after the other: what a list changes depends on the lists before.
        for kind in self.r.sample(sorted(WATCHED), len(WATCHED)):
            self.note(f"list {kind}")
            self.store.open(kind)
            self.lists[kind] = 1
            self.settle()
        for extender in self.extenders:
            extender.wait_for_ticks()
        self.ask("GET", "/readyz")
        self.ask("POST", "/filter", {"Pod": self.drawn.draw_pending(), "NodeNames": sorted(self.drawn.kubelets)})
        self.advance(1001)
        self.ask("GET", "/readyz")
        self.ask("GET", "/healthz")
        self.ask("GET", "/")

    def step(self):
        r = self.r
        action = r.choices([self.schedule, self.bind, self.start_bound, self.end_pod, self.change_node, self.change_budget, self.change_object, self.resize, self.preempt, self.ask_nonsense],
                           [34, 14, 8, 10, 7, 3, 4, 2, 8, 2])[0]
        action()
        n = r.random()
        if n < 0.3:
            self.advance(r.choice([10, 200, 1600, 2100, 6000]))
        elif n < 0.32:
            self.advance(r.choice([31000, 61000]))
        elif n < 0.33:
            self.advance(121000)
            self.ask("GET", "/readyz")
            self.schedule()
            for kind in WATCHED:
                self.bookmark(kind)
        elif n < 0.35:
            self.expire(r.choice(list(WATCHED)))

    def play(self):
        self.begin()
        for _ in range(self.r.randint(15, 40)):
            self.step()
        self.ask("GET", "/metrics")
        self.ask("GET", "/readyz")

    def finish(self):
        ended = [{"status": extender.stop()} for extender in self.extenders]
        for extender, answer in zip(self.extenders, ended):
            answer["log"] = extender.log()
        self.answers.compare(f"the logs and exit statuses of nrtd-extender {' '.join(self.flags)}", ended[0], ended[1], self.folder)

    def stop(self):
        for extender in self.extenders:
            if extender.process.poll() is None:
                extender.stop()
        self.server.stop()
        self.journal.close()


def play(options, answers, r, machines, scratch, folder):
    sequence = Play(options, answers, r, machines, scratch, folder)
    try:
        sequence.play()
        sequence.finish()
    except Exception:
        shutil.copytree(folder, os.path.join(options.work, "failures", answers.name), dirs_exist_ok=True)
        raise
    finally:
        sequence.stop()
