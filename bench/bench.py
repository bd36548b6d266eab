#!/usr/bin/env python3
"""Measure pasar on a throw-away daemon. These are reports, not tests: they fail on nothing.

    make bench            after Go's own benchmarks
    python3 bench/bench.py --queued 10000 --only submit,ls

Each number stands beside a floor from the same run: a Go program that does nothing, the same work without
a queue, or task-spooler where it is installed. Run it on a quiet machine.
"""

import argparse
import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PASAR = os.path.join(ROOT, "bin", "pasar")


class Home:
    """Directories of its own, and the daemon that the first command starts there."""

    def __init__(self, config=""):
        self.dir = tempfile.mkdtemp(prefix="pasar-bench.")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("PASAR_")}
        for name in ("CONFIG_HOME", "DATA_HOME", "STATE_HOME", "RUNTIME_DIR"):
            self.env["XDG_" + name] = os.path.join(self.dir, name.lower())
        os.makedirs(os.path.join(self.dir, "config_home", "pasar"))
        os.mkdir(self.env["XDG_RUNTIME_DIR"], 0o700)
        with open(os.path.join(self.dir, "config_home", "pasar", "config.toml"), "w") as f:
            f.write(config)

    def run(self, *args, check=True):
        return subprocess.run([PASAR, *args], env=self.env, check=check, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stdout

    def status(self):
        return json.loads(self.run("status", "--json"))

    def close(self):
        out = self.run("ls", "--json", "--state", "starting,running", check=False)
        ids = [str(job["id"]) for job in json.loads(out or "{}").get("jobs", [])]
        if ids:
            self.run("cancel", "--now", *ids, check=False)
            self.run("wait", "--timeout", "10s", *ids, check=False)
        self.run("shutdown", check=False)
        shutil.rmtree(self.dir, ignore_errors=True)


@contextlib.contextmanager
def home(config=""):
    h = Home(config)
    try:
        yield h
    finally:
        h.close()


def spawn_ms(argv, env, times):
    """Median milliseconds from spawning a program to having its exit status, without Python's pipes."""
    null = os.open(os.devnull, os.O_RDWR)
    actions = [(os.POSIX_SPAWN_DUP2, null, fd) for fd in (0, 1, 2)]
    took = []
    for _ in range(times):
        began = time.perf_counter()
        pid = os.posix_spawn(argv[0], argv, env, file_actions=actions)
        _, status = os.waitpid(pid, 0)
        took.append((time.perf_counter() - began) * 1e3)
        if status != 0:
            sys.exit("bench: %s exited with %d" % (" ".join(argv), os.waitstatus_to_exitcode(status)))
    os.close(null)
    return statistics.median(took)


def report(what, value, floor=""):
    print("%-58s %14s   %s" % (what, value, floor), flush=True)


def fill(h, n):
    """Queue held jobs with four clients at once. Returns submits per second."""
    began = time.perf_counter()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: h.run("submit", "--hold", "--parsable", "--", "true"), range(n)))
    return n / (time.perf_counter() - began)


def proc(pid):
    """CPU seconds, voluntary switches of all threads, and anonymous bytes of a process."""
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rsplit(")", 1)[1].split()
    cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    wakes = 0
    for task in os.listdir("/proc/%d/task" % pid):
        with contextlib.suppress(FileNotFoundError), open("/proc/%d/task/%s/status" % (pid, task)) as f:
            wakes += sum(int(line.split()[1]) for line in f if line.startswith("voluntary"))
    with open("/proc/%d/smaps_rollup" % pid) as f:
        sizes = {line.split(":")[0]: int(line.split()[1]) for line in f if line.count(":") == 1 and line.endswith("kB\n")}
    return cpu, wakes, sizes["Anonymous"] << 10, sizes["Pss"] << 10


def bench_submit(args):
    empty = os.path.join(tempfile.mkdtemp(prefix="pasar-bench."), "empty")
    with open(empty + ".go", "w") as f:
        f.write("package main\n\nfunc main() {}\n")
    subprocess.run(["go", "build", "-o", empty, empty + ".go"], check=True, env={**os.environ, "CGO_ENABLED": "0"})
    with home() as h:
        h.status()
        floor = spawn_ms([empty], h.env, args.times)
        report("an empty Go program", "%.2f ms" % floor)
        report("pasar version", "%.2f ms" % spawn_ms([PASAR, "version"], h.env, args.times), "of which pasar's start-up")
        submit = [PASAR, "submit", "--hold", "--parsable", "--", "true"]
        few = spawn_ms(submit, h.env, args.times)
        report("pasar submit, empty queue", "%.2f ms" % few, "%.2f × the empty program" % (few / floor))
        if shutil.which("tsp"):
            env = {**h.env, "TS_SOCKET": os.path.join(h.dir, "tsp")}
            peer = spawn_ms([shutil.which("tsp"), "true"], env, args.times)
            report("task-spooler, which keeps nothing on disk", "%.2f ms" % peer, "pasar: %.2f ×" % (few / peer))
            subprocess.run(["tsp", "-K"], env=env, check=False)
        at_few = spawn_ms(submit, h.env, args.times)
        rate = fill(h, args.queued)
        report("submits by four clients at once", "%.0f /s" % rate)
        many = spawn_ms(submit, h.env, args.times)
        report("pasar submit at %d queued" % args.queued, "%.2f ms" % many, "%.2f × that at %d" % (many / at_few, 2 * args.times))
        report("pasar ls --json at %d queued" % args.queued, "%.1f ms" % spawn_ms([PASAR, "ls", "--json"], h.env, 20))

        pid = h.status()["pid"]
        time.sleep(2)  # let it settle
        cpu0, wakes0, _, _ = proc(pid)
        time.sleep(args.idle)
        cpu1, wakes1, anonymous, _ = proc(pid)
        report("pasard idle at %d queued: CPU in %d s" % (args.queued, args.idle), "%.0f ms" % (1e3 * (cpu1 - cpu0)))
        report("  wake-ups a second", "%.1f" % ((wakes1 - wakes0) / args.idle))
        report("  anonymous memory", "%.1f MiB" % (anonymous / 2**20))

        os.kill(pid, signal.SIGKILL)
        began = time.perf_counter()
        h.status()
        report("kill -9, then the first answer of the next daemon", "%.0f ms" % (1e3 * (time.perf_counter() - began)))
    shutil.rmtree(os.path.dirname(empty))


