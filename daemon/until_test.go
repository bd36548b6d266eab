package daemon

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pasar"
	"pasar/ipc"
)

func TestListsAndChangesAreOfWhatHappenedUntilThen(t *testing.T) {
	c := newWire(t, 1)
	var created []time.Time
	for _, name := range []string{"first", "second", "third"} {
		s := spec(name, 1000)
		s.Hold = true
		var v pasar.JobView
		if err := json.Unmarshal(c.submit(s).View, &v); err != nil {
			t.Fatal(err)
		}
		created = append(created, v.Created)
	}
	if _, err := c.Cancel(c.ctx, jobs(1)); err != nil { // it ended after the last was made
		t.Fatal(err)
	}
	done := errors.New("seen")
	for _, tc := range []struct {
		r    ipc.ListRequest
		want []pasar.JobID
	}{
		{ipc.ListRequest{Until: created[2]}, []pasar.JobID{2, 1}},
		{ipc.ListRequest{Until: created[0]}, nil},
		{ipc.ListRequest{Since: created[1]}, []pasar.JobID{2, 3, 1}},
		{ipc.ListRequest{Since: created[1], Until: created[2]}, []pasar.JobID{2}},
		{ipc.ListRequest{Until: created[2].Add(time.Hour)}, []pasar.JobID{2, 3, 1}},
	} {
		var listed, changed []pasar.JobID
		err := c.List(c.ctx, tc.r, func(lines []byte) error {
			for line := range strings.Lines(string(lines)) {
				var v pasar.JobView
				if err := json.Unmarshal([]byte(line), &v); err != nil {
					return err
				}
				listed = append(listed, v.ID)
			}
			return nil
		})
		if err != nil || !slices.Equal(listed, tc.want) {
			t.Errorf("%+v: %v, %v; want %v", tc.r, listed, err, tc.want)
		}
		err = c.Changes(c.ctx, ipc.ChangesRequest{List: tc.r}, func(b []byte) error {
			var v pasar.ChangesView
			if err := json.Unmarshal(b, &v); err != nil {
				return err
			}
			for i := range v.Jobs {
				changed = append(changed, v.Jobs[i].ID)
			}
			return done
		})
		if !errors.Is(err, done) || !slices.Equal(changed, tc.want) {
			t.Errorf("changes of %+v: %v, %v; want %v", tc.r, changed, err, tc.want)
		}
	}
	backwards := ipc.ListRequest{Since: created[1], Until: created[1]}
	if err := c.List(c.ctx, backwards, nil); codeOf(err) != ipc.CodeBadRequest {
		t.Errorf("a list of no time: %v", err)
	}
	if err := c.Changes(c.ctx, ipc.ChangesRequest{List: backwards}, nil); codeOf(err) != ipc.CodeBadRequest {
		t.Errorf("changes of no time: %v", err)
	}
}
