package autopsy

import (
	"regexp"
	"strings"
)

// A part is what a line is within a Python traceback, or another language's stack.
type part int

const (
	plain     part = iota
	frame          // where the program was: code and places, which may hold any phrase
	exception      // the exception itself, after its frames
	ignored        // an exception that the interpreter itself says is of no matter
)

var (
	traceStart = regexp.MustCompile(`^(?:.*\W)?(?:Traceback|Exception Group Traceback) \(most recent call last\)`)
	traceFile  = regexp.MustCompile(`^\s*(?:> ?)?(?:\| *)*File "[^"]*"(?:, line \d+| in )`)
	library    = regexp.MustCompile(`site-packages/|dist-packages/|/lib/python\d|<frozen `)
	carets     = regexp.MustCompile(`^\s*[~^]+\s*$`)
	repeated   = regexp.MustCompile(`^\s*\[Previous line repeated`)
	boxed      = regexp.MustCompile(`^\s*[╭╰│┃├└]`)
	// process matches what multiprocessing says of whose traceback comes.
	process = regexp.MustCompile(`^Process \S+:$`)
	worded  = regexp.MustCompile(`[\pL\d]`)
	// bare matches an exception that says what it is on the next line.
	bare = regexp.MustCompile(`^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception):$`)
	// ruled matches those that a table or the like follows.
	ruled    = regexp.MustCompile(`ChildFailedError|PapermillExecutionError`)
	cppTrace = regexp.MustCompile(`C\+\+ Traceback`)
	// header matches what is said before the line that says what happened: Rust's panics, R's errors.
	header    = regexp.MustCompile(`panicked at \S+:\d+:\d+:$|^Error in [\w.:<$@\[\x60-]+\(.*:$|Graph execution error:\s*$|^Fatal error:$|FOAM FATAL (?:IO )?ERROR:`)
	chainedBy = regexp.MustCompile(`^\s*(?:\| *)*(?:During handling of the above exception, another exception occurred|The above exception was the direct cause of the following exception):`)
	// passedOver begins what the interpreter says of exceptions that end nothing.
	passedOver = regexp.MustCompile(`^\s*(?:Exception ignored in|--- Logging error ---|Error in atexit\._run_exitfuncs|Exception in thread QueueFeederThread)`)
	// addressed matches frames that have an address or a place: Rust, C++, gdb, Julia, and lines of a memory map.
	addressed = regexp.MustCompile(`^\s*\d+: +(?:0x[0-9a-f]|\S+::)|^\s*#\d+ +0x|^(?:/\S+|\S+\.so\S*)\([^)]*\)\s?\[0x|^[0-9a-f]{8,}-[0-9a-f]{8,} [r-][w-][x-]|^\s*\[?\d+\]? .* @ \S`)
)

// A trace is a traceback under way of one source.
type trace struct {
	open     bool
	ignored  bool
	chained  bool // its exception came while or because another was handled
	indent   int  // of the last "File" line; -1: none yet
	at       int  // index of the last of them that is the program's own, else of the last; -1: none
	own      bool
	headed   bool   // its next line is the exception
	panicked bool   // at is the line that says where it panicked
	class    string // of that, if the line before has it alone
	about    subject
}

// traces follows the tracebacks of each source through a log.
type traces struct {
	of   map[string]*trace
	open int // of them, those that are under way
}

// A placed is what a line is to the traceback around it.
type placed struct {
	part     part
	chained  bool
	about    subject
	panicked bool // that line says that it panicked, and this one why
	own      bool // that line is of the program's own code
	at       int  // exception: the index of the line that says where in the program it was; -1: not known
}

// take is what a line is, given those of its source before.
func (t *traces) take(s *said, i int, may bool) placed {
	tr := t.of[s.source]
	if tr == nil {
		tr = &trace{indent: -1, at: -1}
		t.of[s.source] = tr
	}
	if tr.open {
		t.open--
	}
	p := tr.take(s, i, may)
	if tr.open {
		t.open++
	}
	return p
}

