package daemon

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pasar"
)

// A clientList is a list as a client has it that does what the protocol says.
type clientList struct {
	order []pasar.JobID
	marks map[pasar.JobID]mark
}

func (c *clientList) apply(t *testing.T, d difference, lines []line) {
	t.Helper()
	for _, id := range d.gone {
		i := slices.Index(c.order, id)
		if i < 0 {
			t.Fatalf("job %d is gone, but was not there", id)
		}
		c.order = slices.Delete(c.order, i, i+1)
		delete(c.marks, id)
	}
	for _, i := range d.jobs {
		c.marks[lines[i].id] = lines[i].mark
	}
	for _, i := range d.outlooks {
		m := lines[i].mark
		m.facts = c.marks[lines[i].id].facts
		c.marks[lines[i].id] = m
	}
	for _, m := range d.moved {
		c.move(t, m)
	}
}

func (c *clientList) move(t *testing.T, m pasar.MovedView) {
	t.Helper()
	if i := slices.Index(c.order, m.ID); i >= 0 {
		c.order = slices.Delete(c.order, i, i+1)
	}
	i := slices.Index(c.order, m.After)
	if i < 0 && m.After != 0 {
		t.Fatalf("job %d comes behind job %d, which isn't there", m.ID, m.After)
	}
	c.order = slices.Insert(c.order, i+1, m.ID)
}

func ids(lines []line) []pasar.JobID {
	var out []pasar.JobID
	for i := range lines {
		out = append(out, lines[i].id)
	}
	return out
}

func lineUp(ids ...pasar.JobID) []line {
	var lines []line
	for _, id := range ids {
		lines = append(lines, line{id: id, mark: mark{facts: uint64(id)}})
	}
	return lines
}

func TestAClientThatAppliesDifferencesHasTheListAsItIs(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	now := time.Unix(1e9, 0)
	var sent sentList
	client := clientList{marks: map[pasar.JobID]mark{}}
	var is []line
	next, sends, late := pasar.JobID(1), 0, 0
	began := now.Add(-1)
	for step := range 5000 {
		now = now.Add(time.Duration(rnd.Int64N(int64(3 * time.Second))))
		for range rnd.IntN(6) {
			at := 0
			if len(is) > 0 {
				at = rnd.IntN(len(is))
			}
			switch what := rnd.IntN(8); {
			case what == 0 && len(is) < 60 || len(is) == 0:
				is = slices.Insert(is, at, line{id: next, mark: mark{facts: rnd.Uint64(), start: now.UnixNano()}})
				next++
			case what == 1:
				is = slices.Delete(is, at, at+1)
			case what == 2:
				is[at].facts = rnd.Uint64()
			case what == 3:
				is[at].rest, is[at].waits = rnd.Uint64(), rnd.IntN(2) == 0
			case what == 4: // creeps
				is[at].start += rnd.Int64N(int64(2 * time.Second))
			case what == 5 && rnd.IntN(2) == 0:
				is[at].ahead = max(0, is[at].ahead+rnd.IntN(9)-4)
			case what == 5:
				is[at].finish = now.UnixNano() + rnd.Int64N(int64(time.Hour))
			case what == 6 && rnd.IntN(50) == 0:
				rnd.Shuffle(len(is), func(i, j int) { is[i], is[j] = is[j], is[i] })
			default:
				l := is[at]
				is = slices.Insert(slices.Delete(is, at, at+1), rnd.IntN(len(is)), l)
			}
		}
		lines := slices.Clone(is)
		up := pasar.Duration(now.Sub(began))
		d := sent.become(now, up, wasIn(&sent, lines), lines)
		if !d.empty() {
			sends++
		}
		client.apply(t, d, lines)
		if want := ids(is); !slices.Equal(client.order, want) || len(client.marks) != len(want) {
			t.Fatalf("step %d: the client has %v (%d), the list is %v", step, client.order, len(client.marks), want)
		}
		for i := range is {
			has, ok := client.marks[is[i].id]
			behind := is[i].waits && !is[i].isNews(&has) && up-sent.lines[i].late < patience(i)
			if sent.lines[i].late > 0 {
				late++
			}
			if !ok || has.facts != is[i].facts || is[i].otherOutlook(&has, now) != (sent.lines[i].late > 0) || sent.lines[i].late > 0 && !behind {
				t.Fatalf("step %d: of job %d the client has %+v, it is %+v", step, is[i].id, has, is[i].mark)
			}
			if sent.lines[i].mark != has {
				t.Fatalf("step %d: of job %d %+v is kept, the client has %+v", step, is[i].id, sent.lines[i].mark, has)
			}
		}
	}
	if sends < 1000 || late < 500 {
		t.Errorf("only %d differences, and %d that waited: that proves little", sends, late)
	}
}

