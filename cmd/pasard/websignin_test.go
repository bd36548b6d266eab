package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	downloads "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"golang.org/x/sys/unix"
)

// throughAnother passes connections on to an address as another user, whom the daemon doesn't know, and returns its own.
func throughAnother(t *testing.T, to string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); wg.Wait() })
	wg.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer in.Close()
				out, err := dialAs(65534, to)
				if err != nil {
					t.Errorf("dial as nobody: %v", err)
					return
				}
				defer out.Close()
				over := make(chan struct{})
				go func() { defer close(over); _, _ = io.Copy(out, in); _ = out.Close() }()
				_, _ = io.Copy(in, out)
				_ = in.Close()
				<-over
			})
		}
	})
	return l.Addr().String()
}

// dialAs connects as a user: a socket is whose the thread is that makes it.
func dialAs(uid int, to string) (c net.Conn, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for good: the thread ends with it
		if err = unix.Setfsuid(uid); err != nil {
			return
		}
		c, err = net.Dial("tcp", to)
	}()
	<-done
	return c, err
}

func TestALinkSignsInABrowserOfAnotherUser(t *testing.T) {
	h := newHome(t)
	to := h.startWeb()
	h.pasar("submit", "--wait", "--gpus", "0", "--name", "talker", "--", "sh", "-c", "echo hello")
	addr := throughAnother(t, to)
	b := openBrowser(t, addr, screens[0])
	b.pardon("401") // what it is refused until it is signed in
	b.open("/")
	b.read("body", "isn't signed in")

	// It comes from a file, as `pasar web` has it open one.
	link := strings.Replace(strings.TrimSpace(h.pasar("web")), to, addr, 1)
	file := filepath.Join(t.TempDir(), "web.html")
	page := fmt.Sprintf(`<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=%s"><title>lead</title>`, link)
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	b.base = ""
	b.open("file://" + file)
	b.base = "http://" + addr
	const in = `location.pathname === "/" && document.getElementById("headline") !== null && location.hash === "" && /^[0-9a-f]{64}$/.test(localStorage.getItem("pasar-key"))`
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) { // it goes over three pages, and what waits in one ends with it
		if ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](in)); err == nil && ok {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the link didn't sign in")
		}
	}
	b.until(`!["", "asking …"].includes(document.getElementById("headline").innerText)`)
	if said := eval[string](b, `document.getElementById("headline").innerText`); strings.Contains(said, "signed in") {
		t.Errorf("signed in, it says %q", said)
	}
	const status = `fetch("/api/status", {headers: %s}).then((r) => r.status)`
	if code := eval[int](b, fmt.Sprintf(status, `{"Pasar-Key": localStorage.getItem("pasar-key")}`)); code != 200 {
		t.Errorf("with the key: %d", code)
	}
	if code := eval[int](b, fmt.Sprintf(status, `{}`)); code != 401 {
		t.Errorf("with the cookie alone: %d", code)
	}

	// The output is saved as a file, which the browser asks for without the page's headers.
	saved := t.TempDir()
	b.do(command(downloads.SetDownloadBehavior, downloads.SetDownloadBehaviorParams{Behavior: "allow", DownloadPath: saved}))
	b.open("/jobs/1")
	b.read(".log", "hello")
	b.see("a[download]", "Download")
	eval[bool](b, shown("a[download]", "Download")+`.click() ?? true`)
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) { // the page isn't told how it goes
		if text, err := os.ReadFile(filepath.Join(saved, "job-1.log")); err == nil && strings.Contains(string(text), "hello") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the output wasn't saved")
		}
	}
}

func TestABrowserComplainsOfNothingUnderTheNameOfAnotherMachine(t *testing.T) {
	h := newHome(t)
	h.config = h.dir + "/config.toml"
	if err := os.WriteFile(h.config, []byte("allowed_hosts = [\"box.lan\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(h.startWeb())
	if err != nil {
		t.Fatal(err)
	}
	h.pasar("submit", "--wait", "--gpus", "0", "--", "echo", "hello")
	b := openBrowser(t, "box.lan:"+port, screens[0])
	b.open("/jobs/1")
	b.read(".log", "hello")
	b.open("/")
	b.until(`!["", "asking …"].includes(document.getElementById("headline").innerText)`)
	if eval[bool](b, `isSecureContext`) {
		t.Error("the browser trusts that name")
	}
}
