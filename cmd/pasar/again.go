package main

import (
	"bytes"
	"context"
	"os"
	"os/signal"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"pasar/ui"
)

// A picture is an answer that can be laid out for a terminal of any size; as JSON it is raw.
type picture struct {
	lay func(ui.Style) string
	raw []byte
}

// A looker gets a picture of how things are.
type looker func(context.Context) (picture, error)

// refreshEvery is how long --watch waits before it looks again.
var refreshEvery = 2 * time.Second // a variable for tests of what a second look shows

// once shows a picture.
func (c *call) once(ctx context.Context, look looker) error {
	p, err := look(ctx)
	if err != nil {
		return err
	}
	if c.json {
		return c.printLine(p.raw)
	}
	return c.print(p.lay(c.style()))
}

// again shows a picture every two seconds until it is told to end: on a terminal in place, elsewhere one below
// the other.
func (c *call) again(ctx context.Context, look looker) error {
	if !c.json && c.term.is && c.getenv("TERM") != "dumb" {
		return c.inPlace(ctx, look)
	}
	tick := time.NewTicker(refreshEvery)
	defer tick.Stop()
	for first := true; ; first = false {
		if !first && !c.json {
			if err := c.print("\n"); err != nil {
				return err
			}
		}
		if err := c.once(ctx, look); err != nil {
			return err
		}
		if err := c.stdout.Flush(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// Sequences for a screen of its own: the alternate one without a cursor (xterm's private modes 1049 and 25),
// from the top left, each line cleared behind its end, and all below the last.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l"
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	toTop       = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
)

// inPlace shows pictures on the terminal's alternate screen, so that the shell's comes back as it was. It ends
// with q, Ctrl-C or Ctrl-D, or with the signals that end any command.
func (c *call) inPlace(ctx context.Context, look looker) error {
	p, err := look(ctx) // before anything is changed: an error stands where errors do
	if err != nil {
		return err
	}
	var typed <-chan []byte
	if in := int(c.stdin.Fd()); term.IsTerminal(in) {
		before, err := term.MakeRaw(in)
		if err != nil {
			return err
		}
		restore := func() { _ = term.Restore(in, before) }
		defer restore()
		keys, err := readKeys(c.stdin, restore)
		if err != nil {
			return err
		}
		defer keys.stop() // before that
		typed = keys.typed
	}
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, unix.SIGWINCH)
	defer signal.Stop(resized)
	tick := time.NewTicker(refreshEvery)
	defer tick.Stop()
	if err := c.print(enterScreen); err != nil {
		return err
	}
	defer func() {
		_ = c.print(leaveScreen)
		_ = c.stdout.Flush()
	}()
	for {
		cols, rows, err := term.GetSize(int(os.Stdout.Fd()))
		if err != nil {
			return err
		}
		style := c.style()
		style.Width = cols
		if err := c.print(onScreen(p.lay(style), rows, style)); err != nil {
			return err
		}
		if err := c.stdout.Flush(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case b, ok := <-typed:
			if !ok || bytes.ContainsAny(b, "qQ\x03\x04") {
				return nil
			}
		case <-resized:
		case <-tick.C:
			if p, err = look(ctx); err != nil {
				return err
			}
		}
	}
}

// onScreen is a page painted on a screen of so many rows; the last one says how to leave.
func onScreen(page string, rows int, s ui.Style) string {
	lines := strings.Split(strings.TrimSuffix(page, "\n"), "\n")
	room := max(1, rows-1)
	hidden := max(0, len(lines)-room)
	lines = lines[:len(lines)-hidden]
	var b strings.Builder
	b.WriteString(toTop)
	for _, l := range lines {
		b.WriteString(l + clearLine + "\r\n")
	}
	foot := "q leaves"
	if hidden > 0 {
		foot = "more below than fits; " + foot
	}
	b.WriteString(clearBelow)
	if rows > len(lines) {
		b.WriteString(s.Dim(ui.Cut(foot, s.Width)))
	}
	return b.String()
}
