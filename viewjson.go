package pasar

import (
	"encoding/json"
	"strconv"
	"time"
)

// MarshalJSON gives the same bytes as the struct tags of JobView would. It is written out because a
// listing of ten thousand jobs is encoded at one go, and by reflection that takes ten times as long;
// a test holds the two equal.
func (v JobView) MarshalJSON() ([]byte, error) { return v.AppendJSON(make([]byte, 0, 1024)) }

// AppendJSON appends the view as one JSON object.
func (v *JobView) AppendJSON(dst []byte) ([]byte, error) {
	o := object{b: append(dst, '{'), first: true}
	o.integer("schema", int64(v.Schema))
	o.integer("id", int64(v.ID))
	o.text("name", v.Name)
	o.text("state", string(v.State))
	o.textOrNull("reason", v.Reason)
	o.textOrNull("summary", v.Summary)
	o.integer("bid", int64(v.Bid))
	o.time("queue_time", &v.QueueTime)
	o.time("created", &v.Created)
	o.claim(&v.Claim)
	o.textOrNull("machine", v.Machine)
	o.gpus("gpus", v.GPUs)
	if v.Usage == (UsageView{}) {
		o.raw("usage", `{"gpu":null,"host":null,"peak_gpu":null,"peak_host":null}`)
	} else {
		o.any("usage", v.Usage)
	}
	o.boolean("over_limit", v.OverLimit)
	o.seconds("est_runtime", v.EstRuntime)
	o.textOrNull("est_source", v.EstSource)
	o.seconds("run_time", v.RunTime)
	o.seconds("remaining", v.Remaining)
	o.projected(&v.Projected)
	o.waiting(v.Waiting)
	orNull(&o, "progress", v.Progress)
	orNull(&o, "last_checkpoint", v.LastCheckpoint)
	o.key("retries")
	o.open()
	o.integer("max", int64(v.Retries.Max))
	o.integer("used", int64(v.Retries.Used))
	o.list("on", len(v.Retries.On), v.Retries.On == nil, v.Retries.On)
	o.b = append(o.b, '}')
	o.list("attempts", len(v.Attempts), v.Attempts == nil, v.Attempts)
	o.key("lost")
	o.open()
	o.seconds("preemptions", v.Lost.Preemptions)
	o.seconds("failures", v.Lost.Failures)
	o.boolean("known", v.Lost.Known)
	o.seconds("queue_wait", &v.Lost.QueueWait)
	o.b = append(o.b, '}')
	o.text("command", v.Command)
	o.key("argv")
	if v.Argv == nil {
		o.b = append(o.b, "null"...)
	} else {
		o.b = append(o.b, '[')
		for i, a := range v.Argv {
			if i > 0 {
				o.b = append(o.b, ',')
			}
			o.arg(a)
		}
		o.b = append(o.b, ']')
	}
	o.key("cwd")
	o.arg(v.Cwd)
	o.text("submitter", v.Submitter)
	o.textOrNull("by", v.By)
	o.list("tags", len(v.Tags), v.Tags == nil, v.Tags)
	o.textOrNull("note", v.Note)
	orNull(&o, "git", v.Git)
	if v.Group == nil {
		o.raw("group", "null")
	} else {
		o.integer("group", int64(*v.Group))
	}
	o.integerOrNull("index", v.Index)
	if v.Params == nil {
		o.raw("params", "null")
	} else {
		o.any("params", v.Params)
	}
	o.integerOrNull("max_concurrent", v.MaxConcurrent)
	o.textOrNull("key", v.Key)
	o.seconds("grace", &v.Grace)
	o.seconds("time_limit", v.TimeLimit)
	o.boolean("preempt", v.Preempt)
	o.boolean("preemptible", v.Preemptible)
	o.boolean("pausable", v.Pausable)
	o.textOrNull("resume_command", v.ResumeCommand)
	o.list("after", len(v.After), v.After == nil, v.After)
	o.time("begin", v.Begin)
	orNull(&o, "verdict", v.Verdict)
	orNull(&o, "cloud", v.Cloud)
	return append(o.b, '}'), o.err
}

// An object is a JSON object being written.
type object struct {
	b     []byte
	first bool // the next key is its object's first
	err   error
}

func (o *object) key(k string) {
	if !o.first {
		o.b = append(o.b, ',')
	}
	o.first = false
	o.b = append(o.b, '"')
	o.b = append(o.b, k...)
	o.b = append(o.b, '"', ':')
}

// open begins an object inside this one; its end is a plain '}'.
func (o *object) open() {
	o.b = append(o.b, '{')
	o.first = true
}

func (o *object) raw(k, v string) {
	o.key(k)
	o.b = append(o.b, v...)
}

func (o *object) any(k string, v any) {
	o.key(k)
	o.value(v)
}

