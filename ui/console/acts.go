package console

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"pasar"
	"pasar/ipc"
	"pasar/ui"
)

// capture takes the keys that mean the same everywhere.
func (c *console) capture(ev *tcell.EventKey) *tcell.EventKey {
	if ev.Modifiers()&tcell.ModAlt != 0 && ev.Key() != tcell.KeyEsc { // Esc, and at once another key: terminals send both alike
		c.root.InputHandler()(tcell.NewEventKey(tcell.KeyEsc, 0, tcell.ModNone), func(p tview.Primitive) { c.app.SetFocus(p) })
		ev = tcell.NewEventKey(ev.Key(), ev.Rune(), ev.Modifiers()&^tcell.ModAlt)
	}
	c.message = message{} // who goes on has read it
	name := keyName(ev)
	for _, k := range ui.Keys {
		if len(k.In) == 1 && k.In[0] == ui.Anywhere && len(k.Names) > 0 && k.Names[0] == name {
			c.act(k.Act)
			return nil
		}
	}
	return ev
}

// job is the job that an act is about: that of the page, or the chosen one; nil if there is none.
func (c *console) job() *pasar.JobView {
	for i := len(c.base.pages) - 1; i >= 0; i-- {
		if p, ok := c.base.pages[i].(*jobPage); ok {
			return p.view
		}
	}
	return c.base.market.jobs.view()
}

// pick chooses a job in the market, or opens it if the market doesn't have it: one of long ago.
func (c *console) pick(id pasar.JobID) {
	t := &c.base.market.jobs
	if t.byID()[id] == nil || t.job == id {
		c.open(id)
		return
	}
	t.choose(id)
}

func (c *console) open(id pasar.JobID) { c.base.open(newJobPage(c, id)) }

// act does what a key, or a click on its hint, stands for.
func (c *console) act(act ui.Act) {
	if c.base.top().act(act) {
		return
	}
	var key ui.Key
	for _, k := range ui.Keys {
		if k.Act == act {
			key = k
			break
		}
	}
	if key.Write && c.opt.ReadOnly {
		c.say(ui.Warn, "this console only reads (--read-only)")
		return
	}
	v := c.job()
	switch {
	case !key.Job:
		c.unknown = c.unknown || !c.general(act)
	case v == nil:
		c.say(ui.Warn, "no job is chosen")
	default:
		c.unknown = c.unknown || !c.about(act, v)
	}
}

// hint does what a click on a key's hint stands for.
func (c *console) hint(k ui.Key) {
	if c.dialog == nil {
		c.act(k.Act)
		return
	}
	if k.Names[0] == "Space" {
		c.dialog.press(tcell.KeyRune, ' ')
		return
	}
	for key, name := range keyNames {
		if name == k.Names[0] {
			c.dialog.press(key, 0)
		}
	}
}

// general does what is about no job; false if it knows no such thing.
func (c *console) general(act ui.Act) bool {
	switch act {
	case ui.ActQuit:
		c.quit()
	case ui.ActHelp:
		c.base.open(newTextPage(c, "Help", func(w int) []ui.Line { return ui.Help(c.opt.ReadOnly, w) }))
	case ui.ActGPUs:
		c.base.open(newTextPage(c, "GPUs", c.gpusText))
	case ui.ActCloud:
		c.cloud()
	case ui.ActSubmit:
		c.submitForm()
	case ui.ActRevive:
		ring(c.feed.asked)
		c.feed.nudge()
	case ui.ActRedraw:
		c.app.Sync()
	case ui.ActSuspend:
		c.suspend()
	default:
		return false
	}
	return true
}

// about does what is about a job; false if it knows no such thing.
func (c *console) about(act ui.Act, v *pasar.JobView) bool {
	switch act {
	case ui.ActOpen:
		c.open(v.ID)
	case ui.ActAttach:
		c.attach(v)
	case ui.ActBid:
		c.bidForm(v)
	case ui.ActWhy:
		c.why(v)
	case ui.ActFollow:
		c.base.open(newLogPage(c, v.ID, ui.Shown(ui.Name(v))))
	case ui.ActPause:
		c.pause(v)
	case ui.ActHold:
		c.hold(v)
	case ui.ActCancel:
		c.cancelForm(v)
	case ui.ActRestart:
		c.restartForm(v)
	case ui.ActLike:
		c.likeForm(v)
	default:
		return false
	}
	return true
}

// stopTime is how long a stop is waited for that never comes: some parents have it ignored, or are gone.
const stopTime = time.Second

