#!/usr/bin/env python3
"""Train a small neural network in plain Python, as a job that survives being stopped.

    pasar submit --gpus 0 --time 1m --follow -- python3 examples/train.py

It tells points of an inner from points of an outer ring, on data that it makes from a seed. It needs
Python 3.8 and nothing else, and shows what a good job does:

  * it reports its progress, with the loss;
  * it saves checkpoints into the job's own directory, each whole or not there at all;
  * stopped at any step and started again, it goes on and ends with the same result, bit for bit;
  * asked to stop (SIGTERM, Ctrl-C) or to pause, it finishes its step, saves and leaves.

It runs outside pasar as well; --dir then says where checkpoints go.
"""

import argparse
import hashlib
import json
import math
import os
import random
import shutil
import signal
import struct
import sys
import time

try:
    import pasar_job
except ImportError:  # in pasar's own source tree
    sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "jobproto", "python"))
    import pasar_job

HIDDEN = 16  # units of the hidden layer
POINTS = 400  # of data, half on each ring
BATCH = 32
RATE = 0.1


def rings(seed):
    """Points (x, y, label): label 1 for the inner ring. The rings are noisy but don't overlap."""
    rng = random.Random(seed)
    points = []
    for i in range(POINTS):
        inner = i % 2
        angle, radius = rng.uniform(0, 2 * math.pi), (0.5 if inner else 1.2) + rng.gauss(0, 0.1)
        points.append((radius * math.cos(angle), radius * math.sin(angle), inner))
    return points


class Network:
    """Two inputs, one layer of tanh, one output in (0, 1)."""

    def __init__(self, rng):
        self.w1 = [[rng.gauss(0, 1) for _ in range(3)] for _ in range(HIDDEN)]  # x, y, bias
        self.w2 = [rng.gauss(0, 1) / math.sqrt(HIDDEN) for _ in range(HIDDEN + 1)]  # and bias

    def forward(self, x, y):
        hidden = [math.tanh(a * x + b * y + c) for a, b, c in self.w1]
        z = self.w2[-1] + sum(w * h for w, h in zip(self.w2, hidden))
        return hidden, 1 / (1 + math.exp(-max(-30.0, min(30.0, z))))

    def step(self, batch):
        """One step of gradient descent on a batch. Returns its mean loss before the step."""
        g1 = [[0.0, 0.0, 0.0] for _ in range(HIDDEN)]
        g2 = [0.0] * (HIDDEN + 1)
        loss = 0.0
        for x, y, label in batch:
            hidden, out = self.forward(x, y)
            loss -= math.log(out if label else 1 - out)
            error = out - label
            g2[-1] += error
            for i, h in enumerate(hidden):
                g2[i] += error * h
                back = error * self.w2[i] * (1 - h * h)
                g1[i][0] += back * x
                g1[i][1] += back * y
                g1[i][2] += back
        scale = RATE / len(batch)
        for w, g in zip(self.w1, g1):
            for j in range(3):
                w[j] -= scale * g[j]
        for i in range(HIDDEN + 1):
            self.w2[i] -= scale * g2[i]
        return loss / len(batch)

    def accuracy(self, points):
        return sum((self.forward(x, y)[1] > 0.5) == bool(label) for x, y, label in points) / len(points)

    def digest(self):
        """Twelve digits that are equal only for equal weights."""
        numbers = [w for row in self.w1 for w in row] + self.w2
        return hashlib.sha256(struct.pack("<%dd" % len(numbers), *numbers)).hexdigest()[:12]


class Training:
    """The network, the source of chance and the step: all that a checkpoint has to hold."""

    def __init__(self, seed):
        self.seed = seed
        self.rng = random.Random(seed + 1)
        self.net = Network(self.rng)
        self.done = 0  # steps
        self.loss = None  # smoothed

    def step(self, points):
        loss = self.net.step(self.rng.sample(points, BATCH))
        self.loss = loss if self.loss is None else 0.95 * self.loss + 0.05 * loss
        self.done += 1

    def save(self, path):
        """Write a temporary file and rename it: a checkpoint is whole or not there."""
        state = {"seed": self.seed, "done": self.done, "loss": self.loss, "rng": self.rng.getstate(),
                 "w1": self.net.w1, "w2": self.net.w2}
        temporary = path + ".new"
        with open(temporary, "w") as f:
            json.dump(state, f)
            f.flush()
            os.fsync(f.fileno())
        os.replace(temporary, path)

    def load(self, path):
        """Take up a checkpoint. False if there is none, or it is another seed's."""
        try:
            with open(path) as f:
                state = json.load(f)
        except FileNotFoundError:
            return False
        if state["seed"] != self.seed:
            return False
        version, numbers, gauss = state["rng"]
        self.rng.setstate((version, tuple(numbers), gauss))
        self.net.w1, self.net.w2 = state["w1"], state["w2"]
        self.done, self.loss = state["done"], state["loss"]
        return True


