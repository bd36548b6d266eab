package local

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"pasar"
)

// Bounds of asking what became of a unit. Its manager forgets a unit as soon as it has ended, but has written to
// the journal what it was told.
const (
	unitPatience = 3 * time.Second
	unitAgain    = 200 * time.Millisecond // the manager hears of an end when we do, and writes a moment later
	unitTries    = 3
	unitMost     = 64 << 10 // bytes of the journal
)

// unitFailed is what a manager writes of a unit that did not end well (systemd.exec(5), $SERVICE_RESULT).
var unitFailed = regexp.MustCompile(`(?m)^\S+: Failed with result '([a-z-]{1,32})'\.?$`)

// unitResult is what the service manager says became of the unit of an attempt that is gone: oom-kill, timeout,
// watchdog, signal, … It is empty for one that had no unit, and where nobody says.
func (m *Machine) unitResult(ctx context.Context, holding pasar.Holding) string {
	unit := filepath.Base(holding.Cgroup) // its cgroup has its name
	if holding.Place != pasar.PlaceUnit || holding.Boot != m.boot || !ownName.MatchString(unit) || !strings.HasSuffix(unit, unitSuffix) {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, unitPatience)
	defer cancel()
	for range unitTries {
		said, err := m.journal(ctx, unit)
		if err != nil {
			m.log.Debug("journal of a unit not read", "unit", unit, keyError, err)
			return ""
		}
		if all := unitFailed.FindAllSubmatch(said, -1); len(all) > 0 {
			return string(all[len(all)-1][1])
		}
		select {
		case <-time.After(unitAgain):
		case <-ctx.Done():
			return ""
		}
	}
	return ""
}

// readUnitJournal is the last of what this boot's journal has of a unit of the manager that starts ours.
func readUnitJournal(ctx context.Context, unit string) ([]byte, error) {
	of := "--user-unit=" + unit
	if os.Geteuid() == 0 {
		of = "--unit=" + unit
	}
	cmd := exec.CommandContext(ctx, "journalctl", "--quiet", "--no-pager", "--boot", "--output=cat", "--lines=50", of)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var said bytes.Buffer
	_, _ = io.Copy(&said, io.LimitReader(out, unitMost))
	_, _ = io.Copy(io.Discard, out)
	return said.Bytes(), cmd.Wait()
}
