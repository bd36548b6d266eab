package supervisor

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"pasar"
	"pasar/ipc"
)

// lingerLimit is how long a supervisor whose attempt has ended waits for the daemon to journal the
// end, and for late readers.
const lingerLimit = 60 * time.Second

// hurriedLimit is the same for one that was asked to end itself.
const hurriedLimit = 2 * time.Second

// A Warm supervisor waits for an attempt, and is then that attempt's supervisor to its end.
type Warm struct {
	Run     string   // the private directory where the socket is bound
	Control net.Conn // to whoever started us: LAUNCH comes from there
	Log     *slog.Logger
	LogFile *LogFile // where Log goes, to be moved into the attempt's directory; may be nil

	Place pasar.Place // where we were started; empty: in a session alone
}

// Serve returns nil when there is no more to do: the starter went away before it had a launch for
// us, or the attempt has ended and been taken note of.
func (w *Warm) Serve() error {
	var nonce [8]byte
	_, _ = rand.Read(nonce[:])
	path := filepath.Join(w.Run, hex.EncodeToString(nonce[:])+".sock")
	me, err := identify()
	if err != nil {
		return err
	}
	srv, err := listen(w.Log, path)
	if err != nil {
		return err
	}
	defer srv.close()

	sig := make(chan os.Signal, 4)
	signal.Notify(sig, syscall.SIGTERM, syscall.SIGUSR1)
	defer signal.Stop(sig)
	go srv.obey(sig, w.Control)

	k := newKit(w.Log, w.Place)
	defer func() { k.cell.leave() }()
	if idle(w.Control) {
		rehearse()
	}
	control := ipc.NewAttachConn(w.Control)
	if w.Place == pasar.PlaceUnit { // its starter is not our parent and doesn't know us
		if err := control.Send(ipc.AttachStatus, &ipc.Status{State: ipc.AttemptWarm, SupPid: os.Getpid()}); err != nil {
			return nil
		}
	}
	for {
		typ, body, err := control.Recv()
		if err != nil {
			_ = w.Control.Close()
			return nil // the starter is gone, and nothing was begun
		}
		if typ != ipc.AttachLaunch {
			continue
		}
		var l ipc.Launch
		if err := ipc.DecodeBody(body, &l); err != nil {
			return w.refuse(control, ipc.AttemptFailed, err)
		}
		a, claim, err := w.prepare(l.Dir, srv, k, me)
		if errors.Is(err, errTaken) {
			if err := w.refuse(control, ipc.AttemptTaken, err); err != nil {
				return nil
			}
			continue
		}
		if err != nil {
			_ = w.refuse(control, ipc.AttemptFailed, err)
			return err
		}
		srv.adopt(w.Control, control)
		a.run()
		k.cell.clear()
		srv.linger()
		runtime.KeepAlive(claim) // locked to the end
		return nil
	}
}

// refuse answers a LAUNCH that came to nothing.
func (w *Warm) refuse(c *ipc.AttachConn, state ipc.AttemptState, why error) error {
	return c.Send(ipc.AttachStatus, &ipc.Status{State: state, Error: why.Error(), SupPid: os.Getpid()})
}

// prepare does all that comes before the fork. When it succeeds the claim names us.
func (w *Warm) prepare(dir string, srv *server, k *kit, me self) (*attempt, *os.File, error) {
	spec, err := readSpec(dir)
	if err != nil {
		return nil, nil, err
	}
	claim, err := takeClaim(dir)
	if err != nil {
		return nil, nil, err
	}
	fail := func(err error) (*attempt, *os.File, error) {
		_ = claim.Close()
		return nil, nil, err
	}
	w.LogFile.move(dir)
	if err := reserve(dir); err != nil {
		return fail(err)
	}
	a, err := newAttempt(w.Log.With("attempt", spec.Key.String()), k, dir, srv.path, spec)
	if err != nil {
		return fail(err)
	}
	a.place = placeOr(w.Place)
	srv.there() // a cleaner may have been faster than the attempt
	srv.guardSocket(a.events.notify)
	srv.hold(a)
	a.clients.Store(srv)
	if err := writeHolding(claim, dir, &spec, me, srv.path, w.Place, k.cell); err != nil {
		return fail(err)
	}
	a.history.add(a.status(ipc.AttemptClaimed))
	return a, claim, nil
}
