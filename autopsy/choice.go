package autopsy

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"pasar"
)

// aTool matches complaints of the small programs that scripts are made of.
var aTool = regexp.MustCompile(`^(?:\S*/)?(?:curl|wget|rm|cp|mv|tar|cat|ls|rsync|ssh|scp|sftp|aws|gsutil|git|mkdir|chmod|chown|kill|tee|gzip|gunzip|zip|unzip|sed|awk|grep|find|touch|ln|head|tail|rclone|s3cmd|wandb|mail|sendmail|umount|mount|fusermount|docker|upload failed|fatal)(?:\[\d+\])?: `)

// why is the cause that says it best; nil if none does.
func (r *reading) why() *cause {
	best := r.best()
	if best != nil && best.rule != nil && best.rule.remote {
		for i := range r.alive {
			if c := r.alive[i]; c.at < best.at && (c.code == pasar.CodeNetwork || c.code == pasar.CodeAuth) {
				c.rank = best.rank
				return &c
			}
		}
	}
	if best == nil || best.rank >= ofPeers {
		if c := r.ofFirstFailed(); c != nil {
			return c
		}
	}
	if c := r.notFound(best); c != nil {
		return c
	}
	if c := r.raisedAfter(best); c != nil {
		return c
	}
	if (best == nil || best.rank >= ofNothing) && r.exit != nil && r.exit.Signal == 0 && r.exit.Code < 126 {
		if c := r.hardlyPast(); c != nil {
			return c
		}
	}
	return best
}

// notFound is the command that isn't there, or may not be executed, if that is how the shell left, and what says it
// best is no more than a complaint before it.
func (r *reading) notFound(best *cause) *cause {
	if best == nil || best.rank != ofSurrounding || best.code == pasar.CodeEnvError || best.raised || r.exit == nil || r.exit.Code != 126 && r.exit.Code != 127 {
		return nil
	}
	for i := len(r.alive) - 1; i >= 0; i-- {
		if c := &r.alive[i]; c.code == pasar.CodeBadCommand && c.kind != follows || c.rule != nil && c.rule.name == shellFoundNone {
			return c
		}
	}
	return nil
}

// raisedAfter is an uncaught exception after the complaint of a tool or a shell that its script went on without; nil if there
// is none, or if it may come of that. The complaint is a guess, and the exception is known to have ended a process.
func (r *reading) raisedAfter(best *cause) *cause {
	if best == nil || best.chained {
		return nil
	}
	passing := best.tool || best.ofShell()
	if best.rank != ofSurrounding && !(passing && best.code == pasar.CodeDiskFull) {
		return nil
	}
	passing = passing || best.code == pasar.CodeNetwork && !best.raised
	for i := range r.alive {
		c := &r.alive[i]
		if c.at < best.at || !c.raised || c.chained || c.rank > ofProgram || c.code == best.code {
			continue
		}
		if !passing && (c.rule != nil || c.said.source != best.said.source || !r.wordsBetween(best.at, c.at)) {
			continue
		}
		if lacking.MatchString(c.said.body) || best.tool && hasWord(c.said.body, nameOf(best)) || sharesName(best.said.body, c.said.body) {
			return nil
		}
		c.doubted = true
		return c
	}
	return nil
}

// wordsBetween reports whether a program said something else between two lines.
func (r *reading) wordsBetween(a, b int) bool {
	for i := a + 1; i < b; i++ {
		text := r.log[i].Text
		if strings.TrimLeft(text, " \t") != text || strings.Contains(text, "Traceback (most") || idle.MatchString(text) || !worded.MatchString(text) {
			continue
		}
		if !slices.ContainsFunc(r.alive, func(c cause) bool { return c.at == i }) {
			return true
		}
	}
	return false
}

// ofShell reports whether a shell complains, in a script.
func (c *cause) ofShell() bool {
	return c.rule != nil && (c.rule.name == commandNotFound || c.rule.name == shellFoundNone || c.rule.name == shellMayNot) || inShell.MatchString(c.said.body)
}

var inShell = regexp.MustCompile(`^(?:\S*/)?(?:(?:ba|z|k|da)?sh|\S+\.(?:sh|bash|slurm|sbatch)): (?:line )?\d*:? ?`)

// lacking matches what programs say that were given nothing, or too little.
var lacking = regexp.MustCompile(`(?i)\b(?:empty|no (?:data|samples|files|images|input|rows|records|lines)|num_samples|(?:must|should) be (?:a )?positive|at least (?:one|1)|zero|\b0 (?:samples|files|rows)|length 0|none\b|nonetype|missing|eof|expecting value|not found|could not|cannot (?:open|read|find)|out of range|stopiteration|division by zero|no such)`)

// nameOf is the program that complains.
func nameOf(c *cause) string {
	name, _, _ := strings.Cut(c.said.body, ":")
	return name
}

// hasWord reports whether a text has a word.
func hasWord(text, word string) bool {
	return slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_' }), word)
}

// sharesName reports whether two lines have a file's, a host's or another name in common.
func sharesName(a, b string) bool {
	for _, n := range names.FindAllString(a, -1) {
		if strings.Contains(b, n) {
			return true
		}
	}
	return false
}

// names matches what is likely a name: it has a dot or an underscore within, or is a path's last part.
var names = regexp.MustCompile(`[\w-]+[._][\w.-]*\w|[\w-]{4,}(?:['"’]|:)`)

// hardlyPast is the last exception that ended a traceback if hardly any work came after it, and the job failed: what is printed
// on the way out may look like work. It is no more than likely.
func (r *reading) hardlyPast() *cause {
	const few = 3 // lines that look like work
	for k := len(r.past) - 1; k >= 0; k-- {
		c := &r.past[k]
		if !c.raised || c.rank >= ofNothing || c.chained {
			continue
		}
		n := 0
		for i := c.at + 1; i < len(r.log) && n <= few; i++ {
			if s := listen(r.log[i].Text); s.goesOn() {
				n++
			}
		}
		if n > few {
			return nil
		}
		c.doubted = true
		return c
	}
	return nil
}

