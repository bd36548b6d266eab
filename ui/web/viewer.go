package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"pasar"
	"pasar/answer"
	"pasar/ipc"
	"pasar/vt"
)

// Of what a browser sends.
const (
	maxMessage = 64 << 10        // bytes of one message
	closeTime  = time.Second     // for its half of a close
	endTime    = 5 * time.Second // that the daemon has to know how a job ended
)

// A viewer is one browser at a job's terminal. It watches, over a connection of its own to the supervisor, until it takes the
// keyboard: then that connection gives way to one that may type, and back again.
//
// One goroutine (serve) owns it; others read from the browser and from the supervisor, write what is typed, and ask
// whether the browser is there.
type viewer struct {
	ws      *websocket.Conn
	out     *outflow
	log     *slog.Logger
	job     pasar.JobID
	attempt int // 0 until the first welcome
	who     string
	dial    func(context.Context, ipc.Hello) (*ipc.AttachConn, ipc.Welcome, error)
	ending  func(ctx context.Context, attempt int) (*pasar.JobView, error) // the job once the attempt's end is known
	output  logsCall

	size   ipc.Size // of the browser's terminal
	told   ipc.Size // of the job's, as the browser knows it
	wire   *wire
	holder bool // the browser holds the keyboard
	asked  bool // it has asked for it, on this wire
	partly bool // a painting is arriving, in pieces
	filter vt.Filter
}

// A message is what came from a browser.
type message struct {
	typ  websocket.MessageType
	data []byte
}

// errOver ends a viewer whose job has ended.
var errOver = errors.New("the job has ended")

// serve shows the terminal until the job ends, the browser leaves, or ctx is done.
func (v *viewer) serve(ctx context.Context) {
	v.out = newOutflow(v.ws)
	v.ws.SetReadLimit(maxMessage)
	reading, stop := context.WithCancel(context.WithoutCancel(ctx)) // a close is read to its end
	over := make(chan struct{})
	said, gone, silent := make(chan message), make(chan error, 1), make(chan error, 1)
	var wg sync.WaitGroup
	wg.Go(func() { gone <- hear(reading, v.ws, said, over) })
	wg.Go(func() { silent <- v.out.ask(reading) })
	err := v.begin(ctx)
	for err == nil {
		err = v.step(ctx, said, gone, silent)
	}
	close(over)
	if v.wire != nil {
		v.wire.close()
	}
	cut := time.AfterFunc(closeTime, stop)
	v.say(err)
	cut.Stop()
	stop()
	wg.Wait()
}

// hear reads from a browser until it is gone. After over is closed it reads on, for nobody: the other half of a close
// is still to come.
func hear(ctx context.Context, ws *websocket.Conn, said chan<- message, over <-chan struct{}) error {
	for {
		typ, b, err := ws.Read(ctx)
		if err != nil {
			return err
		}
		select {
		case said <- message{typ, b}:
		case <-over:
		}
	}
}

// step does the next thing that comes.
func (v *viewer) step(ctx context.Context, said <-chan message, gone, silent <-chan error) error {
	frames := v.wire.frames
	if v.out.full() {
		frames = nil
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case err := <-gone:
		return &begunError{err}
	case err := <-silent:
		return &begunError{err}
	case <-v.out.moved:
		return nil
	case m := <-said:
		if m.typ == websocket.MessageBinary {
			return v.typed(m.data)
		}
		return v.ordered(ctx, m.data)
	case f := <-frames:
		return v.frame(ctx, f)
	}
}

// say closes the connection, and says why as far as the browser is there to be told.
func (v *viewer) say(err error) {
	var begun *begunError
	switch {
	case errors.Is(err, errOver):
		_ = v.ws.Close(websocket.StatusNormalClosure, "")
	case errors.As(err, &begun):
		v.log.Debug("WebSocket ended", "job", v.job, "error", err)
		_ = v.ws.CloseNow()
	case errors.Is(err, context.Canceled):
		_ = v.ws.Close(websocket.StatusGoingAway, "pasard is ending")
	default:
		e, status := asError(err)
		_ = v.tell(struct {
			event
			Error *answer.ErrorView `json:"error"`
		}{v.event("error"), answer.ViewError(e)})
		_ = v.ws.Close(websocket.StatusCode(4000+status), "")
	}
}

