package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"pasar"
	"pasar/ipc"
	"pasar/ui"
)

// A console is what a person sees and does. All of it but the feed and other workers belongs to the application's loop.
type console struct {
	opt   Options
	app   *tview.Application
	root  *tview.Pages
	base  *stack
	feed  *feed
	theme theme

	ctx     context.Context // done when the console is to end
	end     context.CancelCauseFunc
	workers sync.WaitGroup
	hiring  sync.Mutex // guards over, and is held while a worker begins
	over    bool       // workers are being waited for: none begins any more

	fresh   atomic.Pointer[ui.Snapshot] // the newest one that the loop hasn't taken
	updates chan func()                 // for the loop
	waiting chan struct{}               // a look at fresh is due; buffered

	snap    *ui.Snapshot // never nil
	gauges  *gauges
	palette ui.Palette
	message message
	draws   atomic.Int64 // how often the screen was drawn
	dialog  *dialog      // that is open; nil: none is
	unknown bool         // an act was asked for that nothing does: a fault that tests look for
}

// A message is told in the bottom row for a while.
type message struct {
	text  string
	role  ui.Role
	until time.Time
}

const messageFor = 8 * time.Second

// Run shows the console until the person quits or ctx is done. It puts the terminal back as it was whichever way it ends.
func Run(ctx context.Context, opt Options) error {
	c, err := newConsole(ctx, opt)
	if err != nil {
		return err
	}
	return c.run()
}

func newConsole(ctx context.Context, opt Options) (*console, error) {
	if opt.now == nil {
		opt.now = time.Now
	}
	tcell.SetEncodingFallback(tcell.EncodingFallbackASCII) // where the library doesn't know a locale's characters
	c := &console{opt: opt, app: tview.NewApplication(), updates: make(chan func()), waiting: make(chan struct{}, 1),
		snap: &ui.Snapshot{Lost: "connecting to the daemon …"}, gauges: newGauges()}
	c.ctx, c.end = context.WithCancelCause(ctx)
	screen := opt.screen
	if screen == nil {
		var err error
		if screen, err = tcell.NewScreen(); err != nil {
			return nil, noTerminal(err)
		}
	}
	if err := screen.Init(); err != nil { // the library would leave out why
		return nil, noTerminal(err)
	}
	screen = &begun{Screen: &calm{Screen: screen, lost: func() { c.end(errGone) }}}
	c.theme = themeOf(opt, screen)
	c.theme.widgets()
	screen.EnableMouse()
	screen.EnablePaste()
	c.app.SetScreen(screen).EnableMouse(true).EnablePaste(true)
	c.feed = &feed{idle: askIdle, publish: c.publish, now: opt.now, nudged: make(chan struct{}, 1), asked: make(chan struct{}, 1),
		dial: c.dial, afar: opt.Afar != nil}
	switch {
	case opt.revive != nil:
		c.feed.revive = opt.revive
	case opt.Pasar != "":
		c.feed.revive = c.revive
	}
	if opt.idle > 0 {
		c.feed.idle = opt.idle
	}
	c.base = newStack(c)
	c.root = tview.NewPages().AddPage("base", c.base, true, true)
	c.app.SetRoot(c.root, true).SetFocus(c.base)
	c.app.SetInputCapture(c.capture)
	c.app.SetMouseCapture(singly)
	c.app.SetAfterDrawFunc(func(tcell.Screen) {
		c.draws.Add(1)
		if opt.drawn != nil {
			opt.drawn()
		}
	})
	return c, nil
}

// A begun screen is in use already: its first Init is over.
type begun struct {
	tcell.Screen
	again bool
}

func (b *begun) Init() error {
	if !b.again {
		b.again = true
		return nil
	}
	return b.Screen.Init()
}

// noTerminal is that a terminal can't be used.
func noTerminal(err error) error {
	return &ipc.Error{Code: ipc.CodeUsage, Message: fmt.Sprintf("open the terminal: %v", err), Hint: "TERM says which terminal it is; `pasar ls --watch` needs less of one"}
}

