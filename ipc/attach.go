package ipc

import (
	"pasar"
)

// The supervisor's protocol: frames of four bytes of length (at most MaxAttachFrame) and one msgpack
// array [type, body]; the body is a struct written as an array, to which fields are only added at
// the end. Type numbers are frozen; unknown types are ignored.
//
// Three kinds of peer talk to a supervisor, named by Mode in HELLO:
//
//   - "watch" and "type", without Paint: a follower. After WELCOME come OUT frames from the offset
//     asked for, without a gap (one in the log is told by SKIP), then EXIT once every byte has been sent.
//     MARK comes before bytes of another time or stream than those before.
//   - "watch" and "type", with Paint: a terminal. After WELCOME comes the screen as it is, in SNAP frames
//     of which all but the last have More; then OUT from the SNAP's offset on. A terminal that falls behind
//     gets SNAP again, with the present screen, instead of what it missed. SIZE comes before the first
//     byte that the job wrote for that size. EXIT comes once every byte has been sent. A job without a
//     terminal has no screen: then this is a follower, from Offset or from so many lines of History.
//   - "screen": the screen as text, in SCREEN frames of which all but the last have More; then the end.
//   - "control": the daemon. After WELCOME come STATUS frames at once and whenever something
//     changes: running, exited, ended; and EVENT frames. It sends STOP, and DONE once it has
//     journaled the end, so that the supervisor may leave.
//
// A supervisor kept warm has one control connection from birth, on descriptor ControlFD; it starts
// with LAUNCH (no HELLO), and is answered by STATUS. When that connection closes before a claim is
// held, the supervisor exits.
const (
	MinAttachVersion = 1
	MaxAttachVersion = 2 // 2: Paint, SNAP, SCREEN, SIGNAL
	MaxAttachFrame   = 64 << 10
	ControlFD        = 3
)

// Frame types of the supervisor's protocol.
const (
	AttachHello   = 1
	AttachIn      = 2
	AttachResize  = 3
	AttachTake    = 4
	AttachRelease = 5
	AttachAck     = 6
	AttachDetach  = 7
	AttachStop    = 8
	AttachLaunch  = 9
	AttachDone    = 10
	AttachSignal  = 11

	AttachWelcome = 64
	AttachSnap    = 65
	AttachOut     = 66
	AttachSkip    = 67
	AttachSize    = 68
	AttachHolder  = 69
	AttachNote    = 70
	AttachExit    = 71
	AttachPing    = 72
	AttachRefused = 73
	AttachStatus  = 74
	AttachEvent   = 75
	AttachScreen  = 76
	AttachMark    = 77
)

// An AttachMode says what a peer wants of a supervisor.
type AttachMode string

// Modes of attaching.
const (
	ModeWatch   AttachMode = "watch"
	ModeType    AttachMode = "type"
	ModeScreen  AttachMode = "screen" // from version 2 on
	ModeControl AttachMode = "control"
)

// Hello opens a connection to a supervisor.
type Hello struct {
	Min, Max   int
	Mode       AttachMode
	Cols, Rows int    // 0: not a terminal
	Offset     int64  // output from here on; -1: only what is new; -n-1: from n bytes before the end
	Nonce      string // if given, the supervisor must hold this attempt, else it refuses
	Take       bool   // take the keyboard from its holder
	Paint      bool   // a terminal: the screen, not the stream; Offset is ignored
	History    int    // with Paint: so many lines of earlier output above the screen, at most MaxHistory
	Who        string // for others, while this client holds the keyboard, such as "a browser"; empty: the process
}

// MaxHistory bounds the lines of history that an attaching terminal may ask for.
const MaxHistory = 100_000

// Welcome answers Hello.
type Welcome struct {
	Version    int
	Key        string // "42.1"
	State      AttemptState
	Offset     int64 // where OUT will start
	Cols, Rows int
	Holder     bool   // this client holds the keyboard
	NoPTY      bool   // the job has no terminal: there is nothing to type into, and output is text
	Who        string // who holds the keyboard; empty: nobody
}

