package supervisor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestAMarkerHoldsIfWhatItNamesIsThere(t *testing.T) {
	cwd := t.TempDir()
	there := filepath.Join(cwd, "ck")
	if err := os.Mkdir(there, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("ck", filepath.Join(cwd, "latest")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(cwd, "dangling")); err != nil {
		t.Fatal(err)
	}
	write := func(text string) func(string) error {
		return func(path string) error { return os.WriteFile(path, []byte(text), 0o600) }
	}
	named := func(path string) func(string) error {
		b, err := json.Marshal(map[string]string{"checkpoint": path})
		if err != nil {
			t.Fatal(err)
		}
		return write(string(b))
	}
	for name, c := range map[string]struct {
		make    func(path string) error
		path    string
		missing string // a part of it; empty: it holds
		nothing bool
	}{
		"a directory":                {make: named(there), path: there},
		"from the working directory": {make: named("ck"), path: there},
		"a link to it":               {make: named("latest"), path: filepath.Join(cwd, "latest")},
		"a link to nothing":          {make: named("dangling"), path: filepath.Join(cwd, "dangling"), missing: "dangling, which is not there"},
		"what isn't there":           {make: named("/no/such/ck"), path: "/no/such/ck", missing: "the marker names /no/such/ck, which is not there"},
		"below a file":               {make: named("/etc/passwd/x"), path: "/etc/passwd/x", missing: "which is not there"},
		"a path that deceives":       {make: named("/no/\u202eck\x1b[1m"), path: "/no/\u202eck\x1b[1m", missing: `\u202e`},
		"too long a name":            {make: named("/" + strings.Repeat("a", 300)), path: "/" + strings.Repeat("a", 300), missing: "can't be looked at: file name too long"},
		"not JSON":                   {make: write("saved"), missing: "the marker is not JSON"},
		"empty":                      {make: write(""), missing: "the marker is empty"},
		"too large":                  {make: write(strings.Repeat(" ", 80<<10)), missing: "the marker is larger than 64 KiB"},
		"no marker":                  {make: func(string) error { return nil }, nothing: true},
		"a FIFO":                     {make: func(p string) error { return syscall.Mkfifo(p, 0o600) }, missing: "the marker is not a regular file"},
		"a directory as marker":      {make: func(p string) error { return os.Mkdir(p, 0o700) }, missing: "the marker is not a regular file"},
		"a link as marker":           {make: func(p string) error { return os.Symlink("/dev/zero", p) }, missing: "the marker is not a regular file"},
		"a socket": {make: func(p string) error {
			fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			defer syscall.Close(fd)
			return syscall.Bind(fd, &syscall.SockaddrUnix{Name: p})
		}, missing: "the marker is not a regular file"},
	} {
		dir, err := os.MkdirTemp("", "marker") // short, for the socket
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		path := filepath.Join(dir, "ready")
		if err := c.make(path); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		m := findMarker(path, cwd)
		switch {
		case (m == nil) != c.nothing:
			t.Errorf("%s: %+v", name, m)
		case m == nil:
		case m.Checkpoint != c.path || (m.Missing == "") != (c.missing == "") || !strings.Contains(m.Missing, c.missing):
			t.Errorf("%s: %+v", name, *m)
		case strings.Contains(m.Missing, "\x1b"):
			t.Errorf("%s: %q isn't clean", name, m.Missing)
		}
	}
}