// begin connects to watch, and welcomes.
func (v *viewer) begin(ctx context.Context) error {
	l, err := v.connect(ctx, ipc.Hello{Mode: ipc.ModeWatch})
	if err != nil {
		l, err = v.kept(ctx, err)
	}
	if err != nil {
		return err
	}
	v.wire = l
	w := l.welcome
	v.attempt, v.told = answer.AttemptOf(w.Key), ipc.Size{Cols: w.Cols, Rows: w.Rows}
	if w.NoPTY {
		return refuse(ipc.CodeWrongState, "it was submitted with --no-pty; `pasar logs -f "+v.job.String()+"` shows what it prints",
			"job #%d has no terminal", v.job)
	}
	return v.tell(struct {
		event
		Job     pasar.JobID `json:"job"`
		Attempt int         `json:"attempt"`
		Cols    int         `json:"cols"`
		Rows    int         `json:"rows"`
		Holder  bool        `json:"holder"`
		Who     *string     `json:"who"`
		NoPTY   bool        `json:"no_pty"`
	}{v.event("welcome"), v.job, v.attempt, w.Cols, w.Rows, false, pasar.Known(pasar.Clean(w.Who)), false})
}

// An event is how each message of text to a browser begins.
type event struct {
	Schema int    `json:"schema"`
	Event  string `json:"event"`
}

func (v *viewer) event(name string) event { return event{pasar.Schema, name} }

// tell sends an event.
func (v *viewer) tell(e any) error {
	b, err := answer.Encode(e)
	if err != nil {
		return err
	}
	return v.put(websocket.MessageText, b)
}

func (v *viewer) put(typ websocket.MessageType, b []byte) error {
	if err := v.out.put(typ, b); err != nil {
		return &begunError{err}
	}
	return nil
}

func (v *viewer) note(format string, args ...any) error {
	return v.tell(struct {
		event
		Text string `json:"text"`
	}{v.event("note"), pasar.Clean(fmt.Sprintf(format, args...))})
}

// tellHolder says whether the browser holds the keyboard, and else who does.
func (v *viewer) tellHolder(you bool, who string) error {
	if v.holder = you; you {
		who = ""
	}
	return v.tell(struct {
		event
		Holder bool    `json:"holder"`
		Who    *string `json:"who"`
	}{v.event("holder"), you, pasar.Known(pasar.Clean(who))})
}

func (v *viewer) tellSize(s ipc.Size) error {
	if s.Cols == v.told.Cols && s.Rows == v.told.Rows {
		return nil
	}
	v.told = s
	return v.tell(struct {
		event
		Cols int `json:"cols"`
		Rows int `json:"rows"`
	}{v.event("size"), s.Cols, s.Rows})
}

// typed passes on what was typed, if the browser holds the keyboard.
func (v *viewer) typed(b []byte) error {
	switch {
	case !v.holder && !v.asked:
		return v.note("you are watching: take control to type")
	case !v.wire.typed(b):
		return v.note("the job doesn't read what is typed: %s are left out", pasar.Bytes(len(b)))
	}
	return nil
}

// An order is what a browser asks for; one of its fields.
type order struct {
	Take    bool `json:"take"`
	Release bool `json:"release"`
	Resize  *struct {
		Cols int `json:"cols"`
		Rows int `json:"rows"`
	} `json:"resize"`
	Cols int `json:"cols"` // with Take
	Rows int `json:"rows"`
}

// ordered does what a browser asks for.
func (v *viewer) ordered(ctx context.Context, b []byte) error {
	o, err := readOrder(b)
	if err != nil {
		return err
	}
	switch {
	case o.Take:
		if o.Cols > 0 && o.Rows > 0 {
			v.size = ipc.Size{Cols: o.Cols, Rows: o.Rows}
		}
		return v.take(ctx)
	case o.Release:
		return v.release(ctx)
	case o.Resize != nil && (o.Resize.Cols < 1 || o.Resize.Rows < 1):
		return v.note("%d by %d is no size of a terminal: it keeps the one it has", o.Resize.Cols, o.Resize.Rows)
	case o.Resize != nil:
		v.size = ipc.Size{Cols: o.Resize.Cols, Rows: o.Resize.Rows}
		if v.wire.typist { // who watches has no size that counts
			v.wire.resize(v.size)
		}
	}
	return nil
}

// readOrder reads an order as a body is read.
func readOrder(b []byte) (o order, err error) {
	if err = wellFormed(b); err == nil {
		err = fill(reflect.ValueOf(&o).Elem(), b, "")
	}
	var e *ipc.Error
	if errors.As(err, &e) {
		err = refuse(e.Code, e.Hint, "a message that is no order: %s", strings.TrimPrefix(e.Message, "the body: "))
	}
	return o, err
}

// take gives the browser the keyboard, whoever has it.
func (v *viewer) take(ctx context.Context) error {
	if v.wire.typist {
		v.asked = true
		v.wire.resize(v.size)
		if !v.holder {
			v.wire.take() // the answer is HOLDER
		}
		return nil
	}
	return v.change(ctx, ipc.Hello{Mode: ipc.ModeType, Take: true, Cols: v.size.Cols, Rows: v.size.Rows})
}

// release gives the keyboard back for good: one that is only released comes back when the next holder leaves.
func (v *viewer) release(ctx context.Context) error {
	if !v.wire.typist {
		return nil
	}
	return v.change(ctx, ipc.Hello{Mode: ipc.ModeWatch})
}

