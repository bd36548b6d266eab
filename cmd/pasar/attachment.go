package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"pasar"
	"pasar/ipc"
)

// backlog is how many bytes of earlier output are shown on attaching: a few screens.
const backlog = 8 << 10

// An attachment is one stay at a job's terminal. Everything but reading and typing is done by run's
// goroutine, so that the terminal is put back in one place.
type attachment struct {
	*call
	at     place
	take   bool
	offset int64 // of the output reached

	conn   *ipc.AttachConn
	typing bool
	show   screen
	keys   detachKeys
	keep   *term.State // of the terminal before; nil: standard input is none
}

// A screen is where output goes: a terminal through a filter, or text elsewhere.
type screen struct {
	app    *app
	filter *screenFilter
	text   *shower
}

// A frame is what a supervisor sent.
type frame struct {
	typ  int
	body []byte
	err  error
}

var errLeft = errors.New("left")

func (a *attachment) run(ctx context.Context, typing bool) error {
	if err := a.connect(typing); err != nil {
		return err
	}
	defer func() { _ = a.conn.Close() }()
	a.show.app = a.app
	if a.term.is {
		a.show.filter = &screenFilter{types: a.typing}
	} else {
		a.show.text = &shower{r: a.newRenderer(false), to: &plainSink{a: a.app}}
	}
	a.greet()
	if fd := int(a.stdin.Fd()); term.IsTerminal(fd) {
		old, err := term.MakeRaw(fd)
		if err != nil {
			return fmt.Errorf("prepare the terminal: %w", err)
		}
		a.keep = old
	}
	err := a.loop(ctx)
	a.restore()
	switch {
	case errors.Is(err, errLeft), errors.Is(err, errInterrupted):
		a.note(fmt.Sprintf("left; job #%d goes on", a.at.job))
		if err != errLeft {
			return exit(exitInterrupted)
		}
		return nil
	case err != nil:
		return err
	}
	return a.verdict(ctx)
}

// connect attaches, to type or to watch. Where someone else holds the keyboard it is for watching, whatever
// was asked: keys that go nowhere would include those that leave.
func (a *attachment) connect(typing bool) error {
	h := ipc.Hello{Mode: ipc.ModeWatch, Offset: a.offset, Nonce: a.at.nonce, Take: a.take}
	if typing {
		h.Mode = ipc.ModeType
		h.Cols, h.Rows = a.size()
	}
	conn, w, err := ipc.DialAttach(a.at.socket, h)
	if err != nil {
		var e *ipc.Error
		if errors.As(err, &e) {
			return e
		}
		return problemf(ipc.CodeUnavailable, "attach to job #%d: %v", a.at.job, err).hint("it may just have ended: `pasar show " + a.at.job.String() + "`")
	}
	if a.conn != nil {
		_ = a.conn.Close()
	}
	a.conn, a.offset = conn, w.Offset
	if typing && !w.Holder {
		a.say("someone else holds the keyboard; `pasar attach -i --take " + a.at.job.String() + "` takes it")
		return a.connect(false)
	}
	a.types(typing)
	return nil
}

// types makes keys go to the job, or not.
func (a *attachment) types(typing bool) {
	a.typing, a.keys = typing, detachKeys{}
	if a.show.filter != nil {
		a.show.filter.types = typing
	}
}

func (a *attachment) size() (cols, rows int) {
	if cols, rows, err := term.GetSize(int(a.stdin.Fd())); err == nil {
		return cols, rows
	}
	return 0, 0
}

func (a *attachment) greet() {
	switch {
	case a.typing:
		a.say(fmt.Sprintf("attached to job #%d; Ctrl-] then d leaves", a.at.job))
	case term.IsTerminal(int(a.stdin.Fd())):
		a.say(fmt.Sprintf("watching job #%d; q leaves, i takes the keyboard", a.at.job))
	}
}

// say tells the person something, on a line of its own also while the terminal is raw.
func (a *attachment) say(s string) {
	_ = a.stdout.Flush()
	end := "\n"
	if a.keep != nil {
		end = "\r\n"
	}
	_, _ = io.WriteString(a.stderr, "pasar: "+pasar.Clean(s)+end)
}

