package console

import (
	"fmt"
	"strings"
	"time"

	"pasar"
	"pasar/ui"
)

// The market is the first page: who keeps the stall, the GPUs, time, and the jobs.
type market struct {
	c    *console
	time timeline
	jobs table
	side *jobPane // of the chosen job, where there is room; nil: there isn't
	page int      // rows of jobs that are seen
	lane area     // of the timeline, as drawn
}

func newMarket(c *console) *market {
	m := &market{c: c}
	m.time.c = c
	m.jobs = newTable(c)
	return m
}

func (m *market) place() ui.Place { return ui.InMarket }

func (m *market) close() {}

func (m *market) changed() {
	m.jobs.changed()
	if m.side != nil {
		m.side.changed()
	}
}

// From so much on there is room for a page of the chosen job beside the market, and for the whole stall.
const (
	sideCols  = 150
	sideRows  = 36
	stallRows = 30
	stallCols = 60
)

func (m *market) draw(p *painter, a area) {
	now := m.c.opt.now()
	head := 1
	if a.h >= stallRows && a.w >= stallCols {
		head = 3
	}
	m.header(p, a.rows(0, head), now)
	at := head
	for _, b := range m.banners(now) {
		if at < a.h-6 {
			p.line(a, at, b.line)
			p.on(a.rows(at, 1), b.click)
			at++
		}
	}
	rest := a.rows(at, a.h)
	if a.w >= sideCols && a.h >= sideRows {
		w := a.w * 11 / 20
		m.beside(p, rest.cols(w+1, a.w))
		for y := range rest.h {
			p.text(rest.cols(w, 1), y, ui.Faint, map[bool]string{false: "│", true: "|"}[p.ascii])
		}
		rest = rest.cols(0, w)
	} else if m.side != nil {
		m.side.close()
		m.side = nil
	}
	m.sections(p, rest, now)
}

// sections draws GPUs, time and jobs: each gets its part of the height, and jobs all that is left.
func (m *market) sections(p *painter, a area, now time.Time) {
	gpus := m.gpuRows()
	budget := max(1, (a.h-8)/4)
	rows := min(len(gpus), budget)
	if a.h < 12 {
		rows = 0
	}
	at := 0
	if rows > 0 {
		m.gpus(p, a.rows(0, rows+1), gpus)
		at = rows + 1
	}
	lanes := 0
	if a.h >= 14 {
		lanes = m.time.draw(p, a.rows(at, 2+max(1, (a.h-at)/4)), now, m.jobs.chosen())
		m.lane = a.rows(at, lanes)
	} else {
		m.lane = area{}
	}
	m.jobs.draw(p, a.rows(at+lanes, a.h), now)
	m.page = max(1, a.h-at-lanes-2)
}

// header says how things are in one sentence, with the keeper of the stall.
func (m *market) header(p *painter, a area, now time.Time) {
	mood, why, _ := ui.MoodOf(m.c.snap, now)
	clock := ui.Line{{Text: now.Format("15:04") + " ", Role: ui.Faint}}
	head := ui.Headline(m.c.snap, now)
	p.on(a.cols(0, 11), func() { m.c.say(ui.Plain, string(mood)+": "+why) })
	if a.h == 1 {
		x := p.line(a.cols(1, a.w), 0, ui.Line{{Text: ui.Face(mood, p.ascii), Role: mood.Role()}}) + 2
		p.line(a.cols(x, a.w-x-7), 0, ui.Line{{Text: head, Bold: true}})
		p.right(a, 0, clock)
		return
	}
	for y, l := range ui.Stall(mood, p.ascii) {
		p.line(a.cols(1, 11), y, l)
	}
	text := a.cols(14, a.w)
	p.line(text.cols(0, text.w-8), 0, ui.Line{{Text: "pasar", Role: ui.Accent, Bold: true}, {Text: m.where(), Role: ui.Faint}})
	p.line(text, 1, ui.Line{{Text: head, Bold: true}})
	p.text(text, 2, ui.Faint, ui.Pool(m.c.snap))
	p.right(a, 0, clock)
}

// where is which daemon this is about.
func (m *market) where() string {
	s := m.c.snap.Status
	if s == nil {
		return ""
	}
	return fmt.Sprintf("  pasard %s, up %s", ui.Shown(s.Version), ui.Ago(s.StartedAt, m.c.opt.now()))
}

