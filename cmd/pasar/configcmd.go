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
		examples: []example{
			{"pasar config", "every key, its value and its source"},
			{"pasar config --check new.toml", "whether a file is right; exit code 65 if not"},
		},
		setup: func(f *flags) action {
			check := f.String("check", "", "check this `FILE` and say nothing if it is right")
			return func(_ context.Context, c *call) error {
				if err := c.noArgs(); err != nil {
					return err
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
	t := ui.Table{Columns: []ui.Column{{Head: "KEY"}, {Head: "VALUE"}, {Head: "FROM"}}}
	for _, s := range settings {
		t.Rows = append(t.Rows, []ui.Cell{{Text: s.Key}, {Text: s.Text()}, {Text: fmt.Sprint(s.Source)}})
	}
	style := c.style()
	style.Width = 0 // a path is of use only whole
	return c.print(t.Render(style))
}
