package supervisor

import (
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"pasar"
	"pasar/ipc"
)

func TestAHungDiskHoldsUpTheJobForFiveSecondsAndNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &output{log: quiet()} // nobody writes its log
		began := time.Now()
		o.waitForDisk()
		if took := time.Since(began); took != 0 {
			t.Fatalf("nothing to write, and it took %s", took)
		}
		o.ring.append(make([]byte, ringMax))
		o.waitForDisk()
		if took := time.Since(began); took != stallAfter || !o.bad {
			t.Fatalf("it took %s, degraded is %v", took, o.bad)
		}
		o.waitForDisk()
		if took := time.Since(began); took != stallAfter {
			t.Fatalf("a log known to hang held up the job again: %s", took)
		}
		o.bad = false
		go func() {
			time.Sleep(time.Second)
			o.mu.Lock()
			o.done = o.ring.end
			o.mu.Unlock()
			o.stored.ring()
		}()
		o.waitForDisk()
		if took := time.Since(began); took != stallAfter+time.Second || o.bad {
			t.Fatalf("a slow write: %s, degraded is %v", took, o.bad)
		}
	})
}

func TestASupervisorLingersForReadersAndNotForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{log: quiet(), peers: make(map[*peer]struct{})}
		began := time.Now()
		s.linger()
		if took := time.Since(began); took != lingerLimit {
			t.Errorf("nobody came, and it stayed %s", took)
		}
		reader, daemon, late := newPeer(s, nil, nil), newPeer(s, nil, nil), newPeer(s, nil, nil)
		if !s.admit(reader, ipc.ModeWatch) || !s.admit(daemon, ipc.ModeControl) {
			t.Error("who comes in time isn't admitted")
		}
		s.peers[reader], s.peers[daemon], s.peers[late] = struct{}{}, struct{}{}, struct{}{}
		s.acknowledged()
		began = time.Now()
		go func() {
			time.Sleep(3 * time.Second)
			s.leave(reader)
		}()
		s.linger()
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("acknowledged and read to the end after 3 s, and it stayed %s", took)
		}
		if s.admit(late, ipc.ModeWatch) {
			t.Error("it leaves, and whoever comes now would be welcomed and then cut off")
		}
	})
}

func TestAPeerThatTakesNothingLosesTheKeyboardAndMuchLaterItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		s := &server{log: quiet(), peers: make(map[*peer]struct{})}
		a := &attempt{}
		a.keys = newKeyboard(a)
		s.hold(a)
		p := newPeer(s, ours, nil)
		a.keys.join(p, false, ipc.Size{})
		next := newPeer(s, nil, nil)
		a.keys.join(next, false, ipc.Size{})
		began := time.Now()
		go func() {
			time.Sleep(slowAfter + time.Second)
			if h, _ := a.keys.state(); h != next {
				t.Error("it holds the keyboard still")
			}
		}()
		err := p.send(ipc.AttachNote, &ipc.Note{Text: "hello"})
		if took := time.Since(began); took != deadAfter || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("after %s: %v", took, err)
		}
		a.keys.close()
	})
}

func TestAPeerThatWakesGetsTheKeyboardBackUnlessSomeoneHasIt(t *testing.T) {
	for _, other := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := net.Pipe()
			defer theirs.Close()
			s := &server{log: quiet(), peers: make(map[*peer]struct{})}
			a := &attempt{}
			a.keys = newKeyboard(a)
			s.hold(a)
			p, next := newPeer(s, ours, nil), newPeer(s, nil, nil)
			a.keys.join(p, false, ipc.Size{})
			sent := make(chan error, 1)
			go func() { sent <- p.send(ipc.AttachNote, &ipc.Note{Text: "hello"}) }()
			time.Sleep(slowAfter + time.Second)
			if h, _ := a.keys.state(); h != nil {
				t.Error("who takes nothing holds the keyboard still")
			}
			if other {
				a.keys.join(next, false, ipc.Size{})
			}
			if _, err := theirs.Read(make([]byte, 64)); err != nil {
				t.Fatal(err)
			}
			if err := <-sent; err != nil {
				t.Fatal(err)
			}
			if h, _ := a.keys.state(); (h == next) != other || (h == p) == other {
				t.Errorf("someone else is there: %v, and the keyboard is held by %p of %p, %p", other, h, p, next)
			}
			a.keys.close()
		})
	}
}

func TestASlowPeerGetsEveryByteOfAFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		s := &server{log: quiet(), peers: make(map[*peer]struct{})}
		p := newPeer(s, ours, nil)
		sent := make(chan error, 1)
		go func() { sent <- p.send(ipc.AttachOut, &ipc.Out{Data: []byte("0123456789")}) }()
		time.Sleep(5 * slowAfter)
		var head [3]byte
		if _, err := theirs.Read(head[:]); err != nil {
			t.Fatal(err)
		}
		time.Sleep(8 * slowAfter)
		rest := make([]byte, 64)
		n, err := theirs.Read(rest)
		if err != nil || string(rest[n-10:n]) != "0123456789" {
			t.Errorf("%q, %v", rest[:n], err)
		}
		if err := <-sent; err != nil {
			t.Error(err)
		}
	})
}

func TestEventsOfAKindComeAtMostFourASecondAndTheLatestAlways(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &events{log: quiet(), changed: new(bell), latest: make(map[pasar.EventKind]numbered), rates: make(map[pasar.EventKind]*rate)}
		step := func(i int) *float64 { f := float64(i); return &f }
		for i := range 40_000 { // forty seconds of a thousand a second
			e.mu.Lock()
			e.admit(pasar.Event{Kind: pasar.EventProgress, Step: step(i)}, time.Now())
			e.mu.Unlock()
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Second)
		e.mu.Lock()
		n, step9 := e.last, *e.latest[pasar.EventProgress].event.Step
		e.mu.Unlock()
		if n < 160 || n > 200 {
			t.Errorf("%d events in forty seconds", n)
		}
		if step9 != 39999 {
			t.Errorf("the latest is step %v", step9)
		}
		// Another kind isn't held back by the flood, and one who starts when it has left the log hears the
		// latest of each.
		e.mu.Lock()
		e.admit(pasar.Event{Kind: pasar.EventCheckpoint, Step: step(1)}, time.Now())
		e.mu.Unlock()
		got := e.since(0)
		if len(got) != 2 || got[0].event.Kind != pasar.EventProgress || got[1].event.Kind != pasar.EventCheckpoint || got[1].number != e.last {
			t.Errorf("%+v", got)
		}
		if again := e.since(e.last); len(again) != 0 {
			t.Errorf("told again: %+v", again)
		}
	})
}
