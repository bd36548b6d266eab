package gpu

import (
	"bytes"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// owners says whose processes are, and which programs they run, as far as the kernel shows it.
type owners struct {
	names map[uint32]string // by user id
}

// of is the program and the user of a process; empty where they aren't shown.
func (o *owners) of(pid int) (name, who string) {
	dir := "/proc/" + strconv.Itoa(pid)
	fi, err := os.Stat(dir)
	if err != nil {
		return "", ""
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		who = o.name(st.Uid)
	}
	return program(dir), who
}

// program is the file name of what a process runs. A script's is that of its interpreter.
func program(dir string) string {
	if b, err := os.ReadFile(dir + "/cmdline"); err == nil {
		if arg, _, _ := bytes.Cut(b, []byte{0}); len(arg) > 0 {
			return tidy(filepath.Base(string(arg)))
		}
	}
	b, _ := os.ReadFile(dir + "/comm")
	return tidy(string(bytes.TrimSpace(b)))
}

func (o *owners) name(uid uint32) string {
	if name, ok := o.names[uid]; ok {
		return name
	}
	name := fmt.Sprint(uid)
	if u, err := user.LookupId(name); err == nil {
		name = tidy(u.Username)
	}
	if o.names == nil || len(o.names) > 4096 {
		o.names = map[uint32]string{}
	}
	o.names[uid] = name
	return name
}
