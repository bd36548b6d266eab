package ui

// A Place is where a key means something.
type Place string

// Places.
const (
	InMarket    Place = "the market"   // the dashboard
	InJob       Place = "a job's page" //
	InOutput    Place = "output"       // a job's
	InText      Place = "text"         // pages to read
	InForm      Place = "forms"        //
	InApprovals Place = "approvals"
	Anywhere    Place = "anywhere" // but where one types
)

// An Act is what a key does.
type Act string

// Acts.
const (
	ActOpen        Act = "open"
	ActAttach      Act = "attach"
	ActBid         Act = "bid"
	ActPause       Act = "pause"
	ActCancel      Act = "cancel"
	ActRestart     Act = "restart"
	ActHold        Act = "hold"
	ActSubmit      Act = "submit"
	ActLike        Act = "another"
	ActWhy         Act = "why"
	ActFollow      Act = "follow"
	ActCloud       Act = "cloud"
	ActGPUs        Act = "gpus"
	ActHelp        Act = "help"
	ActQuit        Act = "quit"
	ActBack        Act = "back"
	ActFilter      Act = "filter"
	ActAll         Act = "all"
	ActSort        Act = "sort"
	ActReverse     Act = "reverse"
	ActUp          Act = "up"
	ActDown        Act = "down"
	ActPageUp      Act = "page up"
	ActPageDn      Act = "page down"
	ActFirst       Act = "first"
	ActLast        Act = "last"
	ActEarlier     Act = "earlier"
	ActLater       Act = "later"
	ActZoomIn      Act = "zoom in"
	ActZoomOut     Act = "zoom out"
	ActNow         Act = "now"
	ActNext        Act = "next job"
	ActPrev        Act = "previous job"
	ActSearch      Act = "search"
	ActAgain       Act = "search on"
	ActMark        Act = "mark"
	ActApprove     Act = "approve"
	ActReject      Act = "reject"
	ActPrevAttempt Act = "previous attempt"
	ActNextAttempt Act = "next attempt"
	ActRevive      Act = "connect"
	ActRedraw      Act = "redraw"
	ActSuspend     Act = "suspend"
)

// A Key is one line of the table of keys: whatever a key does, and help says of it, comes from there.
type Key struct {
	Act   Act
	Names []string // "Enter", "Ctrl-L", "x"; the first one stands in hints
	Hint  string   // in a word or two, for the bottom row; empty: it stands in help alone
	Does  string   // for help
	In    []Place
	Write bool // it changes something, so that a console that only reads hasn't got it
	Job   bool // it is about the chosen job
}

