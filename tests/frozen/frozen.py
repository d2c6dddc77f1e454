#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""frozen.py: asks the programs of a base commit and today's programs the same questions, and compares the answers byte by byte.

run.sh builds the programs and calls it. A difference is printed with a command line that repeats the question; the files that it reads
are kept in the folder failures. The last line is "N passed, N failed".
"""
import argparse
import difflib
import fcntl
import json
import multiprocessing
import os
import pty
import random
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
import traceback

import api
import cluster
import questions
import sequence

CLOCK = str(cluster.NOW * 1000)


class Answers:
    """Compares answers, and collects the differences as texts."""

    def __init__(self, options, name):
        self.options, self.name = options, name
        self.passed, self.failed, self.report = 0, 0, []

    def compare(self, question, before, after, files):
        """`question` is a command line; `before` and `after` map the names of parts of an answer to texts; `files` is a folder to keep."""
        if before == after and "timeout" not in before.values():
            self.passed += 1
            return
        self.failed += 1
        kept = os.path.join(self.options.work, "failures", self.name)
        if not os.path.isdir(kept) and files:
            shutil.copytree(files, kept)
        lines = [f"FAIL {self.name}: cd {kept} && {question}"]
        if "timeout" in (before["status"], after["status"]):
            lines.append("\ta program has not ended within 60 s")
        for part, text in before.items():
            if text != after[part]:
                diff = difflib.unified_diff(text.splitlines(), after[part].splitlines(), f"base/{part}", f"now/{part}", lineterm="", n=1)
                lines += ["\t" + line[:400] for line in list(diff)[:12]]
        self.report.append("\n".join(lines))


def environment(question):
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C", "HWLOC_HIDE_ERRORS": "2", "FROZEN_CLOCK": CLOCK}
    if question.get("columns"):
        env["COLUMNS"] = str(question["columns"])
    for name in ("GCOV_PREFIX", "GCOV_PREFIX_STRIP"):
        if name in os.environ:
            env[name] = os.environ[name]
    return env


def run(options, build, question, folder):
    """Runs the question's program of a build folder in `folder`."""
    env = environment(question)
    env["LD_PRELOAD"] = options.clock
    stdin = question.get("stdin")
    if question.get("terminal"):
        return run_on_terminal(options, build, question, folder, env)
    try:
        done = subprocess.run([question["program"], *question["args"]], executable=os.path.join(build, question["program"]), cwd=folder, env=env, check=False,
                              input=(stdin or "").encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        return {"output": done.stdout.decode(errors="replace"), "errors": done.stderr.decode(errors="replace"), "status": str(done.returncode)}
    except subprocess.TimeoutExpired:
        return {"output": "", "errors": "", "status": "timeout"}


def run_on_terminal(options, build, question, folder, env):
    """As run(), with a terminal of so many columns as standard output."""
    with tempfile.TemporaryFile() as errors:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, question["terminal"], 0, 0))
        process = subprocess.Popen([question["program"], *question["args"]], executable=os.path.join(build, question["program"]), cwd=folder, env=dict(env, TERM="xterm"), stdin=subprocess.DEVNULL, stdout=theirs, stderr=errors)
        os.close(theirs)
        output, end = [], time.monotonic() + 60
        while select.select([ours], [], [], max(0, end - time.monotonic()))[0]:
            try:
                output.append(os.read(ours, 65536))
            except OSError:  # the program has ended
                break
        status = str(process.wait()) if time.monotonic() < end else "timeout"
        process.kill()
        process.wait()
        os.close(ours)
        errors.seek(0)
        return {"output": b"".join(output).decode(errors="replace"), "errors": errors.read().decode(errors="replace"), "status": status}


def quote(word):
    return word if word and all(c.isalnum() or c in "-_./=:,+@" for c in word) else "'" + word.replace("'", "'\\''") + "'"


def command_line(options, question):
    env = [f"{name}={value}" for name, value in environment(question).items() if name in ("COLUMNS", "FROZEN_CLOCK", "HWLOC_HIDE_ERRORS")]
    if question.get("terminal"):
        env.insert(0, f"stty cols {question['terminal']};")
    return " ".join(env + [f"LD_PRELOAD={options.clock}", os.path.join(options.build, question["program"])] + [quote(word) for word in question["args"]])


def ask_all(options, answers, asked, folder, before_each=None):
    """`before_each` is called before each run of a program, and its result after the run is a further part of the answer."""
    for question in asked:
        both = []
        for build in (os.path.join(options.base, "build"), options.build):
            after = before_each() if before_each else None
            both.append(run(options, build, question, folder))
            if after:
                both[-1]["requests"] = after()
        answers.compare(command_line(options, question), both[0], both[1], folder)