// themeOf is how things look on a screen.
func themeOf(opt Options, screen tcell.Screen) theme {
	t := theme{colors: screen.Colors(), light: opt.Theme == "light"}
	for _, kv := range opt.Env {
		if len(kv) > len("NO_COLOR=") && kv[:len("NO_COLOR=")] == "NO_COLOR=" {
			t.colors = 0
		}
	}
	return t
}

// singly makes two clicks of a double click. The library takes any two that come soon after one another for one, wherever
// they are, and buttons don't heed it.
func singly(ev *tcell.EventMouse, action tview.MouseAction) (*tcell.EventMouse, tview.MouseAction) {
	switch action {
	case tview.MouseLeftDoubleClick:
		action = tview.MouseLeftClick
	case tview.MouseRightDoubleClick:
		action = tview.MouseRightClick
	}
	return ev, action
}

// run is the life of the console.
func (c *console) run() error {
	defer c.end(nil)
	c.work(func() { c.feed.run(c.ctx) })
	c.work(c.tick)
	c.work(c.heed)
	var loop sync.WaitGroup
	loop.Go(func() { defer c.rescue(); c.serve() })
	err := c.app.Run()
	c.end(nil)
	over := make(chan struct{})
	go func() { loop.Wait(); close(over) }()
	select {
	case <-over:
	case <-time.After(leaveTime): // the loop ended by itself, since its terminal did, and nobody answers those who wait for it
	}
	if err != nil && context.Cause(c.ctx) != errGone {
		return fmt.Errorf("show the console: %w", err)
	}
	if cause := context.Cause(c.ctx); errors.Is(cause, errQuit) || errors.Is(cause, context.Canceled) {
		return nil
	} else {
		return cause
	}
}

// How a console ends: a person leaves it, or its terminal is gone.
var (
	errQuit = errors.New("quit")
	errGone = &ipc.Error{Code: ipc.CodeInterrupted, Message: "the terminal is gone"}
)

// leaveTime is how long workers are waited for at the end.
const leaveTime = time.Second

// work has f done beside the loop, unless the console has ended. It must end once c.ctx is done.
func (c *console) work(f func()) {
	c.hiring.Lock()
	defer c.hiring.Unlock()
	if !c.over {
		c.workers.Go(func() { defer c.rescue(); f() })
	}
}

// rescue puts the terminal back before a panic ends the program.
func (c *console) rescue() {
	if r := recover(); r != nil {
		c.app.Stop()
		panic(r)
	}
}

// serve hands the loop what workers have for it, until the console ends; then it waits for them, still serving, and ends
// the loop. So nobody is ever left waiting for a loop that is gone.
func (c *console) serve() {
	gone := make(chan struct{})
	go func() { // joined by way of gone
		<-c.ctx.Done()
		c.hiring.Lock()
		c.over = true
		c.hiring.Unlock()
		c.workers.Wait()
		close(gone)
	}()
	for {
		select {
		case f := <-c.updates:
			c.app.QueueUpdate(f)
		case <-c.waiting:
			c.app.QueueUpdate(c.take)
		case <-gone:
			c.app.Stop()
			return
		}
	}
}

// post has the loop do f, and draw. It may be called by workers alone.
func (c *console) post(f func()) {
	select {
	case c.updates <- func() { f(); c.draw() }:
	case <-c.ctx.Done():
	}
}

// publish hands a snapshot to the loop; one that it hasn't taken yet is replaced.
func (c *console) publish(s *ui.Snapshot) {
	c.fresh.Store(s)
	ring(c.waiting)
}

// take makes the newest snapshot the one that is shown.
func (c *console) take() {
	s := c.fresh.Swap(nil)
	if s == nil {
		return
	}
	was := c.snap
	c.snap = s
	c.gauges.take(s)
	c.palette.See(s.Jobs)
	c.base.market.time.keep(was)
	c.base.changed()
	if was.Lost != "" && s.Lost == "" && !c.message.until.IsZero() {
		c.message = message{}
	}
	c.draw()
}

func (c *console) draw() {
	if c.ctx.Err() == nil {
		c.app.ForceDraw()
	}
}

// tick draws what time alone changes: spans each second while there are jobs whose spans are shown, the clock each minute.
func (c *console) tick() {
	for {
		now := c.opt.now()
		next := now.Truncate(time.Second).Add(time.Second)
		select {
		case <-c.ctx.Done():
			return
		case <-time.After(next.Sub(now)):
		}
		at := c.opt.now()
		select {
		case c.updates <- func() {
			if c.due(at) {
				c.draw()
			}
		}:
		case <-c.ctx.Done():
			return
		}
	}
}

