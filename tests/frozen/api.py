# SPDX-License-Identifier: Apache-2.0
"""A stand-in for the API server, with lists, watches, merge patches and evictions of the objects of cluster.py.

Objects live in memory. Every list has one page. The answers depend only on the objects and on the requests, not on the time.
"""
import copy
import http.server
import json
import re
import socket
import threading
import urllib.parse

import cluster

PATHS = {"nrts": "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies", "nodes": "/api/v1/nodes", "pods": "/api/v1/pods",
         "budgets": "/apis/policy/v1/poddisruptionbudgets", "events": "/api/v1/events", "claims": "/apis/resource.k8s.io/v1/resourceclaims",
         "slices": "/apis/resource.k8s.io/v1/resourceslices"}
KINDS = {path: kind for kind, path in PATHS.items()}
LEASE = "/apis/coordination.k8s.io/v1/namespaces/nrtd/leases/nrtd-extender"


def key_of(item):
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]


def status_object(code, message):
    reason = {403: "Forbidden", 404: "NotFound", 429: "TooManyRequests"}.get(code, "InternalError")
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "reason": reason, "code": code}


def merge(into, patch):
    for key, value in patch.items():
        if value is None:
            into.pop(key, None)
        elif isinstance(value, dict) and isinstance(into.get(key), dict):
            merge(into[key], value)
        else:
            into[key] = value


def has_labels(item, selector):
    """Only the terms KEY=VALUE and KEY are known."""
    labels = item["metadata"].get("labels", {})
    return all(labels.get(term.partition("=")[0]) == term.partition("=")[2].lstrip("=") if "=" in term else term in labels for term in selector.split(","))


