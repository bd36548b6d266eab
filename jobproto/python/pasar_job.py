"""What a job may say to pasar, and what pasar says to a job.

Copy this file next to your program (`pasar guide helper --write DIR`) and use it:

    import pasar_job

    start = 0
    if os.path.exists(path):                          # in pasar_job.persist_dir(default=".")
        start = load(path)
        pasar_job.resumed(step=start)
    pasar_job.on_preempt()                            # remember a request to stop
    for step in range(start, total):
        loss = train_one_step()
        pasar_job.progress(step + 1, total, loss=loss)
        stop, pause = pasar_job.should_stop(), pasar_job.should_pause()
        if stop or pause or (step + 1) % 1000 == 0:
            save(path)                                # write a temporary file, then rename it
            pasar_job.checkpoint(step + 1, path)
        if pause:
            pasar_job.exit_paused(path)               # writes the marker, exits 75
        if stop:
            sys.exit(1)

It needs Python 3.8 and nothing else. Outside pasar every call does nothing and says so by what it
returns. No call raises into your program (exit_paused leaves it, which is its purpose). With several
processes in one job, report from one of them.
"""

import functools
import json
import math
import os
import signal
import sys
import tempfile
import threading
import time
import traceback

__all__ = [
    "active", "apply_memory_limit", "attempt", "checkpoint", "exit_paused", "job_dir", "job_id",
    "memory_limit_bytes", "note", "on_preempt", "persist_dir", "progress", "resumed", "resuming",
    "should_pause", "should_stop",
]

EXIT_PAUSED = 75  # with the marker in place: "I saved and left because I was asked to"

# The limits of pasar's decoder. What is over one is cut or left out here, so that the rest arrives.
_MAX_METRICS = 64
_MAX_NAME_BYTES = 100
_MAX_NOTE_BYTES = 4096
_MAX_PATH_BYTES = 4096
_RESERVED = frozenset(("event", "step", "total_steps"))

# progress() may be called at every step: it writes at most five times a second. The last step of
# total_steps is always written.
_PROGRESS_EVERY_S = 0.2

# A CUDA context takes about this much beside what PyTorch's allocator hands out.
_CUDA_CONTEXT_BYTES = 600 << 20

_stop_asked = threading.Event()
_last_progress = [0.0]


def _quiet(otherwise):
    """Make a function return otherwise instead of raising: reporting must not end a training."""

    def wrap(f):
        @functools.wraps(f)
        def call(*args, **kwargs):
            try:
                return f(*args, **kwargs)
            except Exception:  # never SystemExit or KeyboardInterrupt
                return otherwise

        return call

    return wrap


def _env(name):
    return os.environ.get(name) or None


def _env_int(name):
    try:
        return int(os.environ[name])
    except (KeyError, ValueError):
        return None


# What pasar says to the job.


def active():
    """True when this program runs as a pasar job."""
    return _env("PASAR_EVENTS") is not None


def job_id():
    """The job's number, or None outside pasar."""
    return _env_int("PASAR_JOB_ID")


def attempt():
    """Which launch of the job this is, from 1, or None outside pasar."""
    return _env_int("PASAR_ATTEMPT")


def resuming():
    """True when an earlier attempt of this job ran, so that there may be a checkpoint to go on from."""
    return os.environ.get("PASAR_RESUMING") == "1"


def job_dir():
    """The job's own directory, or None outside pasar."""
    return _env("PASAR_JOB_DIR")


def persist_dir(default=None):
    """Where checkpoints survive attempts; default outside pasar."""
    return _env("PASAR_PERSIST_DIR") or default


def memory_limit_bytes():
    """GPU memory this job may use on each of its GPUs, or None if it isn't limited."""
    n = _env_int("PASAR_MEM_LIMIT_BYTES")
    return n if n is not None and n > 0 else None


def should_pause():
    """True once pasar asks for a pause. Save, then call exit_paused(path). Cheap enough for each step."""
    path = _env("PASAR_PAUSE_FILE")
    return path is not None and os.path.exists(path)


def should_stop():
    """True once SIGTERM has come, if on_preempt() was called before. Save and leave."""
    return _stop_asked.is_set()


# What the job says to pasar.


@_quiet(False)
def checkpoint(step=None, path=None):
    """Report a checkpoint that is wholly on disk. Returns True if it was reported."""
    fields = {"step": _count(step)}
    if path is not None:
        path = os.path.abspath(os.fspath(path))
        if isinstance(path, str) and len(path.encode("utf-8")) <= _MAX_PATH_BYTES:
            fields["path"] = path
    return _append("checkpoint", fields)


@_quiet(False)
def resumed(step=None):
    """Report that the work of an earlier attempt was taken up at step, once training goes on."""
    return _append("resumed", {"step": _count(step)})