# ---- subjects: what one job asks about

def load_machines(options):
    made = options.machines
    return {name: cluster.Machine(os.path.join(made, name)) for name in cluster.SMALL_MACHINES + cluster.ODD_MACHINES}


def scratch_of(options):
    folder = os.path.join(options.work, "scratch", str(os.getpid()))
    os.makedirs(folder, exist_ok=True)
    return folder


def fresh_folder(options, name):
    folder = os.path.join(options.work, "asked", name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder


def ask_cluster(options, answers, number):
    r = random.Random(f"{options.seed} cluster {number}")
    drawn = cluster.Cluster(r, load_machines(options), options.base, scratch_of(options))
    folder = fresh_folder(options, answers.name)
    drawn.write(os.path.join(folder, "objects"))
    files = questions.write_wanted(r, folder, drawn.pods_drawer, list(drawn.kubelets.values()))
    asked = questions.about_cluster(r, drawn.objects, files, ["--from", "objects"])
    ask_all(options, answers, asked, folder)
    if number % 4 == 0:
        ask_server(options, answers, r, drawn, files, folder)
    shutil.rmtree(folder)


def ask_server(options, answers, r, drawn, files, folder):
    server = api.Server(api.Store({}))
    with open(os.path.join(folder, "kubeconfig"), "w", encoding="utf-8") as file:
        json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                   "clusters": [{"name": "c", "cluster": {"server": server.url}}], "users": [{"name": "u", "user": {}}]}, file)
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "nrtd-extender", "namespace": "nrtd", "annotations": {
        "nrtd.dev/schedulers": json.dumps({"default-scheduler": cluster.micro_timestamp(-10)}), "nrtd.dev/nodes-version": "999999"}},
        "spec": {"holderIdentity": "x", "leaseDurationSeconds": 15, "renewTime": cluster.micro_timestamp(-1)}}
    forbidden = {kind for kind in ("pods", "nodes", "budgets", "claims", "slices", "events") if r.random() < 0.06}

    def reset():
        store = api.Store(drawn.objects)
        store.lease, store.forbidden = lease, forbidden
        server.store = store
        return lambda: "\n".join(store.requests)

    ask_all(options, answers, questions.from_server(r, drawn.objects, files, "kubeconfig"), folder, reset)
    server.stop()


def ask_machine(options, answers, path):
    """Bytes of the node state and of the object, of one machine."""
    folder = fresh_folder(options, answers.name)
    root = os.path.join(folder, "root")
    shutil.copytree(path, root, copy_function=os.link, symlinks=True)
    os.makedirs(os.path.join(root, "etc/frozen"), exist_ok=True)
    for name, configuration in questions.configurations().items():
        with open(os.path.join(root, f"etc/frozen/{name}.json"), "w", encoding="utf-8") as file:
            json.dump(configuration, file)
    os.makedirs(os.path.join(root, "var/lib/kubelet"), exist_ok=True)
    with open(os.path.join(root, "var/lib/kubelet/cpu_manager_state"), "w", encoding="utf-8") as file:
        file.write('{"policyName":"static","defaultCpuSet":"0","entries":{"11111111-b6a5-4aaa-8fcd-76c1aa64e6fd":{"c":"1"}},"checksum":0}')
    ask_all(options, answers, questions.about_machine("root"), folder)
    shutil.rmtree(folder)


def ask_usage(options, answers, program):
    folder = fresh_folder(options, answers.name)
    base = os.path.join(options.base, "build")
    top = run(options, base, {"program": program, "args": ["--help"]}, folder)["output"]
    commands = [line.split()[0] for line in top.splitlines() if line.startswith("  ") and line[2:3].isalpha()] if program != "nrtd-extender" else ["completion"]
    helps = {command: run(options, base, {"program": program, "args": ([command] if command else []) + ["--help"]}, folder)["output"] for command in commands + ([""] if program == "nrtd-extender" else [])}
    ask_all(options, answers, questions.about_usage(program, commands) + questions.about_flags(program, helps), folder)
    shutil.rmtree(folder)


