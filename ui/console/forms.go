package console

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"pasar"
	"pasar/ipc"
	"pasar/submission"
	"pasar/ui"
)

// cancelForm has the person say yes.
func (c *console) cancelForm(v *pasar.JobView) {
	if v.State.Finished() {
		c.say(ui.Warn, fmt.Sprintf("%s has ended already: %s", ui.Name(v), v.State))
		return
	}
	d := newDialog(c, "Cancel "+ui.Shown(ui.Name(v))+"?")
	d.head = func() []ui.Line {
		if now := c.base.market.jobs.byID()[v.ID]; now != nil {
			v = now // it may have started meanwhile
		}
		what := "It waits, and leaves the queue."
		switch {
		case v.State.Finished():
			what = "It has ended meanwhile: it is " + string(v.State) + "."
		case v.State.Active():
			what = fmt.Sprintf("It runs. It gets SIGTERM, and SIGKILL %s later if it is still there.", v.Grace)
		case v.State == pasar.Paused:
			what = "It is paused, and won't go on from its checkpoint, unless it is started again."
		}
		return []ui.Line{{{Text: what}}}
	}
	if v.State.Active() {
		d.box("Now", "without the grace: SIGKILL at once")
	}
	d.buttons("Cancel the job")
	d.do = func() []ui.Line {
		r := ipc.JobsRequest{Request: d.asks, Jobs: []pasar.JobID{v.ID}, Now: d.boxes["Now"] != nil && d.on("Now")}
		var a ipc.JobsAnswer
		d.send(func(ctx context.Context, cl *ipc.Client) (err error) {
			a, err = cl.Cancel(ctx, r)
			return err
		}, func() { c.outcome(a, nil) })
		return nil
	}
	d.open()
}

// bidForm changes a bid, and shows meanwhile who would move.
func (c *console) bidForm(v *pasar.JobView) {
	if v.State.Finished() {
		c.say(ui.Warn, fmt.Sprintf("%s has ended: r starts it again, with another bid if you like", ui.Name(v)))
		return
	}
	d := newDialog(c, "Bid of "+ui.Shown(ui.Name(v)))
	d.room = 9
	d.head = func() []ui.Line { return []ui.Line{{{Text: "Higher bids start first."}}} }
	d.field("Bid", "", "a whole number; now it is "+strconv.FormatInt(int64(v.Bid), 10))
	waits := !v.State.Active()
	if waits {
		d.box("Preempt", "it may stop running jobs with a lower bid, once")
	}
	d.buttons("Bid")
	request := func() (ipc.BidRequest, error) {
		bid, err := v.Bid, error(nil)
		if d.text("Bid") != "" {
			bid, err = submission.ParseBid(d.text("Bid"))
		}
		r := ipc.BidRequest{Request: d.asks, Job: v.ID, Bid: bid}
		if waits {
			r.Preempt = d.on("Preempt")
		}
		return r, err
	}
	d.foresee = func() {
		if d.text("Bid") == "" && !(waits && d.on("Preempt")) {
			d.notes = []ui.Line{{{Text: "Type a bid to see who would start when, wait longer or be stopped.", Role: ui.Faint}}}
			return
		}
		r, err := request()
		if err != nil {
			d.notes = bad(err.Error())
			return
		}
		d.plan(func(ctx context.Context, cl *ipc.Client) ([]byte, error) { return cl.PlanBid(ctx, r) })
	}
	d.do = func() []ui.Line {
		r, err := request()
		if err != nil {
			return bad(err.Error())
		}
		var o ipc.JobOutcome
		d.send(func(ctx context.Context, cl *ipc.Client) (err error) {
			if o, err = cl.Bid(ctx, r); err == nil && o.Error != nil {
				err = o.Error
			}
			return err
		}, func() { c.say(ui.Good, fmt.Sprintf("#%d %s", o.Job, o.Sentence)) })
		return nil
	}
	d.open()
}

