package target_test

import (
	"slices"
	"strings"
	"testing"

	"pasar"
	"pasar/target"
)

var dirs = target.Dirs{Attempt: "/d/jobs/42/2", Job: "/d/jobs/42", Persist: "/d/jobs/42/persist"}

func attempt(env ...string) target.Attempt {
	return target.Attempt{
		Spec: pasar.AttemptSpec{
			Key: pasar.AttemptKey{Job: 42, Attempt: 2}, Nonce: "n0", Grace: pasar.Duration(30e9),
			Surroundings: pasar.Surroundings{Env: pasar.Args(env)},
		},
		Grant: pasar.Grant{Machine: "local", Claim: pasar.Claim{Kind: pasar.Whole, GPUs: 1},
			GPUs: []pasar.GPURef{{Index: 3, UUID: "GPU-a"}}},
	}
}

// look returns the value of a variable and how often it is there.
func look(env []pasar.Arg, key string) (value string, n int) {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(string(kv), key+"="); ok {
			value, n = v, n+1
		}
	}
	return value, n
}

func want(t *testing.T, env []pasar.Arg, key, value string) {
	t.Helper()
	switch got, n := look(env, key); {
	case n != 1:
		t.Errorf("%s is there %d times, want once", key, n)
	case got != value:
		t.Errorf("%s = %q, want %q", key, got, value)
	}
}

func absent(t *testing.T, env []pasar.Arg, keys ...string) {
	t.Helper()
	for _, key := range keys {
		if got, n := look(env, key); n != 0 {
			t.Errorf("%s = %q, want it left out", key, got)
		}
	}
}

func TestEveryAttemptIsToldWhoItIs(t *testing.T) {
	env := target.Environment(attempt("HOME=/home/a"), dirs)
	for k, v := range map[string]string{
		"HOME": "/home/a", "PASAR_JOB_ID": "42", "PASAR_ATTEMPT": "2", "PASAR_NONCE": "n0",
		"PASAR_EVENTS": "/d/jobs/42/2/events.jsonl", "PASAR_JOB_DIR": "/d/jobs/42",
		"PASAR_PERSIST_DIR": "/d/jobs/42/persist", "PASAR_GRACE_SECONDS": "30",
		"PASAR_PAUSE_FILE": "/d/jobs/42/2/pause", "PASAR_CHECKPOINT_READY": "/d/jobs/42/2/checkpoint.ready",
		"SSHGPU_PAUSE_FILE": "/d/jobs/42/2/pause", "SSHGPU_CHECKPOINT_READY": "/d/jobs/42/2/checkpoint.ready",
		"PASAR_GPU_UUIDS": "GPU-a", "PASAR_GPUS": "3", "CUDA_VISIBLE_DEVICES": "GPU-a",
		"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "TERM": "xterm-256color",
	} {
		want(t, env, k, v)
	}
	absent(t, env, "PASAR_RESUMING", "PASAR_CHECKPOINT", "SSHGPU_CHECKPOINT", "PASAR_MEM_LIMIT_BYTES",
		"PASAR_MEM_REQUEST_BYTES", "PASAR_GPU_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION", "PASAR_SOCKET")
}

func TestAResumedAttemptKnowsItsCheckpoint(t *testing.T) {
	a := attempt()
	a.Resuming, a.Checkpoint = true, "/ck/7"
	env := target.Environment(a, dirs)
	want(t, env, "PASAR_RESUMING", "1")
	want(t, env, "PASAR_CHECKPOINT", "/ck/7")
	want(t, env, "SSHGPU_CHECKPOINT", "/ck/7")
}

func TestASliceIsToldItsShare(t *testing.T) {
	a := attempt()
	a.Grant.Claim = pasar.Claim{Kind: pasar.Slice, GPUs: 1, Mem: 24 * pasar.GiB, Limit: 27 * pasar.GiB}
	a.GPUTotal = 80 * pasar.GiB
	env := target.Environment(a, dirs)
	want(t, env, "PASAR_MEM_REQUEST_BYTES", "25769803776")
	want(t, env, "PASAR_MEM_LIMIT_BYTES", "28991029248")
	want(t, env, "PASAR_GPU_FRACTION", "0.2926") // (24576 − 600) / 81920 MiB = 0.29268, cut
	want(t, env, "XLA_PYTHON_CLIENT_MEM_FRACTION", "0.2926")
}

