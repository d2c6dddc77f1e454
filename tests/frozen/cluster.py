# SPDX-License-Identifier: Apache-2.0
"""Draws clusters at random, as Kubernetes objects. The same seed draws the same objects.

The NodeResourceTopology objects are those that `nrtd dump` of the base prints about a machine of tests/fixtures, with a kubelet's
configuration, a CPU manager's state file and a pod-resources API (tests/scenario/pod_resources.c) that are drawn here.
"""
import copy
import datetime
import json
import os
import re
import shutil
import subprocess

NOW = 1790000000  # what the clocks of the programs show at the beginning, Unix time
NAMESPACES = ["default", "default", "team", "ml", "kube-system"]
GIB = 1 << 30
# PCI devices of the machine gpus, with the NUMA nodes that the kernel reports.
PCI_DEVICES = {
    "nvidia.com/gpu": [("GPU-3f2a9c51-0000-1111-2222-333344445555", 0), ("GPU-4a2a9c51-0000-1111-2222-333344445555", 0), ("0000:98:00.0", 1)],
    "example.com/nic": [("0000:18:00.0", 0), ("0000:99:00.2", 1), ("0000:99:00.3", 1), ("0000:99:00.4", 1)],
}
SMALL_MACHINES = ["seed-2s-32cpu", "ccx", "2s-snc4", "gpus", "hugepages", "interleaved", "asymmetric", "core-ids", "2s-smt2-split", "8-sockets", "one-node"]
ODD_MACHINES = ["16-nodes", "books", "cxl", "gpu-memory", "hidden-node", "holes", "memoryless", "no-distances", "offline", "offline-node", "overlapping", "row-missing", "without-numa"]


