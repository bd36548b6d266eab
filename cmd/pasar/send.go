package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"pasar"
	"pasar/answer"
	"pasar/ipc"
	"pasar/vt"
)

func sendCommand() *command {
	return &command{
		name: "send", section: sectionJobs, args: "JOB [TEXT…]", brief: "type into a job's terminal", takes: takesJob,
		long: `The words are typed with a space between; the text - is read from standard input. Line ends become Return, as when pasting.
Then come the --keys, then Return with --enter. ` + strings.ToUpper(keysHelp[:1]) + keysHelp[1:] + `;
a comma is Comma.

It is refused while somebody else holds the keyboard, unless you --take it for as long as that lasts. It says so once the
terminal has got everything; when the job reads it is its own affair, and ` + "`pasar screen`" + ` shows what it made of it.`,
		examples: []example{
			{"pasar send --enter 42 yes", "answer a question"},
			{"pasar send --keys C-c 42", "interrupt it"},
			{"pasar send --keys Down,Down,Enter 42", "choose in a menu"},
			{"pasar send 42 - < commands.txt", "type a file"},
		},
		setup: func(f *flags) action {
			s := &sending{}
			f.BoolVar(&s.enter, "enter", false, "Return at the end")
			names := f.String("keys", "", "`KEYS` to press after the text, with commas between")
			f.BoolVar(&s.take, "take", false, "take the keyboard from whoever holds it, for as long as this lasts")
			return func(ctx context.Context, c *call) error {
				if len(c.args) == 0 {
					return usagef("send takes a job and what to type").hint("`pasar send --enter last yes` types into your last job")
				}
				if f.given("keys") {
					var err error
					if s.keys, err = parseKeys(*names); err != nil {
						return err
					}
				}
				return s.run(ctx, c)
			}
		},
	}
}

// A sending is what is to be typed.
type sending struct {
	text  string
	keys  []keyPress
	enter bool
	take  bool
}

// maxSent bounds what one command types, in bytes.
const maxSent = 16 << 20

func (s *sending) run(ctx context.Context, c *call) error {
	if err := s.read(c); err != nil {
		return err
	}
	if s.text == "" && len(s.keys) == 0 && !s.enter {
		return usagef("nothing to type").hint("give a text, --keys or --enter: `pasar send --enter " + pasar.Clean(c.args[0]) + " yes`")
	}
	where, err := c.supervisor(ctx, c.args[:1])
	if err != nil {
		return err
	}
	v, err := s.send(ctx, where, c.note)
	if err != nil {
		return err
	}
	if c.json {
		return c.printJSON(v)
	}
	return c.print(fmt.Sprintf("typed %s into %s\n", count(v.Bytes, "byte"), where))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// read puts the text together.
func (s *sending) read(c *call) error {
	words := c.args[1:]
	s.text = strings.Join(words, " ")
	if slices.Equal(words, []string{"-"}) {
		b, err := io.ReadAll(io.LimitReader(c.stdin, maxSent+1))
		if err != nil {
			return fmt.Errorf("read standard input: %w", err)
		}
		s.text = string(b)
	}
	if len(s.text) > maxSent {
		return usagef("that is more than %s to type", pasar.Bytes(maxSent)).hint("let the job read a file")
	}
	s.text = strings.NewReplacer("\r\n", "\r", "\n", "\r").Replace(s.text)
	return nil
}

// send types, and returns once the supervisor has taken all of it. What it says meanwhile is noted.
func (s *sending) send(ctx context.Context, p place, note func(string)) (*pasar.SentView, error) {
	needScreen := slices.ContainsFunc(s.keys, keyPress.cursorKey)
	l, err := p.connect(ipc.Hello{Mode: ipc.ModeType, Offset: -1, Take: s.take, Paint: needScreen}, func() {})
	if err != nil {
		return nil, err
	}
	defer l.close()
	job := p.job.String()
	switch w := l.welcome; {
	case w.NoPTY:
		return nil, problemf(ipc.CodeWrongState, "job #%s has no terminal, so there is nothing to type into", job).hint("it was submitted with --no-pty")
	case w.State == ipc.AttemptExited || w.State == ipc.AttemptEnded:
		return nil, problemf(ipc.CodeWrongState, "job #%s has ended", job).hint("`pasar logs " + job + "` shows its output")
	case !w.Holder:
		return nil, problemf(ipc.CodeWrongState, "job #%s: %s", job, heldBy(w.Who)).hint("`pasar send --take` types all the same, and gives it back")
	}
	h := &handover{link: l, job: p.job, note: note}
	appCursor := false
	if needScreen && l.welcome.Version >= 2 {
		if appCursor, err = h.appCursor(ctx); err != nil {
			return nil, err
		}
	}
	text := s.text
	for _, k := range s.keys {
		text += k.bytes(appCursor)
	}
	if s.enter {
		text += "\r"
	}
	if err := h.deliver(ctx, []byte(text)); err != nil {
		return nil, err
	}
	return &pasar.SentView{Schema: pasar.Schema, ID: p.job, Attempt: answer.AttemptOf(l.welcome.Key), Bytes: len(text)}, nil
}

// A handover is typing that has to arrive.
type handover struct {
	*link
	job  pasar.JobID
	note func(string)
}

// appCursor asks the screen whether the program wants the cursor keys' other sequences.
func (h *handover) appCursor(ctx context.Context) (bool, error) {
	late := time.NewTimer(answerTime)
	defer late.Stop()
	screen := vt.NewScreen(h.welcome.Cols, h.welcome.Rows)
	for {
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-late.C:
			return false, problemf(ipc.CodeUnavailable, "job #%d: its supervisor doesn't say what is on the screen", h.job)
		case f := <-h.frames:
			if err := h.check(f); err != nil {
				return false, err
			}
			var s ipc.Snap
			if f.typ != ipc.AttachSnap {
				continue
			}
			if err := ipc.DecodeBody(f.body, &s); err != nil {
				return false, err
			}
			_, _ = screen.Write(s.Data)
			if !s.More {
				return screen.Modes().AppCursor, nil
			}
		}
	}
}

