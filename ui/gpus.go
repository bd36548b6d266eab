package ui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pasar"
)

// stale is how old a look at the GPUs may be before that is worth saying.
const stale = 30 * time.Second

// GPUPage is a line for each GPU with its memory, use, temperature, power and whoever is on it: `pasar gpus`.
func GPUPage(v *pasar.GPUsView, now time.Time, s Style) string {
	p := &page{s: s}
	for i := range v.Machines {
		if i > 0 {
			p.line("")
		}
		p.gpuMachine(&v.Machines[i], now)
	}
	if len(v.Machines) == 0 {
		p.line("no machines")
	}
	return p.b.String()
}

func (p *page) gpuMachine(m *pasar.MachineView, now time.Time) {
	if !m.Reachable {
		p.line(p.s.Bold(pasar.Clean(m.Name)) + "  " + p.s.paint(red, "not reachable"))
	} else {
		p.hang(p.s.Bold(pasar.Clean(m.Name))+"  "+machineLine(m), 2)
	}
	if m.Drained != nil {
		p.hang(p.s.paint(red, "  "+drainedWords(m.Drained, now)), 4)
	}
	if m.Trouble != nil {
		p.hang(p.s.paint(red, "  GPUs can't be looked at just now: "+pasar.Clean(*m.Trouble)), 4)
	}
	if m.LookedAt != nil && now.Sub(*m.LookedAt) > stale {
		p.line(p.s.paint(yellow, "  as they were "+Ago(*m.LookedAt, now)+" ago"))
	}
	for _, n := range m.Notes {
		p.hang(p.s.Dim("  "+pasar.Clean(n)), 2)
	}
	if len(m.GPUs) > 0 {
		p.gpuTable(m.GPUs, now)
	}
}

// machineLine is a machine's host memory, its pressure and its driver.
func machineLine(m *pasar.MachineView) string {
	s := fmt.Sprintf("host memory %s of %s claimed", m.HostUsed, m.HostMemory)
	if m.Available != nil {
		s += ", " + m.Available.String() + " available"
	}
	if m.Pressure != nil {
		s += ", pressure " + strconv.FormatFloat(100**m.Pressure, 'f', 1, 64) + " %"
	}
	if m.Driver != nil {
		s += "; driver " + pasar.Clean(*m.Driver)
		if m.CUDA != nil {
			s += ", CUDA " + pasar.Clean(*m.CUDA)
		}
	}
	if m.Source != nil && *m.Source == "nvidia-smi" {
		s += " (by nvidia-smi)"
	}
	return s
}

// A gpuRow is a GPU laid out, cell by cell; an empty cell is not known.
type gpuRow struct {
	g                               *pasar.GPUView
	index, name                     string
	mem, free, use, temp, power     string
	fan, clock                      string
	jobs, below                     []string // below stand lines of their own
	nameCode, tempCode, throttled   string
	barUsed, barForeign, barClaimed float64 // parts of its memory
}

