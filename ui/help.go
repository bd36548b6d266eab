package ui

import (
	"slices"
	"strings"

	"pasar"
)

// Help is what keys and the mouse do, from the table of keys.
func Help(readOnly bool, width int) []Line {
	var out []Line
	for _, place := range []Place{InMarket, InJob, InOutput, InText, InApprovals, InForm, Anywhere} {
		title := "In " + string(place)
		if place == Anywhere {
			title = "Anywhere"
		}
		out = append(out, Line{{Text: title, Role: Accent, Bold: true}})
		for _, k := range Keys {
			if !slices.Contains(k.In, place) {
				continue
			}
			names := strings.Join(k.Names, ", ")
			does := k.Does
			role := Plain
			if k.Write && readOnly {
				does, role = does+" (not here: --read-only)", Faint
			}
			out = append(out, entry(names, does, role, width)...)
		}
		out = append(out, Line{})
	}
	out = append(out, Line{{Text: "The mouse", Role: Accent, Bold: true}})
	for _, l := range [][2]string{
		{"click", "choose a job, in the table, in the market or on a GPU; a chosen one opens"},
		{"click a heading", "sort by it, and the other way round; that of a section opens it"},
		{"click a hint", "in the bottom row: as its key"},
		{"click the face", "why it looks as it does"},
		{"click a job's screen", "its output"},
		{"right click", "go back, or leave a form"},
		{"wheel", "scroll; over the market, zoom"},
		{"Shift + drag", "mark text to copy, in most terminals"},
	} {
		out = append(out, entry(l[0], l[1], Plain, width)...)
	}
	out = append(out, Line{}, Line{{Text: "The marks", Role: Accent, Bold: true}})
	for _, l := range [][2]string{
		{"the colour of a job", "that of its first tag, or else of its name"},
		{"in a GPU's bar", "what jobs use, what they claim beyond that, what others have, what is free"},
		{"in the market", "what ran, what runs, what is projected by the estimates there are; ✗ is where one failed, ▒ at its end where that isn't known"},
		{"~", "it is an estimate"},
	} {
		out = append(out, entry(l[0], l[1], Plain, width)...)
	}
	return out
}

// KeyHints are the keys to hint at in a place, as far as there is room for: each takes its name, its hint and a gap. Help
// and the ways out come first when there is little. Of keys about a job only those are hinted at that would do something to it.
func KeyHints(place Place, v *pasar.JobView, readOnly bool, width int) (out []Key) {
	there := func(k Key) bool {
		return k.Hint != "" && slices.Contains(k.In, place) && !(k.Write && readOnly) && (!k.Job || v != nil && k.fits(v))
	}
	must := func(k Key) bool { return k.Act == ActHelp || k.Act == ActQuit || k.Act == ActBack }
	need := func(k Key) int { return columns(k.Names[0]) + 1 + columns(k.Hint) + gap }
	for _, k := range Keys {
		if there(k) && must(k) {
			width -= need(k)
		}
	}
	for _, k := range Keys {
		if !there(k) {
			continue
		}
		if !must(k) {
			if need(k) > width {
				continue
			}
			width -= need(k)
		}
		out = append(out, k)
	}
	return out
}

// fits reports whether a key does something to a job in its state.
func (k Key) fits(v *pasar.JobView) bool {
	switch k.Act {
	case ActAttach:
		return v.State.Active()
	case ActCancel, ActBid:
		return !v.State.Finished()
	case ActPause:
		return v.State == pasar.Paused || v.State == pasar.Running && v.Pausable
	case ActHold:
		return v.State == pasar.Queued
	case ActRestart:
		return v.State.Finished()
	}
	return true
}

const helpLabel = 22

// entry is a word and what it means, wrapped in a column of its own.
func entry(word, text string, role Role, width int) []Line {
	label := min(helpLabel, max(8, width/3))
	var out []Line
	for i, part := range strings.Split(Wrap(text, max(10, width-label), 0), "\n") {
		head := strings.Repeat(" ", label)
		if i == 0 {
			head = pad(Cut(word, label-1), label)
		}
		out = append(out, Line{{Text: head, Role: Accent}, {Text: part, Role: role}})
	}
	return out
}
