package daemon

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"pasar"
)

// health is what lasts from one sight to the next and is worth telling people. It is owned by the
// goroutine that takes readings.
type health struct {
	since  map[string]time.Time // of a condition that holds: since when
	told   map[string]time.Time // of a condition: when it was last told; latched while it holds
	holds  map[string]bool      // told, and not over since
	xids   map[xidKey]time.Time // when one like it was last put down
	status map[string]pasar.GPUStatus
	asks   map[string]string // by GPU: the recovery that the driver asked for last
}

type xidKey struct {
	uuid string
	code int
	pid  int
}

func newHealth() health {
	return health{since: map[string]time.Time{}, told: map[string]time.Time{}, holds: map[string]bool{},
		xids: map[xidKey]time.Time{}, status: map[string]pasar.GPUStatus{}, asks: map[string]string{}}
}

const (
	throttledFor = 30 * time.Second // until being held back by heat is told
	troubleFor   = 10 * time.Second // until it is told that GPUs can't be looked at
	tellAgain    = 10 * time.Minute // at least, between tellings of the same
	xidAgain     = time.Minute      // between records of Xids that are alike
)

// lasting reports whether a condition that holds, or doesn't, is to be told now: once it has held for so long,
// and not again before it was over and some time has passed.
func (h *health) lasting(what string, is bool, least time.Duration, now time.Time) bool {
	if !is {
		delete(h.since, what)
		delete(h.holds, what)
		return false
	}
	since, ok := h.since[what]
	if !ok {
		h.since[what], since = now, now
	}
	if now.Sub(since) < least || h.holds[what] {
		return false
	}
	h.holds[what] = true
	return h.again(what, now)
}

// again reports whether it is long enough since something was told to tell it again, and notes that it is.
func (h *health) again(what string, now time.Time) bool {
	if last, ok := h.told[what]; ok && now.Sub(last) < tellAgain {
		return false
	}
	h.told[what] = now
	return true
}

// examine turns what a sight shows of the GPUs' health into judgements for the loop.
func (d *Daemon) examine(h *health, s *sight, inv pasar.Inventory) []judgement {
	var js []judgement
	tell := func(what, format string, args ...any) {
		detail := fmt.Sprintf(format, args...)
		js = append(js, func(*state, time.Time) []pasar.Fact {
			return []pasar.Fact{pasar.Incident{Machine: inv.Machine, What: what, Detail: detail}}
		})
	}
	if h.lasting("trouble", s.reading.Trouble != "", troubleFor, s.at) {
		tell("gpu", "GPUs can't be looked at: %s; jobs start by what is reserved", s.reading.Trouble)
	}
	for i := range inv.GPUs {
		g := &inv.GPUs[i]
		seen := s.gpu(g.UUID)
		if seen == nil || g.Virtual {
			continue
		}
		if h.lasting("silent "+g.UUID, seen.Status == pasar.GPUUnresponsive, 0, s.at) {
			tell("gpu", "GPU %d doesn't answer%s; nothing starts on it until it does", g.Index, because(seen.Detail))
		}
		hot := slices.Contains(seen.Throttle, "thermal") || slices.Contains(seen.Throttle, "power_brake")
		if h.lasting("throttle "+g.UUID, hot && seen.Status == pasar.GPUOK, throttledFor, s.at) {
			tell("gpu", "GPU %d has been slowed down for %s: %s", g.Index, pasar.Duration(throttledFor), heat(seen))
		}
		if was := h.status[g.UUID]; seen.Status == pasar.GPULost && was != pasar.GPULost {
			js = append(js, d.drainFor(inv, g.UUID, pasar.Health{
				Reason: "the driver has lost it" + because(seen.Detail), Remedy: remedies[pasar.XidDrainReboot], Mends: true}))
		}
		h.status[g.UUID] = seen.Status
		if ask := seen.Recovery; ask != h.asks[g.UUID] {
			h.asks[g.UUID] = ask
			if action, ok := recoveryAction(ask); ok {
				js = append(js, d.drainFor(inv, g.UUID, pasar.Health{
					Reason: "the driver says that it must be recovered: " + ask, Remedy: remedies[action], Mends: mends(action)}))
			}
		}
	}
	for _, x := range s.reading.Xids {
		key := xidKey{x.UUID, x.Code, orZero(x.Pid)}
		if last, again := h.xids[key]; again && s.at.Sub(last) < xidAgain {
			continue
		}
		if len(h.xids) >= maxDue {
			clear(h.xids)
		}
		h.xids[key] = s.at
		js = append(js, d.xid(inv, x, s))
	}
	return js
}

func because(detail string) string {
	if detail == "" {
		return ""
	}
	return ": " + detail
}

// heat is why a GPU is slowed down, with its temperature.
func heat(s *gpuSight) string {
	why := "by the power brake"
	if slices.Contains(s.Throttle, "thermal") {
		why = "by heat"
	}
	if s.TempC != nil {
		why += fmt.Sprintf(", at %.0f °C", *s.TempC)
	}
	return why
}