// change goes on over another connection. If none is to be had, all stays as it is.
func (v *viewer) change(ctx context.Context, h ipc.Hello) error {
	l, err := v.connect(ctx, h)
	if err != nil {
		e, _ := asError(err)
		return v.note("%s", e.Message)
	}
	return v.swap(l)
}

// swap goes on over another connection, which begins with a painting.
func (v *viewer) swap(l *wire) error {
	v.wire.close()
	v.wire, v.asked, v.partly = l, false, false
	w := l.welcome
	if err := v.tellHolder(w.Holder, w.Who); err != nil {
		return err
	}
	return v.tellSize(ipc.Size{Cols: w.Cols, Rows: w.Rows})
}

// frame takes what the supervisor sent.
func (v *viewer) frame(ctx context.Context, f frame) error {
	if f.err != nil {
		return v.lost(ctx, f.err)
	}
	switch f.typ {
	case ipc.AttachSnap:
		return opened(f, v.painted)
	case ipc.AttachOut:
		return opened(f, func(o ipc.Out) error { return v.drawn(o.Data) })
	case ipc.AttachSize:
		return opened(f, v.tellSize)
	case ipc.AttachSkip:
		return opened(f, func(s ipc.Skip) error { return v.note("%s of output are not to be had", pasar.Bytes(s.To-s.From)) })
	case ipc.AttachNote:
		return opened(f, func(n ipc.Note) error { return v.note("%s", n.Text) })
	case ipc.AttachHolder:
		return opened(f, func(h ipc.HolderNote) error {
			v.asked = false
			return v.tellHolder(h.You, h.Who)
		})
	case ipc.AttachExit:
		return opened(f, func(x ipc.ExitFrame) error { return v.exited(ctx, x) })
	case ipc.AttachRefused:
		return opened(f, func(r ipc.RefusedFrame) error { return &ipc.Error{Code: r.Code, Message: r.Message, Hint: r.Hint} })
	}
	return nil // PING, and what a newer supervisor may send
}

// opened takes a frame's body.
func opened[T any](f frame, do func(T) error) error {
	var body T
	if err := ipc.DecodeBody(f.body, &body); err != nil {
		return err
	}
	return do(body)
}

// lost connects once more: the job may have read nothing of what was typed for so long that the connection ended. One that
// was lost at once would be so again, unless the attempt is over: a supervisor that is no longer needed is gone with whoever
// has just come.
func (v *viewer) lost(ctx context.Context, err error) error {
	h := ipc.Hello{Mode: ipc.ModeWatch}
	if v.wire.typist {
		h = ipc.Hello{Mode: ipc.ModeType, Cols: v.size.Cols, Rows: v.size.Rows}
	}
	if time.Since(v.wire.since) >= time.Second {
		if l, derr := v.connect(ctx, h); derr == nil {
			return v.swap(l)
		}
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("its supervisor closed the connection")
	}
	err = refuse(ipc.CodeUnavailable, "`pasar show "+v.job.String()+"` says what became of it", "job #%d: %v", v.job, err)
	l, err := v.kept(ctx, err)
	if err != nil {
		return err
	}
	return v.swap(l)
}

// painted takes a piece of a painting; the first one says that it begins.
func (v *viewer) painted(s ipc.Snap) error {
	if !v.partly {
		v.filter = vt.Filter{Own: true, Links: true}
		if err := errors.Join(v.tellSize(ipc.Size{Cols: s.Cols, Rows: s.Rows}), v.tell(v.event("paint"))); err != nil {
			return err
		}
	}
	v.partly = s.More
	return v.drawn(s.Data)
}

func (v *viewer) drawn(b []byte) error {
	if b = v.filter.Pass(b); len(b) == 0 {
		return nil
	}
	return v.put(websocket.MessageBinary, b)
}

// exited says how the attempt ended, and what the daemon makes of it.
func (v *viewer) exited(ctx context.Context, x ipc.ExitFrame) error {
	ctx, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	end := struct {
		event
		Job     pasar.JobID  `json:"job"`
		Attempt int          `json:"attempt"`
		State   *pasar.State `json:"state"` // of the job, which may be queued again; null: it can't be had
		Summary *string      `json:"summary"`
		Code    *int         `json:"code"` // null: nobody saw it
		Signal  *int         `json:"signal"`
		Failed  *string      `json:"launch_error"`
	}{v.event("exit"), v.job, v.attempt, nil, nil, &x.Exit.Code, pasar.Known(x.Exit.Signal), pasar.Known(pasar.Clean(x.Error))}
	if v.wire.unseen {
		end.Code = nil
	}
	if j, err := v.ending(ctx, v.attempt); err != nil {
		v.log.Debug("end of a job not known", "job", v.job, "error", err)
	} else {
		end.State, end.Summary = &j.State, j.Summary
	}
	if err := v.tell(end); err != nil {
		return err
	}
	return errOver
}