func (p *page) gpuTable(gpus []pasar.GPUView, now time.Time) {
	var rows []gpuRow
	for _, g := range family(gpus) {
		rows = append(rows, p.gpuRow(g, g.UUID != "" && slices.ContainsFunc(gpus, func(o pasar.GPUView) bool { return o.Parent == g.UUID }), now))
	}
	wide := p.s.Width == 0 || p.s.Width >= 110
	cells := func(r *gpuRow) []*string {
		c := []*string{&r.mem}
		if wide {
			c = append(c, &r.free)
		}
		c = append(c, &r.use, &r.temp, &r.power)
		if wide {
			c = append(c, &r.fan, &r.clock)
		}
		return c
	}
	head := gpuRow{index: "GPU", name: "NAME", mem: "MEMORY", free: "FREE", use: "USE", temp: "TEMP", power: "POWER", fan: "FAN", clock: "CLOCK"}
	widths := make([]int, len(cells(&head)))
	indexWidth, nameWidth, known := 3, 4, make([]bool, len(widths))
	for i := range rows {
		r := &rows[i]
		indexWidth, nameWidth = max(indexWidth, columns(r.index)), max(nameWidth, columns(r.name))
		for k, c := range cells(r) {
			widths[k], known[k] = max(widths[k], columns(*c)), known[k] || *c != ""
		}
	}
	if p.s.Width > 0 && !wide {
		nameWidth = min(nameWidth, 20)
	}
	fixed := indexWidth + gap + nameWidth
	for k, c := range cells(&head) {
		if widths[k] = max(widths[k], columns(*c)); known[k] {
			fixed += gap + widths[k]
		}
	}
	// The bar has what is left, but for room to name a job or two.
	bar := 24
	if p.s.Width > 0 {
		bar = min(40, max(8, p.s.Width-fixed-gap-16))
	}
	line := func(r *gpuRow, bars string) string {
		s := p.s
		out := pad(r.index, indexWidth) + strings.Repeat(" ", gap) + s.paint(r.nameCode, pad(Cut(r.name, nameWidth), nameWidth))
		for k, c := range cells(r) {
			if !known[k] {
				continue
			}
			text := strings.Repeat(" ", max(0, widths[k]-columns(*c))) + *c
			switch c {
			case &r.mem:
				out += strings.Repeat(" ", gap) + bars + " " + text
				continue
			case &r.temp:
				text = s.paint(r.tempCode, text)
			case &r.power, &r.clock:
				text = s.paint(r.throttled, text)
			}
			out += strings.Repeat(" ", gap) + text
		}
		return out
	}
	title := line(&head, strings.Repeat(" ", bar))
	const legend = "█ used ░ claimed"
	if bar >= columns(legend) {
		title = line(&head, pad(legend, bar))
	}
	p.b.WriteString(p.s.Dim(strings.TrimRight(title, " ")+"  JOBS") + "\n")
	for i := range rows {
		r := &rows[i]
		text := line(r, p.bar(r, bar))
		jobs := strings.Join(r.jobs, "  ")
		if used := columns(text) + gap; p.s.Width > 0 && used+columns(jobs) > p.s.Width {
			r.below = append([]string{jobs}, r.below...)
			jobs = ""
		}
		p.b.WriteString(strings.TrimRight(text+strings.Repeat(" ", gap)+jobs, " ") + "\n")
		for _, l := range r.below {
			p.hang(strings.Repeat(" ", indexWidth+gap)+l, indexWidth+2*gap)
		}
	}
}

// family orders GPUs so that MIG instances stand below the GPU that they are a part of.
func family(gpus []pasar.GPUView) []*pasar.GPUView {
	var out []*pasar.GPUView
	placed := map[string]bool{}
	for i := range gpus {
		g := &gpus[i]
		if g.Parent != "" && slices.ContainsFunc(gpus, func(o pasar.GPUView) bool { return o.UUID == g.Parent }) || placed[g.UUID] {
			continue
		}
		out = append(out, g)
		for k := range gpus {
			if o := &gpus[k]; g.UUID != "" && o.Parent == g.UUID && !placed[o.UUID] {
				placed[o.UUID] = true
				out = append(out, o)
			}
		}
	}
	return out
}

func pad(s string, width int) string { return s + strings.Repeat(" ", max(0, width-columns(s))) }

// shortUUID is enough of a UUID to name a MIG instance by.
const shortUUID = len("MIG-") + 8

