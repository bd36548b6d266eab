package supervisor_test

import (
	"strings"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
)

func TestEventsAreToldAndTheLastCheckpointIsKept(t *testing.T) {
	r := warm(t)
	r.spec.Argv = pasar.Args([]string{"sh", "-c", `e() { echo "$1" >> $PASAR_EVENTS; }
e '{"event":"resumed","step":100}'; e '{"event":"checkpoint","step":200,"path":"/c/2"}'; e nonsense; e '{"event":"progress","step":250,"loss":0.5}'
read x; e '{"event":"checkpoint","step":300,"path":"/c/3"}'; printf '{"event":"note","text":"bye"}' >> $PASAR_EVENTS`})
	r.launch()
	r.wait(ipc.AttemptRunning)
	// A daemon that comes later hears the same.
	var late *ipc.AttachConn
	eventually(t, patience, "the first events were read", func() bool {
		conn, _, err := dial(r.holding().Socket, ipc.Hello{Mode: ipc.ModeControl})
		if err != nil {
			t.Fatal(err)
		}
		first, n := r.control, len(r.events)
		r.control = conn
		r.next()
		// The last of the three is what tells that all were read.
		ok := len(r.events)-n == 3
		r.control, r.events = first, r.events[:n]
		if ok {
			late = conn
			return true
		}
		_ = conn.Close()
		return false
	})
	_ = late.Close()
	typist := r.attach(ipc.Hello{Mode: ipc.ModeType})
	typist.send(ipc.AttachIn, &ipc.In{Data: []byte("\n")})
	rec := r.end2(typist)
	if rec.Checkpoint == nil || rec.Checkpoint.Path != "/c/3" || *rec.Checkpoint.Step != 300 || rec.Checkpoint.At.IsZero() || rec.BadEvents != 1 {
		t.Errorf("%+v, %+v", rec, rec.Checkpoint)
	}
	var got []string
	for _, e := range r.events {
		got = append(got, string(e.Kind))
	}
	if s := strings.Join(got, " "); s != "resumed checkpoint progress checkpoint note" {
		t.Errorf("told: %s", s)
	}
}

func TestAFloodOfEventsIsThinnedAndItsLastIsKept(t *testing.T) {
	r := startWith(t, nil, "sh", "-c", `for i in $(seq 1 5000); do echo "{\"event\":\"progress\",\"step\":$i}"; done >> $PASAR_EVENTS
head -c 200000 /dev/zero | tr '\0' x >> $PASAR_EVENTS; echo >> $PASAR_EVENTS; echo '{"event":"checkpoint","step":7,"path":"/x"}' >> $PASAR_EVENTS`)
	rec := r.end()
	n := len(r.events)
	if n < 2 || n > 200 {
		t.Errorf("%d events were told", n)
	}
	last := map[pasar.EventKind]float64{}
	for _, e := range r.events {
		last[e.Kind] = *e.Step
	}
	if last[pasar.EventProgress] != 5000 || last[pasar.EventCheckpoint] != 7 || rec.BadEvents != 1 {
		t.Errorf("%v, bad %d", last, rec.BadEvents)
	}
}

// Whatever a job does to its events file, it ends as soon as it would have otherwise.
func TestTheEventsFileCannotDelayTheEnd(t *testing.T) {
	const first = `echo '{"event":"checkpoint","step":1,"path":"/c/1"}' >> $PASAR_EVENTS; `
	for name, c := range map[string]struct {
		script string
		last   float64
	}{
		"a hole":            {first + `truncate -s 4T $PASAR_EVENTS`, 1},
		"holes":             {first + `for i in 1 2 3 4 5 6 7 8; do truncate -s ${i}T $PASAR_EVENTS; echo x >> $PASAR_EVENTS; done`, 1},
		"one endless line":  {first + `head -c 300M /dev/zero | tr '\0' x >> $PASAR_EVENTS`, 1},
		"a flood of events": {`yes '{"event":"progress","step":5}' | head -c 400M >> $PASAR_EVENTS; echo >> $PASAR_EVENTS; echo '{"event":"checkpoint","step":7,"path":"/c/7"}' >> $PASAR_EVENTS`, 7},
	} {
		t.Run(name, func(t *testing.T) {
			r := startWith(t, nil, "sh", "-c", c.script)
			rec := r.end()
			if took := rec.EndedAt.Sub(rec.ExitedAt); took > 3*time.Second {
				t.Errorf("the end took %s", took)
			}
			if rec.BadEvents == 0 || rec.Checkpoint == nil || *rec.Checkpoint.Step != c.last {
				t.Errorf("%d bad events, checkpoint %+v", rec.BadEvents, rec.Checkpoint)
			}
		})
	}
}
