package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTheBrowserIsGivenAFileThatOnlyThisUserCanRead(t *testing.T) {
	h := newHome(t)
	programs, got := filepath.Join(h.dir, "programs"), filepath.Join(h.dir, "got")
	if err := os.Mkdir(programs, 0o700); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\nprintf '%s\\n' \"$#\" \"$1\" \"$(stat -c %a \"$1\")\" >" + got + ".part\nmv " + got + ".part " + got + "\n"
	if err := os.WriteFile(filepath.Join(programs, "xdg-open"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(h.dir, "run")
	if err := os.Mkdir(run, 0o700); err != nil {
		t.Fatal(err)
	}
	c := &call{app: &app{env: append(h.env, "DISPLAY=:0", "XDG_RUNTIME_DIR="+run, "PATH="+programs+":/usr/bin:/bin", "HOME="+h.dir)}}
	cfg, err := c.config()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(cfg.Paths.Run, 0o700); err != nil {
		t.Fatal(err)
	}
	const link = "http://127.0.0.1:8750/login?code=SECRET"
	c.openBrowser(link)
	var said []byte
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) { // it is started and left alone
		if said, err = os.ReadFile(got); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no browser was opened")
		}
	}
	words := strings.Fields(string(said))
	if len(words) != 3 || words[0] != "1" || words[2] != "600" || strings.Contains(string(said), "SECRET") || filepath.Dir(words[1]) != cfg.Paths.Run {
		t.Fatalf("the browser was started with %q", said)
	}
	if page, err := os.ReadFile(words[1]); err != nil || !strings.Contains(string(page), `content="0; url=`+link+`"`) {
		t.Errorf("%s %v", page, err)
	}
}

func TestAPageThatLeadsToALinkIsRemovedWhenItIsOldAndWrittenNowhereElse(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	first, err := leadTo(dir, "http://a/", now)
	if err != nil {
		t.Fatal(err)
	}
	second, err := leadTo(dir, "http://a/", now.Add(leadFor/2))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(first); err != nil || first == second {
		t.Errorf("one that may still be opened: %v", err)
	}
	if _, err := leadTo(dir, "http://a/", now.Add(2*leadFor)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(first); !os.IsNotExist(err) {
		t.Errorf("an old one: %v", err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if f, err := leadTo(dir, "http://a/", now); err == nil {
		t.Errorf("it wrote %s", f)
	}
	if err := os.Symlink(t.TempDir(), dir+"/link"); err != nil {
		t.Fatal(err)
	}
	if f, err := leadTo(dir+"/link", "http://a/", now); err == nil {
		t.Errorf("it wrote %s", f)
	}
}
