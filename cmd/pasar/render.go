package main

import (
	"time"

	"pasar/answer"
)

// newRenderer is what standard output calls for: bytes as they are when raw, on a terminal text with its
// colours and nothing else that a terminal would obey, elsewhere plain text.
func (c *call) newRenderer(raw bool) answer.Renderer {
	if raw {
		return asIs{}
	}
	return c.newLines(nil)
}

// newLines renders to lines; stamp, if it isn't nil, appends what comes before each.
func (c *call) newLines(stamp func([]byte, answer.Piece) []byte) *answer.Text {
	if c.term.color && !c.json {
		return answer.NewColours(stamp)
	}
	return answer.NewText(stamp)
}

type asIs struct{}

func (asIs) Render(p answer.Piece) []byte { return p.Data }
func (asIs) Settle() []byte               { return nil }
func (asIs) Finish() []byte               { return nil }

// timeStamp is what --timestamps puts before a line: when its first byte came, in local time.
func timeStamp(b []byte, of answer.Piece) []byte {
	if of.At.IsZero() {
		return append(b, "- "...)
	}
	return append(of.At.Local().AppendFormat(b, time.RFC3339), ' ')
}