// plan shows what would happen.
func (d *dialog) plan(ask func(ctx context.Context, cl *ipc.Client) ([]byte, error)) {
	var v *pasar.PlanView
	d.ask(func(ctx context.Context, cl *ipc.Client) error {
		b, err := ask(ctx, cl)
		if err != nil {
			return err
		}
		return decode(b, &v)
	}, func(err error) {
		if err != nil {
			d.notes = bad(problem(err))
			return
		}
		_, _, w, _ := d.GetRect()
		d.notes = ui.Lines(ui.Plan(v, d.c.opt.now(), ui.Style{Color: true, Width: max(20, d.width(w)-2)}))
	})
}

// claimFields adds what a job asks of the machine; hints are what it is otherwise.
func (d *dialog) claimFields(gpus, mem, ram string) {
	d.field("GPUs", "", gpus)
	d.field("GPU memory", "", mem)
	d.field("Host memory", "", ram)
}

// claim changes a claim as the fields say.
func (d *dialog) claim(was pasar.Claim) (pasar.Claim, error) {
	var w submission.ClaimWords
	if s := strings.TrimSpace(d.text("GPUs")); s != "" {
		n, err := submission.ParseCount(s)
		if err != nil {
			return was, fmt.Errorf("GPUs: %w", err)
		}
		w.GPUs = &n
	}
	if s := strings.TrimSpace(d.text("GPU memory")); s != "" {
		m, err := submission.ParseMemory(s)
		if err != nil {
			return was, fmt.Errorf("GPU memory: %w", err)
		}
		w.Mem = &m
	}
	if s := strings.TrimSpace(d.text("Host memory")); s != "" {
		n, err := pasar.ParseBytes(s)
		if err != nil {
			return was, fmt.Errorf("host memory: %w", err)
		}
		w.RAM = &n
	}
	return w.Apply(was)
}

// refusal is an error of a form, for its notes.
func refusal(err error) []ui.Line {
	what, hint := submission.Explain(err)
	out := bad(fieldNames.Replace(what))
	if hint != "" {
		out = append(out, ui.Line{{Text: "hint: " + ui.Shown(fieldNames.Replace(hint)), Role: ui.Faint}})
	}
	return out
}

// fieldNames are what a form calls the flags of the command line, which errors name.
var fieldNames = strings.NewReplacer("without --cwd the job runs in this one", "an empty field is the console's", "--cwd", "directory:", "--mem", "GPU memory", "--gpus", "GPUs", "--ram", "host memory", "--name", "name:", "--tag", "tags:",
	"--note", "note:", "--time", "takes about:", "--bid", "bid:")

// A draft is what a form to submit is filled with at first, by the names of its fields.
type draft map[string]string

// likeForm submits a job like another one.
func (c *console) likeForm(v *pasar.JobView) {
	w := draft{"Command": ui.CommandLine(v), "Directory": string(v.Cwd), "Name": v.Name, "Bid": strconv.FormatInt(int64(v.Bid), 10), "Tags": strings.Join(v.Tags, " ")}
	if v.EstRuntime != nil && v.EstSource != nil && *v.EstSource == "estimate" {
		w["Takes about"] = v.EstRuntime.String()
	}
	if v.Note != nil {
		w["Note"] = *v.Note
	}
	claim := v.Claim.Asked()
	w["GPUs"] = strconv.Itoa(claim.GPUs)
	switch {
	case claim.Auto:
		w["GPU memory"] = "auto"
	case claim.Mem > 0:
		w["GPU memory"] = claim.Mem.String()
	}
	if claim.RAM > 0 {
		w["Host memory"] = claim.RAM.String()
	}
	c.submitWith("Submit another like "+ui.Shown(ui.Name(v)), w)
}

// submitForm submits a job.
func (c *console) submitForm() {
	here, err := os.Getwd()
	if err != nil {
		here = "/"
	}
	if c.opt.Afar != nil {
		here = ""
	}
	c.submitWith("Submit a job", draft{"Directory": here})
}