// A banner is what must not be overlooked, and what a click on it does.
type banner struct {
	line  ui.Line
	click func()
}

func (m *market) banners(now time.Time) (out []banner) {
	s := m.c.snap
	if s.Lost != "" {
		text := " no connection; R tries at once"
		if !s.At.IsZero() {
			text = " no connection: this is how it was at " + s.At.In(now.Location()).Format("15:04:05") + "; R tries at once"
		}
		out = append(out, banner{ui.Line{{Text: text, Role: ui.Bad, Bold: true}}, func() { m.c.act(ui.ActRevive) }})
	}
	if s.Approvals != nil && len(s.Approvals.Requests) > 0 {
		out = append(out, banner{ui.Line{{Text: " " + ui.AwaitsApproval(s.Approvals) + ": c shows it", Role: ui.Warn, Bold: true}}, func() { m.c.act(ui.ActCloud) }})
	}
	if s.Status != nil {
		if s.Status.Problem != nil {
			out = append(out, banner{ui.Line{{Text: " problem: " + ui.Shown(*s.Status.Problem), Role: ui.Bad}}, func() { m.c.act(ui.ActGPUs) }})
		}
		if s.Status.Warning != nil {
			out = append(out, banner{ui.Line{{Text: " warning: " + ui.Shown(*s.Status.Warning), Role: ui.Warn}}, func() { m.c.say(ui.Warn, *s.Status.Warning) }})
		}
		if in, n := recent(s.Status.Incidents, now); n > 0 {
			text := " " + ui.When(in.At, now) + " " + ui.Shown(in.What+": "+in.Detail)
			if n > 1 {
				text = fmt.Sprintf(" %d incidents: g shows them; the last:", n) + text
			}
			out = append(out, banner{ui.Line{{Text: text, Role: ui.Warn}}, func() { m.c.act(ui.ActGPUs) }})
		}
		for i := range s.Status.Machines {
			for _, note := range s.Status.Machines[i].Notes {
				if strings.HasPrefix(note, "GPU ") { // one that takes no jobs has no row
					out = append(out, banner{ui.Line{{Text: " " + ui.Shown(note), Role: ui.Bad}}, func() { m.c.act(ui.ActGPUs) }})
				}
			}
		}
	}
	return out
}

// recent is the last incident, and how many there were in the last minutes.
func recent(all []pasar.IncidentView, now time.Time) (last pasar.IncidentView, n int) {
	for _, in := range all {
		if now.Sub(in.At) < incidentFor {
			last, n = in, n+1
		}
	}
	return last, n
}

// incidentFor is how long an incident stands above the market.
const incidentFor = 5 * time.Minute

// A gpuRow is a GPU and its machine.
type gpuRow struct {
	machine *pasar.MachineView
	gpu     *pasar.GPUView
}

func (m *market) gpuRows() (out []gpuRow) {
	if m.c.snap.GPUs == nil {
		return nil
	}
	for i := range m.c.snap.GPUs.Machines {
		mv := &m.c.snap.GPUs.Machines[i]
		for k := range mv.GPUs {
			out = append(out, gpuRow{mv, &mv.GPUs[k]})
		}
	}
	return out
}

