// Package supervisor runs one attempt of a job: it holds the job's terminal, keeps its output, stops
// it when asked, says how it ended, and serves those who attach.
//
// A supervisor is a process of its own and needs nobody once it has its attempt. It is started warm,
// with a control connection, and becomes the supervisor of the attempt that LAUNCH names:
//
//	warm ── LAUNCH ──> claimed ── fork ──> running ── reaped, nothing left ──> exited ── record synced ──> ended
//
// One goroutine (attempt.run) takes the attempt through these states. Output has a goroutine that
// reads the terminal and one that writes the log; each connection has one that reads and one that
// writes; none of them can hold up another.
package supervisor
