package answer

import (
	"strconv"
	"strings"

	"pasar"
	"pasar/ipc"
)

// maxScreenRows bounds the rows taken from a supervisor.
const maxScreenRows = 1000

// AttemptOf is the attempt that a supervisor says it holds, by the key in its welcome: 1 of "42.1"; 0 if it doesn't say.
func AttemptOf(key string) int {
	_, attempt, _ := strings.Cut(key, ".")
	n, err := strconv.ParseUint(attempt, 10, 31)
	if err != nil {
		return 0
	}
	return int(n)
}

// Screen is a job's screen as its supervisor, greeted with ipc.ModeScreen, sends it; next is the next frame from
// there. What next fails with, and a refusal, end it.
func Screen(job pasar.JobID, w ipc.Welcome, next func() (typ int, body []byte, err error)) (*pasar.ScreenView, error) {
	if w.NoPTY {
		return nil, &ipc.Error{Code: ipc.CodeWrongState, Message: "job #" + job.String() + " has no terminal, so there is no screen",
			Hint: "it was submitted with --no-pty; `pasar logs " + job.String() + "` shows its output"}
	}
	v := &pasar.ScreenView{Schema: pasar.Schema, ID: job, Attempt: AttemptOf(w.Key), Lines: []string{}}
	for {
		typ, body, err := next()
		if err != nil {
			return nil, err
		}
		switch typ {
		case ipc.AttachRefused:
			var r ipc.RefusedFrame
			if err := ipc.DecodeBody(body, &r); err != nil {
				return nil, err
			}
			return nil, &ipc.Error{Code: r.Code, Message: r.Message, Hint: r.Hint}
		case ipc.AttachScreen:
		default:
			continue
		}
		var s ipc.ScreenFrame
		if err := ipc.DecodeBody(body, &s); err != nil {
			return nil, err
		}
		v.Cols, v.Rows, v.Alternate, v.Title, v.Offset = s.Cols, s.Rows, s.Alternate, pasar.Known(validText(s.Title)), s.Offset
		v.Cursor = pasar.CursorView{Col: s.CursorCol, Row: s.CursorRow, Shown: s.CursorShown}
		for _, line := range s.Lines {
			if len(v.Lines) < maxScreenRows {
				v.Lines = append(v.Lines, validText(line))
			}
		}
		if !s.More {
			return v, nil
		}
	}
}

func validText(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
