// Package ipc is how pasar's processes talk: frames, messages, versions and peer identity, for the
// daemon's socket and for each supervisor's.
//
// # The daemon's protocol
//
// A connection is a stream of frames: four bytes of length (big-endian, at most MaxFrame), then one
// msgpack array [type, …]. The client sends HELLO with the range of versions it speaks; the server
// answers WELCOME with the version it chose, or REFUSED with a sentence saying which side is old.
// After that the client sends requests, as many at once as it likes, each with a number of its own:
//
//	client                                 server
//	HELLO   min max version [via]
//	                                       WELCOME proto version pid | REFUSED code message hint
//	REQUEST id verb body
//	                                       CHUNK   id bytes       (streams only, any number)
//	                                       ANSWER  id body        (the end, good)
//	                                       FAULT   id code message hint   (the end, bad)
//	CANCEL  id                             (the answer is then a FAULT "interrupted", or what was under way)
//
// Numbers on the wire are written out and never reused; unknown types are ignored; fields are only
// ever added at the end of an array or a struct. The verbs and who may use them are in the table
// Requests. Views travel as the JSON that clients print (bytes inside msgpack), so that nobody
// decodes and encodes them on the way.
//
// Who passes a connection on says in HELLO by which way it came (PassHello), whatever the client may have said.
//
// A supervisor's protocol is in attach.go; it has the same framing with a smaller bound.
package ipc

import "time"

// Versions of the daemon's protocol that this build speaks.
const (
	MinVersion = 1
	MaxVersion = 1
)

// Limits of the daemon's protocol.
const (
	MaxFrame       = 4 << 20 // bytes of one frame on the daemon's socket
	MaxChunk       = 256 << 10
	MaxDepth       = 32               // nesting of arrays and maps in a frame
	MaxConcurrent  = 32               // requests under way on one connection
	MaxConnections = 512              // on the daemon's socket; one more is refused
	GreetTimeout   = 5 * time.Second  // for HELLO and WELCOME
	WriteTimeout   = 60 * time.Second // a peer that takes nothing for so long is dropped
)

// A Code says on the wire what kind of error it is; an exit code follows from it. Never match an
// error by its text.
type Code string

// Codes of errors.
const (
	CodeBadRequest  Code = "bad_request"  // can't be decoded, or an argument is wrong
	CodeUnknownJob  Code = "unknown_job"  // no such job
	CodeWrongState  Code = "wrong_state"  // not possible in the job's state
	CodeImpossible  Code = "impossible"   // a claim that can never fit
	CodeOverLimit   Code = "over_limit"   // a limit of the daemon's
	CodeUnavailable Code = "unavailable"  // the daemon takes no work just now; the message says why
	CodeUnsupported Code = "unsupported"  // this daemon doesn't know the request, or the machine can't do it
	CodeVersion     Code = "version"      // no common protocol version
	CodeNotAllowed  Code = "not_allowed"  // the peer may not
	CodeInterrupted Code = "interrupted"  // cancelled by the client, or the daemon is going down
	CodeInternal    Code = "internal"     // a fault in pasar
	CodeNoDaemon    Code = "no_daemon"    // made by the client: nobody listens
	CodeUsage       Code = "usage"        // made by the client: bad arguments
	CodeBadInput    Code = "bad_input"    // made by the client: a file it was given is bad
	CodeLaunch      Code = "launch_error" // the target could not start it
)

// An Error is an answer that says no: what was wrong with which input, and what to do about it.
type Error struct {
	Code    Code   `json:"code" msgpack:"code"`
	Message string `json:"message" msgpack:"message"`
	Hint    string `json:"hint" msgpack:"hint"`
}

func (e *Error) Error() string { return e.Message }

// Frame types of the daemon's protocol.
const (
	typeHello   = 1
	typeRequest = 2
	typeCancel  = 3

	typeWelcome = 64
	typeRefused = 65
	typeChunk   = 66
	typeAnswer  = 67
	typeFault   = 68
)
