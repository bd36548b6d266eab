package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"pasar"
	"pasar/answer"
	"pasar/ipc"
)

// Of a stream of lines.
const (
	settleAfter  = 50 * time.Millisecond  // that what could still change waits for more before it is sent
	partialEvery = 100 * time.Millisecond // at most so often the line under way is sent
	slowTime     = 5 * time.Second        // who takes so long for a piece of lines is too slow for all of them,
	lagTime      = 10 * time.Second       // as is who falls so far behind what a job writes
	lagLines     = 200                    // that whoever was too slow goes on with
)

// A follower sends a job's output as events, one attempt after the other. The daemon's answers arrive on one goroutine; a
// timer beside it sends what a program has written and not ended.
type follower struct {
	logsQuery
	e    *events
	logs logsCall
	show func(context.Context) (*pasar.JobView, error)

	giveUp context.CancelCauseFunc // for when nothing can be sent any more

	mu      sync.Mutex // guards the rest, and the order of events
	lines   *answer.LogLines
	none    string // the line under way when there is none
	partial string // the one that was sent
	lined   bool   // lines were sent since
	drew    time.Time
	least   time.Duration // that it was behind what the job wrote; negative: not known yet
	due     time.Time     // when what waits is to be settled; zero: nothing does
	timer   *time.Timer   // for due
	err     error
}

// followLogs answers with events until nothing more can come, or either side ends it.
func (s *Server) followLogs(w http.ResponseWriter, r *http.Request, q logsQuery) error {
	w, r, end := s.overSocket(w, r)
	defer end()
	e := newEvents(w, r)
	defer e.end()
	if r.Method == http.MethodHead {
		return e.begin()
	}
	return e.broken(s.with(r, func(ctx context.Context, c *ipc.Client) error {
		f := &follower{logsQuery: q, e: e, logs: c.Logs, show: func(ctx context.Context) (*pasar.JobView, error) {
			b, err := c.Show(ctx, ipc.ShowRequest{Job: q.Job})
			if err != nil {
				return nil, err
			}
			v := new(pasar.JobView)
			return v, json.Unmarshal(b, v)
		}}
		return f.run(ctx)
	}))
}

// run sends everything. What fails once something has been sent is told by the last event; but a daemon that ends ends the
// stream, which is to be asked for again.
func (f *follower) run(ctx context.Context) error {
	v, err := f.show(ctx)
	if err != nil {
		return err
	}
	if f.resume {
		if err := f.goOn(ctx, v); err != nil {
			return err
		}
	}
	if !started(v, f.Attempt) {
		f.tail = false
		if !f.one {
			f.Next = true
		}
		if err := f.e.begin(); err != nil { // it may be long until there is something to send
			return err
		}
	}
	for err == nil {
		if err = f.attempt(ctx); errors.Is(err, errLagged) {
			err = f.restart()
			continue
		}
		if err != nil || f.Over || f.one {
			break
		}
		if v, err = f.show(ctx); err == nil && v.State.Finished() && len(v.Attempts) <= f.Output.Attempt {
			break
		}
		f.Output = answer.Output{Job: f.Job, Attempt: f.Output.Attempt + 1, Follow: true, Next: true, Only: f.Only}
		f.tail, f.resume = false, false
	}
	return f.over(ctx, err)
}

// goOn goes on from where a stream broke off. Where there is no such place, since the id is of another job or of data that
// are no more, it begins as without an id, which the attempt that is told first shows.
func (f *follower) goOn(ctx context.Context, v *pasar.JobView) error {
	f.resume = started(v, f.from.attempt)
	if !f.resume {
		return nil
	}
	a, err := f.logs(ctx, ipc.LogsRequest{Job: f.Job, Attempt: f.from.attempt, Offset: -1}, unread)
	if err != nil {
		return err
	}
	if f.resume = f.from.offset <= a.Offset; f.resume {
		f.Output = answer.Output{Job: f.Job, Attempt: f.from.attempt, Offset: f.from.offset, Started: true, Follow: true, Only: f.Only}
		f.tail = false
	}
	return nil
}

// started reports whether an attempt of a job has begun to run; the latest for 0.
func started(v *pasar.JobView, attempt int) bool {
	if attempt == 0 {
		attempt = len(v.Attempts)
	}
	return attempt > 0 && attempt <= len(v.Attempts) && v.Attempts[attempt-1].StartedAt != nil
}

// over tells how it ended.
func (f *follower) over(ctx context.Context, err error) error {
	var e *ipc.Error
	var begun *begunError
	if err != nil && (!errors.As(err, &e) || e.Code == ipc.CodeInterrupted || !errors.As(f.e.broken(err), &begun)) {
		return err
	}
	end := struct {
		Schema  int               `json:"schema"`
		Job     pasar.JobID       `json:"job"`
		Attempt *int              `json:"attempt"` // null: there was none
		State   *pasar.State      `json:"state"`   // null: not known
		Error   *answer.ErrorView `json:"error"`
	}{pasar.Schema, f.Job, pasar.Known(f.Output.Attempt), nil, nil}
	if v, err := f.show(ctx); err == nil {
		end.State = &v.State
	}
	if e != nil {
		end.Error = answer.ViewError(e)
	}
	return f.tell("end", "", end)
}

// tell sends an event of ours.
func (f *follower) tell(name, id string, v any) error {
	b, err := answer.Encode(v)
	if err != nil {
		return err
	}
	return f.e.send(name, id, b)
}

