package autopsy

import (
	"regexp"
	"strings"
)

// A said is a line of a log taken apart: what launchers and loggers put before it, and what was said.
type said struct {
	source string // whose line it is where several write into one log: a rank, a worker; empty: not said
	level  level
	body   string
	boxed  bool // it stood in a box
}

// A level is how serious a logger holds a line to be.
type level int

const (
	unlevelled level = iota
	info             // and below
	warning
	failure // and above
)

// A carrier is something put before a line by what passes it on. They may stand one within the other.
type carrier struct {
	first string // characters that it begins with; empty: any
	re    *regexp.Regexp
}

// Groups of the expressions: src is whose the line is, lvl how serious it is, rest what is left; without a rest
// it is all that comes after the match.
var carriers = []carrier{
	// Ranks and workers: torch.distributed and torchrun, MPI, Ray and vLLM, Slurm's `srun -l`, Compose, pdsh.
	{"[", regexp.MustCompile(`^\[(?P<src>(?:rank|Rank |RANK |default|local_rank=?|worker-?|Worker-?|proc |gpu|GPU |node)\d+)\]:?\s?`)},
	{"[", regexp.MustCompile(`^\[(?P<src>\d+,\d+)\](?:<std\w+>)?:\s?`)},
	{"(", regexp.MustCompile(`^\((?P<src>(?:[\w.:/-]+ )?(?:pid|ip|rank|worker|actor)=[^)]*|raylet|autoscaler|gcs_server|[A-Z]\w+(?:_\w+)*)\)\s?(?:[:|]\s)?`)},
	{"0123456789 ", regexp.MustCompile(`^ {0,3}(?P<src>\d{1,4}): `)},
	{"", regexp.MustCompile(`^(?P<src>[A-Za-z][\w.-]*[-_.]?\d+) {1,12}\| `)},
	{"", regexp.MustCompile(`^(?P<src>[a-z][\w-]*\d): `)},
	{"rRwW", regexp.MustCompile(`^(?P<src>(?:[Rr]ank|RANK|[Ww]orker)[ =:_-]?\d+)(?::| -| \|)\s`)},
	// glog and its kin: absl, TensorFlow, PyTorch's C++ side.
	{"[", regexp.MustCompile(`^\[(?P<lvl>[IWEFVD])(?:\d{3,4} [\d:.]+)? [\w./-]+:\d+\] (?:\[c10d\] |\[PG [^\]]*\] ?|\[Rank \d+\] ?)*`)},
	{"IWEFVD", regexp.MustCompile(`^(?P<lvl>[IWEFVD])\d{4} [\d:.]+ +\d+ (?:\[\d+\] )?[\w./-]+:\d+\] `)},
	{"IWEF", regexp.MustCompile(`^(?P<lvl>[IWEF])\d{0,4} [\w./-]+\.(?:cc|cpp|cu|h|py):\d+\] `)},
	{"IWEF", regexp.MustCompile(`^(?P<lvl>[IWEF]) (?:[\w.]+/)+[\w.]+:\d+\] `)},
	{"0123456789", regexp.MustCompile(`^\d{4}-\d\d-\d\d[ T][\d:.]+:? (?P<lvl>[IWEF]) [\w./-]+:\d+\] `)},
	// vLLM and others: the level, a date, the place.
	{"DIWEC", regexp.MustCompile(`^(?P<lvl>DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d (?:\[[\w./-]+:\d+\]|[\w./-]+:\d+\]) ?`)},
	// Journals and syslog, the kernel's ring.
	{"JFMASOND", regexp.MustCompile(`^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d (?:\S+ )?[\w./@:-]+(?:\[\d+\])?: `)},
	{"[", regexp.MustCompile(`^\[ *\d+\.\d+\] `)},
	{"[<", regexp.MustCompile(`^(?:<\d+>|\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]+ \d{4}\] )`)},
	{"k", regexp.MustCompile(`^kernel: `)},
	// Dates and times.
	{"[0123456789", regexp.MustCompile(`^\[?\d{4}[-/]\d\d[-/]\d\d[ T_]?\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|UTC| UTC|[+-]\d\d:?\d\d)?\]?(?:[:,]? ?[-|:] ?|,? +)?`)},
	{"[0123456789", regexp.MustCompile(`^\[?(?:\d\d/\d\d(?:/\d\d(?:\d\d)?)?[ ,]+)?\d\d:\d\d:\d\d(?:[.,]\d+)?(?: ?[AP]M)?\]?(?: ?[-|:] ?| +)`)},
	{"[", regexp.MustCompile(`^\[\d\d/\d\d/\d\d \d\d:\d\d:\d\d\] +`)},
	// Containers' logs (CRI).
	{"s", regexp.MustCompile(`^std(?:out|err) [FP] `)},
	// Structured logs.
	{"{", regexp.MustCompile(`^\{.*?"(?:level|lvl|severity|levelname)": ?"(?P<lvl>\w+)".*?"(?:msg|message|event|text|error)": ?"(?P<rest>(?:[^"\\]|\\.)*)".*`)},
	{"{", regexp.MustCompile(`^\{.*?"(?:msg|message|event|text|error)": ?"(?P<rest>(?:[^"\\]|\\.)*)".*?"(?:level|lvl|severity|levelname)": ?"(?P<lvl>\w+)".*`)},
	{"tlT", regexp.MustCompile(`^(?:time=\S+ |ts=\S+ )?level=(?P<lvl>\w+) (?:source=\S+ )?msg=(?P<rest>.*)`)},
	// The level, bare or in brackets, and often the name of the logger or the place after it.
	{"[(", regexp.MustCompile(`^[\[(] ?(?P<lvl>DEBUG|TRACE|INFO|NOTICE|WARN|WARNING|ERROR|ERR|CRITICAL|FATAL|SEVERE|debug|info|notice|warn|warning|error|fatal|critical) ?[\])]:?\s*(?:\[[\w./:-]+\]:?\s*)*(?:- )?`)},
	{"DIWEC", regexp.MustCompile(`^(?P<lvl>DEBUG|INFO|WARNING|ERROR|CRITICAL):[a-zA-Z_][\w.]*:`)},
	{"DTINWECFS", regexp.MustCompile(`^(?P<lvl>DEBUG|TRACE|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL|SEVERE)(?:\s*[:|]\s*|\s+- |\s{2,}|\s+\[[\w./:-]+\]:?\s*|\s(?:[\w.]+(?::[\w<>.]+)*(?::\d+)) (?:- )?|\s[A-Z][\w.$]+: )`)},
	{"", regexp.MustCompile(`^[a-z_][\w.]*(?::[\w<>.]+)?(?::\d+)?(?: ?\| ?| - )(?:(?P<lvl>DEBUG|INFO|WARNING|ERROR|CRITICAL)(?: ?[|:-] ?| ))?`)},
	// A box around a message.
	{"│┃|", regexp.MustCompile(`^[│┃] ?(?P<rest>.*?)\s*[│┃]$`)},
}