// wasIn is where each job was in the list that was sent.
func wasIn(sent *sentList, lines []line) []int {
	places := sent.places()
	was := make([]int, len(lines))
	for i := range lines {
		was[i] = places.of(lines[i].id)
	}
	return was
}

func TestAJobThatMovesIsOneMove(t *testing.T) {
	var sent sentList
	now := time.Unix(1e9, 0)
	sent.become(now, 1, wasIn(&sent, lineUp(1, 2, 3, 4, 5, 6)), lineUp(1, 2, 3, 4, 5, 6))
	for _, c := range []struct {
		to    []pasar.JobID
		moved []pasar.MovedView
		gone  []pasar.JobID
	}{
		{to: []pasar.JobID{1, 2, 3, 4, 5, 6}},
		{to: []pasar.JobID{1, 5, 2, 3, 4, 6}, moved: []pasar.MovedView{{ID: 5, After: 1}}},
		{to: []pasar.JobID{5, 2, 3, 4, 6, 1}, moved: []pasar.MovedView{{ID: 1, After: 6}}},
		{to: []pasar.JobID{7, 5, 2, 3, 4, 6, 1}, moved: []pasar.MovedView{{ID: 7}}},
		{to: []pasar.JobID{7, 5, 3, 4, 6, 1}, gone: []pasar.JobID{2}},
		{to: nil, gone: []pasar.JobID{7, 5, 3, 4, 6, 1}},
	} {
		lines := lineUp(c.to...)
		d := sent.become(now, 1, wasIn(&sent, lines), lines)
		if !slices.Equal(d.moved, c.moved) || !slices.Equal(d.gone, c.gone) || len(d.outlooks) > 0 {
			t.Errorf("to %v: %+v", c.to, d)
		}
	}
}

func TestATimeThatCreepsIsSentOnceItIsFarFromWhatWasSent(t *testing.T) {
	var sent sentList
	now := time.Unix(1e9, 0)
	lines := lineUp(1)
	lines[0].start = now.Add(100 * time.Second).UnixNano() // a hundredth of it is a second
	sent.become(now, 1, wasIn(&sent, lines), slices.Clone(lines))
	var after []int
	for i := range 8 {
		lines[0].start += int64(600 * time.Millisecond)
		if d := sent.become(now, 1, wasIn(&sent, lines), slices.Clone(lines)); len(d.outlooks) > 0 {
			after = append(after, i)
		}
	}
	if !slices.Equal(after, []int{3, 7}) { // 2.4 s are more than 2 s and a little
		t.Errorf("sent after steps %v", after)
	}
	lines[0].start = 0
	if d := sent.become(now, 1, wasIn(&sent, lines), lines); !slices.Equal(d.outlooks, []int{0}) {
		t.Errorf("a start that isn't known any more: %+v", d)
	}
}

func TestWhatAJobFarBackWaitsForIsToldWhenItHasNotBeenForLong(t *testing.T) {
	var sent sentList
	var lines []line
	for id := range pasar.JobID(31) {
		lines = append(lines, line{id: id + 1, mark: mark{ahead: 5000}, waits: id != 30}) // the last one runs
	}
	at := func(up time.Duration) []int {
		return sent.become(time.Unix(1e9, 0), pasar.Duration(up), wasIn(&sent, lines), slices.Clone(lines)).outlooks
	}
	at(time.Second)
	for i := range lines {
		lines[i].ahead -= 450
	}
	if got := at(2 * time.Second); got != nil {
		t.Errorf("not a tenth fewer ahead: %v", got)
	}
	for i := range lines {
		lines[i].rest++
	}
	if got := at(3 * time.Second); !slices.Equal(got, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 30}) {
		t.Errorf("at once: %v", got)
	}
	lines[29].why++
	lines[28].start = 1
	if got := at(5*time.Second + 100*time.Millisecond); !slices.Equal(got, []int{20, 21, 28, 29}) {
		t.Errorf("after 2.1 s: %v", got)
	}
	for i := range 23 {
		lines[i].rest++
	}
	for i := range 20 {
		lines[i].rest--
	}
	lines[25].rest-- // it is as it was told
	if got := at(5*time.Second + 600*time.Millisecond); !slices.Equal(got, []int{22, 23, 24, 26}) {
		t.Errorf("after 2.6 s: %v", got)
	}
	if got := at(time.Hour); !slices.Equal(got, []int{20, 21, 27}) {
		t.Errorf("in the end: %v", got)
	}
	if got := patience(10_000); got != pasar.Duration(time.Minute) {
		t.Errorf("patience is %v", got)
	}
}
