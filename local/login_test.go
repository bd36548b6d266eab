package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// belongsTo makes a cgroup that of the process on a host of a test's.
func belongsTo(t *testing.T, h *host, cgroup string) {
	t.Helper()
	path := h.path("/proc/" + strconv.Itoa(h.pid) + "/cgroup")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(cgroup+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestWhatALogoutThreatensIsSaid(t *testing.T) {
	const login, manager = "0::/user.slice/user-1000.slice/session-3.scope", "0::/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope"
	for _, c := range []struct {
		name, cgroup   string
		uid            int
		linger, kills  bool
		err            error
		warns, refuses string
	}{
		{"a lingering user", login, 1000, true, true, nil, "", ""},
		{"a login", login, 1000, false, false, nil, "jobs outlive a logout", ""},
		{"a login, beside cgroup v1", "1:name=systemd:/user.slice/user-1000.slice/session-3.scope\n0::/", 1000, false, false, nil, "jobs outlive a logout", ""},
		{"a login whose end kills", login, 1000, false, true, nil, "", "KillUserProcesses=yes"},
		{"a login, and logind is silent", login, 1000, false, true, errors.New("no bus"), "jobs outlive a logout", ""},
		{"the user's manager", manager, 1000, false, false, nil, "killed at the last logout", ""},
		{"a service of the system", "0::/system.slice/pasard.service", 1000, false, true, nil, "", ""},
		{"another user's login", "0::/user.slice/user-7.slice/session-3.scope", 1000, false, true, nil, "", ""},
		{"root", "0::/user.slice/user-0.slice/session-3.scope", 0, false, true, nil, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := booted(t, c.linger, nil)
			h.uid = c.uid
			h.kills = func(_ context.Context, user string) (bool, error) { return c.kills && user == "ada", c.err }
			belongsTo(t, &h, c.cgroup)
			warning, refusal := h.logins(t.Context())
			if (warning != nil) != (c.warns != "") || warning != nil && (!strings.Contains(warning.Why, c.warns) || warning.Fix == "") {
				t.Errorf("warning: %+v", warning)
			}
			if (refusal != nil) != (c.refuses != "") || refusal != nil && (!strings.Contains(refusal.Why, c.refuses) || !strings.HasPrefix(refusal.Fix, enableLinger)) {
				t.Errorf("refusal: %+v", refusal)
			}
		})
	}
}

func TestWithoutSystemdNoLogoutEndsJobs(t *testing.T) {
	h := booted(t, false, nil)
	if err := os.RemoveAll(h.path("/run")); err != nil {
		t.Fatal(err)
	}
	belongsTo(t, &h, "0::/user.slice/user-1000.slice/session-3.scope")
	if w, r := h.logins(t.Context()); w != nil || r != nil {
		t.Errorf("%+v, %+v", w, r)
	}
}

func TestLingerIsFoundUnderAnyName(t *testing.T) {
	h := booted(t, false, nil)
	for user, file := range map[string]string{"ada": "ada", `dom\ada`: `dom\x5cada`, "a.b-c_d@e": "a.b-c_d@e", "é": `\xc3\xa9`} {
		h.user = user
		if h.lingers() {
			t.Errorf("%s lingers before it does", user)
		}
		path := h.path("/var/lib/systemd/linger/" + file)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if !h.lingers() {
			t.Errorf("%s: %s isn't found", user, file)
		}
		_ = os.Remove(path)
	}
}

func TestADaemonInAJobsCgroupKnowsIt(t *testing.T) {
	for dir, want := range map[string]string{
		"/sys/fs/cgroup/a/pasar-0123456789abcdef/job":                 "/sys/fs/cgroup/a",
		"/sys/fs/cgroup/a/pasar-0123456789abcdef.service/job/deep/er": "/sys/fs/cgroup/a",
		"/sys/fs/cgroup/a/pasar-0123456789abcdef/sup":                 "",
		"/sys/fs/cgroup/a/pasar-0123456789abcde/job":                  "",
		"/sys/fs/cgroup/a/job":                                        "",
		"/sys/fs/cgroup/user.slice/user-1000.slice/session-3.scope":   "",
	} {
		if got, ok := aboveJob(dir); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", dir, got, ok)
		}
	}
}
