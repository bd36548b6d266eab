package main

import "pasar"

// shellDeaths are of scripts and of the tools that they call.
var shellDeaths = []death{
	{name: "a command that isn't there, in a script", bash: "set -e\necho preparing\nnvidia-smii -L\necho done\n",
		reason: pasar.CodeBadCommand, root: "nvidia-smii: command not found"},
	{name: "a command that isn't there, in sh", sh: "echo preparing; accelerat launch train.py",
		reason: pasar.CodeBadCommand, root: "accelerat: not found"},
	{name: "bash syntax", bash: "for f in *.tar; do\n  echo $f\nfi\n", reason: pasar.CodeBadCommand, root: "syntax error near unexpected token `fi'"},
	{name: "bash syntax: an open quote", bash: "echo 'half\n", reason: pasar.CodeBadCommand, root: "unexpected EOF while looking for matching `''"},
	{name: "sh syntax", sh: "if true; then echo yes", reason: pasar.CodeBadCommand, root: "yntax error"},
	{name: "deep in a pipeline", bash: "set -e -o pipefail\necho counting\nsort shards.txt | uniq -c | sort -n | tail -n 3 >top.txt\necho done\n",
		reason: pasar.CodeFileMissing, root: "shards.txt: No such file or directory", summary: "No such file or directory"},
	{name: "deep in a pipeline, with a code alone", bash: "set -e -o pipefail\necho counting\nprintf 'a\\nb\\n' | (cat; exit 9) | sort >top.txt\necho done\n",
		reason: pasar.CodeExit, summary: "code 9"},
	{name: "grep finds nothing", bash: "set -e\necho checking\ngrep -q ready /dev/null\necho done\n", reason: pasar.CodeExit, summary: "code 1"},
	{name: "cat of a file that isn't there", argv: []string{"cat", "data/train.csv"},
		reason: pasar.CodeFileMissing, root: "data/train.csv: No such file or directory"},
	{name: "bash script that isn't there", argv: []string{"bash", "scripts/run.sh"}, needs: []string{"bash"},
		reason: pasar.CodeFileMissing, root: "scripts/run.sh: No such file or directory"},
	{name: "bash redirection from a file that isn't there", bash: "set -e\nwc -l <data.csv\n",
		reason: pasar.CodeFileMissing, root: "data.csv: No such file or directory"},
	{name: "cd into a directory that isn't there", bash: "set -e\ncd /data/run-7\n",
		reason: pasar.CodeFileMissing, root: "cd: /data/run-7: No such file or directory"},
	{name: "source of a file that isn't there", bash: "set -e\nsource lib/paths.sh\n",
		reason: pasar.CodeFileMissing, root: "lib/paths.sh: No such file or directory"},
	{name: "source of an environment that isn't there", bash: "set -e\nsource env/bin/activate\n",
		reason: pasar.CodeEnvError, root: "env/bin/activate: No such file or directory"},
	{name: "env of a command that isn't there", argv: []string{"env", "OMP_NUM_THREADS=1", "trian"},
		reason: pasar.CodeBadCommand, root: "trian", summary: "trian"},
	{name: "a shared library that isn't there", bash: `set -e
echo 'int shards(void) { return 3; }' >lib.c
echo 'int shards(void); int main() { return shards() - 3; }' >main.c
gcc -shared -fPIC -o libshards.so lib.c
gcc -o train main.c -L. -lshards
./train
`, needs: []string{"gcc"}, reason: pasar.CodeEnvError, root: "libshards.so: cannot open shared object file"},
	{name: "a symbol that a shared library lacks", bash: `set -e
echo 'int shards(void) { return 3; }' >lib.c
echo 'int shards(void); int main() { return shards() - 3; }' >main.c
gcc -shared -fPIC -o libshards.so lib.c
gcc -o train main.c -L. -lshards -Wl,-rpath,$PWD
echo 'int shard(void) { return 3; }' >lib.c
gcc -shared -fPIC -o libshards.so lib.c
./train
`, needs: []string{"gcc"}, reason: pasar.CodeEnvError, root: "undefined symbol: shards"},
	{name: "cp of a file that isn't there", bash: "set -e\ncp model.pt best.pt\n", reason: pasar.CodeFileMissing, root: "cp: cannot stat 'model.pt'"},
	{name: "mkdir under a directory that isn't there", bash: "set -e\nmkdir out/run-7\n",
		reason: pasar.CodeFileMissing, root: "No such file or directory", summary: "mkdir"},
	{name: "tar of a file that isn't there", bash: "set -e\ntar -xf data.tar\n", needs: []string{"tar"},
		reason: pasar.CodeFileMissing, root: "tar: data.tar: Cannot open: No such file or directory"},
	{name: "git clone of a path that isn't there", bash: "set -e\ngit clone /srv/no/such.git src\n", needs: []string{"git"},
		reason: pasar.CodeFileMissing, root: "repository '/srv/no/such.git' does not exist"},
	{name: "rm of what it may not remove", as: nobody, bash: "set -e\nrm -f /etc/passwd\n", reason: pasar.CodePermission, root: "cannot remove '/etc/passwd'"},
	{name: "bash redirection to a file it may not write", as: nobody, bash: "set -e\necho x >/etc/passwd\n",
		reason: pasar.CodePermission, root: "/etc/passwd: Permission denied"},
	{name: "mkdir where it may not", as: nobody, bash: "set -e\nmkdir /usr/runs\n",
		reason: pasar.CodePermission, root: "Permission denied", summary: "/usr/runs"},
	{name: "cp where it may not", as: nobody, bash: "set -e\necho x >a\ncp a /usr/a\n", reason: pasar.CodePermission, root: "cannot create regular file '/usr/a'"},
	{name: "an unknown flag of a tool", bash: "set -e\nsort --numerik /dev/null\n", reason: pasar.CodeBadCommand, root: "unrecognized option '--numerik'"},
	{name: "a number that is none", bash: "set -e\nhead -n many /dev/null\n", reason: pasar.CodeBadCommand, root: "invalid number of lines"},
	{name: "make: a failing recipe", bash: "make -s\n", needs: []string{"make", "python3"},
		files:  map[string]string{"Makefile": "all:\n\tpython3 train.py\n", "train.py": "raise ValueError('lr is negative')\n"},
		reason: pasar.CodeException, root: "ValueError: lr is negative"},
	{name: "make: a recipe that isn't found", bash: "make\n", needs: []string{"make"},
		files:  map[string]string{"Makefile": "all:\n\ttrian --all\n"},
		reason: pasar.CodeBadCommand, root: "trian", summary: "trian"},
	{name: "make: a recipe with a code alone", bash: "make\n", needs: []string{"make"}, files: map[string]string{"Makefile": "all:\n\t@echo evaluating; exit 3\n"},
		reason: pasar.CodeExit, root: "make: *** [Makefile:2: all] Error 3", summary: "code 2"},
	{name: "make: a recipe that segfaults", bash: "make\n", needs: []string{"make", "gcc"}, files: map[string]string{"Makefile": "all:\n\t@die-c segv\n"},
		reason: pasar.CodeSignal, root: "Segmentation fault", summary: "SIGSEGV"},
	{name: "perl: a file that isn't there", bash: "perl -e 'open(F, \"<\", \"ids.txt\") or die \"ids.txt: $!\"'\n", needs: []string{"perl"},
		reason: pasar.CodeFileMissing, root: "ids.txt: No such file or directory at -e line 1."},
	{name: "perl: a module that isn't there", bash: "perl -e 'use Text::Shards;'\n", needs: []string{"perl"},
		reason: pasar.CodeEnvError, root: "Can't locate Text/Shards.pm in @INC"},
	{name: "perl: it dies", bash: "perl -e 'print \"epoch 1\\n\"; die \"shard 7 is torn\"'\n", needs: []string{"perl"},
		reason: pasar.CodeException, root: "shard 7 is torn at -e line 1."},
	{name: "awk: a file that isn't there", bash: "awk '{print $1}' data.tsv\n", needs: []string{"awk"},
		reason: pasar.CodeFileMissing, root: "data.tsv", summary: "No such file or directory"},
	{name: "awk: a program that is wrong", bash: "awk '{print $1' /dev/null\n", needs: []string{"awk"},
		reason: pasar.CodeBadCommand, root: "awk: "},
	{name: "sed: a program that is wrong", bash: "sed 's/a/b' /dev/null\n", needs: []string{"sed"},
		reason: pasar.CodeBadCommand, root: "unterminated `s' command"},
	{name: "sed: a file that isn't there", bash: "sed -i s/a/b/ config.yaml\n", needs: []string{"sed"},
		reason: pasar.CodeFileMissing, root: "sed: can't read config.yaml: No such file or directory"},
	{name: "curl: connection refused", bash: "set -e\ncurl -sSf -o model.bin http://127.0.0.1:9/model.bin\n", needs: []string{"curl"},
		reason: pasar.CodeNetwork, root: "curl: (7) Failed to connect to 127.0.0.1 port 9"},
	{name: "curl: a name that doesn't resolve", bash: "set -e\ncurl -sSf --max-time 5 -o model.bin http://models.invalid/model.bin\n", needs: []string{"curl"},
		reason: pasar.CodeNetwork, root: "curl: ("},

	{name: "curl: refused for its identity", bash: "set -e\ncurl -sSf -o model.bin $SERVER/401\n", needs: []string{"curl"},
		reason: pasar.CodeAuth, root: "The requested URL returned error: 401"},

	{name: "German: cat of a file that isn't there", argv: []string{"cat", "daten.csv"}, env: in("de"), needs: translated("de", "coreutils"),
		reason: pasar.CodeFileMissing, root: "cat: daten.csv: Datei oder Verzeichnis nicht gefunden"},
	{name: "German: a command that isn't there", bash: "set -e\ntrian\n", env: in("de"), needs: translated("de", "bash"),
		reason: pasar.CodeBadCommand, root: "trian: Kommando nicht gefunden."},
	{name: "German: segfault", bash: "echo Epoche 1\ndie-c segv\nexit $?\n", env: in("de"), needs: append(translated("de", "libc"), "gcc"),
		reason: pasar.CodeSignal, root: "Speicherzugriffsfehler", summary: "SIGSEGV"},
	{name: "German: a full disk", bash: "set -e\ncp job.sh /dev/full\n", env: in("de"), needs: translated("de", "coreutils"),
		reason: pasar.CodeDiskFull, root: "Auf dem Gerät ist kein Speicherplatz mehr verfügbar"},
	{name: "German: permission", as: nobody, bash: "set -e\nmkdir /usr/runs\n", env: in("de"), needs: translated("de", "coreutils"),
		reason: pasar.CodePermission, root: "Keine Berechtigung"},
	{name: "French: a command that isn't there", bash: "set -e\ntrian\n", env: in("fr"), needs: translated("fr", "bash"),
		reason: pasar.CodeBadCommand, root: "commande introuvable"},
	{name: "French: a file that isn't there", bash: "set -e\nsort donnees.csv\n", env: in("fr"), needs: translated("fr", "coreutils"),
		reason: pasar.CodeFileMissing, root: "Aucun fichier ou dossier de ce"},
	{name: "Chinese: a directory that isn't there", bash: "set -e\nmkdir a/b\n", env: in("zh_CN"), needs: translated("zh_CN", "coreutils"),
		reason: pasar.CodeFileMissing, root: "没有那个文件或目录"},
	{name: "Chinese: a full disk", bash: "set -e\ncp job.sh /dev/full\n", env: in("zh_CN"), needs: translated("zh_CN", "coreutils"),
		reason: pasar.CodeDiskFull, root: "设备上没有空间"},
}

