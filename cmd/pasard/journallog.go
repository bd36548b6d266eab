package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"
)

// newLog makes the daemon's log. The journal stamps each line with the time itself and reads its
// importance from a number in front (sd-daemon(3)), so a line for it has the one and not the other.
func newLog(w io.Writer, level slog.Level, forJournal bool) *slog.Logger {
	if !forJournal {
		return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
	}
	out := &journalOut{w: w}
	return slog.New(&journalHandler{out: out, Handler: slog.NewTextHandler(&out.line, &slog.HandlerOptions{Level: level,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}})})
}

// journalOut is where the lines of one log go, one at a time.
type journalOut struct {
	mu   sync.Mutex // guards line and w
	line bytes.Buffer
	w    io.Writer
}

// A journalHandler puts the syslog number of a record's level in front of its line.
type journalHandler struct {
	slog.Handler // writes to out.line
	out          *journalOut
}

func (h *journalHandler) Handle(ctx context.Context, r slog.Record) error {
	h.out.mu.Lock()
	defer h.out.mu.Unlock()
	h.out.line.Reset()
	h.out.line.WriteString(priority(r.Level))
	if err := h.Handler.Handle(ctx, r); err != nil {
		return err
	}
	_, err := h.out.w.Write(h.out.line.Bytes())
	return err
}

func (h *journalHandler) WithAttrs(a []slog.Attr) slog.Handler {
	return &journalHandler{h.Handler.WithAttrs(a), h.out}
}

func (h *journalHandler) WithGroup(name string) slog.Handler {
	return &journalHandler{h.Handler.WithGroup(name), h.out}
}

// priority is a level as syslog(3) numbers it.
func priority(l slog.Level) string {
	switch {
	case l >= slog.LevelError:
		return "<3>"
	case l >= slog.LevelWarn:
		return "<4>"
	case l >= slog.LevelInfo:
		return "<6>"
	}
	return "<7>"
}
