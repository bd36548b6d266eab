package pasar

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A WaitWhy says what a waiting job waits for.
type WaitWhy string

// What a job can wait for.
const (
	WaitHeld    WaitWhy = "held"    // someone asked to hold it
	WaitGPU     WaitWhy = "gpu"     // a whole GPU
	WaitMemory  WaitWhy = "memory"  // room for its slice
	WaitCores   WaitWhy = "cores"   // one of cpu_jobs places
	WaitRAM     WaitWhy = "ram"     // host memory
	WaitTurn    WaitWhy = "turn"    // there is room, but a job before it waits for the same
	WaitMachine WaitWhy = "machine" // its machine is unknown, unreachable or drained
	WaitDaemon  WaitWhy = "daemon"  // the daemon can't start work; Detail says why

	WaitBegin      WaitWhy = "begin"      // not due yet: --begin; Until says when
	WaitRetry      WaitWhy = "retry"      // the gap before it is started again; Until says when
	WaitAfter      WaitWhy = "after"      // a job that it comes after hasn't ended: Holders
	WaitGroup      WaitWhy = "group"      // as many of its group run as may at once: Holders
	WaitPreempting WaitWhy = "preempting" // the jobs that it stops haven't ended: Holders
	WaitRelease    WaitWhy = "release"    // GPU memory of a job that has ended isn't free yet: Holders, Detail
	WaitSettle     WaitWhy = "settle"     // another slice on the GPU has just started: Holders, Until
	WaitStranger   WaitWhy = "stranger"   // processes that pasar did not start have what it needs: Detail
	WaitUnhealthy  WaitWhy = "unhealthy"  // the only GPUs that it could have are drained: Detail
)

// A Reason says why a job waits. The scheduler makes one for every waiting job; every client makes
// the same sentence of it.
type Reason struct {
	Why       WaitWhy    `json:"why"`
	Need      Bytes      `json:"need,omitempty"`       // memory it needs, for memory and ram
	Free      Bytes      `json:"free,omitempty"`       // memory that is free there
	Ahead     int        `json:"ahead,omitempty"`      // waiting jobs before it in the order, of those that want a GPU, or none, as it does
	Behind    JobID      `json:"behind,omitempty"`     // turn: the job that goes first
	Holders   []JobID    `json:"holders,omitempty"`    // jobs that have what it needs; shared, never changed
	Since     time.Time  `json:"since,omitzero"`       // when it began to wait
	Start     *time.Time `json:"start,omitempty"`      // projected
	BidNeeded *Bid       `json:"bid_needed,omitempty"` // smallest bid that would change it
	Detail    string     `json:"detail,omitempty"`
	Until     *time.Time `json:"until,omitempty"`    // begin, retry, settle: when that is over
	Reserved  *time.Time `json:"reserved,omitempty"` // it holds a reservation from then on; turn: the one it must not delay is for then
}

// Sentence says the reason in words, starting with "waits".
func (r Reason) Sentence() string {
	detail := Clean(r.Detail)
	var s string
	switch r.Why {
	case WaitHeld:
		return "held until `pasar release`"
	case WaitGPU:
		s = "waits for a GPU" + heldBy(r.Holders)
	case WaitMemory:
		s = fmt.Sprintf("waits for %s of GPU memory (%s free)", r.Need, r.Free) + heldBy(r.Holders)
	case WaitRAM:
		s = fmt.Sprintf("waits for %s of host memory (%s free)", r.Need, r.Free) + heldBy(r.Holders)
	case WaitCores:
		s = "waits for a place without a GPU" + heldBy(r.Holders)
	case WaitTurn:
		if r.Reserved == nil {
			return "waits behind #" + r.Behind.String() // which was promised what it needs
		}
		return "waits so as not to delay #" + r.Behind.String() + ", reserved for " + r.clock(*r.Reserved)
	case WaitMachine:
		s = "waits for its machine"
	case WaitDaemon:
		s = "waits: the daemon can't start jobs"
	case WaitBegin:
		return "waits" + r.until()
	case WaitRetry:
		return "waits" + r.until() + " to be started again"
	case WaitAfter:
		if detail != "" {
			return "waits for " + detail
		}
		return "waits for " + list(r.Holders) + " to complete"
	case WaitGroup:
		return "waits for another one of its group to end: " + list(r.Holders)
	case WaitPreempting:
		return "waits for " + list(r.Holders) + " to stop"
	case WaitRelease:
		s = "waits for GPU memory of " + list(r.Holders) + " to be free"
		if detail != "" {
			s, detail = s+" ("+detail+")", ""
		}
	case WaitSettle:
		s = "waits" + r.until() + " for "
		if len(r.Holders) == 0 {
			s += "a GPU's memory to settle"
		} else {
			s += list(r.Holders) + " to take its memory"
		}
	case WaitStranger:
		s = "waits for a GPU without processes that pasar did not start"
		if r.Need > 0 {
			s = fmt.Sprintf("waits for %s of GPU memory (%s free) beside processes that pasar did not start", r.Need, r.Free)
		}
	case WaitUnhealthy:
		s = "waits for a GPU that is well"
	default:
		s = "waits"
	}
	if detail != "" {
		s += ": " + detail
	}
	if r.Ahead > 0 {
		s += ", " + strconv.Itoa(r.Ahead) + " ahead"
	}
	if r.Reserved != nil {
		s += "; reserved for " + r.clock(*r.Reserved)
	}
	return s
}

func (r Reason) until() string {
	if r.Until == nil {
		return ""
	}
	return " until " + r.clock(*r.Until)
}

// clock is a time of the day, with the day if it isn't the one on which the job was queued, and with
// seconds if they matter.
func (r Reason) clock(t time.Time) string {
	layout := "15:04"
	if r.Why == WaitSettle || r.Why == WaitRetry || !r.Since.IsZero() && t.Sub(r.Since) < 10*time.Minute {
		layout = "15:04:05"
	}
	if !r.Since.IsZero() {
		since := r.Since.In(t.Location())
		switch {
		case t.Sub(since) > 6*24*time.Hour:
			layout = "2 Jan " + layout
		case t.YearDay() != since.YearDay():
			layout = "Mon " + layout
		}
	}
	return t.Format(layout)
}

func heldBy(ids []JobID) string {
	if len(ids) == 0 {
		return ""
	}
	return " held by " + list(ids)
}

// list names some jobs: "#1, #2, #3 and 2 more".
func list(ids []JobID) string {
	const show = 3
	var b strings.Builder
	for i, id := range ids[:min(len(ids), show)] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteByte('#')
		b.WriteString(id.String())
	}
	if n := len(ids) - show; n > 0 {
		fmt.Fprintf(&b, " and %d more", n)
	}
	return b.String()
}
