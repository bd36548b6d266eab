package ui

import "pasar"

// StateRole is how a job's state looks.
func StateRole(st pasar.State) Role {
	switch st {
	case pasar.Running, pasar.Starting:
		return Good
	case pasar.Queued, pasar.Awaiting:
		return Warn
	case pasar.Failed:
		return Bad
	case pasar.Stopping, pasar.Paused:
		return Calm
	case pasar.Completed, pasar.Cancelled:
		return Faint
	}
	return Plain
}

// StateMark is a job's state in one column.
func StateMark(st pasar.State, ascii bool) string {
	marks := map[pasar.State][2]string{
		pasar.Awaiting: {"?", "?"}, pasar.Queued: {"○", "o"}, pasar.Starting: {"●", "*"}, pasar.Running: {"●", "*"}, pasar.Stopping: {"◌", "!"},
		pasar.Paused: {"‖", "="}, pasar.Completed: {"✓", "+"}, pasar.Failed: {"✗", "x"}, pasar.Cancelled: {"–", "-"},
	}
	m, ok := marks[st]
	switch {
	case !ok:
		return "?"
	case ascii:
		return m[1]
	}
	return m[0]
}

// Cells of JobCells.
const (
	CellID = iota
	CellState
	CellName
	CellBid
	CellClaim
	CellTime
	CellAbout
)
