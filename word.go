package pasar

import "fmt"

// A WordError says what is wrong with a word that somebody wrote, and what to write instead. The two are apart, since the
// word may have anything in it.
type WordError struct {
	What    string
	Instead string
}

// BadWord is a *WordError.
func BadWord(instead, format string, args ...any) error {
	return &WordError{fmt.Sprintf(format, args...), instead}
}

func (w *WordError) Error() string { return w.What + "; " + w.Instead }
