package main

import (
	"context"
	"fmt"

	"pasar"
	"pasar/config"
	"pasar/ui"
)

func configCommand() *command {
	return &command{
		name: "config", section: sectionMachine, brief: "the settings in force, and where each came from",
		long: `It shows what the file, the environment and the defaults say now. A daemon that runs goes by what it read at its
start, or at the last ` + "`pasar reload`" + `; what changes only when it starts anew is marked so. ` + "`pasar guide config`" + ` has
a sample file.`,
		examples: []example{
			{"pasar config", "every key, its value and its source"},
			{"pasar config --describe", "every key, its default and what it does"},
			{"pasar config --check new.toml", "whether a file is right; exit code 65 if not"},
		},
		setup: func(f *flags) action {
			check := f.String("check", "", "check this `FILE` and say nothing if it is right")
			describe := f.Bool("describe", false, "say what each key does, instead of its value")
			return func(_ context.Context, c *call) error {
				if err := c.noArgs(); err != nil {
					return err
				}
				if *describe {
					return c.describeConfig()
				}
				if f.given("check") {
					if *check == "" {
						return usagef("--check needs a file")
					}
					if _, err := config.Load(*check, c.getenv); err != nil {
						return configError(err)
					}
					if c.json {
						return c.printJSON(struct {
							Schema int  `json:"schema"`
							OK     bool `json:"ok"`
						}{pasar.Schema, true})
					}
					return nil
				}
				cfg, err := c.config()
				if err != nil {
					return err
				}
				if far, err := c.afar(); err != nil {
					return err
				} else if far != nil {
					c.note("these are this machine's settings; PASAR_URL names " + far.Name)
				}
				return c.showConfig(cfg)
			}
		},
	}
}

func (c *call) showConfig(cfg *config.Config) error {
	settings := cfg.Effective()
	if c.json {
		return c.printJSON(struct {
			Schema   int              `json:"schema"`
			Settings []config.Setting `json:"settings"`
		}{pasar.Schema, settings})
	}
	t := ui.Table{Columns: []ui.Column{{Head: "KEY"}, {Head: "VALUE"}, {Head: "CHANGES"}, {Head: "FROM"}}}
	for _, s := range settings {
		t.Rows = append(t.Rows, []ui.Cell{{Text: s.Key}, {Text: s.Text()}, {Text: string(s.Applies)}, {Text: fmt.Sprint(s.Source)}})
	}
	style := c.style()
	style.Width = 0 // a path is of use only whole
	if c.term.is {
		c.note("this is what the file and the environment say now; `pasar config --describe` says what each key does")
	}
	return c.print(t.Render(style))
}

// describeConfig says what each key does; those of parts that aren't built yet are left to the guide.
func (c *call) describeConfig() error {
	all := config.Describe()
	if c.json {
		return c.printJSON(struct {
			Schema int                  `json:"schema"`
			Keys   []config.Description `json:"keys"`
		}{pasar.Schema, all})
	}
	t := ui.Table{Columns: []ui.Column{{Head: "KEY"}, {Head: "DEFAULT"}, {Head: "CHANGES"}, {Head: "ABOUT"}}}
	for _, d := range all {
		if d.Applies != config.NotYet {
			t.Rows = append(t.Rows, []ui.Cell{{Text: d.Key}, {Text: d.Default}, {Text: string(d.Applies)}, {Text: d.About}})
		}
	}
	style := c.style()
	style.Width = 0
	return c.print(t.Render(style))
}
