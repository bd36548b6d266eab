package main

import (
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// openBrowser has the desktop open an address, where there is one. The address has been printed, so nothing is lost
// if that fails. Whatever a program is started with everybody on the machine can read, and the address lets in who opens it
// first: so the browser is given a file, which only this user can read and which leads there.
func (c *call) openBrowser(url string) {
	if c.getenv("DISPLAY") == "" && c.getenv("WAYLAND_DISPLAY") == "" {
		return
	}
	bin := findProgram("xdg-open", c.getenv("PATH"))
	if bin == "" {
		return
	}
	cfg, err := c.config()
	if err != nil {
		return
	}
	file, err := leadTo(cfg.Paths.Run, url, time.Now())
	if err != nil {
		c.note(fmt.Sprintf("no browser was opened: %v", err))
		return
	}
	cmd := exec.Command(bin, file)
	cmd.Env = c.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it outlives this command and its terminal
	if err := cmd.Start(); err == nil {
		_ = cmd.Process.Release()
	}
}

const (
	leadPattern = "web-*.html"
	leadFor     = 10 * time.Minute // as long as a link is good for; what is older is removed
)

// lead is the page, for an address in place of each URL.
const lead = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url=URL">
<title>pasar</title>
</head>
<body>
<p><a href="URL">Open pasar</a></p>
</body>
</html>
`

// leadTo writes a page that leads to an address into a directory, which must be this user's alone, and removes such pages of
// long ago.
func leadTo(dir, url string, now time.Time) (string, error) {
	fi, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); !fi.IsDir() || fi.Mode().Perm()&0o077 != 0 || !ok || int(st.Uid) != os.Geteuid() {
		return "", fmt.Errorf("%s isn't a directory of this user alone", dir)
	}
	old, err := filepath.Glob(filepath.Join(dir, leadPattern))
	if err != nil {
		return "", err
	}
	for _, f := range old {
		if fi, err := os.Lstat(f); err == nil && now.Sub(fi.ModTime()) > leadFor {
			_ = os.Remove(f)
		}
	}
	f, err := os.CreateTemp(dir, leadPattern) // 0600
	if err != nil {
		return "", err
	}
	if _, err := f.WriteString(strings.ReplaceAll(lead, "URL", html.EscapeString(url))); err != nil {
		_ = f.Close()
		return "", err
	}
	return f.Name(), f.Close()
}
