package ui

// The stall-keeper minds the market: a face in a stall under a striped awning.

// A face is how the stall-keeper looks in a mood. The props are two columns each, left and right of it.
type face struct {
	is, left, right string
	prop            Role // how the props look
}

// faceWidth and stallWidth are columns; a stall has three rows.
const (
	faceWidth  = 5
	stallWidth = 1 + 2 + faceWidth + 2 + 1
)

var faces = map[Mood]face{
	MoodIdle:      {"(-‿-)", "  ", "ᶻz", Faint},  // dozes
	MoodHappy:     {"(◕‿◕)", " \\", "/ ", Plain}, // both arms up
	MoodStart:     {"(◕o◕)", "  ", "/!", Plain},  // a hand up: here we go
	MoodBusy:      {"(◠‿◠)", " ~", "-¢", Warn},   // takes a coin
	MoodWaiting:   {"(◕_◕)", "  ", "..", Faint},  // looks at you
	MoodSweat:     {"(◉~◉)", " ;", "; ", Calm},   // drops of sweat
	MoodHot:       {"(>o<)", " ≀", "≀ ", Bad},    // steam
	MoodOOM:       {"(@_@)", " ✧", "✧ ", Warn},   // sees stars
	MoodFailed:    {"(✕_✕)", " _", "_ ", Bad},    // arms down
	MoodPreempted: {"(¬_¬)", "«-", "  ", Calm},   // shoved aside, and not amused
	MoodDone:      {"(✦‿✦)", " \\", "/¢", Warn},  // sold
	MoodThinking:  {"(◔_◔)", "  ", "oO", Faint},  // a thought above it
	MoodHmm:       {"(-~◕)", "  ", "? ", Warn},   // one eyebrow up
	MoodConfused:  {"(?_?)", " ?", "? ", Bad},    // nobody there
}

var asciiFaces = map[Mood]face{
	MoodIdle:      {"(-_-)", "  ", "zZ", Faint},
	MoodHappy:     {"(^_^)", " \\", "/ ", Plain},
	MoodStart:     {"(^o^)", "  ", "/!", Plain},
	MoodBusy:      {"(n_n)", " ~", "-$", Warn},
	MoodWaiting:   {"(o_o)", "  ", "..", Faint},
	MoodSweat:     {"(o~o)", " ;", "; ", Calm},
	MoodHot:       {"(>o<)", " (", ") ", Bad},
	MoodOOM:       {"(@_@)", " *", "* ", Warn},
	MoodFailed:    {"(x_x)", " _", "_ ", Bad},
	MoodPreempted: {"(>_>)", "<-", "  ", Calm},
	MoodDone:      {"(*u*)", " \\", "/$", Warn},
	MoodThinking:  {"(9_9)", "  ", "oO", Faint},
	MoodHmm:       {"(-~o)", "  ", "? ", Warn},
	MoodConfused:  {"(?_?)", " ?", "? ", Bad},
}

func faceOf(m Mood, ascii bool) face {
	all := faces
	if ascii {
		all = asciiFaces
	}
	if f, ok := all[m]; ok {
		return f
	}
	return all[MoodConfused]
}

// Face is the stall-keeper's face in a mood, five columns wide.
func Face(m Mood, ascii bool) string { return faceOf(m, ascii).is }

// Stall is the stall-keeper at its stall: three rows of eleven columns.
func Stall(m Mood, ascii bool) []Line {
	f := faceOf(m, ascii)
	stripe, left, right, post := "█", "▟", "▙", "│"
	counter := [2]string{"╘═ ", " ═╛"}
	if ascii {
		stripe, left, right, post = "#", "/", "\\", "|"
		counter = [2]string{"[= ", " =]"}
	}
	awning := make(Line, 0, stallWidth)
	for i := range stallWidth {
		cell := Span{Text: stripe}
		if i%2 == 0 {
			cell.Role = Bad
		} else if ascii {
			cell.Text = "="
		}
		switch i {
		case 0:
			cell.Text = left
		case stallWidth - 1:
			cell.Text = right
		}
		awning = append(awning, cell)
	}
	return []Line{
		awning,
		{{Text: post, Role: Faint}, {Text: f.left, Role: f.prop}, {Text: f.is, Role: m.Role(), Bold: true}, {Text: f.right, Role: f.prop}, {Text: post, Role: Faint}},
		{{Text: counter[0], Role: Faint}, {Text: "pasar", Role: Accent}, {Text: counter[1], Role: Faint}},
	}
}