// in has programs speak a language, without a locale of it.
func in(language string) []string { return []string{"LANG=C.UTF-8", "LANGUAGE=" + language} }

// translated is what must be there for programs to speak a language.
func translated(language, of string) []string {
	return []string{"/usr/share/locale/" + language + "/LC_MESSAGES/" + of + ".mo", "/usr/share/locale/" + language + "/LC_MESSAGES/libc.mo"}
}

// systemDeaths are for want of room: on disks, in /dev/shm, of memory.
var systemDeaths = []death{
	{name: "Python on a full device", py: "print('step 1')\nopen('/dev/full', 'w').write('x' * 9999)\n", needs: []string{"/dev/full"},
		reason: pasar.CodeDiskFull, root: "No space left on device"},
	{name: "dd on a full device", bash: "dd if=/dev/zero of=/dev/full bs=4096 count=1\n", needs: []string{"/dev/full"},
		reason: pasar.CodeDiskFull, root: "dd: error writing '/dev/full': No space left on device"},
	{name: "echo on a full device", bash: "set -e\necho checkpoint >/dev/full\n", needs: []string{"/dev/full"},
		reason: pasar.CodeDiskFull, root: "write error: No space left on device"},
	{name: "output on a full device", bash: "python3 -c 'print(\"x\")' >/dev/full\n", needs: []string{"/dev/full", "python3"},
		reason: pasar.CodeDiskFull, root: "No space left on device"},
	{name: "Python on a full disk", as: mounting, needs: []string{"python3", "mount"}, bash: `mkdir disk && mount -t tmpfs -o size=64k tmpfs disk
exec python3 -c '
print("saving disk/last.pt", flush=True)
with open("disk/last.pt", "wb") as f:
    f.write(bytes(1 << 20))
'
`, reason: pasar.CodeDiskFull, root: "OSError: [Errno 28] No space left on device"},
	{name: "cp on a full disk", as: mounting, needs: []string{"mount"}, bash: `set -e
mkdir disk && mount -t tmpfs -o size=64k tmpfs disk
head -c 1000000 /dev/zero >model.pt
cp model.pt disk/
`, reason: pasar.CodeDiskFull, root: "cp: error writing 'disk/model.pt': No space left on device"},
	{name: "tar on a full disk", as: mounting, needs: []string{"mount", "tar"}, bash: `set -e
mkdir disk && mount -t tmpfs -o size=64k tmpfs disk
head -c 1000000 /dev/zero >model.pt && tar -cf model.tar model.pt
tar -xf model.tar -C disk
`, reason: pasar.CodeDiskFull, root: "tar: model.pt: Wrote only"},
	{name: "a disk without inodes", as: mounting, needs: []string{"mount"}, bash: `mkdir disk && mount -t tmpfs -o nr_inodes=8 tmpfs disk
set -e
for i in 1 2 3 4 5 6 7 8 9; do mkdir disk/sample-$i; done
`, reason: pasar.CodeDiskFull, root: "No space left on device"},
	{name: "a read-only disk", as: mounting, needs: []string{"mount"}, bash: `set -e
mkdir disk && mount -t tmpfs -o ro tmpfs disk
echo step 1
touch disk/last.pt
`, reason: pasar.CodeIOError, root: "Read-only file system"},
	{name: "dd on a full /dev/shm", as: mounting, needs: []string{"mount"}, bash: `set -e
mount -t tmpfs -o size=64k tmpfs /dev/shm
dd if=/dev/zero of=/dev/shm/cache bs=1024 count=100
`, reason: pasar.CodeShmFull, root: "/dev/shm/cache"},
	{name: "a loader's tensor on a full /dev/shm", as: mounting, needs: []string{"mount", "python3"}, bash: `mount -t tmpfs -o size=64k tmpfs /dev/shm
exec python3 -c '
import os
fd = os.open("/dev/shm/torch_1234_567_0", os.O_CREAT | os.O_RDWR)
try:
    os.posix_fallocate(fd, 0, 1 << 20)
except OSError as e:
    raise RuntimeError(f"unable to allocate shared memory(shm) for file </torch_1234_567_0>: {e.strerror} ({e.errno})") from None
'
`, reason: pasar.CodeShmFull, root: "unable to allocate shared memory(shm) for file </torch_1234_567_0>"},
	{name: "a semaphore on a full /dev/shm", as: mounting, needs: []string{"mount", "python3"}, bash: `mount -t tmpfs -o size=4k tmpfs /dev/shm
head -c 4096 /dev/zero >/dev/shm/full
exec python3 -c '
import multiprocessing
multiprocessing.Lock()
'
`, reason: pasar.CodeShmFull, root: "No space left on device"},
}

