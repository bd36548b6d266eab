package main

import "pasar"

// pythonDeaths are of one Python process.
var pythonDeaths = []death{
	{name: "Python module that isn't there", py: "import flash_attn_3\n",
		reason: pasar.CodeEnvError, root: "No module named 'flash_attn_3'"},
	{name: "Python module that isn't there, run with -m", argv: []string{"python3", "-m", "llama_recipes.finetune"}, needs: []string{"python3"},
		reason: pasar.CodeEnvError, root: "llama_recipes"},
	{name: "Python name that a module lacks", py: "from json import loadz\n",
		reason: pasar.CodeEnvError, root: "cannot import name 'loadz' from 'json'"},
	{name: "Python script that isn't there", argv: []string{"python3", "scripts/train.py"}, needs: []string{"python3"},
		reason: pasar.CodeFileMissing, root: "can't open file"},
	{name: "Python file that isn't there", py: "print('epoch 1')\nopen('/data/imagenet/train.idx')\n",
		reason: pasar.CodeFileMissing, root: "No such file or directory: '/data/imagenet/train.idx'"},
	{name: "Python directory that isn't there", py: "import os\nos.listdir('shards')\n",
		reason: pasar.CodeFileMissing, root: "No such file or directory: 'shards'"},
	{name: "Python file it may not read", as: nobody, py: "open('/etc/shadow').read()\n", needs: []string{"/etc/shadow"},
		reason: pasar.CodePermission, root: "Permission denied: '/etc/shadow'"},
	{name: "Python directory it may not make", as: nobody, py: "import os\nos.makedirs('/usr/checkpoints/run-1')\n",
		reason: pasar.CodePermission, root: "Permission denied: '/usr/checkpoints"},
	{name: "Python syntax", py: "def f(:\n    pass\n", reason: pasar.CodeException, root: "SyntaxError"},
	{name: "Python indentation", py: "def f():\nreturn 1\n", reason: pasar.CodeException, root: "IndentationError: expected an indented block"},
	{name: "Python assertion", py: "n = 3\nassert n % 2 == 0, 'batch of 3 does not split over 2'\n",
		reason: pasar.CodeException, root: "AssertionError: batch of 3 does not split over 2"},
	{name: "Python assertion without words", py: "assert 1 == 2\n", reason: pasar.CodeException, root: "AssertionError"},
	{name: "Python key", py: "cfg = {}\ncfg['lr']\n", reason: pasar.CodeException, root: "KeyError: 'lr'"},
	{name: "Python division by zero", py: "print(1 // 0)\n", reason: pasar.CodeException, root: "ZeroDivisionError"},
	{name: "Python type", py: "len(3)\n", reason: pasar.CodeException, root: "TypeError: object of type 'int' has no len()"},
	{name: "Python recursion", py: "def f(n):\n    return f(n + 1)\nf(0)\n",
		reason: pasar.CodeException, root: "RecursionError: maximum recursion depth exceeded"},
	{name: "Python cause and effect", py: `try:
    {}['lr']
except KeyError as e:
    raise RuntimeError('bad configuration') from e
`, reason: pasar.CodeException, root: "KeyError: 'lr'"},
	{name: "Python failing clean-up", py: `try:
    raise ValueError('shard 7 is torn')
except ValueError:
    None.close()
`, reason: pasar.CodeException, root: "ValueError: shard 7 is torn"},
	{name: "Python exception group", needs: []string{python311}, py: `raise ExceptionGroup('workers', [ValueError('shard 7 is torn'), KeyError('lr')])
`, reason: pasar.CodeException, root: "ValueError: shard 7 is torn"},
	{name: "Python task group", needs: []string{python311}, py: `import asyncio
async def load():
    raise ValueError('shard 7 is torn')
async def main():
    async with asyncio.TaskGroup() as g:
        g.create_task(load())
        g.create_task(asyncio.sleep(60))
asyncio.run(main())
`, reason: pasar.CodeException, root: "ValueError: shard 7 is torn"},
	{name: "Python thread that fails, and main for it", py: `import sys, threading
def work():
    raise ValueError('shard 7 is torn')
t = threading.Thread(target=work)
t.start()
t.join()
sys.exit(1)
`, reason: pasar.CodeException, root: "ValueError: shard 7 is torn"},
	{name: "Python exception of its own", py: `class ConfigError(Exception):
    pass
raise ConfigError('heads (7) must divide width (512)')
`, reason: pasar.CodeException, root: "ConfigError: heads (7) must divide width (512)"},
	{name: "Python message of several lines", py: `raise ValueError('sizes differ:\n  want [512, 7]\n  have [512, 8]')
`, reason: pasar.CodeException, root: "ValueError: sizes differ:"},
	{name: "Python out of memory", bash: "ulimit -v 400000\nexec python3 -c 'x = [bytearray(64 << 20) for _ in range(100)]'\n", needs: []string{"python3"},
		reason: pasar.CodeHostOOM, root: "MemoryError"},
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
	{name: "Python leaving with words", py: "import sys\nprint('eval')\nsys.exit('the score 0.31 is below the bar of 0.40')\n",
		reason: pasar.CodeExit, root: "the score 0.31 is below the bar of 0.40", summary: "code 1"},
	{name: "Python leaving without words", py: "import sys\nsys.exit(3)\n", reason: pasar.CodeExit, summary: "code 3"},
	{name: "Python pipe that nobody reads", needs: []string{"python3"},
		bash:   "set -o pipefail\npython3 -c 'for i in range(10**6): print(i)' | head -n 1\n",
		reason: pasar.CodeException, root: "BrokenPipeError: [Errno 32] Broken pipe"},
	{name: "argparse: a bad value", argv: []string{"python3", "train.py", "--lr", "abc"}, files: map[string]string{"train.py": argparsing}, needs: []string{"python3"},
		reason: pasar.CodeBadCommand, root: "train.py: error: argument --lr: invalid float value: 'abc'"},
	{name: "argparse: an unknown flag", argv: []string{"python3", "train.py", "--lr", "1", "--bacth", "3"}, files: map[string]string{"train.py": argparsing}, needs: []string{"python3"},
		reason: pasar.CodeBadCommand, root: "train.py: error: unrecognized arguments: --bacth 3"},
	{name: "argparse: a missing flag", argv: []string{"python3", "train.py"}, files: map[string]string{"train.py": argparsing}, needs: []string{"python3"},
		reason: pasar.CodeBadCommand, root: "train.py: error: the following arguments are required: --lr"},
	{name: "JSON that is none", py: "import json\njson.load(open('config.json'))\n", files: map[string]string{"config.json": ""},
		reason: pasar.CodeException, root: "Expecting value: line 1 column 1 (char 0)"},
	{name: "text that isn't UTF-8", py: "open('notes.txt', encoding='utf-8').read()\n", files: map[string]string{"notes.txt": "caf\xe9 cr\xe8me"},
		reason: pasar.CodeException, root: "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xe9"},
	{name: "a port in use", py: "import os, socket\nsocket.socket().bind(('127.0.0.1', int(os.environ['PORT'])))\n",
		reason: pasar.CodePortInUse, root: "Address already in use"},
	{name: "a web server whose port is in use", sh: "exec python3 -m http.server --bind 127.0.0.1 $PORT", needs: []string{"python3"},
		reason: pasar.CodePortInUse, root: "Address already in use"},
	{name: "Python connection refused", py: "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:9/model.safetensors', timeout=60)\n",
		reason: pasar.CodeNetwork, root: "Connection refused"},
	{name: "Python name that doesn't resolve", env: []string{"RES_OPTIONS=timeout:1 attempts:1"},
		py:     "import urllib.request\nurllib.request.urlopen('http://models.invalid/a.bin', timeout=60)\n",
		reason: pasar.CodeNetwork, root: "gaierror: [Errno -"},
	{name: "Python timeout of a server", py: "import os, urllib.request\nurllib.request.urlopen(os.environ['SERVER'] + '/hang', timeout=0.2)\n",
		reason: pasar.CodeNetwork, root: "imed out"},
	{name: "Python refused for its identity", py: "import os, urllib.request\nurllib.request.urlopen(os.environ['SERVER'] + '/401')\n",
		reason: pasar.CodeAuth, root: "HTTP Error 401: Unauthorized"},
	{name: "Python forbidden", py: "import os, urllib.request\nurllib.request.urlopen(os.environ['SERVER'] + '/403')\n",
		reason: pasar.CodeAuth, root: "HTTP Error 403: Forbidden"},
	{name: "Python too many requests", py: "import os, urllib.request\nurllib.request.urlopen(os.environ['SERVER'] + '/429')\n",
		reason: pasar.CodeNetwork, root: "HTTP Error 429: Too Many Requests"},
	{name: "Python service unavailable", py: "import os, urllib.request\nurllib.request.urlopen(os.environ['SERVER'] + '/503')\n",
		reason: pasar.CodeNetwork, root: "HTTP Error 503: Service Unavailable"},
	{name: "Python download cut off", py: "import os, urllib.request\nurllib.request.urlopen(os.environ['SERVER'] + '/cut').read()\n",
		reason: pasar.CodeNetwork, root: "http.client.IncompleteRead: IncompleteRead("},
	{name: "sqlite locked", py: `import sqlite3
a, b = (sqlite3.connect('runs.db', timeout=0, isolation_level=None) for _ in 'ab')
a.execute('create table t(x)')
a.execute('begin exclusive')
b.execute('insert into t values (1)')
`, reason: pasar.CodeException, root: "sqlite3.OperationalError: database is locked"},
	{name: "sqlite on a full disk", py: `import sqlite3
a = sqlite3.connect('runs.db')
a.execute('pragma max_page_count = 4')
a.execute('create table t(x)')
while True:
    a.execute('insert into t values (zeroblob(4000))')
`, reason: pasar.CodeDiskFull, root: "database or disk is full"},

	{name: "Python library that isn't there", py: "import ctypes\nctypes.CDLL('libcudnn.so.19')\n",
		reason: pasar.CodeEnvError, root: "OSError: libcudnn.so.19: cannot open shared object file"},
	{name: "Python reading what can't be read", py: "print('loading')\nopen('/proc/self/mem', 'rb', 0).read(1)\n", needs: []string{"/proc/self/mem"},
		reason: pasar.CodeIOError, root: "OSError: [Errno 5] Input/output error"},
	{name: "a checkpoint that is none", py: "import pickle\nprint('resuming from model.pt')\nstate = pickle.load(open('model.pt', 'rb'))\n",
		files:  map[string]string{"model.pt": "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 132\n"},
		reason: pasar.CodeBadCheckpoint, root: "UnpicklingError: invalid load key, 'v'."},
	{name: "a checkpoint that was cut off", py: "import pickle\nprint('resuming from last.ckpt')\nstate = pickle.load(open('last.ckpt', 'rb'))\n",
		files:  map[string]string{"last.ckpt": ""},
		reason: pasar.CodeBadCheckpoint, root: "EOFError: Ran out of input"},
	{name: "a loss that isn't finite", py: `import math, sys
loss = 2.31
for step in range(100, 600, 100):
    print(f'step {step}: loss {loss}', flush=True)
    loss = loss * 1e200 if step < 300 else math.inf - math.inf
    if not math.isfinite(loss):
        print(f'Loss is {loss}, stopping training')
        sys.exit(1)
`, reason: pasar.CodeDiverged, root: "Loss is "},

	{name: "a caught out of memory, progress, and another death", py: `print('epoch 1: loss 2.31', flush=True)
try:
    raise MemoryError('batch of 64')
except MemoryError as e:
    import traceback
    traceback.print_exc()
    print('out of memory; going on with a batch of 32', flush=True)
for i in range(2, 9):
    print(f'epoch {i}: loss {2.31 / i:.2f}', flush=True)
raise KeyError('val/accuracy')
`, reason: pasar.CodeException, root: "KeyError: 'val/accuracy'"},
	{name: "a retried download, and another death", py: `import time
for i in range(3):
    print(f'ConnectionResetError: [Errno 104] Connection reset by peer, retrying ({i + 1}/5)', flush=True)
print('downloaded 3.1 GB in 12 s')
for i in range(100, 500, 100):
    print(f'step {i}: loss 1.{i}')
assert False, 'labels and images differ in number'
`, reason: pasar.CodeException, root: "AssertionError: labels and images differ in number"},
	{name: "progress bars, then an exception", py: `import sys
for i in range(3000):
    sys.stderr.write(f'\rEpoch 1: {i / 30:3.0f}%|{"#" * (i // 300):10}| {i}/3000 [00:01<00:00, 99.00it/s, loss=0.{i:04}]')
raise ValueError('too many values to unpack (expected 2)')
`, reason: pasar.CodeException, root: "ValueError: too many values to unpack (expected 2)"},
	{name: "colours around an exception", py: `import sys
sys.stderr.write('\x1b[1;31mTraceback\x1b[0m (most recent call last):\n')
sys.stderr.write('  \x1b[35mFile "train.py"\x1b[0m, line \x1b[35m3\x1b[0m, in <module>\n')
sys.stderr.write('\x1b[1;31mValueError\x1b[0m: \x1b[35mseed must be positive\x1b[0m\n')
sys.exit(1)
`, reason: pasar.CodeException, root: "ValueError: seed must be positive"},
	{name: "20 MB of output, then an exception", py: `line = 'step {}: loss 0.123 lr 0.0003 grad 1.0 tokens/s 91234 ' + 'x' * 60
for i in range(170_000):
    print(line.format(i))
raise RuntimeError('stopped: 12 of 4096 tokens are out of vocabulary')
`, reason: pasar.CodeException, root: "RuntimeError: stopped: 12 of 4096 tokens are out of vocabulary"},
	{name: "an exception, then much output", py: `import sys, threading, traceback
try:
    raise RuntimeError('mixup needs an even batch')
except RuntimeError:
    traceback.print_exc()
sys.stderr.flush()
for i in range(300):
    print('cleaning up', i)
sys.exit(1)
`, reason: pasar.CodeException, root: "RuntimeError: mixup needs an even batch"},
	{name: "on pipes, an exception", noPTY: true, py: "print('epoch 1')\nraise ValueError('lr is negative')\n",
		reason: pasar.CodeException, root: "ValueError: lr is negative"},
}