func TestASmallSliceStillHasAPositiveFraction(t *testing.T) {
	a := attempt()
	a.Grant.Claim = pasar.Claim{Kind: pasar.Slice, GPUs: 1, Mem: 500 * pasar.MiB, Limit: pasar.GiB}
	a.GPUTotal = 10 * pasar.GiB
	want(t, target.Environment(a, dirs), "PASAR_GPU_FRACTION", "0.0048")
}

func TestAFractionSetByThePersonStays(t *testing.T) {
	for _, own := range []string{"XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_CLIENT_MEM_FRACTION"} {
		a := attempt(own + "=.5")
		a.Grant.Claim = pasar.Claim{Kind: pasar.Slice, GPUs: 1, Mem: 24 * pasar.GiB, Limit: 27 * pasar.GiB}
		a.GPUTotal = 80 * pasar.GiB
		env := target.Environment(a, dirs)
		want(t, env, own, ".5")
		if own != "XLA_PYTHON_CLIENT_MEM_FRACTION" {
			absent(t, env, "XLA_PYTHON_CLIENT_MEM_FRACTION")
		}
	}
}

func TestNothingOfAnOuterJobIsInherited(t *testing.T) {
	outer := attempt("PASAR_LR=1e-4", "PASAR_SOCKET=/run/s")
	outer.Resuming, outer.Checkpoint = true, "/ck"
	outer.Grant.Claim = pasar.Claim{Kind: pasar.Slice, GPUs: 1, Mem: 24 * pasar.GiB, Limit: 27 * pasar.GiB}
	outer.GPUTotal = 80 * pasar.GiB
	index := 3
	outer.Index, outer.Params = &index, []pasar.Param{{Name: "lr", Value: "1e-4"}, {Name: "job_id", Value: "x"}}
	inner := attempt(pasar.Strings(target.Environment(outer, dirs))...)
	inner.Spec.Key, inner.Spec.Nonce = pasar.AttemptKey{Job: 43, Attempt: 1}, "n1"
	env := target.Environment(inner, dirs)
	want(t, env, "PASAR_JOB_ID", "43")
	want(t, env, "PASAR_NONCE", "n1")
	want(t, env, "PASAR_LR", "1e-4") // not pasar's: it stays
	want(t, env, "PASAR_SOCKET", "/run/s")
	absent(t, env, "PASAR_RESUMING", "PASAR_CHECKPOINT", "SSHGPU_CHECKPOINT", "PASAR_MEM_LIMIT_BYTES",
		"PASAR_MEM_REQUEST_BYTES", "PASAR_GPU_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION",
		"PASAR_ARRAY_INDEX", "PASAR_PARAM_LR", "PASAR_PARAM_JOB_ID")
}

func TestAJobOfASweepIsToldItsPoint(t *testing.T) {
	a := attempt()
	index := 0
	a.Index = &index
	a.Params = []pasar.Param{{Name: "lr", Value: "1e-5"}, {Name: "Data_set", Value: "a=b c\n"}, {Name: "empty"}}
	env := target.Environment(a, dirs)
	want(t, env, "PASAR_ARRAY_INDEX", "0")
	want(t, env, "PASAR_PARAM_LR", "1e-5")
	want(t, env, "PASAR_PARAM_DATA_SET", "a=b c\n")
	want(t, env, "PASAR_PARAM_EMPTY", "")
	absent(t, target.Environment(attempt(), dirs), "PASAR_ARRAY_INDEX")
}

func TestGPUsAreNamedByIndexOnlyWhereCUDAKnowsThemByOne(t *testing.T) {
	a := attempt()
	a.ByIndex = true
	a.Grant.GPUs = []pasar.GPURef{{Index: 5, UUID: "GPU-b"}, {Index: 1, UUID: "GPU-a"}}
	want(t, target.Environment(a, dirs), "CUDA_VISIBLE_DEVICES", "5,1")
	want(t, target.Environment(a, dirs), "PASAR_GPU_UUIDS", "GPU-b,GPU-a")
	a.Grant.GPUs = []pasar.GPURef{{Index: 5, UUID: "GPU-b"}, {Index: 1, UUID: "MIG-a"}}
	want(t, target.Environment(a, dirs), "CUDA_VISIBLE_DEVICES", "GPU-b,MIG-a")
	a.Grant.GPUs = []pasar.GPURef{{UUID: target.VirtualUUID}}
	want(t, target.Environment(a, dirs), "CUDA_VISIBLE_DEVICES", "")
}

