package main

import "pasar"

// pythonDeaths are of one Python process.
var pythonDeaths = []death{
	{name: "Python segfault", py: "import ctypes\nprint('epoch 1', flush=True)\nctypes.string_at(0)\n",
		reason: pasar.CodeSignal, summary: "SIGSEGV"},
	{name: "Python segfault with faulthandler", argv: []string{"python3", "-X", "faulthandler", "-c", "import ctypes; ctypes.string_at(0)"}, needs: []string{"python3"},
		reason: pasar.CodeSignal, root: "Fatal Python error: Segmentation fault", summary: "SIGSEGV"},
	{name: "Python abort with faulthandler", argv: []string{"python3", "-X", "faulthandler", "-c", "import os; os.abort()"}, needs: []string{"python3"},
		reason: pasar.CodeSignal, root: "Fatal Python error: Aborted", summary: "SIGABRT"},
	{name: "Python segfault behind bash", bash: "python3 -c 'import ctypes; ctypes.string_at(0)'\nexit $?\n", needs: []string{"python3"},
		reason: pasar.CodeSignal, root: "Segmentation fault", summary: "SIGSEGV"},
	{name: "Python interrupting itself", py: "print('epoch 1')\nraise KeyboardInterrupt\n",
		reason: pasar.CodeInterrupted, root: "KeyboardInterrupt", summary: "SIGINT"},
	{name: "Python leaving without words", py: "import sys\nsys.exit(3)\n", reason: pasar.CodeExit, summary: "code 3"},
}

// python311 is a Python with exception groups.
const python311 = "python3.11+"

const argparsing = `import argparse
p = argparse.ArgumentParser()
p.add_argument('--lr', type=float, required=True)
p.parse_args()
`

// workerDeaths are of processes that work for another, which says that it failed.
var workerDeaths = []death{}

// launcher runs its argument as rank 1 of two, and when that fails prints what torchrun prints.
const launcher = `import signal, subprocess, sys, time
ranks = [subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']),
         subprocess.Popen([sys.executable, '-c', sys.argv[1]])]
code = ranks[1].wait()
def log(level, text):
    print(f'{level}1129 10:11:12.000000 {ranks[1].pid - 1} torch/distributed/elastic/multiprocessing/api.py:874] {text}', file=sys.stderr)
log('W', f'Sending process {ranks[0].pid} closing signal SIGTERM')
ranks[0].terminate()
ranks[0].wait()
log('E', f'failed (exitcode: {code}) local_rank: 1 (pid: {ranks[1].pid}) of binary: {sys.executable}')
said = f'Signal {-code} ({signal.Signals(-code).name}) received by PID {ranks[1].pid}' if code < 0 else '<N/A>'
trace = said if code < 0 else 'To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html'
class ChildFailedError(Exception):
    pass
ChildFailedError.__module__ = 'torch.distributed.elastic.multiprocessing.errors'
raise ChildFailedError(f'''
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
  <NO_OTHER_FAILURES>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-29_10:11:12
  host      : box
  rank      : 1 (local_rank: 1)
  exitcode  : {code} (pid: {ranks[1].pid})
  error_file: <N/A>
  traceback : {trace}
============================================================''')
`
