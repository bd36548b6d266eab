package ui

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"pasar"
)

// Name is "#42 train".
func Name(v *pasar.JobView) string {
	if v.Name == "" {
		return "#" + v.ID.String()
	}
	return "#" + v.ID.String() + " " + pasar.Clean(v.Name)
}

// label is a job's name where each column counts: "#42 train".
func label(v *pasar.JobView) string {
	return strings.TrimSuffix("#"+v.ID.String()+" "+Shown(v.Name), " ")
}

// ClaimShort is a claim in a few letters: "1 GPU", "24 GiB", "2×24 GiB", "no GPU".
func ClaimShort(c pasar.ClaimView) string {
	var s string
	switch {
	case c.Kind == pasar.NoGPU:
		s = "no GPU"
	case c.Kind == pasar.Slice && c.Mem != nil:
		s = c.Mem.String()
		if c.Auto {
			s = "~" + s
		}
		if c.GPUs > 1 {
			s = strconv.Itoa(c.GPUs) + "×" + s
		}
	case c.GPUs == 1:
		s = "1 GPU"
	default:
		s = strconv.Itoa(c.GPUs) + " GPUs"
	}
	if c.RAM != nil {
		s += "+" + c.RAM.String() + " RAM"
	}
	return s
}

// Claim is a claim in words.
func Claim(c pasar.ClaimView) string {
	claim := pasar.Claim{Kind: c.Kind, GPUs: c.GPUs, IDs: c.IDs}
	if c.Mem != nil {
		claim.Mem = *c.Mem
	}
	if c.Type != nil {
		claim.Type = *c.Type
	}
	if c.External != nil {
		claim.External = *c.External
	}
	s := claim.String()
	if c.Auto && c.Mem == nil {
		s = "as much GPU memory as such jobs have used on " + strings.TrimPrefix(strings.TrimPrefix(s, "0 B"), " of GPU memory on ")
	}
	if len(c.IDs) > 0 {
		ids := make([]string, len(c.IDs))
		for i, id := range c.IDs {
			ids[i] = pasar.Clean(id)
		}
		s += " (GPU " + strings.Join(ids, ",") + ")"
	}
	if c.External != nil && *c.External == pasar.ExternalAvoid {
		s += " that nobody else uses"
	}
	if c.Limit != nil && *c.Limit > claim.Mem {
		s += ", charged as " + c.Limit.String() + " with its margin"
	}
	if c.RAM != nil {
		s += " and " + c.RAM.String() + " of host memory"
	}
	return s
}

// GPUs is "GPU 0" or "GPUs 0,1"; nothing for none.
func GPUs(refs []pasar.GPURef) string {
	if len(refs) == 0 {
		return ""
	}
	var n []string
	for _, r := range refs {
		n = append(n, strconv.Itoa(r.Index))
	}
	if len(n) == 1 {
		return "GPU " + n[0]
	}
	return "GPUs " + strings.Join(n, ",")
}

// When is a time of day, with the date unless it is today's, in now's zone.
func When(t, now time.Time) string {
	t = t.In(now.Location())
	y, m, d := t.Date()
	if ny, nm, nd := now.Date(); y == ny && m == nm && d == nd {
		return t.Format("15:04:05")
	}
	return t.Format("2006-01-02 15:04:05")
}

// roughly is a span that is only expected, no more exact than it may be.
func roughly(d time.Duration) string {
	switch {
	case d >= 10*time.Minute:
		d = d.Round(time.Minute)
	case d >= time.Minute:
		d = d.Round(5 * time.Second)
	default:
		d = d.Round(time.Second)
	}
	return pasar.Duration(d).String()
}

// Ago is the span from t to now, never negative.
func Ago(t, now time.Time) string { return pasar.Duration(max(0, now.Sub(t))).String() }

// Progress is "step 1200 of 5000 (24 %), 3.2 steps/s, loss 0.31".
func Progress(p *pasar.ProgressView) string {
	var parts []string
	if p.Step != nil {
		s := "step " + num(*p.Step)
		if p.Total != nil && *p.Total > 0 {
			s += fmt.Sprintf(" of %s (%.0f %%)", num(*p.Total), 100**p.Step / *p.Total)
		}
		parts = append(parts, s)
	}
	if p.Rate != nil && *p.Rate > 0 {
		parts = append(parts, strconv.FormatFloat(*p.Rate, 'g', 3, 64)+" steps/s")
	}
	for _, k := range sortedKeys(p.Metrics) {
		parts = append(parts, pasar.Clean(k)+" "+strconv.FormatFloat(p.Metrics[k], 'g', 5, 64))
	}
	return strings.Join(parts, ", ")
}

func num(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// Ending is how an attempt's process ended: "exit code 7", "signal 11 (SIGSEGV)". Empty when
// that isn't known.
func Ending(code, signal *int) string {
	switch {
	case signal != nil && *signal != 0:
		if name := signalName(*signal); name != "" {
			return fmt.Sprintf("signal %d (%s)", *signal, name)
		}
		return fmt.Sprintf("signal %d", *signal)
	case code != nil:
		return fmt.Sprintf("exit code %d", *code)
	}
	return ""
}

// signalName names the signals that end programs, by signal(7).
func signalName(n int) string {
	return map[int]string{1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL",
		11: "SIGSEGV", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ", 31: "SIGSYS"}[n]
}
