package supervisor

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"

	"pasar"
)

// interruptKey is the last key in what was typed of those that a terminal makes a signal of; empty: none.
func interruptKey(typed []byte) pasar.Key {
	i := bytes.LastIndexAny(typed, "\x03\x1c")
	switch {
	case i < 0:
		return ""
	case typed[i] == 3:
		return pasar.KeyInterrupt
	}
	return pasar.KeyQuit
}

// struck notes that a typist interrupted the job; mu is held.
func (k *keyboard) struck(p *peer, key pasar.Key) {
	if key != "" {
		k.last = &pasar.Typing{Key: key, At: time.Now(), By: p.terminal()}
	}
}

// lastKey is what was typed last of the keys that interrupt; nil: nothing.
func (k *keyboard) lastKey() *pasar.Typing {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.last
}

// terminal is who a peer is and, where it can be told, which terminal it has.
func (p *peer) terminal() string {
	pid, ok := strings.CutPrefix(p.who, "process ")
	if _, err := strconv.Atoi(pid); !ok || err != nil {
		return p.who
	}
	if at, err := os.Readlink("/proc/" + pid + "/fd/0"); err == nil {
		if tty, ok := strings.CutPrefix(at, "/dev/"); ok && tty != "null" {
			return tty + ", " + p.who
		}
	}
	return p.who
}
