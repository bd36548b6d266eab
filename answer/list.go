package answer

import (
	"bytes"
	"fmt"

	"pasar"
)

// Jobs makes one JSON value of lines of JSON, one job a line, passing the bytes through: a newline can only stand
// between two objects, where a comma belongs. The result has no newline at its end; it shares nothing with lines.
func Jobs(chunks [][]byte) []byte {
	size := 64
	for _, b := range chunks {
		size += len(b)
	}
	out := fmt.Appendf(make([]byte, 0, size), `{"schema":%d,"jobs":[`, pasar.Schema)
	start := len(out)
	for _, b := range chunks {
		out = append(out, b...)
	}
	list := out[start:]
	if n := len(list); n > 0 && list[n-1] == '\n' {
		list, out = list[:n-1], out[:len(out)-1]
	}
	for {
		i := bytes.IndexByte(list, '\n')
		if i < 0 {
			break
		}
		list[i] = ','
		list = list[i+1:]
	}
	return append(out, "]}"...)
}
