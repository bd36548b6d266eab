package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"pasar"
)

const (
	// courseStep is the time of a point of a course, at first.
	courseStep = 10 * time.Second
	// maxCourseFile bounds the file of a course, in bytes: a point takes about sixty.
	maxCourseFile = 128 << 10
)

// A course is what an attempt used over its life, in steps of the same length from its start on. When there are too
// many, two become one: so a course takes the same room however long the attempt runs.
type course struct {
	start  time.Time
	step   time.Duration // courseStep times a power of two
	points []coursePoint // at most pasar.MaxUsagePoints
}

// A coursePoint is what was used in the time of a step. Where nobody looked it is empty.
type coursePoint struct {
	gpu, host known0
	use       float64 // of so many looks, added up
	looks     int
}

// known0 is a number of bytes and one; 0: not known.
type known0 pasar.Bytes

func knownBytes(b *pasar.Bytes) known0 {
	if b == nil || *b < 0 {
		return 0
	}
	return known0(*b) + 1
}

func (k known0) bytes() *pasar.Bytes {
	if k == 0 {
		return nil
	}
	b := pasar.Bytes(k) - 1
	return &b
}

func (p coursePoint) and(o coursePoint) coursePoint {
	return coursePoint{max(p.gpu, o.gpu), max(p.host, o.host), p.use + o.use, p.looks + o.looks}
}

func newCourse(start time.Time) *course { return &course{start: start, step: courseStep} }

// add puts what was seen at a time into its step. What comes before the latest step, as where the clock went back,
// counts in the latest.
func (c *course) add(at time.Time, p coursePoint) {
	for at.Sub(c.start)/c.step >= pasar.MaxUsagePoints {
		c.double()
	}
	i := max(int(at.Sub(c.start)/c.step), len(c.points)-1, 0)
	for len(c.points) <= i {
		c.points = append(c.points, coursePoint{})
	}
	c.points[i] = c.points[i].and(p)
}

// double makes one of each two points.
func (c *course) double() {
	c.step *= 2
	c.points = grouped(c.points, 2)
}

// grouped makes one of each so many points.
func grouped(points []coursePoint, many int) []coursePoint {
	out := make([]coursePoint, 0, (len(points)+many-1)/many)
	for i, p := range points {
		if i%many == 0 {
			out = append(out, p)
		} else {
			out[len(out)-1] = out[len(out)-1].and(p)
		}
	}
	return out
}

// merge adds what another course of the same attempt has. One of another start is not of it.
func (c *course) merge(o *course) {
	if !o.start.Equal(c.start) {
		return
	}
	other := &course{o.start, o.step, o.points}
	for other.step < c.step {
		other.double()
	}
	for c.step < other.step {
		c.double()
	}
	for i, p := range other.points {
		if i == len(c.points) {
			c.points = append(c.points, p)
		} else {
			c.points[i] = c.points[i].and(p)
		}
	}
}

// clone is a copy that changes of the original leave alone.
func (c *course) clone() *course {
	return &course{c.start, c.step, append([]coursePoint(nil), c.points...)}
}

// view is a course in at most so many points.
func (c *course) view(most int) (step pasar.Duration, points []pasar.UsagePoint) {
	many := max(1, (len(c.points)+most-1)/most)
	points = []pasar.UsagePoint{}
	wide := time.Duration(many) * c.step
	for i, p := range grouped(c.points, many) {
		v := pasar.UsagePoint{At: c.start.Add(time.Duration(i) * wide).UTC(), GPU: p.gpu.bytes(), Host: p.host.bytes()}
		if p.looks > 0 {
			use := p.use / float64(p.looks)
			v.Use = &use
		}
		points = append(points, v)
	}
	return pasar.Duration(wide), points
}

// courseFile is a course as its file has it.
type courseFile struct {
	Schema int           `json:"schema"`
	Start  time.Time     `json:"start"`
	Step   int64         `json:"step"`   // seconds
	Points [][4]*float64 `json:"points"` // of GPU and host the most, in bytes; of use the mean, and of how many looks
}

func (c *course) encode() ([]byte, error) {
	f := courseFile{Schema: pasar.Schema, Start: c.start.UTC(), Step: int64(c.step / time.Second), Points: make([][4]*float64, len(c.points))}
	number := func(k known0) *float64 {
		if k == 0 {
			return nil
		}
		n := float64(k - 1)
		return &n
	}
	for i, p := range c.points {
		f.Points[i] = [4]*float64{number(p.gpu), number(p.host), nil, nil}
		if p.looks > 0 {
			mean, looks := p.use/float64(p.looks), float64(p.looks)
			f.Points[i][2], f.Points[i][3] = &mean, &looks
		}
	}
	b, err := json.Marshal(f)
	return append(b, '\n'), err
}

// decodeCourse reads the file of a course, which a job may have made anything of.
func decodeCourse(b []byte) (*course, error) {
	var f courseFile
	if len(b) > maxCourseFile {
		return nil, errors.New("the file is too large")
	}
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, fmt.Errorf("decode usage: %w", err)
	}
	c := newCourse(f.Start)
	for c.step < time.Duration(min(f.Step, math.MaxInt32))*time.Second && c.step < math.MaxInt64/4 {
		c.step *= 2
	}
	if f.Schema != pasar.Schema || int64(c.step/time.Second) != f.Step || len(f.Points) > pasar.MaxUsagePoints {
		return nil, errors.New("decode usage: it isn't what pasar wrote")
	}
	for _, n := range f.Points {
		var p coursePoint
		for k, into := range []*known0{&p.gpu, &p.host} {
			if n[k] != nil {
				if !(*n[k] >= 0 && *n[k] <= float64(pasar.MaxMem)) {
					return nil, errors.New("decode usage: a number that can't be")
				}
				*into = known0(*n[k]) + 1
			}
		}
		if n[2] != nil && n[3] != nil {
			if !(*n[2] >= 0 && *n[2] <= 1 && *n[3] >= 1 && *n[3] <= 1e12) {
				return nil, errors.New("decode usage: a number that can't be")
			}
			p.looks = int(*n[3])
			p.use = *n[2] * float64(p.looks)
		}
		c.points = append(c.points, p)
	}
	return c, nil
}
