package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pasar"
	"pasar/docs"
	"pasar/jobproto"
)

// helperTopic prints or writes the Python module instead of a guide.
const helperTopic = "helper"

func guideCommand() *command {
	return &command{
		name: "guide", section: sectionMore, args: "[TOPIC]", brief: "how to use pasar, for agents and people; needs no daemon",
		takes: takesWords, words: guideTopics,
		long: "Without a topic it is all that an agent needs who has never seen pasar. The topic `helper` is the Python module for jobs.",
		examples: []example{
			{"pasar guide", "start here"},
			{"pasar guide helper --write .", "put pasar_job.py beside a script"},
		},
		setup: func(f *flags) action {
			write := f.String("write", "", "with helper: the `DIR` to put the module in")
			return func(_ context.Context, c *call) error {
				if len(c.args) > 1 {
					return usagef("guide takes one topic")
				}
				topic := docs.Main
				if len(c.args) == 1 {
					topic = c.args[0]
				}
				if f.given("write") && topic != helperTopic {
					return usagef("--write goes with the topic helper").hint("`pasar guide helper --write .`")
				}
				if !slices.Contains(guideTopics(), topic) {
					e := usagef("no guide %q: there are %s", pasar.Clean(topic), strings.Join(guideTopics(), ", "))
					if n := nearest(topic, guideTopics()); n != "" {
						e = e.hint("did you mean `pasar guide " + n + "`?")
					}
					return e
				}
				var text string
				var err error
				switch {
				case f.given("write"):
					return c.writeHelper(*write)
				case topic == helperTopic:
					text = jobproto.PythonModule()
				default:
					if text, err = docs.Guide(topic); err != nil {
						return err
					}
				}
				if c.json {
					return c.printJSON(struct {
						Schema int    `json:"schema"`
						Topic  string `json:"topic"`
						Text   string `json:"text"`
					}{pasar.Schema, topic, text})
				}
				return c.print(text)
			}
		},
	}
}

func guideTopics() []string {
	var names []string
	for _, t := range docs.Topics() {
		names = append(names, t.Name)
	}
	return append(names, helperTopic)
}

// writeHelper puts the module into a directory. A file of that name which isn't a module of ours is left alone.
func (c *call) writeHelper(dir string) error {
	path := filepath.Join(dir, jobproto.PythonFile)
	text := []byte(jobproto.PythonModule())
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		old, rerr := os.ReadFile(path)
		if rerr == nil && string(old) == string(text) {
			return c.wrote(path)
		}
		return usagef("%s is there already and is not this version's", pasar.Clean(path)).hint("move it away, then try again")
	}
	if err != nil {
		return usagef("--write %s: %v", pasar.Clean(dir), err)
	}
	_, err = f.Write(text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = os.Remove(path)
		return err
	}
	return c.wrote(path)
}

func (c *call) wrote(path string) error {
	if c.json {
		return c.printJSON(struct {
			Schema int    `json:"schema"`
			Path   string `json:"path"`
		}{pasar.Schema, path})
	}
	return c.print(path + "\n")
}