class Bar:
    """A progress bar on the last line of a terminal; off a terminal, a line at each tenth."""

    def __init__(self, total):
        self.total = total
        self.terminal = sys.stdout.isatty()
        self.drawn = ""
        self.tenth = None

    def show(self, training):
        part = training.done / self.total
        text = "step %d/%d  loss %.4f" % (training.done, self.total, training.loss)
        if self.terminal:
            if training.done % 10 and training.done != self.total:
                return
            width = max(0, min(40, shutil.get_terminal_size((80, 24)).columns - len(text) - 10))
            full = int(part * width)
            self.drawn = "\r%3d%% |%s%s| %s" % (100 * part, "#" * full, "." * (width - full), text)
            sys.stdout.write(self.drawn)
            sys.stdout.flush()
        elif int(part * 10) != self.tenth:
            self.tenth = int(part * 10)
            print("%3d%%  %s" % (100 * part, text), flush=True)

    def say(self, text):
        """Print a line above the bar."""
        if self.terminal:
            sys.stdout.write("\r\x1b[K" + text + "\n" + self.drawn)
            sys.stdout.flush()
        else:
            print(text, flush=True)

    def end(self):
        if self.drawn:
            print(flush=True)


def arguments():
    def whole(text):
        n = int(text)
        if n < 1:
            raise argparse.ArgumentTypeError("%d is not 1 or more" % n)
        return n

    def seconds(text):
        s = float(text)
        if not 0 <= s <= 3600:
            raise argparse.ArgumentTypeError("%s is not between 0 and 3600" % text)
        return s

    p = argparse.ArgumentParser(description="Train a small neural network, as a job that survives being stopped.")
    p.add_argument("--steps", type=whole, default=2000, help="steps to train (default %(default)s)")
    p.add_argument("--step-time", type=seconds, default=0.005, metavar="S",
                   help="least time of a step in seconds (default %(default)s, about 10 s in all)")
    p.add_argument("--save-every", type=whole, default=200, metavar="N", help="steps between checkpoints (default %(default)s)")
    p.add_argument("--seed", type=int, default=1, help="of the data and the weights (default %(default)s)")
    p.add_argument("--dir", help="where checkpoints go outside pasar (default: none are kept)")
    p.add_argument("--fail-at", type=whole, metavar="N", help="raise an error at this step, to see what pasar makes of it")
    return p.parse_args()


def main():
    args = arguments()
    stopped = []  # signals that asked us to stop
    signal.signal(signal.SIGINT, lambda signum, frame: stopped.append(signum))
    pasar_job.on_preempt()

    directory = pasar_job.persist_dir(default=args.dir)
    path = None
    if directory:
        os.makedirs(directory, exist_ok=True)
        path = os.path.join(directory, "train.json")

    points = rings(args.seed)
    training = Training(args.seed)
    if path and training.load(path):
        print("resumed at step %d from %s" % (training.done, path), flush=True)
        pasar_job.resumed(step=training.done)
    else:
        print("training %d steps on %d points" % (args.steps, len(points)), flush=True)

    def save():
        if path:
            training.save(path)
            pasar_job.checkpoint(step=training.done, path=path)
            bar.say("saved step %d" % training.done)

    bar = Bar(args.steps)
    unanswered = False  # a pause that could not be answered
    while training.done < args.steps:
        began = time.monotonic()
        if args.fail_at == training.done + 1:
            bar.end()
            raise RuntimeError("told to fail at step %d" % args.fail_at)
        training.step(points)
        pasar_job.progress(training.done, args.steps, loss=training.loss)
        bar.show(training)
        pause = path is not None and not unanswered and pasar_job.should_pause()
        stop = bool(stopped) or pasar_job.should_stop()
        if pause or stop or training.done % args.save_every == 0 or training.done == args.steps:
            save()
        if pause:
            bar.end()
            print("pausing at step %d" % training.done, flush=True)
            unanswered = not pasar_job.exit_paused(path)
        if stop and training.done < args.steps:
            bar.end()
            print("stopped at step %d%s" % (training.done, ", saved" if path else ""), flush=True)
            return 128 + (stopped[0] if stopped else signal.SIGTERM)
        time.sleep(max(0.0, args.step_time - (time.monotonic() - began)))
    bar.end()
    print("trained %d steps: loss %.4f, accuracy %.1f %%, weights %s"
          % (training.done, training.loss, 100 * training.net.accuracy(points), training.net.digest()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
