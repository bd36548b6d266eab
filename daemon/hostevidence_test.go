package daemon

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
	"pasar/autopsy"
	"pasar/target"
	"pasar/target/targettest"
)

// kernelGauge is a gauge that follows the kernel's log as well.
type kernelGauge struct {
	*gauge
	pid      int
	since    time.Time
	unread   bool // it can only be searched
	searched atomic.Int64
}

func (k *kernelGauge) Said(key pasar.AttemptKey, pid int, since time.Time) ([]string, bool) {
	k.pid, k.since = pid, since
	if k.unread {
		return nil, false
	}
	return []string{"python[7]: segfault at 0 ip 0 of " + key.String()}, true
}

func (k *kernelGauge) Search(_ context.Context, key pasar.AttemptKey, pid int, since time.Time) []string {
	k.searched.Add(1)
	return []string{"found of " + key.String()}
}

func TestTheKernelsLogIsSearchedOnlyForWhatItMayKnow(t *testing.T) {
	for name, c := range map[string]struct {
		unread bool
		exit   pasar.Exit
		want   int
	}{
		"it is followed": {false, pasar.Exit{Signal: 11}, 0}, "by a fault": {true, pasar.Exit{Signal: 11}, 1}, "by a fault, says a shell": {true, pasar.Exit{Code: 137}, 1},
		"by itself": {true, pasar.Exit{Code: 1}, 0}, "by a signal of others": {true, pasar.Exit{Signal: 15}, 0}, "completed": {true, pasar.Exit{}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			w, g := metered(newWorld(t, 1))
			k := &kernelGauge{gauge: g, unread: c.unread}
			w.meter = k
			certified(w)
			d := w.start(nil)
			id := d.submit(spec("train", 1000))
			d.expect(id, pasar.Running)
			w.machine.Exit(key(id, 1), c.exit)
			w.machine.End(key(id, 1), nil)
			time.Sleep(10 * time.Second)
			if int(k.searched.Load()) != c.want {
				t.Errorf("%s: searched %d times", name, k.searched.Load())
			}
			if c.want > 0 {
				if e := readCertificate(t, *jobNow(t, d, id).Attempts[0].Certificate).Evidence; len(e.Kernel) != 1 || e.KernelRead {
					t.Errorf("%s: %+v", name, e)
				}
			}
		})
	}
}

func TestWhatTheHostKnowsIsEvidence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, g := metered(newWorld(t, 1))
		k := &kernelGauge{gauge: g}
		w.meter = k
		certified(w)
		d := w.start(nil)
		began := time.Now()
		pressure := 0.25
		id := d.submit(spec("train", 1000))
		d.expect(id, pasar.Running)
		time.Sleep(time.Minute)
		g.show(func(r *pasar.Reading) {
			r.Host = pasar.HostReading{Total: 64 * gib, Available: gib, Pressure: &pressure, Use: map[pasar.AttemptKey]pasar.Bytes{key(id, 1): 50 * gib}}
		})
		kills := int64(2)
		w.machine.Exit(key(id, 1), pasar.Exit{Signal: 11})
		w.machine.End(key(id, 1), &pasar.ExitRecord{Asked: true, OOMKills: &kills, Screen: []string{"a", "b"},
			Typed: &pasar.Typing{Key: pasar.KeyInterrupt, At: time.Now().Add(-5 * time.Second), By: "pts/3, process 9"}})
		time.Sleep(10 * time.Second)
		d.expect(id, pasar.Failed)
		e := readCertificate(t, *jobNow(t, d, id).Attempts[0].Certificate).Evidence
		if e.Phase != autopsy.Running || !e.Asked || !e.Typed || e.Quit || e.TypedBefore != pasar.Duration(5*time.Second) || e.TypedBy != "pts/3, process 9" || !slices.Equal(e.Screen, []string{"a", "b"}) || e.OOMKills == nil || *e.OOMKills != 2 {
			t.Errorf("of the record: %+v", e)
		}
		if e.HostTotal != 64*gib || e.HostFree != gib || e.Pressure == nil || *e.Pressure != pressure || e.HostPeak != 50*gib {
			t.Errorf("of memory: %+v", e)
		}
		if len(e.Kernel) != 1 || !e.KernelRead || k.pid == 0 || k.since.Before(began) || k.since.After(began.Add(time.Second)) {
			t.Errorf("of the kernel, asked for %d since %s: %q", k.pid, k.since, e.Kernel)
		}
	})
}

func TestAKeyThatWasTypedLongBeforeIsNoEvidence(t *testing.T) {
	at := time.Unix(1000, 0)
	for _, c := range []struct {
		key    pasar.Key
		before time.Duration
		typed  bool
		quit   bool
	}{
		{pasar.KeyInterrupt, time.Second, true, false}, {pasar.KeyInterrupt, time.Hour, false, false}, {pasar.KeyQuit, 0, false, true},
		{pasar.KeyInterrupt, -time.Second, true, false}, // the clock was set
	} {
		var e autopsy.Evidence
		recordEvidence(&pasar.ExitRecord{ExitedAt: at, Typed: &pasar.Typing{Key: c.key, At: at.Add(-c.before), By: "x"}}, &e)
		if e.Typed != c.typed || e.Quit != c.quit || (e.TypedBy != "") != (c.typed || c.quit) || e.TypedBefore < 0 {
			t.Errorf("%+v: %+v", c, e)
		}
	}
}

func TestALostAttemptSaysWhetherItHadBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		certified(w)
		d := w.start(nil)
		id := d.submit(spec("train", 1000))
		d.expect(id, pasar.Running)
		w.machine.Print(key(id, 1), "epoch 1\n")
		w.machine.Vanish(key(id, 1), "the machine rebooted")
		time.Sleep(time.Second)
		e := readCertificate(t, *jobNow(t, d, id).Attempts[0].Certificate).Evidence
		if e.Phase != autopsy.Running || e.Lost != "the machine rebooted" || e.Exit != nil || len(e.Log) != 1 || e.Log[0] != (pasar.Line{Number: 1, Text: "epoch 1"}) {
			t.Errorf("%+v", e)
		}
	})
}

func TestAnAttemptThatIsLostBeforeItRanSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		certified(w)
		w.machine.OnLaunch(func(target.Attempt) targettest.Script { return targettest.Script{Manual: true} })
		d := w.start(nil)
		id := d.submit(spec("train", 1000))
		d.expect(id, pasar.Starting)
		w.machine.Vanish(key(id, 1), "the machine rebooted")
		time.Sleep(time.Second)
		if e := readCertificate(t, *jobNow(t, d, id).Attempts[0].Certificate).Evidence; e.Phase != autopsy.Launching || len(e.Log) != 0 {
			t.Errorf("%+v", e)
		}
	})
}