// attempt sends an attempt's output, from where it is, to its end.
func (f *follower) attempt(ctx context.Context) error {
	ctx, f.giveUp = context.WithCancelCause(ctx)
	defer f.giveUp(nil)
	defer f.stop()
	if f.tail {
		r, last, err := f.Tail(f.most, newText, reading(ctx, f.logs))
		if err != nil {
			return err
		}
		text, more := r.(*answer.Text)
		if err := f.begin(text, last); err != nil || !more {
			return errors.Join(err, f.finish())
		}
	}
	f.Gap = f.gap
	to := f.Reader(f.piece)
	head := to.Head
	to.Head = func(h ipc.LogsHead) error {
		if err := head(h); err != nil || f.tail {
			return err
		}
		return f.begin(nil, nil)
	}
	a, err := f.logs(ctx, f.Request(), to)
	if err != nil {
		return err
	}
	f.Finish(a)
	if a.Attempt == 0 { // the job ended without it
		f.Output.Attempt = max(0, f.Output.Attempt-1)
		return nil
	}
	return f.finish()
}

// begin begins to show an attempt, with what a text has rendered.
func (f *follower) begin(text *answer.Text, last []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	attempt := f.Output.Attempt
	none, err := answer.LogLine(f.Job, attempt, answer.RawStamp(nil, answer.Piece{}))
	if err != nil {
		return err
	}
	f.none, f.partial, f.lined, f.least, f.err = string(none), string(none), false, -1, nil
	f.lines = answer.NewLogLines(f.Job, attempt, text, func(line []byte, next int64) error {
		f.lined = true
		return f.e.add("line", eventID(attempt, next), line)
	})
	if !f.resume {
		b, err := answer.Encode(struct {
			Schema  int         `json:"schema"`
			Job     pasar.JobID `json:"job"`
			Attempt int         `json:"attempt"`
		}{pasar.Schema, f.Job, attempt})
		id := ""
		if !f.tail { // of the last lines nobody knows where they begin
			id = eventID(attempt, f.Offset)
		}
		if err := errors.Join(err, f.e.add("attempt", id, b)); err != nil {
			return err
		}
	}
	if err := f.lines.Text(last); err != nil {
		return err
	}
	f.soon()
	return f.e.begin()
}

// piece takes a piece of output.
func (f *follower) piece(p answer.Piece) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return f.err
	}
	f.wait()
	began := time.Now()
	if f.err = f.lines.Piece(p); f.err == nil && f.lined {
		f.err = f.e.begin()
	}
	if f.err == nil && (time.Since(began) > slowTime || f.behind(p.At) > lagTime) {
		f.err = errLagged
	}
	f.soon()
	return f.err
}

// behind is how much further behind what the job writes the reader is than it has been: one that reads old output comes
// nearer, at whatever speed, and so does one whose machine has another time. Output came at a time; mu is held.
func (f *follower) behind(at time.Time) time.Duration {
	if at.IsZero() {
		return 0
	}
	now := max(0, time.Since(at))
	if f.least < 0 || now < f.least {
		f.least = now
	}
	return now - f.least
}

// soon settles in a while; mu is held.
func (f *follower) soon() {
	now := time.Now()
	if f.due.IsZero() {
		f.due = now.Add(max(settleAfter, partialEvery-now.Sub(f.drew)))
	}
	f.timer = time.AfterFunc(max(0, f.due.Sub(now)), f.settle)
}

// wait keeps the timer from firing into what is being sent; mu is held.
func (f *follower) wait() {
	if f.timer != nil {
		f.timer.Stop()
	}
}

// settle sends what has been written and could still change, and the line under way.
func (f *follower) settle() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lines == nil || f.err != nil || time.Now().Before(f.due) || f.due.IsZero() {
		return
	}
	f.due = time.Time{}
	if f.err = f.lines.Settle(); f.err == nil {
		f.err = f.draw()
	}
	if f.err != nil {
		f.giveUp(f.err)
	}
}

// draw sends the line under way, if it isn't the one that was sent, or lines came between; mu is held.
func (f *follower) draw() error {
	b, err := f.lines.Rest()
	if err != nil {
		return err
	}
	now := string(b)
	if now != f.partial || f.lined && now != f.none {
		f.partial, f.drew = now, time.Now()
		if err := f.e.add("partial", "", b); err != nil {
			return err
		}
	}
	f.lined = false
	return f.e.begin()
}

// finish sends the rest of an attempt's output.
func (f *follower) finish() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lines == nil || f.err != nil {
		return f.err
	}
	if err := f.lines.Finish(); err != nil {
		return err
	}
	return f.draw()
}

// stop ends what goes on beside an attempt's output.
func (f *follower) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wait()
	f.lines, f.due = nil, time.Time{}
}

// gap tells of output that is not to be had.
func (f *follower) gap(from, to int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lines != nil && f.err == nil {
		f.err = f.lines.Settle()
	}
	b, err := answer.Encode(struct {
		Schema  int         `json:"schema"`
		Job     pasar.JobID `json:"job"`
		Attempt int         `json:"attempt"`
		From    int64       `json:"from"`
		To      int64       `json:"to"`
	}{pasar.Schema, f.Job, f.Output.Attempt, from, to})
	if f.err = errors.Join(f.err, err); f.err == nil {
		f.err = f.e.add("gap", "", b)
	}
}

// restart leaves out what a reader was too slow for, and goes on with the last lines.
func (f *follower) restart() error {
	f.Output = answer.Output{Job: f.Job, Attempt: f.Output.Attempt, Follow: true, Only: f.Only}
	f.tail, f.most, f.resume = true, lagLines, true
	return f.e.send("lagged", "", []byte(`{"schema":1,"lagged":true}`))
}