// gpuRow lays a GPU out; one that is divided into MIG instances takes no jobs itself.
func (p *page) gpuRow(g *pasar.GPUView, divided bool, now time.Time) gpuRow {
	r := gpuRow{g: g, index: strconv.Itoa(g.Index), name: strings.TrimPrefix(pasar.Clean(g.Name), "NVIDIA "), free: g.Free.String()}
	if g.Parent != "" {
		r.index = " └"
		if _, profile, ok := strings.Cut(r.name, "MIG "); ok {
			r.name = profile
		}
		if uuid := pasar.Clean(g.UUID); len(uuid) > shortUUID {
			r.name += " " + uuid[:shortUUID]
		}
	}
	used, foreign, byJob := occupied(g)
	r.mem = memory(g.Used, g.Total)
	if g.Total > 0 {
		total := float64(g.Total)
		r.barUsed, r.barForeign = float64(max(0, used-foreign))/total, float64(foreign)/total
		r.barClaimed = float64(max(0, g.Claimed-max(0, used-foreign))) / total
	}
	if g.Util != nil {
		r.use = strconv.FormatFloat(*g.Util, 'f', 0, 64) + " %"
	}
	p.warmth(&r, g)
	for _, id := range g.Jobs {
		text := p.s.paint(green, "#"+id.String())
		if b, ok := byJob[id]; ok {
			text += " " + b.String()
		}
		r.jobs = append(r.jobs, text)
	}
	strangers := p.strangers(g)
	healthy := g.Drained == nil && (g.Status == nil || *g.Status == pasar.GPUOK)
	if len(r.jobs) == 0 && len(strangers) == 0 && len(g.Leaving) == 0 && healthy && !divided {
		r.jobs = []string{p.s.Dim("idle")}
	}
	if len(strangers) > 0 {
		r.below = append(r.below, p.s.paint(yellow, "not pasar's: ")+strings.Join(strangers, ", "))
	}
	r.below = append(r.below, p.gpuNotes(g, now)...)
	if !healthy {
		r.nameCode = red
	}
	return r
}

// warmth fills in what concerns heat and power.
func (p *page) warmth(r *gpuRow, g *pasar.GPUView) {
	if g.TempC != nil {
		r.temp = strconv.FormatFloat(*g.TempC, 'f', 0, 64) + "°C"
		switch over, known := heat(g); {
		case known && over >= 0:
			r.tempCode = red
		case known && over >= -nearHot:
			r.tempCode = yellow
		}
	}
	if g.PowerW != nil {
		r.power = strconv.FormatFloat(*g.PowerW, 'f', 0, 64)
		if g.LimitW != nil {
			r.power += "/" + strconv.FormatFloat(*g.LimitW, 'f', 0, 64)
		}
		r.power += " W"
	}
	if g.FanPct != nil {
		r.fan = strconv.FormatFloat(*g.FanPct, 'f', 0, 64) + " %"
	}
	if g.ClockMHz != nil {
		r.clock = strconv.FormatFloat(*g.ClockMHz, 'f', 0, 64) + " MHz"
	}
	if len(g.Throttle) > 0 {
		r.throttled = yellow
	}
}

// nearHot is from how many degrees below being hot a GPU is warm.
const nearHot = 10

// heat is by how many degrees a GPU is hotter than where it is hot from, and whether that is known.
func heat(g *pasar.GPUView) (over float64, known bool) {
	if g.TempC == nil || g.HotC == nil {
		return 0, false
	}
	return *g.TempC - *g.HotC, true
}

// occupied is how much of a GPU is in use, how much of that by processes that aren't pasar's, and by each job.
func occupied(g *pasar.GPUView) (used, foreign pasar.Bytes, byJob map[pasar.JobID]pasar.Bytes) {
	byJob = map[pasar.JobID]pasar.Bytes{}
	for _, pr := range g.Processes {
		switch {
		case pr.Used == nil:
		case pr.Job != nil:
			byJob[*pr.Job] += *pr.Used
		default:
			foreign += *pr.Used
		}
	}
	if g.Used != nil {
		used = *g.Used
	}
	return used, min(foreign, used), byJob
}