// take is what a line is. Only if it may it begins a traceback.
func (tr *trace) take(s *said, i int, may bool) placed {
	body := s.body
	switch {
	case !may && !tr.open:
		if ofStack(body) {
			return placed{part: frame, at: -1}
		}
		return placed{part: plain, at: -1}
	case !may:
	case traceStart.MatchString(body) && !cppTrace.MatchString(body):
		*tr = trace{open: true, chained: tr.chained, ignored: tr.ignored && tr.open, indent: -1, at: -1}
		return placed{part: frame, at: -1}
	case passedOver.MatchString(body):
		*tr = trace{open: true, ignored: true, indent: -1, at: -1}
		return placed{part: ignored, at: -1}
	case chainedBy.MatchString(body):
		*tr = trace{chained: true, ignored: tr.ignored, indent: -1, at: -1}
		return placed{part: frame, at: -1}
	case header.MatchString(body):
		*tr = trace{open: true, indent: -1, at: -1, headed: true}
		if strings.Contains(body, "panicked at") {
			tr.at, tr.panicked = i, true
		}
		return placed{part: frame, at: -1}
	case !tr.open:
		if ofStack(body) {
			return placed{part: frame, at: -1}
		}
		return placed{part: plain, at: -1}
	}
	tr.about |= subjectOf(body)
	indent := len(body) - len(strings.TrimLeft(body, " |+-"))
	switch {
	case traceFile.MatchString(body):
		tr.indent = indent
		if own := !library.MatchString(body); own || !tr.own {
			tr.at, tr.own = i, own
		}
		return placed{part: frame, at: -1}
	case tr.indent >= 0 && indent > tr.indent || carets.MatchString(body) || repeated.MatchString(body) || process.MatchString(body) || boxed.MatchString(body) || ofStack(body):
		return placed{part: frame, at: -1}
	case tr.headed && !worded.MatchString(body), s.boxed, tr.indent < 0 && !tr.headed && strings.HasPrefix(body, "    "):
		return placed{part: frame, at: -1}
	}
	s.body = strings.TrimLeft(body, " |")
	if bare.MatchString(s.body) && !ruled.MatchString(s.body) && !tr.headed && !tr.ignored {
		tr.headed, tr.class, tr.indent = true, s.body, -1
		return placed{part: frame, at: -1}
	}
	s.body = tr.class + s.body
	p := placed{part: exception, chained: tr.chained, at: tr.at, own: tr.own, panicked: tr.panicked, about: tr.about}
	if tr.ignored {
		p.part = ignored
	}
	*tr = trace{indent: -1, at: -1}
	return p
}

// ofStack reports whether a line is a frame of another language's stack.
func ofStack(body string) bool {
	if body == "" {
		return false
	}
	trimmed := strings.TrimLeft(body, " \t")
	switch {
	case len(trimmed) < len(body) && strings.HasPrefix(trimmed, "at "), // Java, Node
		body[0] == '\t' && strings.Contains(trimmed, ".go:"),
		strings.HasPrefix(body, "goroutine "), strings.HasPrefix(body, "frame #"),
		strings.HasPrefix(body, "Detected at node"), strings.HasPrefix(body, "<stack traces unavailable"), strings.Contains(body, "defined at (most recent call last)"):
		return true
	}
	return trimmed != "" && strings.IndexByte("[#/0123456789abcdef", trimmed[0]) >= 0 && addressed.MatchString(body)
}

// A subject is what the frames of a traceback are about, where the exception alone doesn't say.
type subject int

const (
	sharedMemory subject = 1 << iota
	pinnedMemory
	spawned // a process that was to be started, of one that had gone
	remote
)

var subjects = []struct {
	about subject
	words []string
}{
	{sharedMemory, []string{"multiprocessing/synchronize.py", "multiprocessing/heap.py", "multiprocessing/shared_memory.py", "SemLock", "SharedMemory(", "_share_filename", "_share_fd", "/dev/shm"}},
	{spawned, []string{"multiprocessing/spawn.py"}},
	{remote, []string{"urllib", "http/client.py", "/requests/", "httpx", "httpcore", "aiohttp", "botocore", "paramiko", "ftplib", "grpc"}},
	{pinnedMemory, []string{"pin_memory", "pinned", "ostAlloc"}},
}

func subjectOf(frame string) (about subject) {
	for _, s := range subjects {
		for _, w := range s.words {
			if strings.Contains(frame, w) {
				about |= s.about
				break
			}
		}
	}
	return about
}