@_quiet(False)
def progress(step=None, total_steps=None, **metrics):
    """Report how far the job is, with any numbers as metrics: progress(120, 5000, loss=0.3).

    Numbers that aren't finite are left out. At most five lines a second are written; calls in between
    return False.
    """
    if not active():
        return False
    step, total = _count(step), _count(total_steps)
    now = time.monotonic()
    done = step is not None and step == total
    if not done and now - _last_progress[0] < _PROGRESS_EVERY_S and _last_progress[0]:
        return False
    fields = {"step": step, "total_steps": total}
    for name, value in metrics.items():
        number = _number(value)
        ok = name not in _RESERVED and 0 < len(name.encode("utf-8")) <= _MAX_NAME_BYTES and name.isprintable()
        if number is not None and ok and len(fields) < _MAX_METRICS + 2:
            fields[name] = number
    if all(v is None for v in fields.values()):
        return False
    _last_progress[0] = now
    return _append("progress", fields)


@_quiet(False)
def note(text):
    """Leave a note of at most 4 KiB in the job's record."""
    text = str(text).replace("\0", "").encode("utf-8", "replace")[:_MAX_NOTE_BYTES].decode("utf-8", "ignore")
    return _append("note", {"text": text}) if text else False


def _append(kind, fields):
    """Append one line in one write, so that lines of several threads and processes never mix."""
    path = _env("PASAR_EVENTS")
    if path is None:
        return False
    event = {"event": kind}
    event.update((k, v) for k, v in fields.items() if v is not None)
    line = (json.dumps(event, allow_nan=False) + "\n").encode("ascii")
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        return os.write(fd, line) == len(line)
    finally:
        os.close(fd)


def _number(value):
    """A finite int or float, of anything that float() takes (NumPy, PyTorch), else None."""
    try:
        number = float(value)
    except Exception:
        return None
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _count(value):
    number = None if value is None else _number(value)
    return number if number is not None and number >= 0 else None


# Being stopped.


@_quiet(False)
def on_preempt(save=None):
    """Notice SIGTERM, which pasar sends before it kills: at a cancel, at a time limit, or to make room.

    Without save, should_stop() becomes true and the program goes on to its next step: the safe way.
    With save, save() is called at once, wherever the program is, and then the program dies of SIGTERM.
    If it returns the checkpoint's path and pasar asked for a pause, that is answered instead: the
    marker is written and the exit code is 75.
    Call it from the main thread. PASAR_GRACE_SECONDS says how much time there is at least.
    """

    def handler(signum, frame):
        first = not _stop_asked.is_set()
        _stop_asked.set()
        if save is None or not first:
            return
        path = None
        try:
            path = save()
        except Exception:
            traceback.print_exc()
        answered = path is not None and should_pause() and _write_marker(path)
        sys.stdout.flush()
        sys.stderr.flush()
        if answered:
            os._exit(EXIT_PAUSED)  # an exception here could be caught by whatever was interrupted
        signal.signal(signum, signal.SIG_DFL)
        os.kill(os.getpid(), signum)

    signal.signal(signal.SIGTERM, handler)
    return True


def exit_paused(path):
    """Answer a pause: write the marker that names the checkpoint, by rename, and exit with 75.

    It returns (False) when nobody asked for a pause or the marker can't be written: the program goes
    on then.
    """
    if not should_pause() or not _write_marker(path):
        return False
    sys.exit(EXIT_PAUSED)


@_quiet(False)
def _write_marker(path):
    marker = _env("PASAR_CHECKPOINT_READY")
    path = os.path.abspath(os.fspath(path))
    if marker is None or not os.path.exists(path):
        return False
    fd, temporary = tempfile.mkstemp(prefix=".marker-", dir=os.path.dirname(marker) or ".")
    try:
        with os.fdopen(fd, "w") as f:
            json.dump({"checkpoint": path}, f)
            f.flush()
            os.fsync(f.fileno())
        os.rename(temporary, marker)
    except BaseException:
        os.unlink(temporary)
        raise
    return True


@_quiet(False)
def apply_memory_limit():
    """Keep PyTorch's allocator within the job's GPU memory. Returns True if that was done.

    JAX is told by its own variable, which pasar sets; for vLLM pass $PASAR_GPU_FRACTION.
    """
    limit = memory_limit_bytes()
    if limit is None:
        return False
    import torch

    n = torch.cuda.device_count()
    for i in range(n):
        total = torch.cuda.get_device_properties(i).total_memory
        room = max(limit - _CUDA_CONTEXT_BYTES, limit // 2)
        torch.cuda.set_per_process_memory_fraction(min(1.0, room / total), i)
    return n > 0
