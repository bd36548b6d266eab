package answer

import (
	"pasar"
	"pasar/ipc"
)

// A GroupView is the answer to an array or sweep.
type GroupView struct {
	Schema int           `json:"schema"`
	Group  pasar.JobID   `json:"group"`
	Jobs   []pasar.JobID `json:"jobs"`
}

// Submitted is what a submit is answered with, a line: a job alone as the daemon shows it, several as their group.
func Submitted(ans ipc.SubmitAnswer) ([]byte, error) {
	if len(ans.Jobs) > 1 {
		return Encode(GroupView{pasar.Schema, ans.Job, ans.Jobs})
	}
	return Line(ans.View), nil
}