def ask_examples(options, answers, _):
    r = random.Random(f"{options.seed} examples")
    folder = fresh_folder(options, answers.name)
    shutil.copytree("tests/fixtures", os.path.join(folder, "fixtures"))
    shutil.copytree(os.path.join(options.base, "build/demo"), os.path.join(folder, "demo"))
    pods = ["fixtures/examples/kep-pod.yaml", "fixtures/examples/volcano-abc-pod.yaml"]
    for item in questions.wanted_of_examples():
        pods.append(item["metadata"]["name"] + ".json")
        with open(os.path.join(folder, pods[-1]), "w", encoding="utf-8") as file:
            json.dump(item, file)
    paths = ["demo"] + sorted(os.path.join(root, name) for part in ("examples", "machines") for root, _, names in os.walk(os.path.join("fixtures", part)) for name in
                              sorted(os.listdir(os.path.join(folder, root))) if name.endswith((".nrt.yaml", "nodes.yaml")))
    for root, _, names in os.walk(os.path.join(folder, "fixtures")):
        for name in names:
            path = os.path.relpath(os.path.join(root, name), folder)
            if name.endswith((".nrt.yaml", "nodes.yaml")) and path not in paths:
                paths.append(path)
    listed = []
    for path in sorted(paths):
        names = run(options, os.path.join(options.base, "build"), {"program": "kubectl-numa", "args": ["top", "--from", path, "-o", "name"]}, folder)["output"].split()
        listed.append((path, names))
    ask_all(options, answers, questions.about_examples(r, listed, pods), folder)
    shutil.rmtree(folder)


def ask_sequence(options, answers, number):
    r = random.Random(f"{options.seed} sequence {number}")
    sequence.play(options, answers, r, load_machines(options), scratch_of(options), fresh_folder(options, answers.name))
    shutil.rmtree(os.path.join(options.work, "asked", answers.name))


KINDS = {"cluster": ask_cluster, "machine": ask_machine, "usage": ask_usage, "examples": ask_examples, "sequence": ask_sequence}


def work(job):
    options, kind, subject = job
    answers = Answers(options, f"{kind}-{os.path.basename(str(subject))}")
    begun = time.monotonic()
    try:
        KINDS[kind](options, answers, subject)
    except Exception:  # a driver that fails is a failure, not a silent pass
        answers.failed += 1
        answers.report.append(f"FAIL {answers.name}: the driver failed\n" + "".join("\t" + line + "\n" for line in traceback.format_exc().splitlines()))
    return kind, answers.passed, answers.failed, answers.report, time.monotonic() - begun


def list_jobs(options):
    # the longest job first
    jobs = [("examples", "examples")]
    for folder in [options.machines] + options.shared:
        jobs += [("machine", os.path.join(folder, name)) for name in sorted(os.listdir(folder)) if os.path.isdir(os.path.join(folder, name))]
    jobs += [("usage", program) for program in ("nrtd", "kubectl-numa", "nrtd-extender")]
    jobs += [("cluster", number) for number in range(options.clusters)] + [("sequence", number) for number in range(options.sequences)]
    if options.only:
        jobs = [job for job in jobs if f"{job[0]}-{os.path.basename(str(job[1]))}".startswith(options.only)]
    return [(options, kind, subject) for kind, subject in jobs]


def main():
    parser = argparse.ArgumentParser(prog="make frozen", description="FROZEN has these flags:", usage="FROZEN='-clusters N -sequences N -seed N -only PREFIX' make frozen")
    parser.add_argument("-clusters", type=int, default=200, metavar="N", help="clusters for questions to the commands (200)")
    parser.add_argument("-sequences", type=int, default=500, metavar="N", help="sequences of events and requests for nrtd-extender (500)")
    parser.add_argument("-seed", default="1", metavar="N", help="other clusters and sequences (1)")
    parser.add_argument("-only", metavar="PREFIX", help="only the subjects whose name begins so: cluster-17, sequence-, machine-gpus, usage-nrtd, examples")
    parser.add_argument("-jobs", type=int, default=os.cpu_count(), metavar="N", help="parallel jobs (one per CPU)")
    for name in ("base", "build", "clock", "machines", "work"):
        parser.add_argument("--" + name, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--shared", nargs="*", default=[], help=argparse.SUPPRESS)
    options = parser.parse_args()
    shutil.rmtree(os.path.join(options.work, "failures"), ignore_errors=True)
    totals, passed, failed = {}, 0, 0
    with multiprocessing.Pool(options.jobs) as pool:
        for kind, p, f, report, seconds in pool.imap_unordered(work, list_jobs(options)):
            count = totals.setdefault(kind, [0, 0, 0])
            for i, n in enumerate((p, f, seconds)):
                count[i] += n
            passed, failed = passed + p, failed + f
            for text in report:
                print(text, flush=True)
    shutil.rmtree(os.path.join(options.work, "scratch"), ignore_errors=True)
    for kind, (p, f, seconds) in sorted(totals.items()):
        print(f"{'FAIL' if f else 'ok  '} {kind:10} {p} answers are equal, {f} differ ({seconds:.0f} s)")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
