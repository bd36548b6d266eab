package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pasar"
	"pasar/target"
)

// examinePlace says in what jobs are held, why not in something better, and what that costs. A daemon that
// runs was asked; what one would find that isn't there is tried.
func examinePlace(ctx context.Context, p *patient) []finding {
	s := p.standing(ctx)
	why := ""
	if note := s.Note(); note != "" {
		why = " (" + note + ")"
	}
	const costs = "one that sheds its environment and leaves its session can outlive a killed supervisor, and --ram is not enforced"
	switch s.Place {
	case pasar.PlaceUnit:
		return append([]finding{found(placeUnit, "", "each job is held by a systemd unit of its own: nothing of it stays when it ends")}, p.bound(s)...)
	case pasar.PlaceCgroup:
		return append([]finding{found(placeCgroup, "", "each job is held by a cgroup of its own%s: nothing of it stays when it ends", why)}, p.bound(s)...)
	case pasar.PlaceSession:
		if fix := s.Fix(); fix != "" && p.exists("/run/systemd/system") {
			return []finding{found(placeWorse, fix, "jobs are held by their sessions, process groups and nonce%s: %s", why, costs)}
		}
		return []finding{found(placeSession, or(s.Fix(), "nothing to do here; a machine with systemd, or with a cgroup v2 of your own, holds jobs better"),
			"jobs are held by their sessions, process groups and nonce%s: %s", why, costs)}
	}
	return []finding{found(placeUnknown, "`pasar shutdown`, if the daemon is of an older version; the next command starts this one",
		"the daemon doesn't say how it holds jobs")}
}

// standing is where supervisors are put.
func (p *patient) standing(ctx context.Context) target.Standing {
	if p.daemon.state != socketAnswers {
		return p.probe(ctx)
	}
	v := p.daemon.status
	s := target.Standing{}
	if v.Place != nil {
		s.Place = *v.Place
	}
	s.Memory = v.PlaceRAM != nil && *v.PlaceRAM
	if v.PlaceNote != nil || v.PlaceFix != nil {
		l := target.Lack{}
		if v.PlaceNote != nil {
			l.Why = *v.PlaceNote
		}
		if v.PlaceFix != nil {
			l.Fix = *v.PlaceFix
		}
		s.Lacks = []target.Lack{l}
	}
	return s
}

// bound looks whether the memory of jobs can be bounded: their cgroups need the memory controller.
func (p *patient) bound(s target.Standing) []finding {
	dir, above := "/sys/fs/cgroup/system.slice", "/sys/fs/cgroup"
	if p.uid != 0 {
		uid := strconv.Itoa(p.uid)
		above = "/sys/fs/cgroup/user.slice/user-" + uid + ".slice"
		dir = above + "/user@" + uid + ".service"
	}
	if s.Place == pasar.PlaceCgroup {
		above = "" // whoever delegated it
		if dir = s.Cgroup; dir == "" {
			dir = filepath.Join("/sys/fs/cgroup", p.cgroup())
		}
		dir = strings.TrimPrefix(dir, p.root)
	}
	if s.Place == pasar.PlaceUnit { // whether a unit has the controller is seen in the slice that it will be in
		there, err := os.ReadFile(p.path(dir + "/cgroup.controllers"))
		if err != nil || slices.Contains(strings.Fields(string(there)), "memory") {
			return nil
		}
	} else if s.Memory {
		return nil
	}
	fix := "delegate the memory controller with that cgroup"
	if above != "" {
		fix = "as root: `systemctl edit user@.service`, with `[Service]` and `Delegate=cpu memory pids`, then log in anew"
		if text, err := p.read(above + "/cgroup.controllers"); err == nil && !slices.Contains(strings.Fields(text), "memory") {
			fix = "boot with cgroup v2 alone and its memory controller (systemd.unified_cgroup_hierarchy=1 cgroup_enable=memory)"
		}
	}
	return []finding{found(memoryUnbound, fix, "the memory controller is not to be had in %s: --ram is counted, but not enforced", dir)}
}
