package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pasar"
	"pasar/ipc"
	"pasar/ui"
)

// statsBy is what stats can be by.
var statsBy = []string{"day", "tag", "submitter", "machine", "reason"}

func statsCommand() *command {
	return &command{
		name: "stats", section: sectionJobs, brief: "GPU-hours, waits, lost time and verdicts of jobs that ended",
		long: `Lost time is work that has to be done again, and the time to get back to where it was, after preemptions and after failures;
it is known of jobs that report checkpoints and resumes. A job with several tags counts under each of them, and once in the sum. Reasons
are those of attempts, of which a job may have several: 3 beside gpu_oom is three attempts that ended so, perhaps of one job. By reason each
row is about such attempts alone: how many, of how many jobs, the GPU-hours they took, and the lost time.`,
		examples: []example{
			{"pasar stats", "by day, of the last 30 days"},
			{"pasar stats --by tag --since 7d", "what each experiment took this week"},
			{"pasar stats --by reason", "what jobs died of, whose fault that was, and what it cost"},
			{"pasar stats --json --since 2026-01-31 | jq .total.gpu_hours", "for programs"},
		},
		setup: func(f *flags) action {
			by := define(f, "by", "", "WHAT", "a row for each day, tag, submitter or machine, or for each reason why attempts failed", func(s string) (string, error) {
				if !slices.Contains(statsBy, s) {
					return "", fmt.Errorf("%q: it is day, tag, submitter, machine or reason", s)
				}
				return s, nil
			})
			since := define(f, "since", "", "TIME", "only jobs that ended since: 7d (ago), 14:30, 2026-01-31, or RFC 3339; else 30d", parseSince)
			return func(ctx context.Context, c *call) error {
				if err := c.noArgs(); err != nil {
					return err
				}
				req := ipc.StatsRequest{Since: *since, By: *by}
				if !f.given("since") {
					req.Since = time.Now().Add(-30 * 24 * time.Hour)
				}
				if req.By == "" {
					req.By = statsBy[0]
				}
				return showValue(ctx, c, func(d *ipc.Client) ([]byte, error) { return d.Stats(ctx, req) },
					func(v *pasar.StatsView) string { return ui.Stats(v, time.Now(), c.style()) })
			}
		},
	}
}
