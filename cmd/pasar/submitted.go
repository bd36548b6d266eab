package main

import (
	"fmt"

	"pasar"
	"pasar/ipc"
)

// submitted is the answer in words, with what was understood of the claim. What was sent is what the job
// is, so the view needs no decoding; only a job found by its key may be another, and what a slice is
// charged as the daemon alone knows.
func submitted(ans ipc.SubmitAnswer, sent *pasar.Spec) string {
	what, name, claim := "submitted", sent.Name, sent.Claim.String()
	if ans.Existing || sent.Claim.Kind == pasar.Slice {
		if v, err := parseView(ans.View); err == nil {
			name, claim = v.Name, claimOf(v)
		}
	}
	if ans.Existing {
		what = "found"
		claim += "; same key"
	}
	line := fmt.Sprintf("%s #%d", what, ans.Job)
	if n := len(ans.Jobs); n > 1 {
		line += fmt.Sprintf("–#%d", ans.Jobs[n-1])
		if claim = ", each " + claim; sent.Claim.Kind == pasar.NoGPU && !ans.Existing {
			claim = " without a GPU"
		}
		claim = fmt.Sprintf("group %d: %d jobs%s", ans.Job, n, claim)
	}
	if name != "" && len(ans.Jobs) <= 1 {
		line += " " + pasar.Clean(name)
	}
	line += " (" + claim
	if ans.Sentence != "" {
		line += "; " + pasar.Clean(ans.Sentence)
	}
	return line + ")"
}