// Snap is a piece of a painting of the screen: bytes for a terminal of the job's size that was cleared,
// whose modes are as after a reset. Output from Offset on follows the last piece.
type Snap struct {
	Offset     int64
	Cols, Rows int
	Data       []byte
	More       bool // another piece follows
}

// ScreenFrame is a piece of the screen as text. Rows are without trailing blanks; the first piece has row 0.
type ScreenFrame struct {
	Cols, Rows  int
	CursorCol   int // from 0
	CursorRow   int
	CursorShown bool
	Alternate   bool // the alternate screen, as full-screen programs use
	Title       string
	Row         int      // of the first of Lines
	Lines       []string // of this piece
	Offset      int64    // of the output that the screen shows
	More        bool     // another piece follows
}

// Signals that SIGNAL may ask for: of the job's foreground process group, from the holder of the keyboard.
const (
	SignalInterrupt = "INT"
	SignalQuit      = "QUIT"
)

// SignalFrame asks for a signal.
type SignalFrame struct {
	Signal string
}

// In is typing.
type In struct {
	Data []byte
}

// Out is output: the bytes at an absolute offset.
type Out struct {
	Offset int64
	Data   []byte
}

// MarkFrame says that output from Offset on, up to the next mark, came at At, or within a second of it, and
// is of a stream of a job without a terminal. At is 0, and Stream too, if the supervisor doesn't know any
// more: the index beside the log does.
type MarkFrame struct {
	Offset int64
	At     int64 // Unix milliseconds
	Stream int   // 1 standard output, 2 standard error; 0: a terminal's
}

// Skip says that output in [From, To) is not to be had (a gap in the log).
type Skip struct {
	From, To int64
}

// Size is a terminal size; Resize asks for it.
type Size struct {
	Cols, Rows int
	Offset     int64 // SIZE: the first byte written for that size
}

// Note is a line for the person attached.
type Note struct {
	Text string
}

// HolderNote tells a client whether it holds the keyboard, and who does.
type HolderNote struct {
	You bool
	Who string
}

// Launch hands a warm supervisor its attempt: the directory holds the spec.
type Launch struct {
	Dir string
}

// StopFrame is a pasar.Stop on the wire.
type StopFrame struct {
	Stop pasar.Stop
}

// An AttemptState is what a supervisor says of its attempt.
type AttemptState string

// States of an attempt, in order.
const (
	AttemptWarm    AttemptState = "warm"    // no attempt yet
	AttemptClaimed AttemptState = "claimed" // claim held, not yet forked
	AttemptRunning AttemptState = "running"
	AttemptExited  AttemptState = "exited" // reaped, nothing that descends from the supervisor left: the claim is free
	AttemptEnded   AttemptState = "ended"  // exit record synced
	AttemptTaken   AttemptState = "taken"  // answer to LAUNCH: another supervisor has the claim, or had it
	AttemptFailed  AttemptState = "failed" // answer to LAUNCH: the claim could not be taken; Error says why
)

// Status is where an attempt is. Exit is set from exited on, Record (JSON of pasar.ExitRecord) from
// ended on.
type Status struct {
	State     AttemptState
	Key       string
	Pid       int   // of the job's main process
	StartedAt int64 // Unix nanoseconds
	Exit      *pasar.Exit
	Record    []byte
	Error     string
	Socket    string
	SupPid    int
	Log       string // running: why its output can't be kept just now; empty: it is kept
}

// EventFrame is an event the job reported, as JSON of pasar.Event, with its number from 1.
type EventFrame struct {
	Number int
	Event  []byte
}

// ExitFrame ends a watcher's stream: all output up to Offset has been sent.
type ExitFrame struct {
	Exit   pasar.Exit
	Offset int64
	Error  string // launch error
	Typed  int64  // bytes of IN from this client that were taken for the job; an older supervisor doesn't say
}

// RefusedFrame says why a connection or a request is refused.
type RefusedFrame struct {
	Code    Code
	Message string
	Hint    string // what to do about it; may be empty
}
