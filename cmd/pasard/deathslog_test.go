package main

import (
	"syscall"

	"pasar"
)

// logDeaths have logs that say more than why the job died: what it lived through, what it quotes, what it cleans up.
var logDeaths = []death{
	{name: "data that quotes an error", py: `print('prompt: "why does torch say CUDA error: out of memory?"')
print('config: {"on_error": "raise", "fail_fast": true, "error": null}')
raise ValueError('prompt 17 has no answer')
`, reason: pasar.CodeException, root: "ValueError: prompt 17 has no answer"},
	{name: "warnings, then a code alone", py: `import sys, warnings
warnings.warn('lr_scheduler.step() before optimizer.step(), the first value may be skipped: an error in most programs')
for i in range(3):
    print(f'step {i}: loss 0.{i}', flush=True)
sys.exit(5)
`, reason: pasar.CodeExit, summary: "code 5"},
	{name: "a missing optional module, progress, and another death", py: `try:
    import flash_attn_3
except ImportError as e:
    print(f'WARNING: flash attention is off: {e}', flush=True)
for i in range(5):
    print(f'epoch {i}: loss 0.{9 - i}', flush=True)
[].pop()
`, reason: pasar.CodeException, root: "IndexError: pop from empty list"},
	{name: "a disk that was full for a while", needs: []string{"/dev/full"}, py: `import time
for i in range(1, 4):
    try:
        open('/dev/full' if i < 3 else 'last.pt', 'w').write('x' * 9999)
        print('saved last.pt', flush=True)
    except OSError as e:
        print(f'saving failed ({e}), attempt {i} of 3, retrying', flush=True)
for i in range(3):
    print(f'step {i}: loss 0.{i}', flush=True)
raise IndexError('tuple index out of range')
`, reason: pasar.CodeException, root: "IndexError: tuple index out of range"},
	{name: "a missing file that didn't matter", bash: `cat old.log
for i in 1 2 3; do echo "step $i: loss 0.$i"; done
exit 4
`, reason: pasar.CodeExit, summary: "code 4"},
	{name: "a worker killed, progress, and a code alone", bash: `sh -c 'kill -9 $$'
echo 'worker lost, going on with 3'
for i in 1 2 3 4; do echo "epoch $i: loss 0.$i"; done
exit 3
`, reason: pasar.CodeExit, summary: "code 3"},
	{name: "clean-up that fails after an exception", bash: `set -e
trap 'rm cache/lock' EXIT
python3 -c 'raise ValueError("shard 7 is torn")'
`, needs: []string{"python3"}, reason: pasar.CodeException, root: "ValueError: shard 7 is torn"},
	{name: "a logged traceback, then a segfault", py: `import ctypes, logging
try:
    {}['lr']
except KeyError:
    logging.exception('no lr given, taking 0.1')
for i in range(3):
    print(f'step {i}: loss 0.{i}', flush=True)
ctypes.string_at(0)
`, reason: pasar.CodeSignal, summary: "SIGSEGV"},
	{name: "a logged error, then a code", py: `import logging, sys
logging.basicConfig(level=logging.INFO, format='%(asctime)s %(levelname)s %(name)s: %(message)s')
logging.info('checking 12 shards')
logging.error('validation failed: 3 shards have no checksum')
sys.exit(1)
`, reason: pasar.CodeExit, root: "validation failed: 3 shards have no checksum"},
	{name: "a unit test that fails", py: `import unittest
class T(unittest.TestCase):
    def test_shards(self):
        self.assertEqual(3, 4)
unittest.main()
`, reason: pasar.CodeException, root: "AssertionError: 3 != 4"},
	{name: "into tee, with pipefail", bash: "set -o pipefail\npython3 -c 'raise ValueError(\"lr is negative\")' 2>&1 | tee train.log\n", needs: []string{"python3"},
		reason: pasar.CodeException, root: "ValueError: lr is negative"},
	{name: "into tee, without pipefail", bash: "python3 -c 'raise ValueError(\"lr is negative\")' 2>&1 | tee train.log\n", needs: []string{"python3"},
		reason: pasar.CodeCompleted, summary: "completed"},
	{name: "a traced script", bash: "set -ex\necho preparing\ntrian --lr 1\n",
		reason: pasar.CodeBadCommand, root: "trian: command not found"},
	{name: "bytes that are no text, then an exception", py: `import os
os.write(1, b'\x00\x00\x01\xff\xfe\x80head\x00\r\n' * 50)
raise ValueError('header is torn')
`, reason: pasar.CodeException, root: "ValueError: header is torn"},
	{name: "a program that draws on the screen, then an exception", env: []string{"TERM=xterm"}, py: `import curses
def main(screen):
    for i in range(50):
        screen.addstr(3, 5, f'epoch {i}')
        screen.refresh()
    raise ValueError('the plot has no points')
curses.wrapper(main)
`, reason: pasar.CodeException, root: "ValueError: the plot has no points"},
	{name: "one very long line", py: "raise ValueError('token ids: ' + '50256, ' * 20000)\n",
		reason: pasar.CodeException, root: "ValueError: token ids: 50256, 50256"},
	{name: "two workers that write over each other", py: `import sys
sys.stderr.write('''Process Process-2:
Traceback (most recent call last):
Process Process-4:
Traceback (most recent call last):
  File "/usr/lib/python3.11/multiprocessing/process.py", line 314, in _bootstrap
    self.run()
  File "/usr/lib/python3.11/multiprocessing/process.py", line 314, in _bootstrap
    self.run()
  File "train.py", line 3, in work
    raise ValueError('tokens.bin has 3 of 4 parts')
ValueError: tokens.bin has 3 of 4 parts
  File "train.py", line 3, in work
    raise ValueError('tokens.bin has 3 of 4 parts')
ValueError: tokens.bin has 3 of 4 parts
''')
sys.exit(1)
`, reason: pasar.CodeException, root: "ValueError: tokens.bin has 3 of 4 parts"},
	{name: "a rank that fails, and another that loses it first", py: `import sys
sys.stderr.write('''[rank0]: Traceback (most recent call last):
[rank0]:   File "train.py", line 9, in <module>
[rank0]:     dist.all_reduce(grads)
[rank0]: ConnectionResetError: [Errno 104] Connection reset by peer
''')
def hook(*e):
    import traceback
    for l in ''.join(traceback.format_exception(*e)).splitlines():
        sys.stderr.write(f'[rank1]: {l}\n')
sys.excepthook = hook
raise ValueError('rank 1 has 3 of 4 shards')
`, reason: pasar.CodeException, root: "[rank1]: ValueError: rank 1 has 3 of 4 shards", summary: "ValueError: rank 1 has 3 of 4 shards"},
	{name: "a loader's worker that raises", py: `import traceback
try:
    raise ValueError('sample 17 has no label')
except ValueError as e:
    text = traceback.format_exc()
raise ValueError('Caught ValueError in DataLoader worker process 0.\nOriginal ' + text) from None
`, reason: pasar.CodeException, root: "ValueError: sample 17 has no label"},
	{name: "a launcher that was terminated", py: `import os, signal, sys, time
class SignalException(Exception):
    pass
SignalException.__module__ = 'torch.distributed.elastic.multiprocessing.api'
def term(n, _):
    raise SignalException(f'Process {os.getpid()} got signal: {n}')
signal.signal(signal.SIGTERM, term)
try:
    os.write(1, b'ready\n')
    while True:
        time.sleep(600)
except SignalException:
    print('W1129 10:11:12.000000 4711 torch/distributed/elastic/agent/server/api.py:741] Received Signals.SIGTERM death signal, shutting down workers', file=sys.stderr)
    raise
`, do: strangers(syscall.SIGTERM), reason: pasar.CodeInterrupted, root: "SIGTERM", summary: "SIGTERM"},
	{name: "Ctrl-C typed at a pool's terminal", py: `import multiprocessing, time
if __name__ == '__main__':
    with multiprocessing.Pool(2) as p:
        r = p.map_async(time.sleep, [600] * 4)
        time.sleep(0.3)
        print('ready', flush=True)
        r.get()
`, do: typing("\x03"), reason: pasar.CodeInterrupted, root: "KeyboardInterrupt", summary: "SIGINT"},
	{name: "a bus error on a full /dev/shm", as: mounting, needs: []string{"mount", "python3"}, bash: `mount -t tmpfs -o size=64k tmpfs /dev/shm
exec python3 -X faulthandler -c '
import mmap
f = open("/dev/shm/cache", "w+b")
f.truncate(1 << 20)
m = mmap.mmap(f.fileno(), 1 << 20)
m[:] = bytes(1 << 20)
'
`, reason: pasar.CodeSignal, root: "Fatal Python error: Bus error", summary: "SIGBUS"},
	{name: "timeout that kills", argv: []string{"timeout", "--verbose", "-s", "KILL", "0.2", "sleep", "60"},
		reason: pasar.CodeTimeLimit, root: "sending signal KILL to command", summary: "time"},
	{name: "argparse: a bad choice", argv: []string{"python3", "train.py", "--model", "resnet5"}, needs: []string{"python3"},
		files:  map[string]string{"train.py": "import argparse\np = argparse.ArgumentParser()\np.add_argument('--model', choices=['resnet18', 'resnet50'])\np.parse_args()\n"},
		reason: pasar.CodeBadCommand, root: "train.py: error: argument --model: invalid choice: 'resnet5'"},
}