// memory is "63.2/139 GiB".
func memory(used *pasar.Bytes, total pasar.Bytes) string {
	unit, name := pasar.GiB, " GiB"
	if total < pasar.GiB {
		unit, name = pasar.MiB, " MiB"
	}
	amount := func(b pasar.Bytes) string {
		f := float64(b) / float64(unit)
		if f < 10 && b > 0 {
			return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0")
		}
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	if used == nil {
		return amount(total) + name
	}
	return amount(*used) + "/" + amount(total) + name
}

// strangers are the processes that pasar did not start, those that only draw last and dim.
func (p *page) strangers(g *pasar.GPUView) []string {
	var compute, graphics []string
	for _, pr := range g.Processes {
		if pr.Job != nil {
			continue
		}
		text := pasar.Clean(pr.Name)
		if text == "" {
			text = "a process"
		}
		if pr.User != "" {
			text += " of " + pasar.Clean(pr.User)
		}
		text += " (pid " + strconv.Itoa(pr.Pid) + ")"
		if pr.Used != nil {
			text += " " + pr.Used.String()
		}
		if pr.Graphics {
			graphics = append(graphics, p.s.Dim(text))
		} else {
			compute = append(compute, text)
		}
	}
	return append(compute, graphics...)
}

// gpuNotes are what people should know of a GPU, worst first.
func (p *page) gpuNotes(g *pasar.GPUView, now time.Time) (out []string) {
	if g.Status != nil {
		switch *g.Status {
		case pasar.GPUOK:
		case pasar.GPUUnresponsive:
			out = append(out, p.s.paint(red, "unresponsive: a call to its driver hangs; its numbers are the last ones known"))
		case pasar.GPULost:
			out = append(out, p.s.paint(red, "lost: its driver says that it is gone"))
		default:
			out = append(out, p.s.paint(red, pasar.Clean(string(*g.Status))))
		}
	}
	if g.Drained != nil {
		out = append(out, p.s.paint(red, drainedWords(g.Drained, now)))
	}
	for _, l := range g.Leaving {
		what := "its memory"
		if l.Used != nil && *l.Used > 0 {
			what = l.Used.String()
		}
		if g.Status != nil && *g.Status != pasar.GPUOK {
			out = append(out, fmt.Sprintf("#%d has ended %s ago; GPU %d doesn't answer, so it isn't known whether its memory is free", l.Job, Ago(l.Since, now), g.Index))
		} else if l.Leaked {
			out = append(out, p.s.paint(red, fmt.Sprintf("#%d left %s behind %s ago: it stays charged", l.Job, what, Ago(l.Since, now))))
		} else {
			out = append(out, fmt.Sprintf("#%d has ended %s ago; waits for %s to be free", l.Job, Ago(l.Since, now), what))
		}
	}
	if g.Settling != nil {
		out = append(out, fmt.Sprintf("#%d has just started: the next slice waits until its memory is flat", *g.Settling))
	}
	if len(g.Throttle) > 0 {
		words := make([]string, len(g.Throttle))
		for i, t := range g.Throttle {
			words[i] = strings.ReplaceAll(pasar.Clean(t), "_", " ")
		}
		out = append(out, p.s.paint(yellow, "clocks are held back: "+strings.Join(words, ", ")))
	}
	if g.Exclusive {
		out = append(out, "in exclusive mode: one process at a time, so only whole GPUs")
	}
	return out
}

// drainedWords says why nothing starts somewhere and what is to be done about it.
func drainedWords(h *pasar.Health, now time.Time) string {
	s := pasar.Clean(h.Reason)
	if !strings.HasPrefix(s, "drained") { // it is "drained by ada: …" if a person did
		s = strings.TrimSuffix("drained: "+s, ": ")
	}
	if !h.Since.IsZero() {
		s += " (since " + When(h.Since, now) + ")"
	}
	if h.Remedy != "" {
		s += "; " + pasar.Clean(h.Remedy)
	}
	return s
}

// bar shows a GPU's memory: in use by jobs and by others, claimed beyond that, and free.
func (p *page) bar(r *gpuRow, width int) string {
	at := func(part float64) int { return min(width, int(part*float64(width)+0.5)) }
	used := at(r.barUsed)
	if used == 0 && r.barUsed > 0.001 {
		used = 1
	}
	foreign := max(used, at(r.barUsed+r.barForeign))
	claimed := max(foreign, at(r.barUsed+r.barForeign+r.barClaimed))
	return p.s.paint(green, strings.Repeat("█", used)) + p.s.paint(yellow, strings.Repeat("█", foreign-used)) +
		p.s.paint(green, strings.Repeat("░", claimed-foreign)) + p.s.Dim(strings.Repeat("·", width-claimed))
}
