// Package autopsy says why an attempt ended: evidence in, verdict out, purely. Its rules are data.
package autopsy

import (
	"slices"
	"unicode/utf8"

	"pasar"
)

// Evidence is all that is known of an attempt's end. Its encoding is kept in certificates, so keys are for good:
// never renamed, never reused.
type Evidence struct {
	Exit        *pasar.Exit      `json:"exit,omitempty"`         // nil: it was never seen to end
	LaunchError string           `json:"launch_error,omitempty"` // it never ran
	LaunchStep  string           `json:"launch_step,omitempty"`  // chdir, exec, interpreter, pty, fork, claim, …
	Errno       int              `json:"errno,omitempty"`
	Stop        *pasar.Stop      `json:"stop,omitempty"` // who asked it to stop
	StopStep    pasar.StopStep   `json:"stop_step,omitempty"`
	Lost        string           `json:"lost,omitempty"`  // why its end is unknown, in words; set only when it is
	Argv0       string           `json:"argv0,omitempty"` // the program as asked for
	Cwd         string           `json:"cwd,omitempty"`   // the working directory as asked for
	Grace       pasar.Duration   `json:"grace,omitempty"` // between the request to stop and SIGKILL
	RunTime     pasar.Duration   `json:"run_time,omitempty"`
	PeakHost    pasar.Bytes      `json:"peak_host,omitempty"`
	Cgroup      *pasar.CgroupUse `json:"cgroup,omitempty"`     // what was counted for the job; nil: nothing
	Log         []pasar.Line     `json:"log,omitempty"`        // end of its output, as ReadLog has it
	Output      int64            `json:"output,omitempty"`     // bytes written
	Xids        []BlamedXid      `json:"xids,omitempty"`       // of its GPUs while it ran, in order
	GPULost     []string         `json:"gpu_lost,omitempty"`   // of its GPUs, those that the driver had lost when it ended, in words
	GPUSilent   []string         `json:"gpu_silent,omitempty"` // those that didn't answer

	Marker *pasar.Marker `json:"marker,omitempty"` // what the job left to say that it saved; nil: nothing, and nothing was due
	For    string        `json:"for,omitempty"`    // preempted: the job that is to have the room, in words; empty: not known
	Unmet  string        `json:"unmet,omitempty"`  // it waited for a job that didn't end as it must: which, in words; set only then
	Paused bool          `json:"paused,omitempty"` // it was paused, and had no attempt under way

	Typed      bool     `json:"typed,omitempty"`       // an attached terminal sent it Ctrl-C just before it ended
	TypedBy    string   `json:"typed_by,omitempty"`    // whose terminal that was; empty: not known
	Screen     []string `json:"screen,omitempty"`      // the last screen, of a job that drew on one rather than print lines
	UnitResult string   `json:"unit_result,omitempty"` // what systemd says of its unit, such as oom-kill or timeout; empty or success: nothing
	Kernel     []string `json:"kernel,omitempty"`      // lines of the kernel's log that speak of a process of it, in order

	Phase       Phase          `json:"phase,omitempty"`        // how far it got, as far as is known
	Quit        bool           `json:"quit,omitempty"`         // as Typed, with Ctrl-\
	TypedBefore pasar.Duration `json:"typed_before,omitempty"` // Typed or Quit: from the key to the end
	KernelRead  bool           `json:"kernel_read,omitempty"`  // the kernel's log was read as long as it ran: what Kernel lacks was not said
	Asked       bool           `json:"asked,omitempty"`        // its supervisor was asked to end, by SIGTERM, and not by pasar: a service stopped, a logout, a shutdown
	OOMKills    *int64         `json:"oom_kills,omitempty"`    // processes of the whole machine that the kernel killed for want of memory while it ran; nil: nobody counted
	HostTotal   pasar.Bytes    `json:"host_total,omitempty"`   // the machine's memory when it ended, or up to a reading before; 0: not known
	HostFree    pasar.Bytes    `json:"host_free,omitempty"`    // of it what could be had then
	Pressure    *float64       `json:"pressure,omitempty"`     // on host memory then, PSI some avg10 as a part of 1; nil: not known
	HostPeak    pasar.Bytes    `json:"host_peak,omitempty"`    // the most host memory that its processes were seen to have together
	PeakGPU     *pasar.Bytes   `json:"peak_gpu,omitempty"`     // the most memory that it was seen to have of its GPUs together; nil: nobody looked
	LimitGPU    pasar.Bytes    `json:"limit_gpu,omitempty"`    // of GPU memory, on each; 0: whole GPUs, or none

	NoGPU     bool `json:"no_gpu,omitempty"`    // it held no GPU, so that none of its can have failed
	Untouched bool `json:"untouched,omitempty"` // it held whole GPUs, and was never seen to have memory of one

	read *reading // what the log says, once it was read
}

// A Phase is how far an attempt got.
type Phase string

// Phases; empty: not known.
const (
	Launching Phase = "launching" // its process was never seen
	Running   Phase = "running"
)

// Attribute gives the verdict of the first rule that applies. It has one for any evidence; the summary
// is one line of clean text.
func Attribute(e Evidence) pasar.Verdict { return apply(&e).verdict(&e) }

// Portable is evidence as it is after it was written down and read again: text in UTF-8. The verdict of a
// certificate's evidence is then that of the certificate.
func (e Evidence) Portable() Evidence {
	for _, s := range []*string{&e.LaunchError, &e.Lost, &e.Argv0, &e.Cwd, &e.For, &e.Unmet, &e.TypedBy, &e.UnitResult} {
		*s = utf8Of(*s)
	}
	for _, list := range []*[]string{&e.GPULost, &e.GPUSilent, &e.Screen, &e.Kernel} {
		*list = slices.Clone(*list)
		for i, s := range *list {
			(*list)[i] = utf8Of(s)
		}
	}
	e.Log = slices.Clone(e.Log)
	for i := range e.Log {
		e.Log[i].Text = utf8Of(e.Log[i].Text)
	}
	if e.Marker != nil {
		e.Marker = &pasar.Marker{Checkpoint: utf8Of(e.Marker.Checkpoint), Missing: utf8Of(e.Marker.Missing)}
	}
	if e.Stop != nil {
		stop := *e.Stop
		stop.By, stop.Detail = utf8Of(stop.By), utf8Of(stop.Detail)
		e.Stop = &stop
	}
	return e
}

// utf8Of is text as package encoding/json writes it: each byte that is none gives way to one replacement character.
func utf8Of(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

func apply(e *Evidence) *rule {
	for _, g := range groups {
		for i := range g.rules {
			if g.rules[i].when(e) {
				return &g.rules[i]
			}
		}
	}
	return &unexplained
}