// limitDeaths are by limits on processes.
var limitDeaths = []death{
	{name: "Python out of descriptors", needs: []string{"python3"}, bash: `ulimit -n 20
exec python3 -c 'f = [open("/dev/null") for _ in range(100)]'
`, reason: pasar.CodeSysLimit, root: "Too many open files"},
	{name: "C out of descriptors", needs: []string{"gcc"}, bash: "ulimit -n 20\nexec die-c files\n",
		reason: pasar.CodeSysLimit, root: "shard reader: open: Too many open files"},
	{name: "sockets out of descriptors", needs: []string{"python3"}, bash: `ulimit -n 20
exec python3 -c '
import socket
s = [socket.socket() for _ in range(100)]'
`, reason: pasar.CodeSysLimit, root: "Too many open files"},
	{name: "Python out of threads", as: limited, needs: []string{"python3"}, bash: `ulimit -u 8
exec python3 -c '
import threading, time
for _ in range(100):
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()'
`, reason: pasar.CodeSysLimit, root: "can't start new thread"},
	{name: "C out of threads", as: limited, needs: []string{"gcc"}, bash: "ulimit -u 8\nexec die-c threads\n",
		reason: pasar.CodeSysLimit, root: "pthread_create: Resource temporarily unavailable"},
	{name: "Python out of processes", as: alsoLimited, needs: []string{"python3"}, bash: `ulimit -u 1
exec python3 -c '
import os
os.fork()'
`, reason: pasar.CodeSysLimit, root: "Resource temporarily unavailable"},
	{name: "a subprocess out of processes", as: alsoLimited, needs: []string{"python3"}, bash: `ulimit -u 1
exec python3 -c '
import subprocess
subprocess.run(["true"])'
`, reason: pasar.CodeSysLimit, root: "Resource temporarily unavailable"},
	{name: "sh out of processes", as: alsoLimited, bash: "ulimit -u 1\nexec sh -c 'date; date'\n", needs: []string{"dash"},
		reason: pasar.CodeSysLimit, root: "Cannot fork"},
	{name: "inotify instances", as: limited, py: `import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
while libc.inotify_init1(0) >= 0:
    pass
raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), 'inotify')
`, reason: pasar.CodeSysLimit, root: "OSError: [Errno 24] Too many open files: 'inotify'"},
	{name: "locked memory", as: nobody, needs: []string{"gcc"}, bash: "ulimit -l 4\nexec die-c lock\n",
		reason: pasar.CodeSysLimit, root: "mlock: Cannot allocate memory"},
}

