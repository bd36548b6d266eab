package pasar

import (
	"encoding/json"
	"time"
)

// MarshalJSON writes every key, with null for what was not reported: an event is part of a job's view,
// where a key is never missing.
func (e Event) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Kind       EventKind          `json:"event"`
		At         time.Time          `json:"at"`
		Step       *float64           `json:"step"`
		TotalSteps *float64           `json:"total_steps"`
		Path       *string            `json:"path"`
		Text       *string            `json:"text"`
		Metrics    map[string]float64 `json:"metrics"`
	}{e.Kind, e.At, e.Step, e.TotalSteps, Known(e.Path), Known(e.Text), e.Metrics})
}
