#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""api_server.py DIR: a stand-in for the API server on the loopback interface, for GET, PATCH and POST requests without TLS.

It answers /a/b with the file DIR/a/b.json. DIR/a/b.error has another answer: its first line is a status code and the message of a
Status object, or "hang". Without either file it answers 404 as the API server does: with a Status object if the list of the resource
exists, else as for an unknown resource. With a label selector it answers with DIR/a/b@SELECTOR.json; of field selectors it knows
spec.nodeName. A server-side apply replaces DIR/a/b.json if its body is complete; other patches and POST requests change nothing. A
merge patch is answered with its body and resourceVersion 7. After a POST request the files of DIR/after, if it exists, replace those of
DIR. SelfSubjectAccessReviews change nothing: rights are granted, but those that are lines of DIR/denied ("create pods eviction ml").
A dry run of a Pod is answered with the Pod, into which DIR/dry-run.json is merged, or as DIR/dry-run.error says; without these files 404.
DIR/a/b.PATCH.error and DIR/a/b.POST.error are errors of these methods. It writes its port to DIR/port, appends the path and query
of each GET request to DIR/requests, method, path and body of other requests to DIR/changes, and ends with the process that started it.
"""
import http.server
import json
import os
import shutil
import sys
import threading
import time
import urllib.parse

root = sys.argv[1]


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def append(name, line):
    with open(os.path.join(root, name), "a", encoding="utf-8") as file:
        file.write(line + "\n")


def status_object(code, message):
    reason = {403: "Forbidden", 404: "NotFound"}.get(code, "InternalError")
    return json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "reason": reason, "code": code})


def field(value, path):
    """The text at the path of members, as field selectors see it."""
    for member in path.split("."):
        value = value.get(member, {})
    return value or ""


def merge(value, other):
    """`other` merged into `value`, lists item by item."""
    if isinstance(value, dict) and isinstance(other, dict):
        return {key: merge(value[key], other[key]) if key in value and key in other else other.get(key, value.get(key)) for key in {**value, **other}}
    if isinstance(value, list) and isinstance(other, list):
        return [merge(value[i], other[i]) if i < len(other) and i < len(value) else (value + other)[i] for i in range(max(len(value), len(other)))]
    return other


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, code, body, content_type="application/json"):
        if isinstance(body, str):
            body = body.encode()
        self.send_response(code)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        append("requests", self.path)
        url = urllib.parse.urlsplit(self.path)
        name = urllib.parse.unquote(url.path).strip("/")
        selector = urllib.parse.parse_qs(url.query).get("labelSelector")
        file = os.path.join(root, name)
        error = read(file + ".error")
        if error == b"hang\n":
            time.sleep(60)
        if error:
            code, message = error.decode().rstrip("\n").split(" ", 1)
            self.answer(int(code), status_object(int(code), message))
            return
        body = read(file + (f"@{selector[0]}" if selector else "") + ".json")
        terms = urllib.parse.parse_qs(url.query).get("fieldSelector", [""])[0].split(",")
        wanted = [term.split("=") for term in terms if term.startswith(("spec.nodeName=", "status.nominatedNodeName="))]
        if body is not None and wanted:
            pods = json.loads(body)
            pods["items"] = [pod for pod in pods["items"] if all(field(pod, path) == value for path, value in wanted)]
            body = json.dumps(pods)
        if body is not None:
            self.answer(200, body)
        elif os.path.exists(os.path.dirname(file) + ".json"):
            resource = ".".join([os.path.basename(os.path.dirname(file))] + (name.split("/")[1:2] if name.startswith("apis/") else []))
            self.answer(404, status_object(404, f'{resource} "{os.path.basename(file)}" not found'))
        else:
            self.answer(404, "404 page not found\n", "text/plain")

    def is_refused(self, body):
        path = urllib.parse.urlsplit(self.path).path
        append("changes", f"{self.command} {path} {body.decode()}")
        error = read(os.path.join(root, path.strip("/")) + f".{self.command}.error")
        if error:
            code, message = error.decode().rstrip("\n").split(" ", 1)
            self.answer(int(code), status_object(int(code), message))
        return bool(error)

    def review(self, body):
        review = json.loads(body)
        asked = review["spec"]["resourceAttributes"]
        text = " ".join(asked[key] for key in ("verb", "resource", "subresource", "namespace") if key in asked)
        append("requests", f"review {text}")
        review["status"] = {"allowed": text.encode() not in (read(os.path.join(root, "denied")) or b"").split(b"\n")}
        self.answer(201, json.dumps(review))

    def dry_run(self, body):
        append("requests", f"dry run {self.path} {body.decode()}")
        error, stored = read(os.path.join(root, "dry-run.error")), read(os.path.join(root, "dry-run.json"))
        if error:
            code, message = error.decode().rstrip("\n").split(" ", 1)
            self.answer(int(code), status_object(int(code), message))
        elif stored is None:
            self.answer(404, status_object(404, "namespaces not found"))
        else:
            self.answer(201, json.dumps(merge(json.loads(body), json.loads(stored))))

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.endswith("/selfsubjectaccessreviews"):
            self.review(body)
            return
        if "dryRun=All" in self.path:
            self.dry_run(body)
            return
        if self.is_refused(body):
            return
        if os.path.isdir(os.path.join(root, "after")):
            shutil.copytree(os.path.join(root, "after"), root, dirs_exist_ok=True)
        self.answer(201, status_object(201, ""))

    def do_PATCH(self):
        length = int(self.headers["Content-Length"])
        body = self.rfile.read(length)
        if len(body) < length:
            self.close_connection = True
            return
        if self.is_refused(body):
            return
        file = os.path.join(root, urllib.parse.urlsplit(self.path).path.strip("/")) + ".json"
        if self.headers["Content-Type"].startswith("application/apply-patch"):
            json.loads(body)
            with open(file + ".new", "wb") as new:
                new.write(body)
            os.rename(file + ".new", file)
        elif self.headers["Content-Type"].startswith("application/merge-patch"):
            changed = json.loads(body)
            changed.setdefault("metadata", {})["resourceVersion"] = "7"
            body = json.dumps(changed)
        self.answer(200, body)

    def log_message(self, format, *arguments):
        pass


def end_with(parent):
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(0)


threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(os.path.join(root, "port.new"), "w", encoding="utf-8") as port:
    port.write(f"{server.server_address[1]}\n")
os.rename(os.path.join(root, "port.new"), os.path.join(root, "port"))
server.serve_forever()