// runtimeDeaths are of other languages that bring a runtime.
var runtimeDeaths = []death{
	{name: "node throws", needs: []string{"node"}, argv: []string{"node", "-e", "function load() { throw new Error('shard 7 is torn') }\nload()"},
		reason: pasar.CodeException, root: "Error: shard 7 is torn"},
	{name: "node: a rejected promise", needs: []string{"node"}, argv: []string{"node", "-e", "(async () => { throw new TypeError('labels is not iterable') })()"},
		reason: pasar.CodeException, root: "TypeError: labels is not iterable"},
	{name: "node: a module that isn't there", needs: []string{"node"}, argv: []string{"node", "-e", "require('left-pad-nine')"},
		reason: pasar.CodeEnvError, root: "Cannot find module 'left-pad-nine'"},
	{name: "node: a file that isn't there", needs: []string{"node"}, argv: []string{"node", "-e", "require('fs').readFileSync('vocab.json')"},
		reason: pasar.CodeFileMissing, root: "ENOENT: no such file or directory, open 'vocab.json'"},
	{name: "node: a port in use", needs: []string{"node"}, argv: []string{"node", "-e", "require('http').createServer().listen(+process.env.PORT, '127.0.0.1')"},
		reason: pasar.CodePortInUse, root: "EADDRINUSE"},
	{name: "node: the limit of its heap", needs: []string{"node"},
		argv:   []string{"node", "--max-old-space-size=16", "-e", "const all = []; for (;;) all.push({ some: [1, 2, 3, all.length] })"},
		reason: pasar.CodeHostOOM, root: "JavaScript heap out of memory"},
	{name: "java: the limit of its heap", needs: []string{"javac"}, argv: []string{"java", "-Xmx24m", "-XX:TieredStopAtLevel=1", "Die.java"},
		files: map[string]string{"Die.java": `import java.util.*;
class Die {
	public static void main(String[] args) {
		List<long[]> all = new ArrayList<>();
		for (;;) all.add(new long[100_000]);
	}
}
`}, reason: pasar.CodeHostOOM, root: "java.lang.OutOfMemoryError: Java heap space"},
}
