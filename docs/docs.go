// Package docs carries pasar's guides inside the binaries, so that `pasar guide` needs neither a
// network nor a daemon.
package docs

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

//go:embed guide/*.md
var guides embed.FS

// Main is the topic of `pasar guide` without one: all that an agent needs who has never seen pasar.
const Main = "agents"

// A Topic is a guide and the title it has.
type Topic struct {
	Name  string
	Title string
}

// Topics lists the guides, the main one first.
func Topics() []Topic {
	names, err := fs.Glob(guides, "guide/*.md")
	if err != nil { // the pattern is a constant
		panic(err)
	}
	var out []Topic
	for _, n := range names {
		text, err := guides.ReadFile(n)
		if err != nil { // it was embedded
			panic(err)
		}
		title, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		t := Topic{strings.TrimSuffix(path.Base(n), ".md"), title}
		if t.Name == Main {
			out = slices.Insert(out, 0, t)
		} else {
			out = append(out, t)
		}
	}
	return out
}

// Guide is a guide's text in Markdown. An empty topic is the main one; for an unknown one the error
// names those there are.
func Guide(topic string) (string, error) {
	if topic == "" {
		topic = Main
	}
	names := []string{}
	for _, t := range Topics() {
		names = append(names, t.Name)
	}
	if !slices.Contains(names, topic) {
		return "", fmt.Errorf("no guide %q: there are %s", topic, strings.Join(names, ", "))
	}
	text, err := guides.ReadFile("guide/" + topic + ".md")
	if err != nil {
		return "", fmt.Errorf("read guide %s: %w", topic, err)
	}
	return string(text), nil
}
