package gpu

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// What the daemon and its probe say to each other: a JSON value a line, both ways.
//
//	probe:  {"hello": …}            once the driver's library is ready
//	daemon: {"look": 7}             again and again; an answer is waited for in between
//	probe:  {"seen": {"look": 7, …}}
//	probe:  {"xid": …}              whenever the driver tells of one
//	probe:  {"bye": …}              why it ends; the last that it says
//
// The probe ends when its input does.
const (
	protocolVersion = 1
	maxLine         = 4 << 20 // bytes
)

type request struct {
	Look int64 `json:"look"` // from 1
}

type message struct {
	Hello *hello  `json:"hello,omitempty"`
	Seen  *seen   `json:"seen,omitempty"`
	Xid   *Event  `json:"xid,omitempty"`
	Bye   *Broken `json:"bye,omitempty"`
}

type hello struct {
	Protocol int `json:"protocol"`
	Versions
}

// Versions are those of the driver.
type Versions struct {
	Driver  string `json:"driver"`
	CUDA    string `json:"cuda"`    // that the driver supports; empty: it doesn't say
	Library string `json:"library"` // path of its library; empty: not known
}

type seen struct {
	Look   int64   `json:"look"`
	Sights []Sight `json:"sights"`
}

// A Fault says what keeps the driver's library from being asked.
type Fault string

// Faults of a driver.
const (
	FaultNoCgo     Fault = "no_cgo"     // this build can't have the library
	FaultNoLibrary Fault = "no_library" // there is none
	FaultNoDriver  Fault = "no_driver"  // the library finds no driver in the kernel
	FaultMismatch  Fault = "mismatch"   // the library and the driver are of different versions
	FaultReplaced  Fault = "replaced"   // the library's file is another by now
	FaultChanged   Fault = "changed"    // GPUs came or went
	FaultSilent    Fault = "silent"     // a call hangs
	FaultOther     Fault = "other"
)

// Broken is a driver that can't be asked, and why.
type Broken struct {
	Fault Fault  `json:"fault"`
	Text  string `json:"text"` // one clause
}

func (b *Broken) Error() string { return b.Text }

// FaultOf says what kind of fault an error is; empty when it is none of a driver.
func FaultOf(err error) Fault {
	if b := (*Broken)(nil); errors.As(err, &b) {
		return b.Fault
	}
	return ""
}

// lines reads lines of at most maxLine bytes.
func lines(r io.Reader) *bufio.Scanner {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 16<<10), maxLine)
	return s
}

func writeLine(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write a line: %w", err)
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

func decodeRequest(line []byte) (request, error) {
	var r request
	if err := json.Unmarshal(line, &r); err != nil || r.Look <= 0 {
		return request{}, fmt.Errorf("bad request %q", excerpt(line))
	}
	return r, nil
}

// decodeMessage reads one line of a probe, which is believed nothing that can't be.
func decodeMessage(line []byte) (message, error) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		return message{}, fmt.Errorf("bad line %q", excerpt(line))
	}
	if err := m.check(); err != nil {
		return message{}, fmt.Errorf("bad line: %w", err)
	}
	return m, nil
}

func (m *message) check() error {
	switch {
	case m.Hello != nil:
		if m.Hello.Protocol != protocolVersion {
			return fmt.Errorf("protocol %d, want %d", m.Hello.Protocol, protocolVersion)
		}
		v := &m.Hello.Versions
		if len(v.Driver) > maxVersion || len(v.CUDA) > maxVersion || bytes.IndexByte([]byte(v.Library), 0) >= 0 {
			return errors.New("bad version")
		}
		v.Driver, v.CUDA, v.Library = tidy(v.Driver), tidy(v.CUDA), tidy(v.Library)
	case m.Seen != nil:
		if len(m.Seen.Sights) > maxSights {
			return fmt.Errorf("more than %d GPUs", maxSights)
		}
		known := map[string]bool{}
		for i := range m.Seen.Sights {
			s := &m.Seen.Sights[i]
			if err := s.check(); err != nil {
				return err
			}
			if u := s.Device.UUID; u != "" && known[u] {
				s.nameless("another GPU has its UUID")
				s.Now.UUID = ""
			}
			known[s.Device.UUID] = true
		}
	case m.Xid != nil:
		x := m.Xid
		if x.Index < 0 || x.Index >= maxDevices || x.Code < 0 || x.Code > maxXid ||
			x.UUID != "" && !validUUID(x.UUID) || len(x.Bus) > maxField || !plain(x.Bus) {
			return errors.New("bad Xid")
		}
	case m.Bye != nil:
		m.Bye.Text = tidy(m.Bye.Text)
	}
	return nil
}
