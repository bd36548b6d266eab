package answer

import (
	"encoding/json"

	"pasar"
	"pasar/ipc"
)

// An ErrorView is an error as JSON.
type ErrorView struct {
	Code    ipc.Code `json:"code"`
	Message string   `json:"message"`
	Hint    *string  `json:"hint"`
}

// ViewError is an error as it stands in other answers.
func ViewError(e *ipc.Error) *ErrorView {
	return &ErrorView{e.Code, pasar.Clean(e.Message), pasar.Known(e.Hint)}
}

// Error is the answer that is an error: one line.
func Error(e *ipc.Error) []byte {
	b, err := json.Marshal(struct {
		Schema int        `json:"schema"`
		Error  *ErrorView `json:"error"`
	}{pasar.Schema, ViewError(e)})
	if err != nil {
		panic(err) // numbers and strings can be encoded
	}
	return Line(b)
}
