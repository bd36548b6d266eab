package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"pasar/ipc"
	"pasar/ui"
)

// backlog is how many bytes of earlier output are asked for where a supervisor can't send the screen, or a job has
// none: a few screens.
const backlog = 8 << 10

// A link is a connection to a supervisor.
type link struct {
	conn    *ipc.AttachConn
	welcome ipc.Welcome
	typist  bool // it is to type: it holds the keyboard, or is in line for it
	frames  chan frame
	send    *sender
	gone    chan struct{}
	since   time.Time
}

// A frame is what a supervisor sent.
type frame struct {
	typ  int
	body []byte
	err  error
}

// A missedError is that a supervisor which was there a moment ago can't be greeted: the job may have ended meanwhile.
type missedError struct{ error }

func (e *missedError) Unwrap() error { return e.error }

// connect greets a supervisor. After a panic in one of the link's goroutines, rescue is called, and the program
// ends by it.
func (p place) connect(h ipc.Hello, rescue func()) (*link, error) {
	conn, w, err := p.dial(h)
	if err != nil {
		var e *ipc.Error
		if errors.As(err, &e) || errors.Is(err, context.Canceled) {
			return nil, err
		}
		return nil, &missedError{problemf(ipc.CodeUnavailable, "attach to job #%d: %v", p.job, err).hint("it may just have ended: `pasar show " + p.job.String() + "`")}
	}
	l := &link{conn: conn, welcome: w, typist: h.Mode == ipc.ModeType, frames: make(chan frame, 4), gone: make(chan struct{}), since: time.Now()}
	go func() {
		defer guarded(rescue)
		for {
			var f frame
			f.typ, f.body, f.err = conn.Recv()
			select {
			case l.frames <- f:
			case <-l.gone:
				return
			}
			if f.err != nil {
				return
			}
		}
	}()
	l.send = newSender(conn, l.gone, rescue)
	return l, nil
}

func (l *link) close() {
	select {
	case <-l.gone:
	default:
		close(l.gone)
		_ = l.conn.Close()
	}
}

// guarded is deferred by each goroutine that works beside the one that puts the terminal back.
func guarded(rescue func()) {
	if r := recover(); r != nil {
		rescue()
		panic(r)
	}
}

// dial connects to show the screen, to type or to watch.
func (a *attachment) dial(typing, take bool) (*link, error) {
	h := ipc.Hello{Mode: ipc.ModeWatch, Offset: -backlog - 1, Take: take, Paint: true, History: a.history}
	h.Cols, h.Rows = a.size()
	if typing {
		h.Mode = ipc.ModeType
	}
	if a.show != nil {
		h.History = 0 // it is above the screen already
	}
	return a.at.connect(h, a.cook)
}

// lasted reports whether a lost connection is worth another: one that is lost at once would be so again.
func (l *link) lasted() bool { return time.Since(l.since) >= time.Second }

// again connects once more after a connection was lost: the client may have been stopped for so long that the
// supervisor gave it up. It returns why not.
func (a *attachment) again(err error) error {
	lost := a.lost(err)
	if isCut(err) || !a.link.lasted() {
		return lost
	}
	typist := a.link.typist
	l, derr := a.dial(typist, false)
	if derr != nil {
		return lost
	}
	a.link.close()
	a.link = l
	a.arrive(typist)
	return nil
}

func (a *attachment) lost(err error) error {
	if isCut(err) {
		return err
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("its supervisor closed the connection")
	}
	return problemf(ipc.CodeUnavailable, "job #%d: %v", a.at.job, err).hint("`pasar show " + a.at.job.String() + "` says what became of it")
}

// endOf says what a supervisor knows of an end.
func endOf(end ipc.ExitFrame) string {
	if end.Error != "" {
		return "could not be started: " + end.Error
	}
	if how := ui.Ending(&end.Exit.Code, &end.Exit.Signal); end.Exit.Shell() != 0 {
		return fmt.Sprintf("ended with %s; without a daemon nobody says why", how)
	}
	return "ended with exit code 0"
}