func (c *console) submitWith(title string, w draft) {
	d := newDialog(c, title)
	d.room = 6
	d.field("Command", w["Command"], "python train.py --epochs 3")
	where := "with this console's environment, in the directory above"
	if c.opt.Afar == nil {
		d.field("Directory", w["Directory"], "the console's")
	} else {
		d.field("Directory", w["Directory"], "of the other machine, below your home there")
		where = "on the other machine, with its daemon's environment, in the directory above"
	}
	d.field("Name", w["Name"], "that of the program or script")
	d.field("Takes about", w["Takes about"], "2h or 90m: an estimate; it never kills")
	d.claimFields("1; 0 for none", "a slice such as 24G, or auto; else whole GPUs", "none is asked for")
	for _, label := range []string{"GPUs", "GPU memory", "Host memory"} {
		d.fields[label].SetText(w[label])
	}
	d.field("Bid", w["Bid"], strconv.FormatInt(int64(c.opt.Bid), 10))
	d.field("Tags", w["Tags"], "words to find it by")
	d.field("Note", w["Note"], "")
	d.box("Hold", "keep it from starting until it is released")
	d.box("Preempt", "it may stop running jobs with a lower bid, once")
	d.buttons("Submit")
	d.foresee = func() {
		if strings.TrimSpace(d.text("Command")) == "" {
			d.notes = []ui.Line{{{Text: "A line for the shell, as you would type it. The job runs " + where + ".", Role: ui.Faint}}}
			return
		}
		r, err := c.submission(d)
		if err != nil {
			d.notes = refusal(err)
			return
		}
		d.plan(func(ctx context.Context, cl *ipc.Client) ([]byte, error) { return cl.PlanSubmit(ctx, r) })
	}
	d.do = func() []ui.Line {
		r, err := c.submission(d)
		if err != nil {
			return refusal(err)
		}
		var a ipc.SubmitAnswer
		d.send(func(ctx context.Context, cl *ipc.Client) (err error) {
			a, err = cl.Submit(ctx, r)
			return err
		}, func() { c.said(a, "submitted") })
		return nil
	}
	d.open()
}

// said says what became of a submit, and chooses its job once it is there.
func (c *console) said(a ipc.SubmitAnswer, done string) {
	text := fmt.Sprintf("#%d %s: %s", a.Job, done, a.Sentence)
	role := ui.Good
	for _, more := range []string{a.Warning, a.Advice} {
		if more != "" {
			text, role = text+"; "+more, ui.Warn
		}
	}
	c.say(role, text)
	c.base.market.jobs.want = a.Job
	var v *pasar.JobView
	if decode(a.View, &v) == nil { // what is pressed next is about it, so it is shown at once
		c.know(v)
	}
}

// know has a job among those that are shown, until the next snapshot has it.
func (c *console) know(v *pasar.JobView) {
	s := *c.snap
	s.Jobs = slices.DeleteFunc(slices.Clone(s.Jobs), func(o *pasar.JobView) bool { return o.ID == v.ID })
	s.Jobs = append(s.Jobs, v)
	c.snap = &s
	c.base.changed()
}

// submission is what the form asks the daemon for.
func (c *console) submission(d *dialog) (ipc.SubmitRequest, error) {
	var none ipc.SubmitRequest
	line := strings.TrimSpace(d.text("Command"))
	if line == "" {
		return none, errors.New("no command is given")
	}
	argv, err := submission.Argv([]string{line}, true)
	if err != nil {
		return none, err
	}
	claim, err := d.claim(submission.Default())
	if err != nil {
		return none, err
	}
	spec := pasar.Spec{Name: strings.TrimSpace(d.text("Name")), Argv: pasar.Args(argv), Claim: claim, Bid: c.opt.Bid, Grace: c.opt.Grace,
		Tags: strings.FieldsFunc(d.text("Tags"), func(r rune) bool { return r == ' ' || r == ',' }), Note: d.text("Note"),
		Hold: d.on("Hold"), Preempt: d.on("Preempt")}
	if spec.Name == "" {
		spec.Name = submission.Name(argv)
	}
	if s := strings.TrimSpace(d.text("Takes about")); s != "" {
		if spec.Time, err = pasar.ParseDuration(s); err != nil {
			return none, fmt.Errorf("takes about: %w", err)
		}
	} else if c.opt.NeedTime {
		return none, errors.New("this machine asks for an estimate of the run time, such as 2h")
	}
	if s := strings.TrimSpace(d.text("Bid")); s != "" {
		if spec.Bid, err = submission.ParseBid(s); err != nil {
			return none, err
		}
	}
	if c.opt.Afar != nil {
		spec.Cwd = "/" // the other machine makes of the field what is right there
		err := submission.Validate(spec)
		spec.Cwd = pasar.Arg(strings.TrimSpace(d.text("Directory")))
		return ipc.SubmitRequest{Request: d.asks, Spec: spec, Afar: &ipc.Afar{Bid: strings.TrimSpace(d.text("Bid")) == "", Grace: true}}, err
	}
	cwd, err := submission.Dir(d.text("Directory"))
	if err != nil {
		return none, err
	}
	spec.Cwd = pasar.Arg(cwd)
	if err := submission.Validate(spec); err != nil {
		return none, err
	}
	env, err := submission.Env(c.opt.Env, false, nil)
	if err != nil {
		return none, err
	}
	return ipc.SubmitRequest{Request: d.asks, Spec: spec, Surroundings: submission.Surroundings(env)}, nil
}

