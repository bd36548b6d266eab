package answer

import (
	"fmt"

	"pasar"
	"pasar/ipc"
)

// NotAttachable says why there is no terminal to attach to, of a job that isn't running but in a state.
func NotAttachable(id pasar.JobID, st pasar.State) *ipc.Error {
	if st.Finished() {
		return &ipc.Error{Code: ipc.CodeWrongState, Message: fmt.Sprintf("job #%d has ended (%s): it has no terminal any more", id, st),
			Hint: fmt.Sprintf("`pasar logs %d` shows its output", id)}
	}
	return &ipc.Error{Code: ipc.CodeWrongState, Message: fmt.Sprintf("job #%d is %s: it has no terminal yet", id, st),
		Hint: fmt.Sprintf("`pasar logs -f %d` waits for it to start", id)}
}