// Keys is every key there is, in the order of help. In forms, keys are the fields' own.
var Keys = []Key{
	{ActOpen, []string{"Enter", "l"}, "open", "open the job", []Place{InMarket}, false, true},
	{ActBack, []string{"Esc", "q"}, "back", "go back", []Place{InJob, InOutput, InText, InApprovals}, false, false},
	{ActMark, []string{"Space"}, "mark", "mark it, or leave it out: what is marked is approved or rejected together", []Place{InApprovals}, false, false},
	{ActApprove, []string{"a", "Enter"}, "approve", "approve what is marked, by typing what it costs at most", []Place{InApprovals}, true, false},
	{ActReject, []string{"x"}, "reject", "reject what is marked", []Place{InApprovals}, true, false},
	{ActAttach, []string{"a"}, "attach", "attach to its terminal; the console steps aside until you detach", []Place{InMarket, InJob}, false, true},
	{ActSubmit, []string{"s"}, "submit", "submit a job", []Place{InMarket, InJob}, true, false},
	{ActCancel, []string{"x"}, "cancel", "cancel it", []Place{InMarket, InJob}, true, true},
	{ActBid, []string{"b"}, "bid", "change its bid, seeing who would move", []Place{InMarket, InJob}, true, true},
	{ActWhy, []string{"w"}, "why", "why it died, why it waits, or how it is doing", []Place{InMarket, InJob}, false, true},
	{ActFollow, []string{"f"}, "log", "follow its output", []Place{InMarket, InJob}, false, true},
	{ActFilter, []string{"/"}, "filter", "show only some jobs: words, #42, @tag, state:failed, by:ada; - before a word leaves those out", []Place{InMarket}, false, false},
	{ActRestart, []string{"r"}, "restart", "start it again once it has ended, with changes if you like", []Place{InMarket, InJob}, true, true},
	{ActPause, []string{"p"}, "pause", "pause it at a checkpoint, or resume it", []Place{InMarket, InJob}, true, true},
	{ActHold, []string{"H"}, "hold", "hold it back while it waits, or release it", []Place{InMarket, InJob}, true, true},
	{ActLike, []string{"S"}, "another", "submit another job like it, with changes to anything", []Place{InMarket, InJob}, true, true},
	{ActAll, []string{"Esc"}, "", "show all jobs again", []Place{InMarket}, false, false},
	{ActSort, []string{"o"}, "sort", "sort by the next column", []Place{InMarket}, false, false},
	{ActReverse, []string{"O"}, "", "sort the other way round", []Place{InMarket}, false, false},
	{ActUp, []string{"Up", "k"}, "", "up", []Place{InMarket, InJob, InOutput, InText, InApprovals}, false, false},
	{ActDown, []string{"Down", "j"}, "", "down", []Place{InMarket, InJob, InOutput, InText, InApprovals}, false, false},
	{ActPageUp, []string{"PgUp", "Ctrl-B"}, "", "a page up", []Place{InMarket, InJob, InOutput, InText}, false, false},
	{ActPageDn, []string{"PgDn", "Ctrl-F", "Space"}, "", "a page down", []Place{InMarket, InJob, InOutput, InText}, false, false},
	{ActFirst, []string{"Home"}, "", "to the first", []Place{InMarket, InJob, InOutput, InText}, false, false},
	{ActLast, []string{"End", "G"}, "", "to the last; in output, follow it again", []Place{InMarket, InJob, InOutput, InText}, false, false},
	{ActPrev, []string{"["}, "", "the job before it", []Place{InJob}, false, false},
	{ActNext, []string{"]"}, "", "the job after it", []Place{InJob}, false, false},
	{ActPrevAttempt, []string{"["}, "", "the output of the attempt before", []Place{InOutput}, false, false},
	{ActNextAttempt, []string{"]"}, "", "the output of the attempt after", []Place{InOutput}, false, false},
	{ActSearch, []string{"/"}, "search", "search in the text", []Place{InOutput, InText}, false, false},
	{ActAgain, []string{"n"}, "search on", "search on, upwards", []Place{InOutput, InText}, false, false},
	{ActEarlier, []string{"Left"}, "", "earlier in the market", []Place{InMarket}, false, false},
	{ActLater, []string{"Right"}, "", "later in the market", []Place{InMarket}, false, false},
	{ActZoomIn, []string{"+", "="}, "", "less time, larger", []Place{InMarket}, false, false},
	{ActZoomOut, []string{"-"}, "", "more time, smaller", []Place{InMarket}, false, false},
	{ActNow, []string{"0"}, "", "back to now, as far into it as before", []Place{InMarket}, false, false},
	{ActGPUs, []string{"g"}, "gpus", "every GPU, and who is on it", []Place{InMarket, InJob}, false, false},
	{ActCloud, []string{"c"}, "cloud", "rented GPUs, and what awaits approval", []Place{InMarket, InJob}, false, false},
	{ActHelp, []string{"?", "F1"}, "help", "this help", []Place{InMarket, InJob, InOutput, InText, InApprovals}, false, false},
	{ActRevive, []string{"R"}, "", "connect to the daemon now, and start it if there is none", []Place{InMarket, InJob, InOutput, InText}, false, false},
	{ActRedraw, []string{"Ctrl-L"}, "", "draw everything anew", []Place{Anywhere}, false, false},
	{ActSuspend, []string{"Ctrl-Z"}, "", "step back to the shell; `fg` comes back", []Place{Anywhere}, false, false},
	{ActQuit, []string{"q"}, "quit", "leave; jobs go on", []Place{InMarket}, false, false},
	{ActQuit, []string{"Ctrl-C"}, "", "leave; jobs go on", []Place{Anywhere}, false, false},
	{"next field", []string{"Tab", "Down"}, "next field", "the next field", []Place{InForm}, false, false},
	{"previous field", []string{"Shift-Tab", "Up"}, "", "the field before", []Place{InForm}, false, false},
	{"check", []string{"Space"}, "check a box", "check a box, or uncheck it", []Place{InForm}, false, false},
	{"do it", []string{"Enter"}, "do it", "do what the form is for; on a button, press it", []Place{InForm}, false, false},
	{"scroll", []string{"PgUp", "PgDn"}, "", "scroll what stands below the fields", []Place{InForm}, false, false},
	{"leave it", []string{"Esc"}, "leave it", "leave the form; nothing changes", []Place{InForm}, false, false},
}
