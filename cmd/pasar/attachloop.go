package main

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"pasar"
	"pasar/ipc"
)

// loop serves the terminal until the job has ended, the person leaves (errLeft) or it fails.
func (a *attachment) loop(ctx context.Context, signals <-chan os.Signal) (ipc.ExitFrame, error) {
	keys, err := readKeys(a.stdin, a.cook)
	if err != nil {
		return ipc.ExitFrame{}, err
	}
	defer keys.stop() // before the terminal has its modes back

	var lone *time.Timer // keys are held back
	for {
		frames := a.link.frames
		if a.show.history > 0 && a.show.passing && a.out.backlog() > maxOnTheWay {
			frames = nil // what scrolls off is to be kept, so the terminal is waited for
		}
		select {
		case <-ctx.Done():
			return ipc.ExitFrame{}, context.Cause(ctx)
		case sig := <-signals:
			if err := a.signalled(sig); err != nil {
				return ipc.ExitFrame{}, err
			}
		case <-a.show.wake():
			a.show.paint()
		case <-a.show.expiry():
			a.wants = false
			a.show.unsay()
		case <-a.out.idle:
			if err := a.out.failure(); err != nil {
				return ipc.ExitFrame{}, fmt.Errorf("write to the terminal: %w", err)
			}
			a.show.drained()
		case <-channel(lone):
			lone = nil
			a.link.send.typed(a.keys.expire())
		case b, ok := <-keys.typed:
			if !ok {
				return ipc.ExitFrame{}, errLeft // the terminal is gone
			}
			if err := a.key(b); err != nil {
				return ipc.ExitFrame{}, err
			}
			lone = nil
			if wait := a.keys.patience(); wait > 0 {
				lone = time.NewTimer(wait)
			}
		case f := <-frames:
			if f.err != nil {
				if err := a.again(f.err); err != nil {
					return ipc.ExitFrame{}, err
				}
				continue
			}
			if end, err := a.frame(f); end != nil || err != nil {
				if end == nil {
					end = &ipc.ExitFrame{}
				}
				return *end, err
			}
		}
	}
}

func (a *attachment) signalled(sig os.Signal) error {
	switch sig {
	case syscall.SIGWINCH:
		a.resized()
	case syscall.SIGTSTP:
		return a.suspend()
	case syscall.SIGCONT:
		return a.goOn()
	default:
		return errInterrupted
	}
	return nil
}

// resized takes the terminal's present size.
func (a *attachment) resized() {
	cols, rows := a.size()
	if cols < 1 || rows < 1 {
		return
	}
	a.show.window(cols, rows)
	a.link.send.put(ipc.AttachResize, &ipc.Size{Cols: cols, Rows: rows})
}

// key takes what was typed.
func (a *attachment) key(b []byte) error {
	if a.typing {
		pass, detach := a.keys.feed(b)
		a.link.send.typed(pass)
		if detach {
			return errLeft
		}
		return nil
	}
	if cols, rows, pages, home, ok := panKeys(b); ok {
		if !a.show.move(cols, rows, pages, home) {
			a.show.say(a.watching())
		}
		return nil
	}
	leave, take := watchKeys(b)
	switch {
	case leave:
		return errLeft
	case take && !a.readOnly:
		return a.takeKeyboard()
	case len(b) == 1 && b[0] != 0x1b: // a key that means nothing: which do?
		a.show.say(a.watching())
	}
	return nil
}

// takeKeyboard takes the keyboard if nobody holds it; pressed again, also from who does.
func (a *attachment) takeKeyboard() error {
	if a.mine {
		a.types(true)
		a.show.say(a.attached())
		return nil
	}
	force := a.wants
	if a.link.typist && force {
		a.asked = true
		a.link.send.put(ipc.AttachTake, &ipc.Note{}) // the answer is HOLDER
		return nil
	}
	who := a.who
	if !a.link.typist {
		l, err := a.dial(true, force)
		if err != nil {
			return err
		}
		if l.welcome.Holder {
			a.link.close()
			a.link = l
			a.arrive(true)
			return nil
		}
		l.close()
		who = l.welcome.Who
	}
	a.show.say(heldBy(who) + "; i again takes it from there")
	a.wants = true
	return nil
}

// frame takes one frame; end is how the job ended, once all its output has been shown.
func (a *attachment) frame(f frame) (end *ipc.ExitFrame, err error) {
	switch f.typ {
	case ipc.AttachSnap:
		var s ipc.Snap
		if err = ipc.DecodeBody(f.body, &s); err == nil {
			a.show.snapshot(s.Cols, s.Rows, s.Data, s.More)
		}
	case ipc.AttachOut:
		var o ipc.Out
		if err = ipc.DecodeBody(f.body, &o); err == nil {
			a.show.write(o.Data)
		}
	case ipc.AttachSize:
		var s ipc.Size
		if err = ipc.DecodeBody(f.body, &s); err == nil {
			a.show.resize(s.Cols, s.Rows)
		}
	case ipc.AttachSkip:
		var s ipc.Skip
		if err = ipc.DecodeBody(f.body, &s); err == nil {
			a.show.say(fmt.Sprintf("%s of output are not to be had", pasar.Bytes(s.To-s.From)))
		}
	case ipc.AttachNote:
		var n ipc.Note
		if err = ipc.DecodeBody(f.body, &n); err == nil {
			a.show.say(n.Text)
		}
	case ipc.AttachHolder:
		var h ipc.HolderNote
		if err = ipc.DecodeBody(f.body, &h); err == nil {
			a.holder(h)
		}
	case ipc.AttachExit:
		end = &ipc.ExitFrame{}
		if err = ipc.DecodeBody(f.body, end); err == nil {
			a.show.finish()
		}
	case ipc.AttachRefused:
		var r ipc.RefusedFrame
		if err = ipc.DecodeBody(f.body, &r); err == nil {
			err = &ipc.Error{Code: r.Code, Message: r.Message, Hint: r.Hint}
		}
	}
	return end, err // PING, and what a newer supervisor may send
}

// holder takes up who holds the keyboard now.
func (a *attachment) holder(h ipc.HolderNote) {
	was := a.typing
	a.who = h.Who
	switch {
	case h.You && !was && a.asked:
		a.types(true)
		a.show.say("you hold the keyboard; " + a.attached())
	case a.readOnly:
	case h.You && !was: // its holder left; a key meant for watching must not reach the job
		a.mine, a.wants = true, false
		a.show.say("nobody types any more; q leaves, i takes the keyboard")
	case !h.You && a.mine:
		a.mine = false
	case !h.You && was:
		a.types(false)
		by := ""
		if h.Who != "" {
			by = " by " + h.Who
		}
		a.show.say("the keyboard was taken" + by + "; watching now: q leaves, i takes it back")
		a.wants = true
	}
}
