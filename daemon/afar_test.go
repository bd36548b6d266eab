package daemon

import (
	"errors"
	"fmt"
	"testing"

	"pasar"
	"pasar/ipc"
)

// TestWhatNeedsAPersonIsNotHadByHTTP holds for connections that HTTP passes on what holds for its own requests.
func TestWhatNeedsAPersonIsNotHadByHTTP(t *testing.T) {
	d := newWorld(t, 1).begin(nil)
	d.Web = lending{}
	for verb, body := range map[ipc.Verb]any{
		ipc.VerbApprove: ipc.ApproveRequest{Request: "a", Plans: []ipc.PlanRef{{Job: 1, Plan: "x"}}},
		ipc.VerbReject:  ipc.RejectRequest{Request: "b", Plans: []ipc.PlanRef{{Job: 1, Plan: "x"}}},
		ipc.VerbWeb:     struct{}{},
		ipc.VerbToken:   ipc.TokenRequest{Fresh: true},
	} {
		b, err := ipc.Encode(body)
		if err != nil {
			t.Fatal(err)
		}
		var e *ipc.Error
		if err := d.Serve(t.Context(), &ipc.Call{Verb: verb, Body: b, Peer: ipc.Peer{Via: ipc.ViaHTTP}}); !errors.As(err, &e) || e.Code != ipc.CodeNotAllowed {
			t.Errorf("%s by HTTP: %v", verb, err)
		}
		if err := d.Serve(t.Context(), &ipc.Call{Verb: verb, Body: b}); err != nil {
			t.Errorf("%s: %v", verb, err)
		}
	}
}

// lending gives out what it is asked for.
type lending struct{}

func (lending) Token(bool) (string, error) { return "pasar_x", nil }
func (lending) Where() (string, error)     { return "http://127.0.0.1:8750", nil }
func (lending) Served() []ipc.WebAddress   { return nil }
func (lending) Link() (string, error)      { return "http://127.0.0.1:8750/login?code=x", nil }

func TestAJobFromAfarIsSurroundedByTheDaemon(t *testing.T) {
	d := newWorld(t, 1).begin(nil)
	ask := func() ipc.SubmitRequest {
		return ipc.SubmitRequest{Spec: pasar.Spec{Cwd: "sub", Bid: 7, Grace: 8}, Surroundings: pasar.Surroundings{Env: []pasar.Arg{"K=v"}}, Afar: &ipc.Afar{NoEnv: true}}
	}
	r := ask()
	var e *ipc.Error
	if err := d.fromAfar(&r); !errors.As(err, &e) || e.Code != ipc.CodeUnsupported {
		t.Errorf("nobody surrounds it: %v", err)
	}
	no := &ipc.Error{Code: ipc.CodeBadRequest, Message: "no such directory"}
	d.Surround = func(dir string, noEnv bool, add []pasar.Arg) (pasar.Surroundings, string, error) {
		if dir == "none" {
			return pasar.Surroundings{}, "", no
		}
		return pasar.Surroundings{Env: append([]pasar.Arg{pasar.Arg(fmt.Sprint("BARE=", noEnv))}, add...), Umask: 0o27}, "/home/" + dir, nil
	}
	set := *d.settings.Load()
	set.Bid, set.Grace = 1234, 99
	d.SetSettings(set)
	r = ask()
	if err := d.fromAfar(&r); err != nil || r.Spec.Cwd != "/home/sub" || fmt.Sprint(r.Surroundings.Env) != "[BARE=true K=v]" || r.Surroundings.Umask != 0o27 || r.Spec.Bid != 7 || r.Spec.Grace != 8 {
		t.Errorf("%+v, %v", r, err)
	}
	r = ask()
	r.Afar.Bid, r.Afar.Grace = true, true
	if err := d.fromAfar(&r); err != nil || r.Spec.Bid != 1234 || r.Spec.Grace != 99 {
		t.Errorf("%+v, %v", r, err)
	}
	r = ask()
	r.Spec.Cwd = "none"
	if err := d.fromAfar(&r); err != no {
		t.Errorf("%v", err)
	}
	r = ask()
	r.Afar = nil
	if err := d.fromAfar(&r); err != nil || r.Spec.Cwd != "sub" || len(r.Surroundings.Env) != 1 {
		t.Errorf("one from here: %+v, %v", r, err)
	}
}
