package daemon

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
	"pasar/autopsy"
)

// certified is a world whose certificates are kept in a directory.
func certified(w *world) string {
	dir := w.t.TempDir()
	w.certify, w.dataDir = CertifyIn(dir), dir
	return dir
}

func readCertificate(t *testing.T, path string) Certificate {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var c Certificate
	if err := json.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestACertificateGivesItsVerdictAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g := metered(newWorld(t, 2))
		dir := certified(w)
		d := w.start(nil)
		ends := map[string]func(pasar.JobID){
			"by itself, with bytes that are no text": func(id pasar.JobID) {
				w.machine.Print(key(id, 1), "caf\xe9 \xff\xfe\nTraceback (most recent call last):\n  File \"a\"\nOSError: [Errno 5] caf\xe9 \xff\n")
				w.machine.Finish(key(id, 1), 1)
			},
			"by a fault of its GPU": func(id pasar.JobID) {
				g.show(xidOf("GPU-0", 79, pasar.XidDrainReboot, pasar.XidHW, 0))
				w.machine.Finish(key(id, 1), 1)
			},
			"for want of memory": func(id pasar.JobID) {
				w.machine.Exit(key(id, 1), pasar.Exit{Signal: 9})
				w.machine.End(key(id, 1), &pasar.ExitRecord{PeakHost: 5 * pasar.GiB, Cgroup: &pasar.CgroupUse{MemoryMax: 4 * pasar.GiB, MemoryPeak: 4 * pasar.GiB,
					SwapPeak: -1, OOM: 3, OOMKill: 1, PidsMax: -1, OwnLimit: true}})
			},
			"unseen":    func(id pasar.JobID) { w.machine.Vanish(key(id, 1), "the machine rebooted") },
			"cancelled": func(id pasar.JobID) { d.must(d.cancel(jobs(id))) },
		}
		for name, end := range ends {
			s := spec("caf\xe9", 1000)
			s.Claim = pasar.Claim{Kind: pasar.Whole, GPUs: 1}
			if name != "by a fault of its GPU" {
				s.Claim.IDs = []string{"1"}
			} else {
				s.Claim.IDs = []string{"0"}
			}
			id := d.submit(s)
			time.Sleep(time.Minute)
			d.expect(id, pasar.Running)
			end(id)
			time.Sleep(2 * time.Minute)
			v := jobNow(t, d, id).Attempts[0]
			if v.Verdict == nil || v.Certificate == nil || *v.Certificate != filepath.Join(dir, "jobs", id.String(), "attempt-1.verdict.json") {
				t.Fatalf("%s: %+v, %v", name, v.Verdict, v.Certificate)
			}
			c := readCertificate(t, *v.Certificate)
			if again := autopsy.Attribute(c.Evidence); !reflect.DeepEqual(again, c.Verdict) || !reflect.DeepEqual(again, *v.Verdict) {
				t.Errorf("%s: the verdict was %+v, of its certificate %+v, again %+v", name, v.Verdict, c.Verdict, again)
			}
			if c.Schema != pasar.Schema || c.Key != key(id, 1) || c.Nonce == "" || c.Version == "" || c.At.IsZero() {
				t.Errorf("%s: %+v", name, c)
			}
			if name == "by itself, with bytes that are no text" && len(c.Evidence.Log) != 4 {
				t.Errorf("log %+v", c.Evidence.Log)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "jobs", id.String(), "*")); len(left) != 1 {
				t.Errorf("%s: %q", name, left)
			}
		}
	})
}

func TestACompletedJobHasNoCertificate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		dir := certified(w)
		d := w.start(nil)
		id := d.submit(spec("fine", 1000))
		w.machine.Finish(key(id, 1), 0)
		time.Sleep(time.Second)
		d.expect(id, pasar.Completed)
		if c := jobNow(t, d, id).Attempts[0].Certificate; c != nil {
			t.Error(*c)
		}
		if left, _ := os.ReadDir(filepath.Join(dir, "jobs")); len(left) != 0 {
			t.Errorf("%v", left)
		}
	})
}

func TestACertificateThatCantBeKeptHoldsUpNoEnd(t *testing.T) {
	for name, certify := range map[string]func(<-chan struct{}) error{
		"the disk is full": func(<-chan struct{}) error { return errors.New("no space left on device") },
		"the disk hangs":   func(free <-chan struct{}) error { <-free; return nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 1)
				free := make(chan struct{})
				w.certify = func(pasar.AttemptKey, []byte) error { return certify(free) }
				d := w.start(nil)
				id := d.submit(spec("dead", 1000))
				w.machine.Finish(key(id, 1), 3)
				time.Sleep(certificatePatience + time.Second)
				d.expect(id, pasar.Failed)
				if a := jobNow(t, d, id).Attempts[0]; a.Certificate != nil || a.Verdict.Reason != pasar.CodeExit {
					t.Errorf("%v, %+v", a.Certificate, a.Verdict)
				}
				close(free)
			})
		})
	}
}

func TestACertificateIsWholeOrNotThere(t *testing.T) {
	dir := t.TempDir()
	keep := CertifyIn(dir)
	k := key(7, 2)
	for _, body := range []string{"first, and longer\n", "second\n"} {
		if err := keep(k, []byte(body)); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(certificatePath(dir, k)); err != nil || string(b) != body {
			t.Errorf("%q, %v", b, err)
		}
	}
	if fi, err := os.Stat(certificatePath(dir, k)); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi, err)
	}
	if err := os.Mkdir(certificatePath(dir, key(7, 3)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := keep(key(7, 3), []byte("x")); err == nil {
		t.Error("a directory was replaced")
	}
	left, err := os.ReadDir(filepath.Join(dir, "jobs", "7"))
	if err != nil || len(left) != 2 {
		t.Errorf("%v, %v", left, err)
	}
}

func TestACrashBetweenTheCertificateAndTheEndLosesNeither(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		certified(w)
		d := w.start(func(b Batch, done bool) bool {
			for _, r := range b.Records {
				if r.Fact.Kind() == pasar.KindEnded && !done {
					return true
				}
			}
			return false
		})
		id := d.submit(spec("dead", 1000))
		w.machine.Print(key(id, 1), "RuntimeError: boom\n")
		w.machine.Finish(key(id, 1), 3)
		time.Sleep(time.Second)
		<-d.life.died
		d.kill()
		path := certificatePath(w.dataDir, key(id, 1))
		before := readCertificate(t, path)
		d = w.start(nil)
		time.Sleep(time.Second)
		d.expect(id, pasar.Failed)
		a := jobNow(t, d, id).Attempts[0]
		after := readCertificate(t, path)
		if a.Certificate == nil || !reflect.DeepEqual(before.Verdict, after.Verdict) || !reflect.DeepEqual(after.Verdict, *a.Verdict) {
			t.Errorf("%+v, then %+v; told %+v", before.Verdict, after.Verdict, a.Verdict)
		}
	})
}