class Store:
    """The objects, and a log of their changes for watches."""

    def __init__(self, objects):
        self.changed = threading.Condition()
        self.objects = {kind: {key_of(item): copy.deepcopy(item) for item in objects.get(kind, [])} for kind in PATHS}
        self.lease = None
        self.version = 1000
        self.log = {kind: [] for kind in PATHS}  # version and line of each event
        self.forbidden = set()  # kinds that may not be listed
        self.waiting = set()  # kinds whose lists wait for open()
        self.requests = []
        for kind in PATHS:
            for item in self.objects[kind].values():
                self.version += 1
                item["metadata"]["resourceVersion"] = str(self.version)

    def apply(self, kind, item):
        """Creates or replaces an object."""
        with self.changed:
            self.version += 1
            item = copy.deepcopy(item)
            item["metadata"]["resourceVersion"] = str(self.version)
            new = key_of(item) not in self.objects[kind]
            self.objects[kind][key_of(item)] = item
            self.send(kind, "ADDED" if new else "MODIFIED", item)
        return item

    def delete(self, kind, key):
        with self.changed:
            item = self.objects[kind].pop(key, None)
            if item:
                self.version += 1
                item["metadata"]["resourceVersion"] = str(self.version)
                self.send(kind, "DELETED", item)

    def open(self, kind):
        with self.changed:
            self.waiting.discard(kind)
            self.changed.notify_all()

    def bookmark(self, kind):
        with self.changed:
            self.version += 1
            self.send(kind, "BOOKMARK", {"kind": "Any", "metadata": {"resourceVersion": str(self.version)}})

    def expire(self, kind):
        """Ends the watches of a kind, so that the clients list again."""
        with self.changed:
            self.version += 1
            self.send(kind, "ERROR", status_object(410, "too old resource version"))

    def send(self, kind, what, item):
        self.log[kind].append((self.version, what, json.dumps({"type": what, "object": item}).encode() + b"\n"))
        self.changed.notify_all()

    def evict(self, key):
        """Evicts a Pod. Its controller creates another, which runs at once on the node that has a reservation for it."""
        with self.changed:
            pod = self.objects["pods"].get(key)
            if not pod:
                return 404
            self.delete("pods", key)
            owners = pod["metadata"].get("ownerReferences", [])
            if owners:
                other = copy.deepcopy(pod)
                other["metadata"].update(name=pod["metadata"]["name"] + "-new", uid="new-" + pod["metadata"]["uid"])
                other["spec"].pop("nodeName", None)
                other["status"] = {"phase": "Pending"}
                for node in self.objects["nodes"].values():
                    for name, text in node["metadata"].get("annotations", {}).items():
                        if name.startswith("reservation.nrtd.dev/") and owners[0]["uid"] in text and "nodeName" not in other["spec"]:
                            other["spec"]["nodeName"] = node["metadata"]["name"]
                            other["status"] = {"phase": "Running", "startTime": cluster.timestamp(0)}
                self.apply("pods", other)
        return 201


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    @property
    def store(self):
        return self.server.store

    def answer(self, code, value):
        body = json.dumps(value).encode()
        self.send_response_only(code)
        # The date is the beginning of the programs' frozen time.
        self.send_header("Date", "Mon, 21 Sep 2026 14:13:20 GMT")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def parse_path(self):
        """Kind, namespace, name and query of the request's path."""
        url = urllib.parse.urlsplit(self.path)
        path = urllib.parse.unquote(url.path)
        query = {name: values[0] for name, values in urllib.parse.parse_qs(url.query).items()}
        match = re.fullmatch(r"(/api/v1|/apis/[^/]+/[^/]+)(?:/namespaces/([^/]+))?/([^/]+)(?:/([^/]+))?(?:/(eviction|status))?", path)
        if not match or f"{match[1]}/{match[3]}" not in KINDS:
            return None, None, None, query
        return KINDS[f"{match[1]}/{match[3]}"], match[2], match[4], query

    def do_GET(self):
        kind, namespace, name, query = self.parse_path()
        if query.get("watch") == "true":
            self.watch(kind, int(query["resourceVersion"]))
            return
        with self.store.changed:
            while kind in self.store.waiting and not self.server.ends:
                self.store.changed.wait()
            self.store.requests.append("GET " + self.path)
            if urllib.parse.urlsplit(self.path).path == LEASE and self.store.lease:
                self.answer(200, self.store.lease)
            elif self.path == "/version":
                self.answer(200, {"major": "1", "minor": "37"})
            elif kind is None:
                self.answer(404, status_object(404, "the server could not find the requested resource"))
            elif kind in self.store.forbidden:
                self.answer(403, status_object(403, f"{kind} is forbidden"))
            elif name:
                item = self.store.objects[kind].get((namespace or "", name))
                self.answer(200 if item else 404, item or status_object(404, f'{kind} "{name}" not found'))
            else:
                self.answer(200, self.list_objects(kind, namespace, query))

    def list_objects(self, kind, namespace, query):
        items = [item for item in self.store.objects[kind].values() if namespace is None or item["metadata"].get("namespace") == namespace]
        if "labelSelector" in query:
            items = [item for item in items if has_labels(item, query["labelSelector"])]
        for term in query.get("fieldSelector", "").split(","):
            field, _, value = term.partition("=")
            if field == "spec.nodeName":
                items = [item for item in items if item["spec"].get("nodeName") == value]
            elif field.startswith("involvedObject."):
                about = field.split(".")[1]
                items = [item for item in items if item.get("involvedObject", item.get("regarding", {})).get(about) == value]
        shown = [{key: value for key, value in item.items() if key not in ("kind", "apiVersion")} for item in items] if kind != "nrts" else items
        return {"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": str(self.store.version)}, "items": shown}

    def watch(self, kind, version):
        self.send_response_only(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        sent = 0
        try:
            while True:
                with self.store.changed:
                    log = self.store.log[kind]
                    while sent < len(log) and log[sent][0] <= version:
                        sent += 1
                    if sent == len(log):
                        if self.server.ends:
                            self.close_connection = True
                            return
                        self.store.changed.wait()
                        continue
                    _, what, line = log[sent]
                    sent += 1
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
                if what == "ERROR":
                    self.wfile.write(b"0\r\n\r\n")
                    return
        except OSError:
            self.close_connection = True

    def body(self):
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")

    def do_PATCH(self):
        kind, namespace, name, _ = self.parse_path()
        patch = self.body()
        with self.store.changed:
            self.store.requests.append(f"PATCH {self.path} {json.dumps(patch)}")
            item = self.store.objects[kind].get((namespace or "", name)) if kind else None
            if not item:
                self.answer(404, status_object(404, f'"{name}" not found'))
                return
            item = copy.deepcopy(item)
            merge(item, patch)
            self.answer(200, self.store.apply(kind, item))

    def do_POST(self):
        _, namespace, name, _ = self.parse_path()
        body = self.body()
        with self.store.changed:
            self.store.requests.append(f"POST {self.path} {json.dumps(body)}")
            code = self.store.evict((namespace, name)) if self.path.partition("?")[0].endswith("/eviction") else 404
        self.answer(code, {"kind": "Status", "status": "Success"} if code < 300 else status_object(code, "not found"))

    def log_message(self, format, *arguments):
        pass


class Server(http.server.ThreadingHTTPServer):
    """Serves a Store on the loopback interface until stop()."""
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, store):
        super().__init__(("127.0.0.1", 0), Handler)
        self.store, self.ends = store, False
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def server_bind(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        super().server_bind()

    def handle_error(self, request, client_address):
        pass

    def stop(self):
        with self.store.changed:
            self.ends = True
            self.store.changed.notify_all()
        self.shutdown()
        self.server_close()
