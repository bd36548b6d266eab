package supervisor

import (
	"pasar"
	"pasar/vt"
)

// tail is the last lines of the output as rendered text, for the exit record.
func (o *output) tail() []string {
	o.mu.Lock()
	off := max(o.ring.start(), o.ring.end-pasar.TailBytes)
	raw := make([]byte, o.ring.end-off)
	o.ring.read(raw, off)
	o.mu.Unlock()

	var lines []string
	text := vt.NewText(func(line string) {
		if len(lines) == pasar.TailLines {
			lines = append(lines[:0], lines[1:]...)
		}
		lines = append(lines, line)
	})
	text.Write(raw)
	text.Close()
	return lines
}
