package main

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"

	"pasar"
)

// warnedFile, beside the daemon's log, has a line for each warning that was given since the machine booted.
const warnedFile = "warned"

// warnOnce gives a warning that concerns the machine and not this job, once for each boot: who submits a
// thousand jobs knows by then. A place to remember it that can't be written is no reason not to warn.
func (c *call) warnOnce(text, hint string) {
	if text == "" {
		return
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		boot = []byte("unknown")
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	if c.far != nil {
		_, _ = h.Write([]byte(c.getenv(urlVariable)))
	}
	mark := fmt.Sprintf("%s %016x\n", bytes.TrimSpace(boot), h.Sum64())
	path := ""
	if cfg, err := c.config(); err == nil {
		path = filepath.Join(filepath.Dir(cfg.Paths.Log), warnedFile)
	}
	old, _ := os.ReadFile(path)
	if bytes.Contains(old, []byte(mark)) {
		return
	}
	c.note("warning: " + pasar.Clean(text))
	if hint != "" {
		c.note("hint: " + pasar.Clean(hint))
	}
	if path == "" {
		return
	}
	kept := ""
	for line := range strings.Lines(string(old)) {
		if strings.HasPrefix(line, string(bytes.TrimSpace(boot))+" ") {
			kept += line
		}
	}
	if os.MkdirAll(filepath.Dir(path), 0o700) == nil {
		_ = os.WriteFile(path, []byte(kept+mark), 0o600)
	}
}