// restartForm starts a job that has ended once more.
func (c *console) restartForm(v *pasar.JobView) {
	if !v.State.Finished() {
		c.say(ui.Warn, fmt.Sprintf("%s hasn't ended: it is %s", ui.Name(v), v.State))
		return
	}
	d := newDialog(c, "Start "+ui.Shown(ui.Name(v))+" again")
	d.room = 3
	d.head = func() []ui.Line { return []ui.Line{{{Text: "Fields that are left empty stay as they were."}}} }
	claim := v.Claim.Asked()
	mem, ram, took := "none: whole GPUs", "none", "not known"
	switch {
	case claim.Auto:
		mem = "auto"
	case claim.Mem > 0:
		mem = claim.Mem.String()
	case claim.Kind == pasar.NoGPU:
		mem = "none"
	}
	if claim.RAM > 0 {
		ram = claim.RAM.String()
	}
	if v.EstRuntime != nil {
		took = v.EstRuntime.String()
	}
	d.field("Takes about", "", took)
	d.claimFields(strconv.Itoa(claim.GPUs), mem, ram)
	d.field("Bid", "", strconv.FormatInt(int64(v.Bid), 10))
	d.field("Name", "", v.Name)
	d.field("Note", "", "as it was")
	d.box("Hold", "keep it from starting until it is released")
	d.box("Preempt", "it may stop running jobs with a lower bid, once")
	d.buttons("Start it again")
	if v.Verdict != nil && v.Verdict.Hint != "" {
		for _, h := range ui.Hints(v) {
			d.notes = append(d.notes, ui.Line{{Text: ui.Shown(h), Role: ui.Faint}})
		}
	}
	d.do = func() []ui.Line {
		r, err := restart(d, v)
		if err != nil {
			return refusal(err)
		}
		var a ipc.SubmitAnswer
		d.send(func(ctx context.Context, cl *ipc.Client) (err error) {
			a, err = cl.Restart(ctx, r)
			return err
		}, func() { c.said(a, "queued again") })
		return nil
	}
	d.open()
}

func restart(d *dialog, v *pasar.JobView) (ipc.RestartRequest, error) {
	r := ipc.RestartRequest{Request: d.asks, Job: v.ID, Hold: d.on("Hold"), Preempt: d.on("Preempt")}
	if d.text("GPUs")+d.text("GPU memory")+d.text("Host memory") != "" {
		claim, err := d.claim(v.Claim.Asked())
		if err != nil {
			return r, err
		}
		r.Claim = &claim
	}
	if s := strings.TrimSpace(d.text("Takes about")); s != "" {
		t, err := pasar.ParseDuration(s)
		if err != nil {
			return r, fmt.Errorf("takes about: %w", err)
		}
		r.Time = &t
	}
	if s := strings.TrimSpace(d.text("Bid")); s != "" {
		b, err := submission.ParseBid(s)
		if err != nil {
			return r, err
		}
		r.Bid = &b
	}
	r.Name, r.Note = pasar.Known(strings.TrimSpace(d.text("Name"))), pasar.Known(strings.TrimSpace(d.text("Note")))
	return r, nil
}