func TestTheGraceThatAJobIsToldIsTheLeastItGets(t *testing.T) {
	for _, c := range []struct {
		grace, save int
		want        string
	}{{120, 0, "120"}, {120, 60, "60"}, {30, 60, "30"}} {
		a := attempt()
		a.Spec.Grace, a.SaveGrace = pasar.Duration(c.grace)*1e9, pasar.Duration(c.save)*1e9
		want(t, target.Environment(a, dirs), "PASAR_GRACE_SECONDS", c.want)
	}
}

func TestTheSubmittersTerminalAndServiceStayOutside(t *testing.T) {
	env := target.Environment(attempt("COLUMNS=1", "LINES=1", "TMUX=x", "TMUX_PANE=x", "STY=x", "NOTIFY_SOCKET=x",
		"LISTEN_FDS=1", "LISTEN_PID=1", "LISTEN_FDNAMES=x", "INVOCATION_ID=x",
		"JOURNAL_STREAM=8:1", "SYSTEMD_EXEC_PID=1", "WATCHDOG_USEC=1", "WATCHDOG_PID=1", "MEMORY_PRESSURE_WATCH=/x", "TERM=dumb", "PATH=/bin"), dirs)
	absent(t, env, "COLUMNS", "LINES", "TMUX", "TMUX_PANE", "STY", "NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID",
		"LISTEN_FDNAMES", "INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID", "WATCHDOG_USEC", "WATCHDOG_PID",
		"MEMORY_PRESSURE_WATCH")
	want(t, env, "TERM", "xterm-256color")
	want(t, env, "PATH", "/bin")
}

func TestAJobWithoutARealGPUSeesNone(t *testing.T) {
	for name, gpus := range map[string][]pasar.GPURef{"virtual": {{UUID: target.VirtualUUID}}, "none": nil} {
		a := attempt("CUDA_VISIBLE_DEVICES=0,1")
		a.Grant.GPUs = gpus
		t.Run(name, func(t *testing.T) { want(t, target.Environment(a, dirs), "CUDA_VISIBLE_DEVICES", "") })
	}
}

func TestSeveralGPUsAreListedInTheOrderGranted(t *testing.T) {
	a := attempt()
	a.Grant.GPUs = []pasar.GPURef{{Index: 5, UUID: "GPU-b"}, {Index: 1, UUID: "GPU-a"}}
	env := target.Environment(a, dirs)
	want(t, env, "CUDA_VISIBLE_DEVICES", "GPU-b,GPU-a")
	want(t, env, "PASAR_GPUS", "5,1")
}

func TestEveryByteSurvivesAndTheLastDuplicateWins(t *testing.T) {
	env := target.Environment(attempt("A=1", "B=\xff\xfe\n=x", "A=2", "C=", "nonsense", "=x"), dirs)
	if got := pasar.Strings(env[:3]); !slices.Equal(got, []string{"A=2", "B=\xff\xfe\n=x", "C="}) {
		t.Errorf("environment begins with %q", got)
	}
	absent(t, env, "nonsense", "")
}

func TestEqualAttemptsHaveEqualEnvironments(t *testing.T) {
	a := attempt("Z=1", "A=2", "M=3")
	first := target.Environment(a, dirs)
	for range 50 {
		if !slices.Equal(first, target.Environment(a, dirs)) {
			t.Fatal("the order of the environment changes")
		}
	}
}

func TestTheDaemonsSocketIsPassedOnIfGiven(t *testing.T) {
	d := dirs
	d.Socket = "/run/own.sock"
	want(t, target.Environment(attempt("PASAR_SOCKET=/other"), d), "PASAR_SOCKET", "/run/own.sock")
}
