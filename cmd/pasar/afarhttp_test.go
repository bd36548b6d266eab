package main

import (
	"net"
	"strings"
	"testing"
)

// overHTTP is a machine whose daemon serves HTTP, without a token.
func overHTTP(t *testing.T) (a *afar, addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = l.Addr().String()
	_ = l.Close()
	far := newHome(t)
	far.env = append(far.env, "PASAR_ADDRESS="+addr, "PASAR_URL=")
	far.pasar("status")
	near := newNear(t, bin+":/usr/bin:/bin", "PASAR_URL=http://"+addr)
	a = &afar{t: t, near: near, far: far, name: "127.0.0.1", dir: far.dir}
	near.t = t
	far.until("HTTP is up", func() bool { return strings.Contains(far.pasar("web", "--no-open"), "http://") })
	return a, addr
}

// until waits for what can't be waited for otherwise.
func (h *home) until(what string, done func() bool) {
	h.t.Helper()
	for range 400 {
		if done() {
			return
		}
	}
	h.t.Fatalf("%s: never", what)
}

func TestEveryCommandWorksFromAnotherMachineByHTTP(t *testing.T) {
	a, _ := overHTTP(t)
	a.everyCommand()
}

func TestATokenIsSentAndAWrongOneIsSaidToBe(t *testing.T) {
	a, addr := overHTTP(t)
	token := strings.TrimSpace(a.far.pasar("token"))
	a.near.env = append(a.near.env, "PASAR_TOKEN=nonsense")
	if got, want := a.run(exitNotAllowed, "ls"), "pasar: "+addr+" doesn't know the token in PASAR_TOKEN\nhint: `pasar token` prints it there\n"; got != want {
		t.Errorf("%q", got)
	}
	a.near.env = append(a.near.env, "PASAR_TOKEN="+token)
	a.run(0, "status")
	a.says("a link that signs a browser in isn't given out over HTTP", exitNotAllowed, "web", "--no-open")
	a.says("the token isn't given out over HTTP", exitNotAllowed, "token")
	a.says("the token isn't given out over HTTP", exitNotAllowed, "token", "--new")
	if again := strings.TrimSpace(a.far.pasar("token")); again != token {
		t.Error("there is another token")
	}
	a.near.env = append(a.near.env, "PASAR_URL=http://"+addr+"/elsewhere/")
	a.says("by HTTP there is no path", exitUsage, "ls")
}

func TestTheConsoleShowsAnotherMachineByHTTP(t *testing.T) {
	a, _ := overHTTP(t)
	m := newTmux(a.near)
	a.run(0, "submit", "--gpus", "0", "--name", "talker", "i=0; while :; do i=$((i+1)); echo tick $i; sleep 0.2; done")
	p := m.shell("console", 80, 24)
	p.keys("pasar; echo back at the shell $?", "Enter")
	p.shows("1 running")
	p.keys("Enter") // its screen
	p.shows("tick")
	p.keys("q", "q")
	p.put()
	p.shows("back at the shell 0")
}
