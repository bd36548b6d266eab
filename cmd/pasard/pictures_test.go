package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// pictured is a program that learns, as far as a page can tell: it holds memory of its GPU, reports its progress, saves
// now and then, and draws a bar.
const pictured = `import json, math, os, random, subprocess, sys, time
steps, mib, pace = int(sys.argv[1]), sys.argv[2], float(sys.argv[3])
if mib != "0":
    subprocess.Popen([os.environ["FAKEJOB"], "--mib", mib, "--seconds", "3600"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
events = open(os.environ["PASAR_EVENTS"], "a", buffering=1)
say = lambda **event: print(json.dumps(event), file=events)
print("loading the data set … 1.2 M rows")
for n in range(1, steps + 1):
    loss = 2.9 * math.exp(-n / 400) + 0.6 + random.gauss(0, 0.03)
    if n % 4 == 0:
        say(event="progress", step=n, total_steps=steps, loss=round(loss, 4), accuracy=round(0.9 - 0.8 * math.exp(-n / 500) + random.gauss(0, 0.008), 4), lr=3e-4 * (1 - n / steps))
    if n % 200 == 0:
        say(event="checkpoint", step=n, path=f"checkpoints/{n}.pt")
        print(f"\r\033[Kstep {n}: loss {loss:.4f}, saved")
    done = 30 * n // steps
    print(f"\r\033[K\033[32m{'█' * done}{'░' * (30 - done)}\033[0m {n}/{steps}", end="", flush=True)
    time.sleep(pace)
`

const picturedFailure = `def load(path):
    return open(path, "rb").read()

weights = load("weights/best.pt")
`

// The pictures of the guide are of a machine with two simulated GPUs: `make pictures` takes them.
func TestThePicturesOfTheGuide(t *testing.T) {
	to := os.Getenv("PASAR_PICTURES")
	if to == "" {
		t.SkipNow() // they are taken when somebody wants new ones
	}
	to, err := filepath.Abs(filepath.Join("../..", to))
	if err != nil {
		t.Fatal(err)
	}
	gpu := func(i, rest string) string {
		return "gpu." + i + ".name NVIDIA H200\ngpu." + i + ".mem_total 143771\ngpu." + i + ".power_limit 700\n" + rest
	}
	h := newGPUHome(t, "gpus 2\n"+gpu("0", "gpu.0.util 97\ngpu.0.temp 71\ngpu.0.power 612\n")+gpu("1", "gpu.1.util 64\ngpu.1.temp 58\ngpu.1.power 388\n"))
	h.kill()
	addr := h.startWebWith(func(c *exec.Cmd) {
		c.Path = filepath.Join(bin, "pasard-gpu")
		c.Env = append(c.Env, "FAKE_NVML_STATE="+h.state)
	})
	t.Setenv("FAKEJOB", h.fake) // for the jobs
	t.Setenv("FAKE_NVML_STATE", h.state)
	t.Setenv("FAKE_NVML_LIB", h.dir+"/libnvidia-ml.so.1")
	work := h.dir + "/vision"
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	h.write(work+"/train.py", pictured)
	h.write(work+"/eval.py", picturedFailure)
	submit := func(args ...string) { h.pasar(append([]string{"submit", "--cwd", work, "--by", "ada"}, args...)...) }
	learn := func(steps, mib, pace string) []string { return []string{"--", "python3", "train.py", steps, mib, pace} }
	submit(append([]string{"--mem", "60G", "--time", "40m", "--name", "llama-sft", "--tag", "llm", "--note", "lr sweep, first try"}, learn("3000", "52000", "0.08")...)...)
	submit(append([]string{"--mem", "40G", "--time", "25m", "--name", "vit-large", "--tag", "vision"}, learn("2000", "33000", "0.08")...)...)
	submit(append([]string{"--gpus", "1", "--time", "12m", "--bid", "1200", "--name", "mae-pretrain", "--tag", "vision"}, learn("1200", "98000", "0.08")...)...)
	submit(append([]string{"--gpus", "0", "--time", "1h", "--name", "tokenize", "--tag", "data"}, learn("9000", "0", "0.08")...)...)
	submit(append([]string{"--gpus", "2", "--time", "1h30m", "--name", "gpt-8b", "--tag", "llm"}, learn("9", "0", "1")...)...)
	submit("--mem", "30G", "--time", "20m", "--name", "probe", "--tag", "probe", "--param", "lr=1e-5,3e-5", "--", "python3", "train.py", "9", "0", "{lr}")
	submit("--gpus", "0", "--name", "eval", "--tag", "vision", "--", "python3", "eval.py")
	h.await(8)
	time.Sleep(75 * time.Second) // there is something to see then

	for _, s := range screens {
		b := openBrowser(t, addr, s)
		b.open("/")
		b.until(jobState(8) + ` === "failed"`)
		for range 5 {
			b.click(".timeline button", "+")
		}
		eval[bool](b, `(window.scrollTo(0, 0), true)`)
		b.rest()
		b.picture(filepath.Join(to, "dashboard-"+s.name+".png"))
		b.open("/jobs/1")
		b.see(".chart .plot canvas", "")
		b.read(`[role="log"]`, "saved")
		b.rest()
		b.picture(filepath.Join(to, "job-"+s.name+".png"))
		b.scheme("dark")
		b.open("/jobs/8")
		b.read(".part-verdict", "file_missing")
		b.rest()
		b.picture(filepath.Join(to, "failed-"+s.name+".png"))
	}
}