// gpus draws a row for each GPU, as far as there is room.
func (m *market) gpus(p *painter, a area, rows []gpuRow) {
	right := ui.Line{}
	if n := len(rows) - (a.h - 1); n > 0 {
		right = ui.Line{{Text: fmt.Sprintf("and %d more: g", n), Role: ui.Faint}}
	} else if a.w >= 70 {
		right = ui.Line{{Text: ui.MemoryLegend(p.ascii), Role: ui.Faint}}
	}
	p.rule(a, 0, "GPUs", right)
	p.on(a.rows(0, 1), func() { m.c.act(ui.ActGPUs) })
	cells := make([]ui.GPUCells, min(len(rows), a.h-1))
	var label, name, mem, use, temp, power int
	for i := range cells {
		c := ui.GPUCellsOf(rows[i].gpu)
		cells[i] = c
		label = max(label, wide(c.Index)+2)
		name, mem, use, temp, power = max(name, wide(c.Name)), max(mem, wide(c.Memory)), max(use, wide(c.Use)), max(temp, wide(c.Temp)), max(power, wide(c.Power))
	}
	name = min(name, max(8, a.w/6))
	spark := 0
	if use > 0 && a.w >= 100 {
		spark = min(30, a.w/7)
	}
	numbers := 0
	for _, n := range []int{mem, use, temp, power, spark} {
		if n > 0 {
			numbers += n + 2
		}
	}
	bar := max(4, a.w-label-name-2-numbers-2)
	jobs := m.jobs.byID()
	hue := func(id pasar.JobID) int {
		if v := jobs[id]; v != nil {
			return m.c.palette.Hue(v)
		}
		return 0
	}
	for i, c := range cells {
		y := i + 1
		g := rows[i].gpu
		p.line(a.cols(1, label-1), y, ui.Line{{Text: c.Index, Role: ui.Accent}})
		x := label
		p.line(a.cols(x, name), y, ui.Line{{Text: c.Name, Role: c.Role}})
		x += name + 1
		line, at := ui.MemoryBar(g, ui.Claims(g, m.c.snap.Jobs), hue, bar, p.ascii)
		p.line(a.cols(x, bar), y, line)
		if c.Trouble != "" {
			p.text(a.cols(x, bar), y, ui.Bad, c.Trouble+" ")
		}
		for k := 0; k < len(at); {
			n := k + 1
			for n < len(at) && at[n] == at[k] {
				n++
			}
			if id := at[k]; id != 0 {
				p.on(area{a.x + x + k, a.y + y, n - k, 1}, func() { m.jobs.choose(id) })
			}
			k = n
		}
		x += bar + 1
		for _, col := range []struct {
			n    int
			text string
			role ui.Role
		}{{mem, c.Memory, ui.Plain}, {use, c.Use, ui.Plain}, {temp, c.Temp, c.TempRole}, {power, c.Power, c.PowerRole}} {
			if col.n > 0 {
				p.right(a.cols(x, col.n), y, ui.Line{{Text: col.text, Role: col.role}})
				x += col.n + 2
			}
		}
		if spark > 0 {
			p.line(a.cols(x, spark), y, ui.Line{{Text: ui.SparkOf(m.c.gauges.use[gaugeKey(rows[i].machine.Name, g)], spark, 0, 100, p.ascii), Role: ui.Good}})
		}
	}
}

func wide(s string) int { return ui.Line{{Text: s}}.Width() }

// beside draws the chosen job's page at the side.
func (m *market) beside(p *painter, a area) {
	id := m.jobs.chosen()
	if m.side == nil || m.side.id != id {
		if m.side != nil {
			m.side.close()
		}
		m.side = newJobPane(m.c, id)
		m.side.changed()
	}
	if id == 0 {
		p.text(a.cols(1, a.w), 1, ui.Faint, "The chosen job is shown here.")
		return
	}
	m.side.title(p, a)
	m.side.draw(p, a.rows(1, a.h))
}

func (m *market) act(act ui.Act) bool {
	switch act {
	case ui.ActUp:
		m.jobs.move(-1)
	case ui.ActDown:
		m.jobs.move(1)
	case ui.ActPageUp:
		m.jobs.move(-m.page)
	case ui.ActPageDn:
		m.jobs.move(m.page)
	case ui.ActFirst:
		m.jobs.move(-len(m.jobs.rows))
	case ui.ActLast:
		m.jobs.move(len(m.jobs.rows))
	case ui.ActFilter:
		m.jobs.ask()
	case ui.ActSort:
		m.jobs.sortNext()
	case ui.ActReverse:
		m.jobs.reverse()
	case ui.ActAll, ui.ActBack:
		if m.jobs.filter != "" {
			m.jobs.setFilter("")
		}
	case ui.ActEarlier:
		m.time.shift(-1)
	case ui.ActLater:
		m.time.shift(1)
	case ui.ActZoomIn:
		m.time.zoom(-1)
	case ui.ActZoomOut:
		m.time.zoom(1)
	case ui.ActNow:
		m.time.reset()
	default:
		return false
	}
	return true
}

func (m *market) wheel(x, y, by int) {
	switch {
	case m.lane.holds(x, y):
		m.time.zoom(by)
	case m.side != nil && m.side.at.holds(x, y):
		m.side.wheel(x, y, by)
	default:
		m.jobs.scroll(3 * by)
	}
}