// remedies is what a person is to do about a GPU that takes nothing, by what it needs.
var remedies = map[pasar.XidAction]string{
	pasar.XidFailJobReset:  "once nothing runs on it, reset it (`nvidia-smi --gpu-reset`) and `pasar undrain` it; or restart the machine",
	pasar.XidResetWhenIdle: "once nothing runs on it, reset it (`nvidia-smi --gpu-reset`) and `pasar undrain` it; or restart the machine",
	pasar.XidDrainReset:    "reset it (`nvidia-smi --gpu-reset`) and `pasar undrain` it; or restart the machine",
	pasar.XidDrainReboot:   "restart the machine",
	pasar.XidDrainOperator: "have its hardware looked at, then `pasar undrain` it",
}

// mends reports whether restarting the machine does what an action asks for.
func mends(a pasar.XidAction) bool { return a != pasar.XidDrainOperator }

// recoveryAction is what the driver's word on how to mend a GPU comes to; false when there is nothing to
// mend, or it doesn't say.
func recoveryAction(said string) (pasar.XidAction, bool) {
	switch said {
	case "", "none":
		return pasar.XidNote, false
	case "reset", "drain_and_reset":
		return pasar.XidDrainReset, true
	case "reboot":
		return pasar.XidDrainReboot, true
	}
	return pasar.XidDrainOperator, true
}

// worse orders what a GPU may need.
var worse = map[pasar.XidAction]int{pasar.XidFailJobReset: 1, pasar.XidResetWhenIdle: 1, pasar.XidDrainReset: 2, pasar.XidDrainReboot: 3, pasar.XidDrainOperator: 4}

// xid puts an Xid down with the jobs that were on its GPU, and drains the GPU if it must be. What pasar
// never does is to reset one.
func (d *Daemon) xid(inv pasar.Inventory, x pasar.Xid, s *sight) judgement {
	x.Meaning = cut(x.Meaning, 200)
	if x.Name != nil {
		name := cut(*x.Name, maxSeenName)
		x.Name = &name
	}
	action := x.Action
	if action == pasar.XidReadRecovery {
		action = pasar.XidNote
		for uuid, g := range s.gpus {
			if concerns(inv, x.UUID, uuid) {
				if a, ok := recoveryAction(g.Recovery); ok && worse[a] > worse[action] {
					action = a
				}
			}
		}
	}
	return func(st *state, now time.Time) []pasar.Fact {
		var jobs []pasar.JobID
		for _, j := range st.active {
			gr := &j.current().Grant
			if gr.Machine == inv.Machine && slices.ContainsFunc(gr.GPUs, func(r pasar.GPURef) bool { return concerns(inv, x.UUID, r.UUID) }) {
				jobs = append(jobs, j.ID)
			}
		}
		var facts []pasar.Fact
		if len(jobs) > 0 || action.Drains() {
			facts = append(facts, pasar.XidSeen{Machine: inv.Machine, Xid: x, Jobs: jobs})
		}
		if !action.Drains() {
			return facts
		}
		for _, g := range inv.GPUs {
			if concerns(inv, x.UUID, g.UUID) {
				code := x.Code
				facts = append(facts, d.drainFor(inv, g.UUID, pasar.Health{
					Reason: fmt.Sprintf("Xid %d%s", x.Code, because(x.Meaning)), Remedy: remedies[action], Xid: &code, Mends: mends(action)})(st, now)...)
			}
		}
		return facts
	}
}

// concerns reports whether what befell a GPU befell this one: itself, or an instance on it.
func concerns(inv pasar.Inventory, uuid, of string) bool {
	if uuid == "" || uuid == of {
		return uuid == of
	}
	return slices.ContainsFunc(inv.GPUs, func(g pasar.GPU) bool { return g.UUID == of && g.Parent == uuid })
}

// drainFor keeps jobs from a GPU that is at fault, and tells people. A GPU that takes nothing for a fault
// that needs as much to mend is left as it is, so that nothing is told twice.
func (d *Daemon) drainFor(inv pasar.Inventory, uuid string, h pasar.Health) judgement {
	return func(st *state, now time.Time) []pasar.Fact {
		h := h
		h.Since, h.Boot = now, d.Boot
		if was := st.drains[inv.Machine][uuid].Fault; was != nil && need(*was) >= need(h) {
			return nil
		}
		name := uuid
		for _, g := range inv.GPUs {
			if g.UUID == uuid {
				name = fmt.Sprintf("GPU %d", g.Index)
			}
		}
		return []pasar.Fact{
			pasar.Drained{Machine: inv.Machine, GPU: uuid, Health: h},
			pasar.Incident{Machine: inv.Machine, What: "gpu", Detail: fmt.Sprintf("%s takes no more jobs: %s; %s", name, h.Reason, h.Remedy)},
		}
	}
}

// need is how much it takes to mend a GPU, by its remedy.
func need(h pasar.Health) int {
	most := 0
	for action, remedy := range remedies {
		if remedy == h.Remedy {
			most = max(most, worse[action])
		}
	}
	return cmp.Or(most, worse[pasar.XidDrainOperator])
}

// mended ends the drains for faults that a restart of the machine mends, once it was restarted.
func (d *Daemon) mended() []pasar.Fact {
	var facts []pasar.Fact
	for _, machine := range sortedKeys(d.state.drains) {
		for _, gpu := range sortedKeys(d.state.drains[machine]) {
			if h := d.state.drains[machine][gpu].Fault; machine == pasar.LocalMachine && h != nil && h.Mends && h.Boot != d.Boot {
				facts = append(facts, pasar.Undrained{Machine: machine, GPU: gpu})
			}
		}
	}
	return facts
}