// suspend steps back to the shell. What stops it is a signal that stops nobody whose shell has gone and whom none would
// wake any more, as SIGSTOP would; SIGTSTP does nothing by itself once it is heeded.
func (c *console) suspend() {
	if c.opt.aside != nil {
		_ = c.opt.aside(c.ctx, nil)
		return
	}
	c.app.Suspend(func() {
		on := make(chan os.Signal, 1)
		signal.Notify(on, syscall.SIGCONT)
		defer signal.Stop(on)
		_ = syscall.Kill(os.Getpid(), syscall.SIGTTIN)
		select { // the stop may come a moment later, and the terminal isn't ours until we go on
		case <-on:
		case <-time.After(stopTime):
		}
	})
	c.app.Sync()
}

// attach lets the person at the job's terminal; the console comes back when they leave it.
func (c *console) attach(v *pasar.JobView) {
	switch {
	case !v.State.Active():
		c.say(ui.Warn, fmt.Sprintf("%s is %s: it has no terminal to attach to; f shows its output", ui.Name(v), v.State))
		return
	case c.opt.Pasar == "" && c.opt.aside == nil:
		c.say(ui.Bad, "the pasar program isn't at hand, which does that")
		return
	}
	args := []string{"attach", "--read-only", v.ID.String()}
	if !c.opt.ReadOnly {
		args = []string{"attach", "-i", v.ID.String()}
	}
	err := c.aside(args...)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() >= 0 && exit.ExitCode() < exitUsage, err == nil: // it says how the job ended
		c.say(ui.Plain, "back from "+ui.Name(v))
	default:
		c.say(ui.Bad, fmt.Sprintf("attaching to %s: %v", ui.Name(v), err))
	}
	c.feed.nudge()
}

// exitUsage is the least of the exit codes with which pasar says that it failed itself.
const exitUsage = 64

// change asks for a change to one job, and says what came of it.
func (c *console) change(ask func(ctx context.Context, d *ipc.Client) (ipc.JobsAnswer, error)) {
	var answer ipc.JobsAnswer
	c.do(func(ctx context.Context, d *ipc.Client) (err error) {
		answer, err = ask(ctx, d)
		return err
	}, func(err error) { c.outcome(answer, err) })
}

// outcome says what came of a change to some jobs.
func (c *console) outcome(answer ipc.JobsAnswer, err error) {
	if err != nil {
		c.say(ui.Bad, problem(err))
		return
	}
	for _, o := range answer.Jobs {
		if o.Error != nil {
			c.say(ui.Bad, problem(o.Error))
			return
		}
		c.say(ui.Good, fmt.Sprintf("#%d %s", o.Job, o.Sentence))
	}
}

func (c *console) pause(v *pasar.JobView) {
	r := ipc.JobsRequest{Request: ipc.NewRequest(), Jobs: []pasar.JobID{v.ID}}
	c.change(func(ctx context.Context, d *ipc.Client) (ipc.JobsAnswer, error) {
		if v.State == pasar.Paused {
			return d.Resume(ctx, r)
		}
		return d.Pause(ctx, r)
	})
}

func (c *console) hold(v *pasar.JobView) {
	r := ipc.JobsRequest{Request: ipc.NewRequest(), Jobs: []pasar.JobID{v.ID}}
	c.change(func(ctx context.Context, d *ipc.Client) (ipc.JobsAnswer, error) {
		if v.Waiting != nil && v.Waiting.Why == pasar.WaitHeld {
			return d.Release(ctx, r)
		}
		return d.Hold(ctx, r)
	})
}

// gpusText is every GPU and who is on it.
func (c *console) gpusText(width int) []ui.Line {
	if c.snap.GPUs == nil {
		return []ui.Line{{{Text: "Nothing is known yet.", Role: ui.Faint}}}
	}
	now := c.opt.now()
	text := ui.GPUPage(c.snap.GPUs, now, ui.Style{Color: true, Width: width})
	if c.snap.Status != nil {
		for _, in := range c.snap.Status.Incidents {
			text += "\n" + ui.When(in.At, now) + " " + pasar.Clean(in.What) + ": " + pasar.Clean(in.Detail)
		}
	}
	return ui.Lines(text)
}

// why shows why a job died, why it waits, or how it is doing.
func (c *console) why(v *pasar.JobView) {
	id := v.ID
	c.base.open(newTextPage(c, "Why "+ui.Shown(ui.Name(v)), func(width int) []ui.Line {
		by := c.base.market.jobs.byID()
		if now := by[id]; now != nil {
			v = now
		}
		b := ui.Beside{}
		if v.Waiting != nil {
			for _, h := range v.Waiting.Holders {
				if hv := by[h]; hv != nil {
					b.Holders = append(b.Holders, hv)
				}
			}
		}
		return ui.Lines(ui.WhyPage(v, b, c.opt.now(), ui.Style{Color: true, Width: width}))
	}))
}