// firstFailed matches the rank that torchrun's table says failed first.
var firstFailed = regexp.MustCompile(`^\s*rank +: (\d+) \(local_rank: \d+\)`)

// ofFirstFailed is the last exception of the rank that its launcher says failed first, even if lines of its work
// came after: what a process had in its buffers may be written later than what it said of its end.
func (r *reading) ofFirstFailed() *cause {
	root := false
	for i := max(0, len(r.log)-tableLines); i < len(r.log); i++ {
		if strings.Contains(r.log[i].Text, "Root Cause (first observed failure)") {
			root = true
		}
		m := firstFailed.FindStringSubmatch(r.log[i].Text)
		if m == nil || !root {
			continue
		}
		for k := len(r.past) - 1; k >= 0; k-- {
			c := &r.past[k]
			if c.raised && c.rank < ofPeers && strings.HasSuffix(c.said.source, "rank"+m[1]) {
				return c
			}
		}
		return nil
	}
	return nil
}

// tableLines bounds how far from the end a launcher's table is looked for.
const tableLines = 60

// best is the cause of those alive that says it best.
func (r *reading) best() *cause {
	var best *cause
	for i := range r.alive {
		c := &r.alive[i]
		if c.rank == ofNothing && c.kind == follows || r.comesOf(i) {
			continue
		}
		if best == nil || c.before(best) || r.wentOn(best) && c.rank <= ofSurrounding && c.code != best.code {
			best = c
		}
	}
	if best == nil {
		return nil
	}
	if best.kind == announces || best.tool {
		for i := range r.alive {
			c := &r.alive[i]
			if c.at > best.at && c.sameSort(best) && c.kind == tells && c.rank == best.rank && (c.raised || !best.tool) && !r.comesOf(i) {
				return c
			}
		}
	}
	return best
}

// wentOn reports whether a cause is a command that isn't there, and its script didn't end for that.
func (r *reading) wentOn(c *cause) bool {
	return c.rule != nil && c.rule.name == commandNotFound && (r.exit == nil || r.exit.Code != 127)
}

// comesOf reports whether a cause that is alive follows from one before it.
func (r *reading) comesOf(i int) bool {
	c := &r.alive[i]
	for k := range i {
		b := &r.alive[k]
		if c.rule != nil && c.code == pasar.CodeInterrupted && strings.Contains(b.said.body, "Exited with exit code") {
			return true // Slurm cancels the rest of a step itself
		}
		if b.rank == ofNothing || b.kind == follows || b.tries > c.tries {
			continue
		}
		switch {
		case c.chained && !b.chained && b.said.source == c.said.source && b.raised:
			return true
		case c.tool && b.rank <= ofPeers && !b.tool:
			return true
		case (b.code == pasar.CodeSignal || b.code == pasar.CodeDiverged) && c.rank == ofSurrounding: // what a killed process didn't write is missing
			return true
		}
	}
	return false
}

// isKill reports whether a line says that a process was killed by SIGKILL, or for memory.
func (c *cause) isKill() bool {
	return c.code == pasar.CodeKernelOOM || c.code == pasar.CodeSignal && signalIn(c.said.body) == "SIGKILL"
}

// kill is the first line that says that a process was killed, else the first that says that one is gone.
func (r *reading) kill() *cause {
	for _, is := range []func(*cause) bool{(*cause).isKill, func(c *cause) bool { return gone.MatchString(c.said.body) }} {
		for i := range r.alive {
			if is(&r.alive[i]) {
				return &r.alive[i]
			}
		}
	}
	return nil
}

// gone matches what a program says that misses a process of its own.
var gone = regexp.MustCompile(`exited unexpectedly|died unexpectedly|terminated abruptly|unexpectedly terminated|WorkerCrashedError|actor died|BrokenProcessPool|Killed\b`)

// outlivedKill reports whether the log shows that a process was killed, that the job got on without it, and
// that it ended for something else.
func (r *reading) outlivedKill() bool {
	why := r.why()
	if why == nil || why.rank >= ofNothing || r.kill() != nil {
		return false
	}
	killed := false
	for i := range why.at {
		switch text := r.log[i].Text; {
		case killedOne.MatchString(text):
			killed = true
		case killed:
			if s := listen(text); s.goesOn() {
				return true
			}
		}
	}
	return false
}

// killedOne matches what says that a process was killed, in whoever's words.
var killedOne = regexp.MustCompile(`(?i)\bkilled\b|\bSIGKILL\b|(?:code|status|signal)"?\W{1,3}(?:-9|137|9)\b|\boom[- ]kill`)

// before reports whether a cause says it better than another that came before it. Of several tries the last counts,
// unless it says nothing.
func (c *cause) before(best *cause) bool {
	if c.rank == ofNothing || best.rank == ofNothing || c.tries == best.tries {
		return c.rank < best.rank
	}
	return c.tries < best.tries
}

// sameSort reports whether a cause is of the reason of one that announces it; what announces an error of the GPU's
// runtime doesn't know which.
func (c *cause) sameSort(b *cause) bool {
	return c.code == b.code || b.code == pasar.CodeCUDAError && ofDevice[c.code] || b.code == pasar.CodeHostOOM && c.code == pasar.CodeGPUOOM
}

var ofDevice = map[pasar.Code]bool{pasar.CodeGPUOOM: true, pasar.CodeGPUXid: true, pasar.CodeCUDAError: true, pasar.CodeDeviceAssert: true, pasar.CodeGPUSetup: true}
