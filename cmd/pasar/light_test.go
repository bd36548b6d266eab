package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestTheClientStaysLight holds what the client may not link: each costs every command its
// initialisation, whether used or not.
func TestTheClientStaysLight(t *testing.T) {
	heavy := map[string]string{
		"net/http":               "a server's worth of tables and TLS; the shim is the daemon's",
		"crypto/tls":             "as net/http",
		"regexp":                 "patterns are compiled at start",
		"text/template":          "help is built by hand",
		"html/template":          "as text/template",
		"github.com/spf13/cobra": "imports templates; our table is small",
		"pasar/daemon":           "the daemon is another program",
		"pasar/store":            "SQLite is 5 MB of initialised tables",
		"pasar/supervisor":       "another program",
		"pasar/ui/console":       "another program, with the libraries that draw it",
		"github.com/rivo/tview":  "as ui/console",
	}
	out, err := exec.Command("go", "list", "-deps", "pasar/cmd/pasar").Output()
	if err != nil {
		t.Fatal(err)
	}
	for p := range strings.FieldsSeq(string(out)) {
		if why, bad := heavy[p]; bad {
			t.Errorf("the client links %s: %s", p, why)
		}
	}
}
