package vt

// A Screen is a terminal screen: what a program wrote is on it as a person would see it. It has cells, a
// cursor, the alternate screen, modes, wide and combining characters, and a bounded scrollback.
type Screen struct{ cols, rows int }

// Limits of a screen, in characters.
const (
	MinCols, MaxCols = 1, 2000
	MinRows, MaxRows = 1, 1000
)

// NewScreen makes an empty screen. Sizes outside the limits are brought within them.
func NewScreen(cols, rows int) *Screen { return &Screen{cols, rows} }

// Write takes more output. How it is cut into writes makes no difference. It never fails.
func (s *Screen) Write(p []byte) (int, error) { return len(p), nil }

// Resize gives the screen another size, as a terminal's window has it.
func (s *Screen) Resize(cols, rows int) { s.cols, s.rows = cols, rows }

// Size is the present size.
func (s *Screen) Size() (cols, rows int) { return s.cols, s.rows }

// Cursor is where the cursor is, from 0, and whether it is shown. Col is cols-1 while a wrap is pending.
func (s *Screen) Cursor() (col, row int, shown bool) { return 0, 0, true }

// Alternate reports whether the alternate screen is on.
func (s *Screen) Alternate() bool { return false }

// Title is the window title that was set, cleaned, at most 256 bytes.
func (s *Screen) Title() string { return "" }

// Row is a row's text, without trailing blanks; rows are from 0.
func (s *Screen) Row(row int) string { return "" }

// Rows is every row's text.
func (s *Screen) Rows() []string { return make([]string, s.rows) }

// Changed returns the rows that may look different since the last call, and forgets them; a nil slice is none.
func (s *Screen) Changed() []int { return nil }

// AppendRow appends columns [from, to) of a row for a terminal: colours and text, no movement; it begins and
// ends with no style in effect. A wide character that is cut is a blank.
func (s *Screen) AppendRow(b []byte, row, from, to int) []byte { return b }

// AppendSnapshot appends what makes a terminal of the same size, cleared and reset, show this screen and
// have its modes, cursor, tab stops, character sets and scroll region: the program goes on as if it had
// been attached to that terminal all the time. A Screen that is written a snapshot has the same snapshot.
func (s *Screen) AppendSnapshot(b []byte) []byte { return b }

// History is how many lines have scrolled off the top and are kept.
func (s *Screen) History() int { return 0 }

// AppendHistory appends the last n lines of history for a terminal, oldest first, each with its colours
// and "\r\n".
func (s *Screen) AppendHistory(b []byte, n int) []byte { return b }

// Modes are what a program has asked of the terminal that outlives a screenful.
type Modes struct {
	AppCursor, AppKeypad, Paste, Focus bool
	Mouse                              int // 0 none, 9, 1000, 1002, 1003
	MouseEncoding                      int // 0 none, 1005, 1006, 1015, 1016
	Keyboard                           int // flags of the kitty keyboard protocol in effect
}

// Modes are the modes now.
func (s *Screen) Modes() Modes { return Modes{} }

// Answer is called, within Write, with what a terminal would send back for each query of the program's:
// device attributes, status and cursor position, mode requests, colours, keyboard flags. Nil: unanswered.
func (s *Screen) Answer(f func(reply []byte)) {}
