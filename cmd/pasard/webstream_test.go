package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"pasar"
)

// A streamed list is what a client has of `/api/stream`, applied as the protocol says.
type streamedList struct {
	order  []pasar.JobID
	jobs   map[pasar.JobID]pasar.JobView
	status pasar.StatusView
}

func (l *streamedList) apply(name string, v *pasar.ChangesView) error {
	if v.Whole != (name == "snapshot") {
		return fmt.Errorf("a %s whose whole is %v", name, v.Whole)
	}
	if v.Whole {
		*l = streamedList{jobs: map[pasar.JobID]pasar.JobView{}}
	}
	take := func(id pasar.JobID) {
		l.order = slices.DeleteFunc(l.order, func(o pasar.JobID) bool { return o == id })
	}
	for _, id := range v.Gone {
		take(id)
		delete(l.jobs, id)
	}
	for _, j := range v.Jobs {
		l.jobs[j.ID] = j
		if v.Whole {
			l.order = append(l.order, j.ID)
		}
	}
	for _, o := range v.Outlooks {
		j := l.jobs[o.ID]
		j.Reason, j.Summary, j.Remaining, j.Projected, j.Waiting = o.Reason, o.Summary, o.Remaining, o.Projected, o.Waiting
		l.jobs[o.ID] = j
	}
	for _, m := range v.Moved {
		take(m.ID)
		l.order = slices.Insert(l.order, 1+slices.Index(l.order, m.After), m.ID) // behind 0, which is none, is first
	}
	if v.Status != nil {
		l.status = *v.Status
	}
	return nil
}

// text is the list without what moves with time alone.
func (l *streamedList) text(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, id := range l.order {
		v := l.jobs[id]
		v.RunTime, v.Remaining, v.Lost.QueueWait, v.Projected, v.EstRuntime = nil, nil, 0, pasar.ProjectedView{}, nil
		v.Usage = pasar.UsageView{} // measured now and then
		if n := len(v.Attempts); n > 0 {
			v.Attempts = slices.Clone(v.Attempts)
			if v.Attempts[n-1].EndedAt == nil {
				v.Attempts[n-1].RunTime, v.Attempts[n-1].PeakHost = nil, nil
			}
		}
		line, err := v.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	return b.String()
}

func TestWhoAppliesAStreamHasTheListAndAShutdownEndsIt(t *testing.T) {
	h := newHome(t)
	addr := h.startWeb()
	h.pasar("submit", "--gpus", "0", "--wait", "--", "true")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/api/stream?limit=500", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%d %v", res.StatusCode, res.Header)
	}
	in := bufio.NewReader(res.Body)
	var list streamedList
	next := func() error { // applies what comes next
		var name, id string
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return err
			}
			key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			switch key {
			case "event":
				name = value
			case "id":
				id = value
			case "data":
				var v pasar.ChangesView
				if err := json.Unmarshal([]byte(value), &v); err != nil {
					return err
				}
				if id != fmt.Sprint(v.Seq) {
					return fmt.Errorf("id %s of seq %d", id, v.Seq)
				}
				return list.apply(name, &v)
			}
		}
	}
	if err := next(); err != nil || len(list.order) != 1 || list.status.Pid == 0 {
		t.Fatalf("%v: %v", err, list.order)
	}
	for _, args := range [][]string{
		{"submit", "--gpus", "0", "--name", "runs", "--", "sleep", "100"},
		{"submit", "--gpus", "0", "--hold", "--array", "0-19", "--", "true"},
		{"bid", "9", "2000"},
		{"cancel", "5"},
		{"release", "7"},
		{"submit", "--gpus", "0", "--name", "told \u202e", "--after", "2", "--", "true"},
		{"wait", "7"},
	} {
		h.pasar(args...)
	}
	var want streamedList
	for {
		var v struct{ Jobs []pasar.JobView }
		if err := json.Unmarshal([]byte(get(t, "http://"+addr+"/api/jobs?limit=500")), &v); err != nil {
			t.Fatal(err)
		}
		want = streamedList{jobs: map[pasar.JobID]pasar.JobView{}}
		for _, j := range v.Jobs {
			want.order, want.jobs[j.ID] = append(want.order, j.ID), j
		}
		if list.text(t) == want.text(t) {
			break
		}
		if err := next(); err != nil {
			t.Fatalf("%v\nhas %s\n is %s", err, list.text(t), want.text(t))
		}
	}
	if len(want.order) != 23 {
		t.Errorf("%d jobs", len(want.order))
	}
	h.pasar("shutdown")
	for err == nil {
		err = next()
	}
	if ctx.Err() != nil || !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("after the shutdown: %v", err)
	}
}