// ahead matches a level of little matter among the dates, brackets and names that a line begins with, in whatever form; the two
// forms of words in lower case want a sign that they are one.
var ahead = regexp.MustCompile(`^(?:[^\s"'` + "`" + `]+\s+){0,5}?(?:[\[(<{*|-]{0,2}(?:(DEBUG|TRACE|INFO|NOTICE|Notice|Info|Debug)|(WARN|WARNING|Warning|Warn))[\])>}*|:-]{0,3}|[\[(<](?:(debug|trace|info|notice)|(warn|warning))\s*[\])>]:?|(?:(debug|trace|info|notice|hinweis|I|D)|(warn|warning|warnung|avertissement|advertencia|W)):)(?:\s|$)`)

// aheadBytes is how far from a line's beginning a level is looked for.
const aheadBytes = 120

// mayLevel reports whether a text may have a level of little matter: most have not.
func mayLevel(s string) bool {
	for _, w := range []string{"NFO", "nfo", "ARN", "arn", "EBUG", "ebug", "RACE", "race", "OTICE", "otice", "I:", "D:", "W:", "inweis", "vert"} {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// levelAhead is the level that a line's beginning says it has, if that is one of little matter.
func levelAhead(line string) level {
	if line == "" || line[0] == ' ' || line[0] == '\t' || !mayLevel(line[:min(len(line), aheadBytes)]) {
		return unlevelled
	}
	m := ahead.FindStringSubmatchIndex(line)
	if m == nil || mishap.MatchString(line[:m[1]]) || strings.Contains(line[:m[1]], "NCCL") || strings.Contains(line[:m[1]], " VM ") {
		return unlevelled
	}
	for k := 2; k < len(m); k += 4 {
		if m[k] >= 0 {
			return info
		}
	}
	return warning
}

// stackOf matches the traceback in a structured log's line.
var stackOf = regexp.MustCompile(`"(?:exc_info|exception|stack|stack_trace|traceback|exc_text|stacktrace|exc|err_stack)": ?"((?:[^"\\]|\\.)*)"`)

// maxCarriers bounds how many stand one within the other.
const maxCarriers = 6

// listen takes a line apart.
func listen(line string) said {
	s := said{body: line}
	if strings.HasPrefix(line, "{") {
		if m := stackOf.FindStringSubmatch(line); m != nil { // a structured log has the traceback in one string
			lines := strings.Split(strings.TrimSuffix(m[1], `\n`), `\n`)
			k := len(lines) - 1
			for k > 0 && (strings.HasPrefix(lines[k], `\t`) || strings.HasPrefix(lines[k], " ")) {
				k--
			}
			s.body, s.level = strings.ReplaceAll(strings.ReplaceAll(strings.Join(lines[k:], " "), `\t`, ""), `\"`, `"`), failure
			return s
		}
	}
	for range maxCarriers {
		if !s.unwrap() {
			break
		}
	}
	if s.level == unlevelled {
		s.level = levelAhead(line)
	}
	for strings.HasPrefix(s.body, "  ") { // Python's groups of exceptions stand behind bars
		rest, ok := strings.CutPrefix(strings.TrimLeft(s.body, " "), "| ")
		if !ok {
			break
		}
		s.body = rest
	}
	return s
}

func (s *said) unwrap() bool {
	if s.body == "" {
		return false
	}
	first := s.body[0]
	for i := range carriers {
		c := &carriers[i]
		if c.first != "" && strings.IndexByte(c.first, first) < 0 {
			continue
		}
		if c.first == "" && !strings.ContainsAny(s.body[:min(len(s.body), 60)], "|-:") {
			continue
		}
		m := c.re.FindStringSubmatchIndex(s.body)
		if m == nil || m[1] == 0 {
			continue
		}
		rest := s.body[m[1]:]
		for k, name := range c.re.SubexpNames() {
			if k == 0 || m[2*k] < 0 {
				continue
			}
			switch text := s.body[m[2*k]:m[2*k+1]]; name {
			case "src":
				s.source = strings.TrimSpace(s.source + " " + text)
			case "lvl":
				if l := levelOf(text); s.level == unlevelled || l > s.level {
					s.level = l
				}
			case "rest":
				rest = text
				s.boxed = s.boxed || first == boxByte
			}
		}
		if rest == s.body {
			return false
		}
		s.body = rest
		return true
	}
	return false
}

// boxByte begins, in UTF-8, the characters that boxes are drawn with.
const boxByte = 0xe2

func levelOf(name string) level {
	switch name[0] {
	case 'W', 'w':
		return warning
	case 'E', 'e', 'C', 'c', 'F', 'f', 'S', 's':
		return failure
	}
	return info
}