// python311 is a Python with exception groups.
const python311 = "python3.11+"

const argparsing = `import argparse
p = argparse.ArgumentParser()
p.add_argument('--lr', type=float, required=True)
p.parse_args()
`

// workerDeaths are of processes that work for another, which says that it failed.
var workerDeaths = []death{
	{name: "a pool's worker raises", py: `import multiprocessing
def work(i):
    if i == 17:
        raise ValueError(f'sample {i} has no label')
if __name__ == '__main__':
    with multiprocessing.Pool(2) as p:
        p.map(work, range(20))
`, reason: pasar.CodeException, root: "ValueError: sample 17 has no label"},
	{name: "a process raises, and its parent sees the code", py: `import multiprocessing, sys
def work():
    raise ValueError('sample 17 has no label')
if __name__ == '__main__':
    p = multiprocessing.Process(target=work)
    p.start()
    p.join()
    if p.exitcode:
        raise RuntimeError(f'worker exited with code {p.exitcode}')
`, reason: pasar.CodeException, root: "ValueError: sample 17 has no label"},
	{name: "a pool whose worker is killed", py: `import concurrent.futures, os, signal
def work(i):
    os.kill(os.getpid(), signal.SIGKILL)
if __name__ == '__main__':
    with concurrent.futures.ProcessPoolExecutor(2) as p:
        p.submit(work, 1).result()
`, reason: pasar.CodeException, root: "BrokenProcessPool: A process in the process pool was terminated abruptly"},
	{name: "a subprocess fails", py: "import subprocess\nsubprocess.run(['sh', '-c', 'echo \"tokenize: error: shard 7 is torn\" >&2; exit 3'], check=True)\n",
		reason: pasar.CodeException, root: "tokenize: error: shard 7 is torn"},
	{name: "a subprocess segfaults", py: "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import ctypes; ctypes.string_at(0)'], check=True)\n",
		reason: pasar.CodeSignal, root: "died with <Signals.SIGSEGV: 11>.", summary: "SIGSEGV"},
	{name: "a subprocess raises", py: `import subprocess, sys
subprocess.run([sys.executable, '-c', 'raise ValueError("shard 7 is torn")'], check=True)
`, reason: pasar.CodeException, root: "ValueError: shard 7 is torn"},
	{name: "a loader's worker on a full /dev/shm", py: `import os, signal, subprocess, sys
w = subprocess.Popen([sys.executable, '-c', 'import os, signal; os.kill(os.getpid(), signal.SIGBUS)'])
w.wait()
print('ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).', file=sys.stderr)
raise RuntimeError(f'DataLoader worker (pid {w.pid}) is killed by signal: Bus error. It is possible that dataloader\'s workers are out of shared memory. Please try to raise your shared memory limit.')
`, reason: pasar.CodeShmFull, root: "insufficient shared memory (shm)"},
	{name: "a launcher whose rank raises", argv: []string{"python3", "launch.py", "raise ValueError('rank 1 has 3 of 4 shards')"},
		files: map[string]string{"launch.py": launcher}, needs: []string{"python3"},
		reason: pasar.CodeException, root: "ValueError: rank 1 has 3 of 4 shards"},
	{name: "a launcher whose rank segfaults", argv: []string{"python3", "launch.py", "import ctypes; ctypes.string_at(0)"},
		files: map[string]string{"launch.py": launcher}, needs: []string{"python3"},
		reason: pasar.CodeSignal, root: "failed (exitcode: -11) local_rank: 1", summary: "SIGSEGV"},
	{name: "a launcher whose rank is killed", argv: []string{"python3", "launch.py", "import os; os.kill(os.getpid(), 9)"},
		files: map[string]string{"launch.py": launcher}, needs: []string{"python3"},
		reason: pasar.CodeSignal, root: "failed (exitcode: -9) local_rank: 1", summary: "SIGKILL"},
	{name: "a launcher whose rank lacks a file", argv: []string{"python3", "launch.py", "open('/data/tokens.bin')"},
		files: map[string]string{"launch.py": launcher}, needs: []string{"python3"},
		reason: pasar.CodeFileMissing, root: "No such file or directory: '/data/tokens.bin'"},
	{name: "a launcher whose rank can't bind its port", argv: []string{"python3", "launch.py",
		"import os, socket; socket.socket().bind(('127.0.0.1', int(os.environ['PORT'])))"},
		files: map[string]string{"launch.py": launcher}, needs: []string{"python3"},
		reason: pasar.CodePortInUse, root: "Address already in use"},
	{name: "a launcher whose rank raises with its rank before each line", argv: []string{"python3", "launch.py", `import sys, traceback
def hook(*e):
    for l in ''.join(traceback.format_exception(*e)).splitlines():
        print('[rank1]:', l, file=sys.stderr)
sys.excepthook = hook
{}['attention_mask']`},
		files: map[string]string{"launch.py": launcher}, needs: []string{"python3"},
		reason: pasar.CodeException, root: "[rank1]: KeyError: 'attention_mask'", summary: "KeyError: 'attention_mask'"},
	{name: "a launcher that leaves with the code of a killed rank", py: `import datetime, os, subprocess, sys
p = subprocess.Popen([sys.executable, '-c', 'import os; os.kill(os.getpid(), 9)'])
p.wait()
print(f'[2026-11-29 10:11:12,345] [INFO] [launch.py:319:sigkill_handler] Killing subprocess {p.pid}')
print(f"[2026-11-29 10:11:12,345] [ERROR] [launch.py:325:sigkill_handler] ['python3', '-u', 'train.py', '--local_rank=0'] exits with return code = {p.returncode}", flush=True)
sys.exit(p.returncode)
`, reason: pasar.CodeSignal, root: "exits with return code = -9", summary: "SIGKILL"},
	{name: "an MPI launcher whose rank segfaults", py: `import os, signal, subprocess, sys
p = subprocess.Popen([sys.executable, '-c', 'import ctypes; ctypes.string_at(0)'])
p.wait()
print('-' * 74)
print('Primary job  terminated normally, but 1 process returned\na non-zero exit code. Per user-direction, the job has been aborted.')
print('-' * 74)
print(f'mpirun noticed that process rank 0 with PID {p.pid} on node box exited on signal 11 (Segmentation fault).')
print('-' * 74)
sys.exit(139)
`, reason: pasar.CodeSignal, root: "exited on signal 11 (Segmentation fault)", summary: "SIGSEGV"},
}

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