// loop serves the terminal until the job has ended (nil), the person leaves (errLeft) or it fails.
func (a *attachment) loop(ctx context.Context) error {
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGQUIT) // it would end the program with the terminal as it is
	defer signal.Stop(quit)

	typed := make(chan []byte)
	if a.keep != nil {
		go readKeys(a.stdin, typed)
	}
	frames, sender := a.wire()
	defer func() { sender.close() }()
	var lone <-chan time.Time // a prefix is held back
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-quit:
			return errInterrupted
		case <-resized:
			if a.typing {
				cols, rows := a.size()
				sender.put(ipc.AttachResize, &ipc.Size{Cols: cols, Rows: rows})
			}
		case <-lone:
			lone = nil
			sender.typed(a.keys.expire())
		case b, ok := <-typed:
			switch {
			case !ok:
				return errLeft // the terminal is gone
			case a.typing:
				pass, detach := a.keys.feed(b)
				sender.typed(pass)
				if detach {
					return errLeft
				}
				lone = nil
				if a.keys.held != nil {
					lone = time.After(time.Second)
				}
				continue
			}
			leave, take := watchKeys(b)
			if leave {
				return errLeft
			}
			if take {
				sender.close()
				if err := a.connect(true); err != nil {
					return err
				}
				a.greet()
				frames, sender = a.wire()
			}
		case f := <-frames:
			if f.err != nil {
				return a.lostSupervisor(f.err)
			}
			if over, err := a.frame(f); over || err != nil {
				return err
			}
		}
	}
}

func (a *attachment) lostSupervisor(err error) error {
	if errors.Is(err, io.EOF) {
		err = errors.New("its supervisor closed the connection")
	}
	return problemf(ipc.CodeUnavailable, "job #%d: %v", a.at.job, err).hint("`pasar show " + a.at.job.String() + "` says what became of it")
}

// wire starts the goroutines that read from and write to the supervisor. Both end with the connection.
func (a *attachment) wire() (<-chan frame, *sender) {
	frames := make(chan frame, 4)
	conn, gone := a.conn, make(chan struct{})
	go func() {
		for {
			var f frame
			f.typ, f.body, f.err = conn.Recv()
			select {
			case frames <- f:
			case <-gone:
				return
			}
			if f.err != nil {
				return
			}
		}
	}()
	return frames, newSender(conn, gone)
}

// frame takes one frame; over means that the job has ended and all its output has been shown.
func (a *attachment) frame(f frame) (over bool, err error) {
	switch f.typ {
	case ipc.AttachOut:
		var o ipc.Out
		if err := ipc.DecodeBody(f.body, &o); err != nil {
			return false, err
		}
		a.offset = o.Offset + int64(len(o.Data))
		return false, a.show.put(o.Data)
	case ipc.AttachSkip:
		var s ipc.Skip
		if err := ipc.DecodeBody(f.body, &s); err != nil {
			return false, err
		}
		a.offset = s.To
		a.say(fmt.Sprintf("%s of output were skipped", pasar.Bytes(s.To-s.From)))
	case ipc.AttachNote:
		var n ipc.Note
		if err := ipc.DecodeBody(f.body, &n); err != nil {
			return false, err
		}
		a.say(n.Text)
	case ipc.AttachHolder:
		var h ipc.HolderNote
		if err := ipc.DecodeBody(f.body, &h); err != nil {
			return false, err
		}
		a.types(h.You)
		if h.You {
			a.say("you hold the keyboard; Ctrl-] then d leaves")
		} else {
			a.say("the keyboard was taken" + byWhom(h.Who) + "; watching now: q leaves, i takes it back if it is free")
		}
	case ipc.AttachExit:
		return true, nil
	case ipc.AttachRefused:
		var r ipc.RefusedFrame
		if err := ipc.DecodeBody(f.body, &r); err != nil {
			return false, err
		}
		return false, &ipc.Error{Code: r.Code, Message: r.Message}
	}
	return false, nil // SIZE, PING, and what a newer supervisor may send
}

func byWhom(who string) string {
	if who == "" {
		return ""
	}
	return " by " + who
}

func (s *screen) put(b []byte) error {
	if s.text != nil {
		return s.text.put(b)
	}
	if _, err := s.app.stdout.Write(s.filter.filter(b)); err != nil {
		return err
	}
	return s.app.stdout.Flush()
}

// restore puts the terminal back as it was, whichever way the client leaves.
func (a *attachment) restore() {
	if a.show.text != nil {
		_ = a.show.text.finish()
	}
	if a.show.filter != nil {
		_, _ = a.stdout.WriteString(a.show.filter.undo())
	}
	_ = a.stdout.Flush()
	if a.keep != nil {
		_ = term.Restore(int(a.stdin.Fd()), a.keep)
		a.keep = nil
	}
}

// verdict says how the job ended, once the daemon knows.
func (a *attachment) verdict(ctx context.Context) error {
	v, err := a.waitOne(ctx, ipc.WaitRequest{Jobs: []pasar.JobID{a.at.job}})
	if err != nil {
		return err
	}
	a.reportEnd(v)
	return nil
}

// readKeys hands over what is typed until the terminal is gone. It may outlive the attachment, waiting
// for a key: nothing else can wake it.
func readKeys(in *os.File, to chan<- []byte) {
	defer close(to)
	for {
		b := make([]byte, 32<<10)
		n, err := in.Read(b)
		if n > 0 {
			to <- b[:n]
		}
		if err != nil {
			return
		}
	}
}
