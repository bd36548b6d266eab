package pasar

// A ScreenView is a job's screen as text, as it is now.
type ScreenView struct {
	Schema    int        `json:"schema"`
	ID        JobID      `json:"id"`
	Attempt   int        `json:"attempt"`
	Cols      int        `json:"cols"`
	Rows      int        `json:"rows"`
	Cursor    CursorView `json:"cursor"`
	Alternate bool       `json:"alternate"` // the alternate screen, as full-screen programs use it
	Title     *string    `json:"title"`     // that the job gave its window
	Lines     []string   `json:"lines"`     // one for each row, without trailing blanks; the job's text, not to be trusted
	Offset    int64      `json:"offset"`    // in the output, up to which it is shown
}

// A CursorView is where a cursor is.
type CursorView struct {
	Col   int  `json:"col"` // from 0
	Row   int  `json:"row"` // from 0
	Shown bool `json:"shown"`
}

// A SentView says what was typed into a job's terminal.
type SentView struct {
	Schema  int   `json:"schema"`
	ID      JobID `json:"id"`
	Attempt int   `json:"attempt"`
	Bytes   int   `json:"bytes"` // handed over to the terminal; when the job reads them is its affair
}
