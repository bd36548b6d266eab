package local

import (
	"context"
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"

	"pasar/target"
)

// busTimeout bounds each question to a bus.
const busTimeout = 2 * time.Second

// A host is what is asked about the machine around this process; tests have another.
type host struct {
	root string // in front of every absolute path
	uid  int
	user string
	pid  int // whose cgroup counts

	hello time.Duration // for a unit's first word

	dial  func(context.Context) (units, error)                // the service manager that is to start units
	kills func(context.Context, string) (kills bool, _ error) // whether logind kills what a user's login leaves
}

func thisHost() host {
	h := host{uid: os.Geteuid(), pid: os.Getpid(), hello: helloTimeout, dial: dialUnits, kills: askLogind}
	h.user = strconv.Itoa(h.uid)
	if u, err := user.LookupId(h.user); err == nil {
		h.user = u.Username
	}
	return h
}

func (h *host) path(p string) string { return filepath.Join(h.root, p) }

func (h *host) exists(p string) bool {
	_, err := os.Stat(h.path(p))
	return err == nil
}

// systemd reports whether systemd is in charge of this machine (sd_booted(3)).
func (h *host) systemd() bool { return h.exists("/run/systemd/system") }

// lingers reports whether the user's service manager outlives the last logout. The file is where logind
// itself keeps it, its name escaped as in C.
func (h *host) lingers() bool {
	var name strings.Builder
	for _, c := range []byte(h.user) {
		if c == '\\' || c == '/' || c == '"' || c == '\'' || c < ' ' || c >= 0x7f {
			name.WriteString(`\x` + strconv.FormatUint(uint64(c)|0x100, 16)[1:])
			continue
		}
		name.WriteByte(c)
	}
	return h.exists("/var/lib/systemd/linger/" + name.String())
}

// ofLogin is what this process belongs to, by its cgroup: "session" for a login, "manager" for the user's
// service manager, and empty for neither, so that no logout concerns it.
func (h *host) ofLogin() string {
	own := "/" + strings.Trim(h.cgroup("name=systemd"), "/") + "/"
	uid := strconv.Itoa(h.uid)
	rest, ok := strings.CutPrefix(own, "/user.slice/user-"+uid+".slice/")
	switch {
	case !ok:
		return ""
	case strings.HasPrefix(rest, "user@"+uid+".service/"):
		return "manager"
	}
	return "session"
}

// cgroup is the path of this process in the hierarchy of cgroup v1 with a name, if there is one, or in
// that of cgroup v2; empty if it has none.
func (h *host) cgroup(v1 string) string {
	b, err := os.ReadFile(h.path("/proc/" + strconv.Itoa(h.pid) + "/cgroup"))
	if err != nil {
		return ""
	}
	unified := ""
	for line := range strings.Lines(string(b)) {
		switch f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3); {
		case len(f) < 3:
		case v1 != "" && f[1] == v1:
			return f[2]
		case f[0] == "0" && f[1] == "":
			unified = f[2]
		}
	}
	return unified
}

const enableLinger = "loginctl enable-linger"

// logins says what a logout threatens: warning for what may happen to jobs, refusal for what will.
func (h *host) logins(ctx context.Context) (warning, refusal *target.Lack) {
	if h.uid == 0 || !h.systemd() || h.lingers() {
		return nil, nil
	}
	switch h.ofLogin() {
	case "":
		return nil, nil
	case "manager":
		return &target.Lack{Why: "linger is off for " + h.user + ", and pasard runs under that user's systemd: jobs are killed at the last logout",
			Fix: enableLinger}, nil
	}
	if kills, err := h.kills(ctx, h.user); err == nil && kills {
		return nil, &target.Lack{Why: "KillUserProcesses=yes, and linger is off for " + h.user + ": logging out would kill pasard and every job",
			Fix: enableLinger + ", then `pasar shutdown` (jobs go on), and submit again"}
	}
	return &target.Lack{Why: "linger is off for " + h.user + ": jobs outlive a logout, but without a systemd unit, and so a cgroup, of their own",
		Fix: enableLinger}, nil
}

// askLogind reports whether logind kills what a user's session leaves behind (logind.conf(5)).
func askLogind(ctx context.Context, name string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, busTimeout)
	defer cancel()
	conn, err := dbus.ConnectSystemBus(dbus.WithContext(ctx))
	if err != nil {
		return false, err
	}
	defer conn.Close()
	o := conn.Object("org.freedesktop.login1", "/org/freedesktop/login1")
	get := func(property string, to any) error {
		v, err := property1(ctx, o, "org.freedesktop.login1.Manager", property)
		if err != nil {
			return err
		}
		return v.Store(to)
	}
	var kills bool
	var only, except []string
	if err := errors.Join(get("KillUserProcesses", &kills), get("KillOnlyUsers", &only), get("KillExcludeUsers", &except)); err != nil {
		return false, err
	}
	return kills && !slices.Contains(except, name) && (len(only) == 0 || slices.Contains(only, name)), nil
}

// property1 reads one property of an object.
func property1(ctx context.Context, o dbus.BusObject, iface, name string) (dbus.Variant, error) {
	var v dbus.Variant
	err := o.CallWithContext(ctx, "org.freedesktop.DBus.Properties.Get", 0, iface, name).Store(&v)
	return v, err
}