def bench_drain(args):
    with home("cpu_jobs = 1\n") as h:
        h.status()
        with ThreadPoolExecutor(4) as pool:
            ids = list(pool.map(lambda _: h.run("submit", "--hold", "--parsable", "--gpus", "0", "--", "true").strip(), range(args.drain)))
        began = time.perf_counter()
        for i in range(0, len(ids), 500):
            h.run("release", *ids[i:i + 500])
        for i in range(0, len(ids), 500):
            h.run("wait", *ids[i:i + 500])
        rate = args.drain / (time.perf_counter() - began)
        report("drain of %d × true, one at a time" % args.drain, "%.0f jobs/s" % rate)
        if shutil.which("tsp"):
            env = {**h.env, "TS_SOCKET": os.path.join(h.dir, "tsp"), "TS_MAXCONN": "2000", "TS_MAXFINISHED": "10"}
            subprocess.run(["tsp"], env=env, check=True, stdout=subprocess.DEVNULL)  # its server starts
            began = time.perf_counter()
            for _ in range(args.drain):
                subprocess.run(["tsp", "-n", "true"], env=env, check=True, stdout=subprocess.DEVNULL)
            subprocess.run(["tsp", "-w"], env=env, check=False, stdout=subprocess.DEVNULL)
            peer = args.drain / (time.perf_counter() - began)
            report("task-spooler, submits included", "%.0f jobs/s" % peer, "pasar: %.2f ×" % (rate / peer))
            subprocess.run(["tsp", "-K"], env=env, check=False)


def bench_gap(args):
    """From the last instruction of a job to the first of the next, both told by the jobs themselves."""
    with home("cpu_jobs = 1\n") as h:
        h.status()
        log = os.path.join(h.dir, "times")
        stamp = "import time; f = open(%r, 'a'); f.write('%%d\\n' %% time.monotonic_ns())" % log
        ids = [h.run("submit", "--hold", "--parsable", "--gpus", "0", "--", sys.executable, "-S", "-E", "-c", stamp).strip() for _ in range(args.gap)]
        h.run("release", *ids)
        h.run("wait", *ids)
        with open(log) as f:
            times = [int(line) for line in f]
        gaps = [(b - a) / 1e6 for a, b in zip(times, times[1:])]
        os.remove(log)
        for _ in range(args.gap):
            subprocess.run([sys.executable, "-S", "-E", "-c", stamp], check=True)
        with open(log) as f:
            times = [int(line) for line in f]
        floor = statistics.median((b - a) / 1e6 for a, b in zip(times, times[1:]))
        gap = statistics.median(gaps)
        report("from one job to the next, a Python start included", "%.1f ms" % gap, "a loop without a queue: %.1f ms" % floor)


def bench_supervisor(args):
    with home() as h:
        id = h.run("submit", "--parsable", "--gpus", "0", "--", "sleep", "600").strip()
        h.run("wait", "--for", "started", id)
        pid = json.loads(h.run("show", "--json", id))["attempts"][-1]["pid"]
        with open("/proc/%d/stat" % pid) as f:
            parent = int(f.read().rsplit(")", 1)[1].split()[1])
        report("a supervisor with a quiet job: proportional memory", "%.2f MiB" % (proc(parent)[3] / 2**20))


BENCHES = {"submit": bench_submit, "drain": bench_drain, "gap": bench_gap, "supervisor": bench_supervisor}


def main():
    p = argparse.ArgumentParser(description="Measure pasar on a throw-away daemon.")
    p.add_argument("--queued", type=int, default=2000, help="jobs in the long queue (default %(default)s)")
    p.add_argument("--times", type=int, default=50, help="repetitions of a command (default %(default)s)")
    p.add_argument("--drain", type=int, default=500, help="jobs to drain (default %(default)s)")
    p.add_argument("--gap", type=int, default=100, help="jobs in a row (default %(default)s)")
    p.add_argument("--idle", type=int, default=10, help="seconds of idling (default %(default)s)")
    p.add_argument("--only", default=",".join(BENCHES), help="which of %(default)s")
    args = p.parse_args()
    for name in args.only.split(","):
        if name not in BENCHES:
            p.error("no bench %r: there are %s" % (name, ", ".join(BENCHES)))
        BENCHES[name](args)


if __name__ == "__main__":
    main()