// moreDeaths are those of the tables before, told by other programs.
var moreDeaths = []death{
	{name: "perl out of memory", bash: "ulimit -v 60000\nexec perl -e '$x = q(a) x (300 << 20)'\n", needs: []string{"perl"},
		reason: pasar.CodeHostOOM, root: "Out of memory"},
	{name: "dd out of memory", bash: "ulimit -v 60000\nexec dd if=/dev/zero of=/dev/null bs=4G count=1\n",
		reason: pasar.CodeHostOOM, root: "memory exhausted"},
	{name: "Python mapping too much", bash: "ulimit -v 400000\nexec python3 -c 'import mmap; mmap.mmap(-1, 1 << 33)'\n", needs: []string{"python3"},
		reason: pasar.CodeHostOOM, root: "Cannot allocate memory"},
	{name: "java that can't reserve its heap", bash: "ulimit -v 4000000\nexec java -Xms20g -Xmx20g -version\n", needs: []string{"java"},
		reason: pasar.CodeHostOOM, root: "Could not reserve enough space"},
	{name: "java throws", needs: []string{"javac"}, argv: []string{"java", "-XX:TieredStopAtLevel=1", "Die.java"},
		files:  map[string]string{"Die.java": "class Die {\n\tpublic static void main(String[] args) {\n\t\tthrow new IllegalStateException(\"shard 7 is torn\");\n\t}\n}\n"},
		reason: pasar.CodeException, root: "java.lang.IllegalStateException: shard 7 is torn"},
	{name: "node: too deep", needs: []string{"node"}, argv: []string{"node", "-e", "function f() { return f() + 1 }\nf()"},
		reason: pasar.CodeException, root: "RangeError: Maximum call stack size exceeded"},
	{name: "node: a file it may not read", as: nobody, needs: []string{"node", "/etc/shadow"}, argv: []string{"node", "-e", "require('fs').readFileSync('/etc/shadow')"},
		reason: pasar.CodePermission, root: "EACCES: permission denied, open '/etc/shadow'"},
	{name: "node: connection refused", needs: []string{"node"}, argv: []string{"node", "-e", "require('net').connect(9, '127.0.0.1')"},
		reason: pasar.CodeNetwork, root: "connect ECONNREFUSED 127.0.0.1:9"},
	{name: "node: a full device", needs: []string{"node", "/dev/full"}, argv: []string{"node", "-e", "require('fs').writeFileSync('/dev/full', 'x')"},
		reason: pasar.CodeDiskFull, root: "ENOSPC: no space left on device"},
	{name: "Go file it may not read", as: nobody, argv: []string{"die-go", "read", "/etc/shadow"}, needs: []string{"/etc/shadow"},
		reason: pasar.CodePermission, root: "open /etc/shadow: permission denied"},
	{name: "Go connection refused", argv: []string{"die-go", "dial"},
		reason: pasar.CodeNetwork, root: "dial tcp 127.0.0.1:9: connect: connection refused"},
	{name: "Go on a full device", argv: []string{"die-go", "write", "/dev/full"}, needs: []string{"/dev/full"},
		reason: pasar.CodeDiskFull, root: "write /dev/full: no space left on device"},
	{name: "Go out of descriptors", bash: "ulimit -n 20\nexec die-go files\n",
		reason: pasar.CodeSysLimit, root: "too many open files"},
	{name: "C port in use", argv: []string{"die-c", "bind"}, needs: []string{"gcc"}, reason: pasar.CodePortInUse, root: "bind: Address already in use"},
	{name: "C connection refused", argv: []string{"die-c", "connect"}, needs: []string{"gcc"}, reason: pasar.CodeNetwork, root: "connect: Connection refused"},
	{name: "C file it may not read", as: nobody, argv: []string{"die-c", "open", "/etc/shadow"}, needs: []string{"gcc", "/etc/shadow"},
		reason: pasar.CodePermission, root: "Permission denied"},
	{name: "C file that isn't there", argv: []string{"die-c", "open", "weights.bin"}, needs: []string{"gcc"},
		reason: pasar.CodeFileMissing, root: "No such file or directory"},
	{name: "buffer overflow", argv: []string{"die-c", "overflow"}, needs: []string{"gcc"},
		reason: pasar.CodeSignal, root: "*** buffer overflow detected ***"},
	{name: "C++ out of threads", as: limited, bash: "ulimit -u 8\nexec die-cc threads\n", needs: []string{"g++"},
		reason: pasar.CodeSysLimit, root: "Resource temporarily unavailable"},
	{name: "C++ directory that isn't there", argv: []string{"die-cc", "list"}, needs: []string{"g++"},
		reason: pasar.CodeFileMissing, root: "No such file or directory [shards]"},
	{name: "git: connection refused", bash: "set -e\ngit clone http://127.0.0.1:9/src.git\n", needs: []string{"git"},
		reason: pasar.CodeNetwork, root: "Failed to connect to 127.0.0.1 port 9"},
	{name: "wget: connection refused", bash: "set -e\nwget -nv -t 1 http://127.0.0.1:9/model.bin\n", needs: []string{"wget"},
		reason: pasar.CodeNetwork, root: "Connection refused"},
	{name: "unzip of a file that isn't there", bash: "set -e\nunzip -q data.zip\n", needs: []string{"unzip"},
		reason: pasar.CodeFileMissing, root: "cannot find or open data.zip"},
	{name: "a damaged archive", bash: "set -e\necho garbage >data.tar.gz\ntar -xzf data.tar.gz\n", needs: []string{"tar", "gzip"},
		reason: pasar.CodeExit, root: "not in gzip format", summary: "code 2"},
	{name: "a compiler's error", bash: "set -e\necho 'int main() { return shards(; }' >main.c\ngcc -o train main.c\n", needs: []string{"gcc"},
		reason: pasar.CodeException, root: "main.c:1:"},
	{name: "Python binding an address that isn't here", py: "import socket\nsocket.socket().bind(('192.0.2.1', 0))\n",
		reason: pasar.CodeException, root: "Cannot assign requested address"},
}