def timestamp(seconds):
    return datetime.datetime.fromtimestamp(NOW + seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_timestamp(seconds):
    return timestamp(seconds)[:-1] + ".000000Z"


def parse_cpus(text):
    cpus = []
    for part in text.strip("\n\0 ").split(","):
        if part:
            first, _, last = part.partition("-")
            cpus += range(int(first), int(last or first) + 1)
    return cpus


def print_cpus(cpus):
    return ",".join(str(cpu) for cpu in sorted(cpus))


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


class Machine:
    """A machine of build/fixtures/machines: the CPUs, memory and hugepages of its NUMA nodes."""

    def __init__(self, folder):
        self.folder = os.path.abspath(folder)
        self.name = os.path.basename(folder)
        system = os.path.join(folder, "sys/devices/system")
        self.nodes = {}
        names = os.listdir(os.path.join(system, "node")) if os.path.isdir(os.path.join(system, "node")) else []
        for name in sorted(names):
            if not re.fullmatch("node[0-9]+", name):
                continue
            node = os.path.join(system, "node", name)
            total = re.search(r"MemTotal:\s*([0-9]+)", read(os.path.join(node, "meminfo")))
            pools = {}
            for pool in sorted(os.listdir(os.path.join(node, "hugepages"))) if os.path.isdir(os.path.join(node, "hugepages")) else []:
                pools[int(re.search("([0-9]+)kB", pool)[1]) * 1024] = int(read(os.path.join(node, "hugepages", pool, "nr_hugepages")) or 0)
            self.nodes[int(name[4:])] = {"cpus": parse_cpus(read(os.path.join(node, "cpulist"))), "memory": int(total[1]) * 1024 if total else 0, "pools": pools}
        if not self.nodes:
            self.nodes[0] = {"cpus": parse_cpus(read(os.path.join(system, "cpu/online"))), "memory": 16 * GIB, "pools": {}}
        self.cpus = sorted({cpu for node in self.nodes.values() for cpu in node["cpus"]})


def hugepages_name(size):
    return "hugepages-" + (f"{size >> 30}Gi" if size >= GIB else f"{size >> 20}Mi" if size >= 1 << 20 else f"{size >> 10}Ki")


class Node:
    """A node: its machine, its kubelet's settings, and what is free. Pods are placed on it, and dump() makes its object."""

    def __init__(self, r, name, machine):
        self.r, self.name, self.machine = r, name, machine
        self.release = r.choice(["v1.30.4", "v1.32.1", "v1.33.5", "v1.34.2", "v1.35.4", "v1.36.1", "v1.37.2", "v1.37.2", "v1.37.2", "v1.38.0-beta.0"])
        self.policy = r.choice(["none", "best-effort", "restricted", "restricted", "single-numa-node", "single-numa-node"])
        self.scope = r.choice(["container", "container", "pod"])
        self.static = r.random() < 0.9
        self.memory_static = r.random() < 0.4 and machine.name not in ("without-numa", "memoryless", "hidden-node")
        self.options, self.topology_options = {}, {}
        if self.static:
            for option, part in [("full-pcpus-only", 0.3), ("strict-cpu-reservation", 0.15), ("distribute-cpus-across-cores", 0.05), ("align-by-socket", 0.05), ("prefer-align-cpus-by-uncorecache", 0.1), ("distribute-cpus-across-numa", 0.05)]:
                if r.random() < part and not (option == "align-by-socket" and self.policy == "single-numa-node"):
                    self.options[option] = "true"
        if self.policy != "none" and r.random() < 0.15:
            self.topology_options["prefer-closest-numa-nodes"] = "true"
        if len(machine.nodes) > 8:
            self.topology_options["max-allowable-numa-nodes"] = str(max(16, len(machine.nodes)))
        self.reserved = machine.cpus[: r.choice([1, 1, 2])]
        self.free = [cpu for cpu in machine.cpus if cpu not in self.reserved]
        self.devices = self.draw_devices()
        self.free_devices = {resource: list(devices) for resource, devices in self.devices.items()}
        self.reserved_memory = {node: 0 for node in machine.nodes}
        self.free_memory, self.free_pages = {}, {}
        if self.memory_static:
            self.reserved_memory[next(node for node in machine.nodes if machine.nodes[node]["memory"])] = 1124 << 20
        for number, node in machine.nodes.items():
            hugepages = sum(size * n for size, n in node["pools"].items())
            self.free_memory[number] = node["memory"] - hugepages - self.reserved_memory[number]
            for size, n in node["pools"].items():
                self.free_pages[number, size] = n
        self.held = {}  # by UID: name, namespace, containers
        self.claims = 0

    def draw_devices(self):
        r = self.r
        if self.machine.name == "gpus":
            return copy.deepcopy(PCI_DEVICES)
        devices = {}
        for resource in ["example.com/nic", "nvidia.com/gpu", "vendor.com/fpga"]:
            if r.random() < 0.3:
                numbers = sorted(self.machine.nodes)
                devices[resource] = [(f"{resource.split('/')[1]}-{i}", None if r.random() < 0.03 else r.choice(numbers)) for i in range(r.randint(1, 8))]
        return devices

    def memory_of(self):
        return sum(node["memory"] for node in self.machine.nodes.values())

    def take_cpus(self, count, spread):
        """Takes free CPUs, of one NUMA node if there are enough and `spread` is false; None if there are too few."""
        free = set(self.free)
        places = [[cpu for cpu in node["cpus"] if cpu in free] for node in self.machine.nodes.values()]
        self.r.shuffle(places)
        pool = next((place for place in places if len(place) >= count and not spread), None)
        if pool is None:
            if not spread and self.policy in ("restricted", "single-numa-node") and self.r.random() < 0.8:
                return None
            pool = [cpu for i in range(max(map(len, places), default=0)) for place in places for cpu in place[i : i + 1]] if spread else self.free
        if len(pool) < count:
            return None
        taken = pool[:count]
        self.free = [cpu for cpu in self.free if cpu not in taken]
        return taken

    def nodes_of(self, cpus):
        return sorted({number for number, node in self.machine.nodes.items() for cpu in cpus if cpu in node["cpus"]})

    def hold(self, uid, namespace, name, containers):
        """Gives a Guaranteed pod what its containers request; False if this node has too little. Each container is a map of amounts."""
        given = []
        spread = self.policy in ("none", "best-effort") and self.r.random() < 0.3
        before = (list(self.free), copy.deepcopy(self.free_devices), dict(self.free_memory), dict(self.free_pages))
        for container in containers:
            amounts = container["amounts"]
            got = {"name": container["name"], "cpus": [], "memory": [], "devices": []}
            cpus = amounts.get("cpu", 0)
            if self.static and cpus >= 1 and cpus == int(cpus):
                got["cpus"] = self.take_cpus(int(cpus), spread)
            place = self.nodes_of(got["cpus"] or []) or [self.r.choice(sorted(self.machine.nodes))]
            for resource, amount in amounts.items():
                if resource in self.free_devices:
                    near = sorted(self.free_devices[resource], key=lambda device: device[1] not in place)
                    got["devices"] += [(resource, device) for device in near[:amount]]
                    self.free_devices[resource] = near[amount:]
                    if len(near) < amount:
                        got["cpus"] = None
                elif resource == "memory" and self.memory_static:
                    if self.free_memory.get(place[0], 0) < amount:
                        got["cpus"] = None
                    else:
                        self.free_memory[place[0]] -= amount
                        got["memory"].append((resource, amount, place[:1]))
                elif resource.startswith("hugepages-") and self.memory_static:
                    size = next((size for number, size in self.free_pages if hugepages_name(size) == resource), None)
                    if size is None or self.free_pages.get((place[0], size), 0) * size < amount:
                        got["cpus"] = None
                    else:
                        self.free_pages[place[0], size] -= amount // size
                        got["memory"].append((resource, amount, place[:1]))
                elif "/" in resource or resource.startswith("hugepages-") and not any(hugepages_name(s) == resource for _, s in self.free_pages):
                    got["cpus"] = None
            if got["cpus"] is None:
                self.free, self.free_devices, self.free_memory, self.free_pages = before
                return False
            given.append(got)
        self.held[uid] = {"name": name, "namespace": namespace, "containers": given}
        if self.r.random() < 0.04:
            self.claims += 1
            given[0]["claim"] = (f"claim-{self.claims}", f"device-{self.claims}")
        return True

    def end(self, uid):
        held = self.held.pop(uid, None)
        for container in held["containers"] if held else []:
            self.free = sorted(self.free + container["cpus"])
            for resource, device in container["devices"]:
                self.free_devices[resource].append(device)
            for resource, amount, place in container["memory"]:
                if resource == "memory":
                    self.free_memory[place[0]] += amount
                else:
                    size = next(size for _, size in self.free_pages if hugepages_name(size) == resource)
                    self.free_pages[place[0], size] += amount // size

    # ---- the object

    def configuration(self):
        config = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "cpuManagerPolicy": "static" if self.static else "none",
                  "cpuManagerPolicyOptions": self.options, "topologyManagerPolicy": self.policy, "topologyManagerScope": self.scope,
                  "topologyManagerPolicyOptions": self.topology_options, "reservedSystemCPUs": print_cpus(self.reserved), "kubeReserved": {"memory": "1Gi"}}
        gates = {}
        if any(option.startswith(("distribute", "align")) for option in self.options):
            gates["CPUManagerPolicyAlphaOptions"] = True
        if self.memory_static:
            config["memoryManagerPolicy"] = "Static"
            config["reservedMemory"] = [{"numaNode": node, "limits": {"memory": str(amount)}} for node, amount in self.reserved_memory.items() if amount]
        if gates:
            config["featureGates"] = gates
        return json.dumps(config)

    def pod_resources(self):
        """The responses of the pod-resources API, as tests/lib/wire.h has them."""
        def place(numbers):
            return "3{" + " ".join("1{" + (f"1:{number}" if number else "") + "}" for number in numbers) + "}"

        def device(resource, item):
            return f"{{1'{resource}' 2'{item[0]}' {place([item[1]]) if item[1] is not None else ''}}}"

        pods = []
        for pod in self.held.values():
            containers = []
            for c in pod["containers"]:
                fields = [f"1'{c['name']}'"] + [f"2{device(*d)}" for d in c["devices"]]
                if c["cpus"]:
                    fields.append("3[" + " ".join(map(str, sorted(c["cpus"]))) + "]")
                fields += [f"4{{1'{resource}' 2:{amount} {place(where)}}}" for resource, amount, where in c["memory"]]
                if "claim" in c:
                    fields.append(f"5{{2'{c['claim'][0]}' 3'{pod['namespace']}' 4{{2'gpu.example.com' 3'{self.name}' 4'{c['claim'][1]}'}}}}")
                containers.append("3{" + " ".join(fields) + "}")
            pods.append("1{" + f"1'{pod['name']}' 2'{pod['namespace']}' " + " ".join(containers) + "}")
        allocatable = [f"1{device(resource, item)}" for resource, items in sorted(self.devices.items()) for item in items]
        allocatable.append("2[" + " ".join(str(cpu) for cpu in self.machine.cpus if cpu not in self.reserved) + "]")
        for number, node in self.machine.nodes.items() if self.memory_static else []:
            hugepages = sum(size * n for size, n in node["pools"].items())
            if node["memory"]:
                allocatable.append(f"3{{1'memory' 2:{node['memory'] - hugepages - self.reserved_memory[number]} {place([number])}}}")
            allocatable += [f"3{{1'{hugepages_name(size)}' 2:{size * n} {place([number])}}}" for size, n in node["pools"].items() if n]
        return " ".join(pods), " ".join(allocatable)

    def dump(self, base, scratch, *flags):
        """The object that the base's nrtd prints. `base` and `scratch` are folders."""
        root = os.path.join(scratch, "machine-" + self.machine.name)
        kubelet = os.path.join(root, "var/lib/kubelet")
        if not os.path.isdir(root):  # nrtd follows no links out of the root
            shutil.copytree(self.machine.folder, root, copy_function=os.link)
        os.makedirs(kubelet, exist_ok=True)
        with open(os.path.join(kubelet, "config.yaml"), "w", encoding="utf-8") as file:
            file.write(self.configuration())
        held = {uid: {c["name"]: print_cpus(c["cpus"]) for c in pod["containers"] if c["cpus"]} for uid, pod in self.held.items()}
        shared = [cpu for cpu in self.machine.cpus if cpu in self.free or cpu in self.reserved and "strict-cpu-reservation" not in self.options]
        with open(os.path.join(kubelet, "cpu_manager_state"), "w", encoding="utf-8") as file:
            json.dump({"policyName": "static" if self.static else "none", "defaultCpuSet": print_cpus(shared) if self.static else "",
                       "entries": {uid: cpus for uid, cpus in held.items() if cpus}, "checksum": 0}, file)
        socket = os.path.join(scratch, "socket-" + self.name)
        if os.path.exists(socket):
            os.unlink(socket)
        with subprocess.Popen([os.path.join(base, "build/tests/scenario/pod_resources"), socket, *self.pod_resources()], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
            server.stdout.readline()
            dumped = subprocess.run([os.path.join(base, "build/nrtd"), "dump", "--sysroot", root, "--node-name", self.name, "--kubelet-config", "/var/lib/kubelet/config.yaml",
                                     "--kubelet-version", self.release, "--pod-resources", socket, "-o", "json", *flags],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, env={"PATH": os.environ["PATH"], "HWLOC_HIDE_ERRORS": "2", "LC_ALL": "C"})
            server.stdin.close()
        if dumped.returncode != 0:
            raise RuntimeError(f"nrtd dump about '{self.name}' failed: {dumped.stderr.decode()}")
        nrt = json.loads(dumped.stdout)
        nrt["metadata"]["managedFields"] = [{"manager": "nrtd", "operation": "Apply", "time": timestamp(-60), "fieldsV1": {"f:zones": {}}}]
        return nrt

    def node_object(self):
        r = self.r
        # nodes in one zone are not always of one pool
        labels = {"kubernetes.io/hostname": self.name, "pool": r.choice(["hpc", "hpc", "batch"]), "topology.kubernetes.io/zone": r.choice(["a", "b"])}
        if r.random() < 0.1:
            del labels["pool"]
        spec, taints = {}, []
        if r.random() < 0.06:
            spec["unschedulable"] = True
            taints.append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
        if r.random() < 0.12:
            taints.append({"key": "dedicated", "value": r.choice(["ml", "web"]), "effect": r.choice(["NoSchedule", "NoExecute", "PreferNoSchedule"])})
        ready = r.random() < 0.97
        if not ready:
            taints.append({"key": r.choice(["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]), "effect": "NoSchedule"})
        if taints:
            spec["taints"] = taints
        amounts = {"cpu": str(len(self.machine.cpus) - len(self.reserved)), "memory": f"{max(1, (self.memory_of() >> 10) - 1150976)}Ki", "pods": "8" if r.random() < 0.06 else "110",
                   "ephemeral-storage": "100Gi"}
        for size in sorted({size for node in self.machine.nodes.values() for size in node["pools"]}):
            amounts[hugepages_name(size)] = str(size * sum(node["pools"].get(size, 0) for node in self.machine.nodes.values()))
        for resource, devices in self.devices.items():
            amounts[resource] = str(len(devices))
        return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": self.name, "uid": "node-" + self.name, "labels": labels, "annotations": {}},
                "spec": spec, "status": {"nodeInfo": {"kubeletVersion": self.release}, "capacity": dict(amounts, cpu=str(len(self.machine.cpus))), "allocatable": amounts,
                                         "conditions": [{"type": "Ready", "status": "True" if ready else r.choice(["False", "Unknown"])}]}}


class Pods:
    """Draws Pods."""

    def __init__(self, r):
        self.r, self.count = r, 0

    def uid(self):
        self.count += 1
        return f"{self.count:08x}-0000-4000-8000-{self.r.getrandbits(48):012x}"

    def amounts(self, node):
        r = self.r
        per_node = max(1, max(len(n["cpus"]) for n in node.machine.nodes.values()))
        amounts = {"cpu": r.randint(1, max(1, per_node // 2)) if r.random() < 0.85 else r.randint(1, per_node + 2), "memory": r.randint(1, 16) << 26}
        if r.random() < 0.05:
            amounts["cpu"] += 0.5
        for resource in node.devices:
            if r.random() < 0.3:
                amounts[resource] = r.randint(1, 2)
        pools = [size for n in node.machine.nodes.values() for size in n["pools"]]
        if pools and r.random() < 0.15:
            size = r.choice(pools)
            amounts[hugepages_name(size)] = size * r.randint(1, 2)
        return amounts

    @staticmethod
    def quantities(amounts):
        return {name: (str(int(q)) if q == int(q) else f"{int(q * 1000)}m") if name == "cpu" else f"{q >> 20}Mi" if name == "memory" else str(q) for name, q in amounts.items()}

    def container(self, name, amounts, burstable=False):
        resources = {"limits": self.quantities(amounts)}
        if burstable:
            resources = {"requests": self.quantities({"cpu": amounts["cpu"], "memory": amounts["memory"]})}
        elif self.r.random() < 0.5:
            resources["requests"] = dict(resources["limits"])
        return {"name": name, "image": "example.com/app", "resources": resources}

    def pod(self, node, kind=None):
        """A Pod that suits the node's machine, without a node; and its containers' amounts if it is Guaranteed, else None."""
        r = self.r
        uid = self.uid()
        app = r.choice(["web", "db", "batch", "train"])
        name = f"{app}-{self.count}"
        kind = kind or r.choices(["guaranteed", "several", "burstable", "init", "pod-level"], [70, 10, 12, 5, 3])[0]
        containers = [{"name": "main", "amounts": self.amounts(node)}]
        if kind == "several":
            containers += [{"name": "side", "amounts": {"cpu": r.choice([1, 1, 2]), "memory": 1 << 28}}]
        spec = {"containers": [self.container(c["name"], c["amounts"], kind == "burstable") for c in containers]}
        if kind == "init":
            spec["initContainers"] = [self.container("setup", {"cpu": r.randint(1, 4), "memory": 1 << 28})]
            if r.random() < 0.5:
                spec["initContainers"][0]["restartPolicy"] = "Always"
                containers.append({"name": "setup", "amounts": {"cpu": 1, "memory": 1 << 28}})
        if kind == "pod-level":
            spec["resources"] = {"limits": self.quantities({"cpu": containers[0]["amounts"]["cpu"], "memory": containers[0]["amounts"]["memory"]})}
        if r.random() < 0.03:
            spec["overhead"] = {"cpu": "250m", "memory": "64Mi"}
        if r.random() < 0.4:
            spec["priority"] = r.choice([-5, 0, 7, 1000, 1000, 2000000000])
        if r.random() < 0.1:
            spec["schedulerName"] = "numa-scheduler"
        metadata = {"name": name, "namespace": r.choice(NAMESPACES), "uid": uid, "creationTimestamp": timestamp(-r.randint(60, 90000)), "labels": {"app": app}}
        self.own(metadata, app)
        self.constrain(metadata, spec)
        if r.random() < 0.12:
            spec["volumes"] = [r.choice([{"name": "v", "emptyDir": {}}, {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}, {"name": "v", "hostPath": {"path": "/d"}},
                                         {"name": "v", "configMap": {"name": "m"}}, {"name": "v", "ephemeral": {"volumeClaimTemplate": {}}}])]
        if r.random() < 0.04:
            spec["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": r.choice([80, 8080])}]
        if r.random() < 0.03:
            spec["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "claim-1"}]
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}
        return pod, None if kind == "burstable" else containers

    def own(self, metadata, app):
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": "owner-" + app, "controller": True}
        n = self.r.random()
        if n < 0.06:
            owner.update(kind="DaemonSet")
        elif n < 0.16:
            owner.update(kind="StatefulSet")
        elif n < 0.25:
            return
        elif n < 0.28:
            owner.update(kind="Job", apiVersion="batch/v1")
        metadata["ownerReferences"] = [owner]

    def constrain(self, metadata, spec):
        r = self.r
        app = metadata["labels"]["app"]
        same = {"matchLabels": {"app": app}}
        term = {"topologyKey": r.choice(["kubernetes.io/hostname", "topology.kubernetes.io/zone"]), "labelSelector": same}
        required = "requiredDuringSchedulingIgnoredDuringExecution"
        if r.random() < 0.08:
            spec["nodeSelector"] = {"pool": r.choice(["hpc", "batch"])}
        if r.random() < 0.06:
            spec.setdefault("affinity", {})["nodeAffinity"] = {required: {"nodeSelectorTerms": [{"matchExpressions": [r.choice([
                {"key": "pool", "operator": "In", "values": ["hpc", "batch"]}, {"key": "pool", "operator": "NotIn", "values": ["batch"]}, {"key": "pool", "operator": "Exists"},
                {"key": "gone", "operator": "DoesNotExist"}, {"key": "size", "operator": "Gt", "values": ["3"]}])]},
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-0"]}]}]}}
        if r.random() < 0.06:
            if r.random() < 0.3:
                term = dict(term, namespaces=["default", "team"])
            elif r.random() < 0.3:
                term = dict(term, namespaceSelector={})
            if r.random() < 0.2:
                term = dict(term, matchLabelKeys=["app"])
            if r.random() < 0.1:
                term = dict(term, mismatchLabelKeys=["app"])
            spec.setdefault("affinity", {})[r.choice(["podAntiAffinity", "podAntiAffinity", "podAffinity"])] = {required: [term]}
        if r.random() < 0.06:
            spread = {"maxSkew": r.choice([1, 2]), "topologyKey": term["topologyKey"], "whenUnsatisfiable": r.choice(["DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"]), "labelSelector": same}
            if r.random() < 0.3:
                spread["minDomains"] = 2
            if r.random() < 0.3:
                spread["nodeTaintsPolicy"] = "Honor"
            if r.random() < 0.3:
                spread["nodeAffinityPolicy"] = "Ignore"
            if r.random() < 0.2:
                spread["matchLabelKeys"] = ["app"]
            spec["topologySpreadConstraints"] = [spread]
        if r.random() < 0.15:
            spec["tolerations"] = [r.choice([{"key": "dedicated", "operator": "Exists"}, {"key": "dedicated", "value": "ml", "effect": "NoSchedule"}, {"operator": "Exists"}])]


def run_pod(pod, node_name, r):
    """Changes a Pod to one that runs on the node."""
    pod["spec"]["nodeName"] = node_name
    started = pod["metadata"]["creationTimestamp"]
    pod["status"] = {"phase": "Running", "startTime": started, "conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "True"}],
                     "containerStatuses": [{"name": c["name"], "state": {"running": {"startedAt": started}}} for c in pod["spec"]["containers"]]}
    if r.random() < 0.5:
        pod["status"]["qosClass"] = "Guaranteed" if all("limits" in c["resources"] for c in pod["spec"]["containers"]) else "Burstable"


def resize(pod, r):
    """A Pod whose resize has not been carried out, or has been in part."""
    first = pod["spec"]["containers"][0]["resources"]
    actual = copy.deepcopy(first.get("limits", first.get("requests", {})))
    for resources in first.values():
        if "cpu" in resources:
            resources["cpu"] = "2"
    for status in pod["status"].get("containerStatuses", []):
        if status["name"] == pod["spec"]["containers"][0]["name"]:
            status["allocatedResources"] = actual
            status["resources"] = {"requests": actual, "limits": actual}
    pod["status"].setdefault("conditions", []).append({"type": r.choice(["PodResizePending", "PodResizeInProgress"]), "status": "True", "reason": r.choice(["Deferred", "Infeasible"]), "message": "the node has too few CPUs"})


def reject(pod, node_name, r):
    """A Pod that the kubelet has rejected."""
    pod["spec"]["nodeName"] = node_name
    reason = r.choice(["TopologyAffinityError", "TopologyAffinityError", "UnexpectedAdmissionError", "OutOfcpu", "SMTAlignmentError"])
    pod["status"] = {"phase": "Failed", "reason": reason, "message": f"Pod was rejected: {reason} of {pod['metadata']['name']}", "startTime": timestamp(-30)}


def foreign(nrt, r):
    """The object as another exporter writes it: without nrtd's attributes."""
    manager = r.choice(["nfd-topology-updater", "resource-topology-exporter", "k8stopoawareschedwg/rte-update", "koordlet", "unheard-of"])
    nrt = copy.deepcopy(nrt)
    nrt["attributes"] = [a for a in nrt.get("attributes", []) if not a["name"].startswith("nrtd.dev/") and r.random() < 0.9]
    nrt["metadata"]["managedFields"] = [{"manager": manager, "operation": "Update", "time": timestamp(-r.randint(5, 5000)), "fieldsV1": {"f:zones": {}}}]
    if manager == "koordlet":
        cpus = [{"id": i, "core": i // 2, "socket": 0, "node": 0} for i in range(8)]
        nrt["metadata"]["annotations"] = {"node.koordinator.sh/cpu-topology": json.dumps({"detail": cpus})}
    for zone in nrt["zones"]:
        zone.pop("attributes", None)
        if r.random() < 0.2:
            zone.pop("costs", None)
    nrt["zones"] = [zone for zone in nrt["zones"] if zone["type"] == "Node"]
    if r.random() < 0.3:
        nrt["apiVersion"] = "topology.node.k8s.io/v1alpha1"
        nrt.pop("attributes", None)
        nrt["topologyPolicies"] = [r.choice(["SingleNUMANodeContainerLevel", "RestrictedPodLevel", "BestEffort", "None"])]
    return nrt


def damage(nrt, r):
    """An object with a node state that cannot be read, or with none; with zones that may be odd."""
    nrt = copy.deepcopy(nrt)
    n = r.randrange(6)
    for attribute in nrt["attributes"]:
        if attribute["name"] == "nrtd.dev/node-state":
            attribute["value"] = ["1;damaged", "2;newer", attribute["value"] + ";future=1", attribute["value"][:60], attribute["value"] + ";?future=1", attribute["value"]][n]
    if n == 5:
        zone = nrt["zones"][0]
        odd = r.randrange(4)
        if odd == 0:
            zone["name"] = "node-99"
        elif odd == 1 and zone.get("resources"):
            zone["resources"][0]["available"] = "-1"
        elif odd == 2:
            nrt["zones"] = []
        nrt["attributes"] = [a for a in nrt["attributes"] if a["name"] != "nrtd.dev/node-state"]
    return nrt


class Cluster:
    """Nodes and objects. Lists by kind: nrts, nodes, pods, budgets, events, claims, slices."""

    def __init__(self, r, machines, base, scratch, most=8):
        self.r, self.base, self.scratch = r, base, scratch
        # In half of the clusters every node has an object of nrtd, which reports all pods: in the others plans leave most nodes alone.
        self.calm = r.random() < 0.5
        self.pods_drawer = Pods(r)
        self.kubelets, self.objects = {}, {kind: [] for kind in ("nrts", "nodes", "pods", "budgets", "events", "claims", "slices")}
        few = r.sample(SMALL_MACHINES, r.randint(1, 3)) + (r.sample(ODD_MACHINES, 1) if not self.calm and r.random() < 0.4 else [])
        for i in range(r.randint(1, most)):
            if i > 0 and r.random() < 0.3:  # the nodes of a pool are alike
                kubelet = Node(r, f"node-{i}", self.kubelets[f"node-{i - 1}"].machine)
                for same in ("release", "policy", "scope", "options", "topology_options", "static"):
                    setattr(kubelet, same, copy.copy(getattr(self.kubelets[f"node-{i - 1}"], same)))
            else:
                kubelet = Node(r, f"node-{i}", machines[r.choice(few)])
            self.kubelets[kubelet.name] = kubelet
            self.objects["nodes"].append(kubelet.node_object())
            self.fill(kubelet)
        for kubelet in self.kubelets.values():
            self.add_nrt(kubelet)
        if not self.calm:
            self.add_late()
        self.add_pending()
        self.add_budgets()
        self.add_reservations()
        self.add_events()
        self.add_claims()
        if not self.calm:
            self.objects["nodes"] = [node for node in self.objects["nodes"] if r.random() < 0.97]

    def add_nrt(self, kubelet):
        r = self.r
        flags = ["--koordinator", "on"] if r.random() < 0.05 else ["--pcie-roots", "on"] if kubelet.machine.name == "gpus" and r.random() < 0.5 else []
        n = r.random() + (0.2 if self.calm else 0)
        nrt = kubelet.dump(self.base, self.scratch, *flags)
        if n < 0.12:
            nrt = foreign(nrt, r)
        elif n < 0.19:
            nrt = damage(nrt, r)
        elif n < 0.2:
            return
        elif n < 0.23:
            nrt["metadata"]["managedFields"][0]["time"] = timestamp(-9000)
        self.objects["nrts"].append(nrt)

    def fill(self, kubelet):
        """Pods that run on the node, until few CPUs are free. Some have ended or are ending."""
        r = self.r
        for _ in range(r.randint(0, 16)):
            pod, containers = self.pods_drawer.pod(kubelet)
            metadata = pod["metadata"]
            if containers and not kubelet.hold(metadata["uid"], metadata["namespace"], metadata["name"], containers):
                if r.random() < 0.1:
                    reject(pod, kubelet.name, r)
                    self.objects["pods"].append(pod)
                continue
            run_pod(pod, kubelet.name, r)
            n = r.random()
            if n < 0.05:
                metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"] = timestamp(20), 30
            elif n < 0.09:
                resize(pod, r)
            elif n < 0.13:
                metadata["annotations"] = {"kubernetes.io/config.mirror": "file", "kubernetes.io/config.source": "file"}
                metadata["ownerReferences"] = [{"apiVersion": "v1", "kind": "Node", "name": kubelet.name, "uid": "node", "controller": True}]
            elif n < 0.17:
                pod["status"]["phase"] = r.choice(["Succeeded", "Failed"])
                if r.random() < 0.7:
                    kubelet.end(metadata["uid"])
            elif n < 0.20 and not self.calm:  # the object has a pod that the API server does not have
                continue
            elif n < 0.23:
                pod["status"]["containerStatuses"][0] = {"name": "main", "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {"reason": "Error", "exitCode": 1}}}
            self.objects["pods"].append(pod)

    def add_late(self):
        """Pods that are bound, and that no object reports yet."""
        for kubelet in self.kubelets.values():
            while self.r.random() < 0.3:
                pod, _ = self.pods_drawer.pod(kubelet)
                run_pod(pod, kubelet.name, self.r)
                if self.r.random() < 0.5:
                    pod["status"] = {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}]}
                self.objects["pods"].append(pod)

    def draw_pending(self):
        r = self.r
        kubelet = r.choice(list(self.kubelets.values()))
        pod, _ = self.pods_drawer.pod(kubelet)
        pod["status"]["conditions"] = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": f"0/{len(self.kubelets)} nodes are available: {len(self.kubelets)} Insufficient cpu."}]
        n = r.random()
        if n < 0.12:
            pod["status"]["nominatedNodeName"] = kubelet.name
        elif n < 0.24:
            pod["spec"]["schedulingGroup"] = {"podGroupName": r.choice(["gang-a", "gang-b"])}
        elif n < 0.28:
            pod["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
        elif n < 0.32:
            pod["metadata"].setdefault("annotations", {})["volcano.sh/numa-topology-policy"] = r.choice(["restricted", "single-numa-node", "best-effort"])
        return pod

    def add_pending(self):
        for _ in range(self.r.randint(1, 4)):
            self.objects["pods"].append(self.draw_pending())
        if self.r.random() < 0.03:
            self.objects["pods"].append({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "odd", "namespace": "default", "uid": "odd"},
                                         "spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "many"}}}]}, "status": {"phase": "Pending"}})

    def add_budgets(self):
        for app in ("web", "db", "batch"):
            if self.r.random() < 0.5:
                self.objects["budgets"].append(self.draw_budget(app))

    def draw_budget(self, app):
        r = self.r
        selector = r.choice([{"matchLabels": {"app": app}}, {"matchExpressions": [{"key": "app", "operator": r.choice(["In", "NotIn"]), "values": [app]}]}, {}])
        return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": app, "namespace": r.choice(["default", "team"])},
                "spec": {"selector": selector}, "status": {"disruptionsAllowed": r.randint(0, 2)}}

    def draw_reservation(self, kubelet):
        r = self.r
        pod, _ = self.pods_drawer.pod(kubelet, "guaranteed")
        value = {"namespace": pod["metadata"]["namespace"], "pod": pod["metadata"]["name"], "step": r.randint(0, 3), "created": micro_timestamp(-100),
                 "expires": micro_timestamp(r.choice([600, 3000, -5])), "spec": {"containers": pod["spec"]["containers"]}}
        if r.random() < 0.5:
            value["controller"] = "owner-" + pod["metadata"]["labels"]["app"]
        elif r.random() < 0.3:
            waiting = [p for p in self.objects["pods"] if not p["spec"].get("nodeName")]
            if waiting:
                value["uid"] = r.choice(waiting)["metadata"]["uid"]
        if r.random() < 0.1:
            value["closed"] = True
        return f"reservation.nrtd.dev/r{r.randrange(1000)}", json.dumps(value) if r.random() < 0.95 else "not json"

    def add_reservations(self):
        for node in self.objects["nodes"]:
            while self.r.random() < 0.15:
                key, value = self.draw_reservation(self.kubelets[node["metadata"]["name"]])
                node["metadata"]["annotations"][key] = value

    def add_events(self):
        r = self.r
        for pod in self.objects["pods"]:
            if r.random() < 0.3:
                at = -r.randint(1, 4000)
                reason, note = r.choice([("FailedScheduling", "0/3 nodes are available: 3 Insufficient cpu."), ("Scheduled", "Successfully assigned"), ("TopologyAffinityError", "Resources cannot be allocated with Topology locality"), ("BackOff", "Back-off restarting failed container")])
                event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": f"{pod['metadata']['name']}.{len(self.objects['events'])}", "namespace": pod["metadata"]["namespace"]}, "type": r.choice(["Normal", "Warning"]), "reason": reason}
                about = {"kind": "Pod", "namespace": pod["metadata"]["namespace"], "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
                if r.random() < 0.6:
                    event.update(involvedObject=about, message=note, source={"component": "default-scheduler", "host": pod["spec"].get("nodeName", "")}, count=r.randint(1, 20),
                                 firstTimestamp=timestamp(at - 60), lastTimestamp=timestamp(at))
                else:
                    event.update(apiVersion="events.k8s.io/v1", regarding=about, note=note, reportingController="default-scheduler", eventTime=micro_timestamp(at),
                                 series={"count": 3, "lastObservedTime": micro_timestamp(at + 1)})
                self.objects["events"].append(event)
        for name in self.kubelets:
            for reason in ("KubeletSettingsChanged", "HardwareChanged", "DevicesChanged", "Rebooted", "NodeReady", "Starting"):
                if r.random() < 0.2:
                    self.objects["events"].append({
                        "apiVersion": "v1", "kind": "Event", "metadata": {"name": f"{name}.{reason}", "namespace": "default"}, "type": "Normal", "reason": reason,
                        "involvedObject": {"kind": "Node", "name": name, "uid": name}, "message": f"{reason} of the node", "count": 1,
                        "source": {"component": r.choice(["nrtd", "kubelet"]), "host": name}, "firstTimestamp": timestamp(-700), "lastTimestamp": timestamp(-r.randint(1, 5000))})

    def add_claims(self):
        for kubelet in self.kubelets.values():
            if not kubelet.claims:
                continue
            devices = [{"name": f"device-{i + 1}", "attributes": {"resource.kubernetes.io/numaNode": {"int": 0}, "resource.kubernetes.io/pcieRoot": {"string": "pci0000:16"}}} for i in range(kubelet.claims)]
            self.objects["slices"].append({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": kubelet.name}, "spec": {
                "driver": "gpu.example.com", "pool": {"name": kubelet.name, "generation": 1, "resourceSliceCount": 1}, "nodeName": kubelet.name, "devices": devices}})
            for pod in kubelet.held.values():
                for container in pod["containers"]:
                    if "claim" in container:
                        self.objects["claims"].append({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": container["claim"][0], "namespace": pod["namespace"]}, "status": {
                            "allocation": {"devices": {"results": [{"request": "r", "driver": "gpu.example.com", "pool": kubelet.name, "device": container["claim"][1]}]}},
                            "reservedFor": [{"resource": "pods", "name": pod["name"], "uid": "u"}]}})

    def write(self, folder):
        os.makedirs(folder, exist_ok=True)
        for kind, objects in self.objects.items():
            if objects:
                with open(os.path.join(folder, kind + ".json"), "w", encoding="utf-8") as file:
                    json.dump({"apiVersion": "v1", "kind": "List", "items": objects}, file)
