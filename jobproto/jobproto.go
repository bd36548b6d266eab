// Package jobproto is what a job may say to pasar: one JSON object a line, appended to the file that
// PASAR_EVENTS names, and the helper module that says it for programs in Python.
//
//	{"event": "checkpoint", "step": 1200, "path": "/data/ck/1200"}
//	{"event": "resumed", "step": 1200}
//	{"event": "progress", "step": 1300, "total_steps": 5000, "loss": 0.31, "lr": 3e-4}
//	{"event": "note", "text": "switched to the small data set"}
//
// A line carries no time: whoever reads it stamps it. The writers are any program at all, so that a
// line is foreign bytes: bounded, checked, and refused with a sentence that names the key at fault.
package jobproto

// Limits of one line. A reader skips what breaks them and counts it.
const (
	MaxLine       = 64 << 10 // bytes of a line, with its newline
	MaxMetrics    = 64       // numbers besides step and total_steps in one progress line
	MaxMetricName = 100      // bytes
	MaxNote       = 4 << 10  // bytes of a note's text
	MaxPath       = 4 << 10  // bytes of a checkpoint's path (Linux's PATH_MAX)
)

// Names of the variables by which an attempt knows how to report.
const (
	EnvEvents = "PASAR_EVENTS" // file to append to
	EnvJob    = "PASAR_JOB_ID"
)

// Keys of a line that mean the same in every event. Other keys of a progress line are metrics.
const (
	keyEvent = "event"
	keyStep  = "step"
	keyTotal = "total_steps"
	keyPath  = "path"
	keyText  = "text"
)