// deliver types b, says that this is all, and waits for the supervisor to have taken it. How long that takes is the
// job's affair: it may be busy, and what the terminal holds for it is bounded. The job may end by it.
func (h *handover) deliver(ctx context.Context, b []byte) error {
	sent := make(chan error, 1)
	go func() {
		sent <- h.write(b)
	}()
	var failed error
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-sent:
			if sent = nil; err != nil {
				failed = problemf(ipc.CodeUnavailable, "type into job #%d: %v", h.job, err).hint("not all of it has arrived; the job may not be reading")
				_ = h.conn.SetReadDeadline(time.Now().Add(time.Second)) // it may still say that the job has ended
			}
		case f := <-h.frames:
			switch {
			case errors.Is(f.err, io.EOF) && failed == nil && (sent == nil || <-sent == nil):
				return nil // what isn't taken when a supervisor closes is a reset, not an end
			case f.err != nil && failed != nil:
				return failed
			case f.typ == ipc.AttachExit:
				var end ipc.ExitFrame
				if err := ipc.DecodeBody(f.body, &end); err != nil {
					return err
				}
				if end.Typed >= int64(len(b)) {
					return nil
				}
			}
			if err := h.check(f); err != nil {
				return err
			}
		}
	}
}

// write types b in pieces and half-closes the connection.
func (h *handover) write(b []byte) error {
	for piece := range slices.Chunk(b, maxPiece) {
		if err := h.conn.Send(ipc.AttachIn, &ipc.In{Data: piece}); err != nil {
			return err
		}
	}
	return h.conn.CloseWrite()
}

// check says what in a frame means that typing isn't possible.
func (h *handover) check(f frame) error {
	if f.err != nil {
		return problemf(ipc.CodeUnavailable, "job #%d: its supervisor closed the connection before everything was typed", h.job).
			hint("`pasar show " + h.job.String() + "` says what became of it")
	}
	switch f.typ {
	case ipc.AttachHolder:
		var n ipc.HolderNote
		if err := ipc.DecodeBody(f.body, &n); err != nil {
			return err
		}
		if !n.You {
			return problemf(ipc.CodeWrongState, "job #%d: %s now; part of it may not have been typed", h.job, heldBy(n.Who))
		}
	case ipc.AttachNote:
		var n ipc.Note
		if err := ipc.DecodeBody(f.body, &n); err != nil {
			return err
		}
		h.note(pasar.Clean(n.Text)) // such as a line too long for the terminal
	case ipc.AttachExit:
		return problemf(ipc.CodeWrongState, "job #%d ended before everything was typed", h.job).hint("`pasar logs " + h.job.String() + "` shows its output")
	case ipc.AttachRefused:
		var r ipc.RefusedFrame
		if err := ipc.DecodeBody(f.body, &r); err != nil {
			return err
		}
		return &ipc.Error{Code: r.Code, Message: r.Message, Hint: r.Hint}
	}
	return nil
}