func (o *object) value(v any) {
	b, err := json.Marshal(v)
	if err != nil && o.err == nil {
		o.err = err
	}
	o.b = append(o.b, b...)
}

func orNull[T any](o *object, k string, v *T) {
	if v == nil {
		o.raw(k, "null")
		return
	}
	o.any(k, v)
}

// list writes a list, which is most often empty.
func (o *object) list(k string, n int, null bool, v any) {
	switch {
	case null:
		o.raw(k, "null")
	case n == 0:
		o.raw(k, "[]")
	default:
		o.any(k, v)
	}
}

func (o *object) integer(k string, n int64) {
	o.key(k)
	o.b = strconv.AppendInt(o.b, n, 10)
}

func (o *object) integerOrNull(k string, n *int) {
	if n == nil {
		o.raw(k, "null")
		return
	}
	o.integer(k, int64(*n))
}

func (o *object) boolean(k string, v bool) {
	o.key(k)
	o.b = strconv.AppendBool(o.b, v)
}

func (o *object) text(k, s string) {
	o.key(k)
	o.string(s)
}

func (o *object) textOrNull(k string, s *string) {
	if s == nil {
		o.raw(k, "null")
		return
	}
	o.text(k, *s)
}

// string writes a JSON string; one that needs no escape, as encoding/json escapes, is copied.
func (o *object) string(s string) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			o.value(s)
			return
		}
	}
	o.b = append(o.b, '"')
	o.b = append(o.b, s...)
	o.b = append(o.b, '"')
}

func (o *object) arg(a Arg) {
	for i := range len(a) {
		if a[i] > '~' {
			o.value(a) // perhaps not UTF-8
			return
		}
	}
	o.string(string(a))
}

func (o *object) time(k string, t *time.Time) {
	if t == nil {
		o.raw(k, "null")
		return
	}
	o.key(k)
	o.b = append(o.b, '"')
	o.b = t.AppendFormat(o.b, time.RFC3339Nano)
	o.b = append(o.b, '"')
}

func (o *object) seconds(k string, d *Duration) {
	if d == nil {
		o.raw(k, "null")
		return
	}
	o.key(k)
	o.b = strconv.AppendFloat(o.b, d.Seconds(), 'f', -1, 64)
}

func (o *object) bytesOrNull(k string, n *Bytes) {
	if n == nil {
		o.raw(k, "null")
		return
	}
	o.integer(k, int64(*n))
}

func (o *object) jobs(k string, ids []JobID) {
	o.key(k)
	if ids == nil {
		o.b = append(o.b, "null"...)
		return
	}
	o.b = append(o.b, '[')
	for i, id := range ids {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = strconv.AppendInt(o.b, int64(id), 10)
	}
	o.b = append(o.b, ']')
}

func (o *object) gpus(k string, refs []GPURef) {
	o.key(k)
	if refs == nil {
		o.b = append(o.b, "null"...)
		return
	}
	o.b = append(o.b, '[')
	for i := range refs {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.open()
		o.integer("index", int64(refs[i].Index))
		o.text("uuid", refs[i].UUID)
		o.text("parent", refs[i].Parent)
		o.b = append(o.b, '}')
	}
	o.b = append(o.b, ']')
}

func (o *object) claim(c *ClaimView) {
	o.key("claim")
	o.open()
	o.text("kind", string(c.Kind))
	o.integer("gpus", int64(c.GPUs))
	o.bytesOrNull("mem", c.Mem)
	o.bytesOrNull("limit", c.Limit)
	o.bytesOrNull("ram", c.RAM)
	o.textOrNull("type", c.Type)
	o.list("ids", len(c.IDs), c.IDs == nil, c.IDs)
	if c.External == nil {
		o.raw("external", "null")
	} else {
		o.text("external", string(*c.External))
	}
	o.boolean("auto", c.Auto)
	o.b = append(o.b, '}')
}

func (o *object) projected(p *ProjectedView) {
	o.key("projected")
	o.open()
	o.time("start", p.Start)
	o.time("finish", p.Finish)
	o.textOrNull("machine", p.Machine)
	o.gpus("gpus", p.GPUs)
	o.b = append(o.b, '}')
}

func (o *object) waiting(w *WaitingView) {
	if w == nil {
		o.raw("waiting", "null")
		return
	}
	o.key("waiting")
	o.open()
	o.text("why", string(w.Why))
	o.text("sentence", w.Sentence)
	o.integer("ahead", int64(w.Ahead))
	o.jobs("holders", w.Holders)
	if w.BidNeeded == nil {
		o.raw("bid_needed", "null")
	} else {
		o.integer("bid_needed", int64(*w.BidNeeded))
	}
	o.time("since", &w.Since)
	o.time("until", w.Until)
	o.time("reserved", w.Reserved)
	o.textOrNull("detail", w.Detail)
	o.b = append(o.b, '}')
}
