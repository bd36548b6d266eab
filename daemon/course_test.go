package daemon

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pasar"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func seen(gpu pasar.Bytes, use float64) coursePoint {
	return coursePoint{gpu: knownBytes(&gpu), use: use, looks: 1}
}

func TestACourseThatIsFullGoesOnInStepsTwiceAsLong(t *testing.T) {
	c := newCourse(noon)
	look := func(i int) {
		p := seen(pasar.Bytes(i), 0.25)
		if i%2 == 1 {
			p.use = 0.75
		}
		c.add(noon.Add(time.Duration(i)*5*time.Second), p)
	}
	for i := range 720 { // an hour
		look(i)
	}
	step, points := c.view(pasar.MaxUsagePoints)
	if step.Seconds() != 10 || len(points) != 360 || *points[359].GPU != 719 || *points[359].Use != 0.5 || points[359].Host != nil {
		t.Fatalf("steps of %s: %d points, the last %+v", step, len(points), points[len(points)-1])
	}
	look(720)
	step, points = c.view(pasar.MaxUsagePoints)
	if step.Seconds() != 20 || len(points) != 181 || *points[0].GPU != 3 || *points[179].GPU != 719 || *points[180].GPU != 720 || *points[0].Use != 0.5 || !points[180].At.Equal(noon.Add(time.Hour)) {
		t.Errorf("steps of %s: %d points, the last %+v", step, len(points), points[len(points)-1])
	}
	for i := 721; i < 12*24*365; i += 97 { // most of a week, looked at seldom
		look(i)
	}
	if step, points = c.view(pasar.MaxUsagePoints); len(points) > pasar.MaxUsagePoints || len(points) <= pasar.MaxUsagePoints/2 || points[len(points)-1].GPU == nil {
		t.Errorf("steps of %s: %d points", step, len(points))
	}
	for most := 1; most <= 400; most++ {
		step, few := c.view(most)
		if len(few) > most || len(few) == 0 || !few[0].At.Equal(noon) {
			t.Fatalf("%d points where %d were wanted", len(few), most)
		}
		if len(few) > 1 && few[1].At.Sub(few[0].At) != time.Duration(step) {
			t.Fatalf("steps of %s", step)
		}
	}
}

func TestWhatNobodySawIsUnknownAndNotNothing(t *testing.T) {
	c := newCourse(noon)
	zero := pasar.Bytes(0)
	c.add(noon.Add(35*time.Second), coursePoint{host: knownBytes(&zero)})
	c.add(noon.Add(time.Minute), seen(7, 1))
	c.add(noon.Add(-time.Hour), seen(9, 0)) // the clock was set back
	_, points := c.view(360)
	if len(points) != 7 {
		t.Fatalf("%d points", len(points))
	}
	for i, p := range points {
		if (p.Host != nil) != (i == 3) || (p.GPU != nil) != (i == 6) || (p.Use != nil) != (i == 6) {
			t.Errorf("point %d is %+v", i, p)
		}
	}
	if *points[3].Host != 0 || *points[6].GPU != 9 || *points[6].Use != 0.5 {
		t.Errorf("%+v", points)
	}
	c.add(noon.AddDate(200, 0, 0), seen(1, 1)) // set forward
	if _, points := c.view(360); len(points) > 360 || *points[0].GPU != 9 {
		t.Errorf("%d points", len(points))
	}
	if step, points := newCourse(noon).view(360); len(points) != 0 || points == nil || step.Seconds() != 10 {
		t.Errorf("of nothing: %v", points)
	}
}

// TestACourseInTwoPartsIsTheWhole: what one daemon saw and wrote, and what the next saw, whatever their steps.
func TestACourseInTwoPartsIsTheWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		looks := 1 + r.IntN(3000)
		cut := r.IntN(looks)
		whole, first, second := newCourse(noon), newCourse(noon), newCourse(noon)
		for i := range looks {
			at, p := noon.Add(time.Duration(i)*3*time.Second), seen(pasar.Bytes(r.IntN(1000)), float64(r.IntN(5))/4)
			whole.add(at, p)
			if i < cut {
				first.add(at, p)
			} else {
				second.add(at, p)
			}
		}
		b, err := first.encode()
		if err != nil || len(b) > maxCourseFile {
			t.Fatal(len(b), err)
		}
		read, err := decodeCourse(b)
		if err != nil {
			t.Fatal(err)
		}
		second.merge(read)
		if got, want := round(second), round(whole); got != want {
			t.Fatalf("cut at %d of %d:\n%s\nwant\n%s", cut, looks, got, want)
		}
	}
	c, other := newCourse(noon), newCourse(noon.Add(time.Second))
	other.add(noon.Add(time.Minute), seen(1, 1))
	if c.merge(other); len(c.points) != 0 {
		t.Error("an attempt has what another used")
	}
}

// round is a course as text, its means to a millionth.
func round(c *course) string {
	var b strings.Builder
	step, points := c.view(360)
	fmt.Fprintln(&b, step)
	for _, p := range points {
		fmt.Fprintf(&b, "%s %v %v", p.At.Format(time.TimeOnly), orZero(p.GPU), p.GPU == nil)
		if p.Use != nil {
			fmt.Fprintf(&b, " %.6f", *p.Use)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func FuzzDecodeCourse(f *testing.F) {
	c := newCourse(noon)
	for i := range 800 {
		c.add(noon.Add(time.Duration(i)*7*time.Second), seen(pasar.Bytes(i)*pasar.GiB, 0.5))
	}
	b, err := c.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	for _, s := range []string{"", "{}", "null", `{"schema":1,"start":"2026-03-04T12:00:00Z","step":10,"points":[[1,2,0.5,3]]}`, `{"schema":1,"step":15}`, `{"schema":1,"step":-10}`,
		`{"schema":1,"step":9223372036854775807}`, `{"schema":1,"step":10,"points":[[-1]]}`, `{"schema":1,"step":10,"points":[[1e300,null,2,1]]}`, `{"schema":1,"step":10,"points":[[null,null,0.5,1e11]]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := decodeCourse(b)
		if err != nil {
			return
		}
		if len(c.points) > pasar.MaxUsagePoints || c.step < courseStep {
			t.Fatalf("%d points of %s", len(c.points), c.step)
		}
		c.add(c.start.Add(time.Hour), seen(1, 1))
		_, points := c.view(100)
		mustJSON(t, points)
		again, err := c.encode()
		if err != nil {
			t.Fatal(err)
		}
		d, err := decodeCourse(again)
		if err != nil {
			t.Fatalf("%v: %s", err, again)
		}
		if twice, _ := d.encode(); !bytes.Equal(bytes.TrimSpace(twice), bytes.TrimSpace(again)) && len(d.points) != len(c.points) {
			t.Fatalf("%s\n%s", again, twice)
		}
	})
}
