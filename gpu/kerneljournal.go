package gpu

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"pasar"
)

// Bounds of a search of the journal.
const (
	searchPatience = 2 * time.Second
	searchLines    = 4000    // the newest
	searchMost     = 1 << 20 // bytes
)

// Search implements daemon.KernelReader: what the system's journal has of the kernel's words about an attempt, where the
// log itself may not be followed, which is usual. Its readers are those that may read the system's journal; others
// find nothing.
func (m *Meter) Search(ctx context.Context, key pasar.AttemptKey, pid int, since time.Time) []string {
	m.words.mu.Lock()
	followed := !m.words.since.IsZero()
	m.words.mu.Unlock()
	if followed || m.o.KernelLog == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, searchPatience)
	defer cancel()
	select {
	case m.searches <- struct{}{}: // one at a time
		defer func() { <-m.searches }()
	case <-ctx.Done():
		return nil
	}
	said, err := m.journal(ctx, since)
	if err != nil {
		m.log.Debug("the journal's copy of the kernel's log can't be read", "error", err)
		return nil
	}
	var found words
	for line := range strings.Lines(said) {
		if w, ok := parseKernelWord(strings.TrimRight(line, "\r\n")); ok {
			found.add(heard{kernelWord: w, at: since, of: m.whose(w)})
		}
	}
	return found.of(key, pid, since)
}

// readKernelJournal is what the journal has of the kernel's log of this boot since a time.
func readKernelJournal(ctx context.Context, since time.Time) (string, error) {
	cmd := exec.CommandContext(ctx, "journalctl", "--quiet", "--no-pager", "--dmesg", "--output=cat",
		fmt.Sprintf("--since=@%d", since.Unix()), fmt.Sprintf("--lines=%d", searchLines))
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	var said strings.Builder
	r := bufio.NewReader(out)
	_, _ = io.Copy(&said, io.LimitReader(r, searchMost))
	_, _ = io.Copy(io.Discard, r)
	return said.String(), cmd.Wait()
}

// of is what was said of an attempt's processes since a time.
func (ws *words) of(key pasar.AttemptKey, pid int, since time.Time) (lines []string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, h := range ws.kept {
		mine := h.of == key
		if h.of == (pasar.AttemptKey{}) {
			mine = pid != 0 && h.pid == pid && ownPids()
		}
		if mine && !h.at.Before(since) && !slices.Contains(lines, h.text) {
			lines = append(lines, h.text)
		}
	}
	return lines[max(0, len(lines)-wordsTold):]
}