// heed takes the signals with which others stop the console and have it go on.
func (c *console) heed() {
	if c.opt.screen != nil {
		return // of a test, whose process isn't the console's own
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTSTP, syscall.SIGCONT)
	defer signal.Stop(signals)
	for {
		select {
		case <-c.ctx.Done():
			return
		case sig := <-signals:
			switch {
			case c.ctx.Err() != nil:
				return
			case sig == syscall.SIGTSTP:
				c.post(c.suspend)
				continue
			}
			c.post(func() { // it was stopped as it stood: the shell has had the terminal since
				c.app.Suspend(func() {})
				c.app.Sync()
			})
		}
	}
}

// due reports whether the passing of a second changes what is shown.
func (c *console) due(now time.Time) bool {
	if now.Second() == 0 || c.base.mood != "" && !c.base.moodUntil.IsZero() && now.After(c.base.moodUntil) {
		return true
	}
	if !c.message.until.IsZero() && now.After(c.message.until) {
		c.message = message{}
		return true
	}
	if c.snap.Lost != "" {
		return false
	}
	for _, v := range c.snap.Jobs {
		if v.State.Active() || v.State == pasar.Queued {
			return true
		}
	}
	return false
}

// quit ends the console.
func (c *console) quit() { c.end(errQuit) }

// say tells something in the bottom row.
func (c *console) say(role ui.Role, text string) {
	c.message = message{text: ui.Shown(text), role: role, until: c.opt.now().Add(messageFor)}
}

// do has something asked of the daemon, and then, in the loop, its answer or error dealt with.
func (c *console) do(ask func(ctx context.Context, d *ipc.Client) error, then func(err error)) {
	c.work(func() {
		ctx, cancel := context.WithTimeoutCause(c.ctx, askTime, errors.New("the daemon doesn't answer"))
		defer cancel()
		err := c.feed.call(ctx, ask)
		if c.ctx.Err() != nil {
			return
		}
		c.feed.nudge()
		c.post(func() { then(err) })
	})
}

// problem is an error in one line, with what to do about it.
func problem(err error) string {
	var e *ipc.Error
	if errors.As(err, &e) && e.Hint != "" {
		return e.Message + " (" + e.Hint + ")"
	}
	return err.Error()
}

// revive starts a daemon in the way that every command does.
func (c *console) revive(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.opt.Pasar, "status", "--json")
	cmd.Env = c.childEnv()
	out, err := cmd.Output()
	if err == nil {
		return nil
	}
	var answer struct {
		Error *ipc.Error `json:"error"`
	}
	if json.Unmarshal(out, &answer) == nil && answer.Error != nil {
		return answer.Error
	}
	return fmt.Errorf("run %s: %w", c.opt.Pasar, err)
}

// dial connects to the daemon, and starts none.
func (c *console) dial(ctx context.Context) (*ipc.Client, error) {
	if c.opt.Afar != nil {
		return c.opt.Afar.Client(ctx, true)
	}
	return ipc.Dial(ctx, c.opt.Socket)
}

// childEnv is the environment of the programs that the console starts: they speak to the same daemon.
func (c *console) childEnv() []string {
	env := c.opt.Env
	if env == nil {
		env = os.Environ()
	}
	if c.opt.Afar != nil {
		return env // in which PASAR_URL is
	}
	return append(env[:len(env):len(env)], "PASAR_SOCKET="+c.opt.Socket)
}

// aside runs pasar in the console's place, and comes back when it ends.
func (c *console) aside(args ...string) error {
	if c.opt.aside != nil {
		return c.opt.aside(c.ctx, args)
	}
	var err error
	done := c.app.Suspend(func() {
		cmd := exec.CommandContext(c.ctx, c.opt.Pasar, args...)
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
		cmd.WaitDelay = 2 * time.Second
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		cmd.Env = c.childEnv()
		err = cmd.Run()
	})
	if !done {
		return errors.New("the terminal can't be handed over")
	}
	return err
}
