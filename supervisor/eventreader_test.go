package supervisor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An eventsFile is a file as a job writes it and a reader of it.
type eventsFile struct {
	t    *testing.T
	file *os.File
	r    eventReader
}

func newEventsFile(t *testing.T) *eventsFile {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "events"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return &eventsFile{t: t, file: f, r: eventReader{file: f}}
}

func (e *eventsFile) write(at int64, text string) {
	e.t.Helper()
	if _, err := e.file.WriteAt([]byte(text), at); err != nil {
		e.t.Fatal(err)
	}
}

func (e *eventsFile) extend(size int64) {
	e.t.Helper()
	if err := e.file.Truncate(size); err != nil {
		e.t.Fatal(err)
	}
}

// read is what a look at the file finds, and how many bytes it read for that.
func (e *eventsFile) read(most, keep int64) (lines []string, read int64) {
	e.t.Helper()
	var got []string
	read, err := e.r.lines(most, keep, func() bool { return false }, func(line []byte, err error) {
		if err != nil {
			line = []byte(err.Error())
		}
		got = append(got, string(line))
	})
	if err != nil {
		e.t.Error(err)
	}
	return got, read
}

func TestHolesOfTheEventsFileAreNotRead(t *testing.T) {
	e := newEventsFile(t)
	e.write(0, "one\n")
	e.extend(4 << 40)
	lines, read := e.read(1<<20, 1<<20)
	if len(lines) == 0 || lines[0] != "one" || lines[len(lines)-1] != errHole.Error() || read > 1<<16 {
		t.Errorf("read %d bytes: %.100q", read, lines)
	}
	// What follows a hole on its line isn't a line.
	e.write(4<<40, "two\nthree\n")
	if lines, _ := e.read(1<<20, 1<<20); strings.Join(lines, " ") != "three" {
		t.Errorf("then %.100q", lines)
	}
}

func TestOfABacklogTheFirstAndTheLastLinesAreReadWhole(t *testing.T) {
	e := newEventsFile(t)
	var b strings.Builder
	const n = 50000
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	e.write(0, b.String())
	lines, read := e.read(40<<10, 1000)
	if read > 40<<10+1001+eventRead || lines[0] != "line 0" || lines[len(lines)-1] != fmt.Sprint("line ", n-1) {
		t.Errorf("read %d bytes, from %q to %q", read, lines[0], lines[len(lines)-1])
	}
	left := 0
	for _, l := range lines {
		var i int
		if l == errBacklog.Error() {
			left++
		} else if k, err := fmt.Sscanf(l+".", "line %d.", &i); k != 1 || err != nil || i < 10000 && len(l) > 9 {
			t.Errorf("a cut line: %q", l)
		}
	}
	if left != 1 {
		t.Errorf("left out %d times", left)
	}
	// A line that begins exactly where what is kept begins is whole.
	e = newEventsFile(t)
	e.write(0, strings.Repeat("a\n", 100)+"last\n")
	if lines, _ := e.read(0, 5); strings.Join(lines, "|") != errBacklog.Error()+"|last" {
		t.Errorf("%q", lines)
	}
	if lines, read := e.read(0, 5); len(lines) != 0 || read != 0 {
		t.Errorf("and again %q", lines)
	}
}

func TestASparseFileIsReadToItsEndWithinItsBounds(t *testing.T) {
	e := newEventsFile(t)
	const step = 1 << 20
	for i := range int64(64) {
		e.write(i*step, fmt.Sprintf("\nline %d\n", i))
	}
	lines, read := e.read(64<<10, 8<<10)
	if read > 64<<10+8<<10+1+eventRead || lines[0] != "line 0" || lines[len(lines)-1] != "line 63" {
		t.Errorf("read %d bytes: %.200q", read, lines)
	}
}
