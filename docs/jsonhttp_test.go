package docs

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// pathOf is a request as a row of a table names it, in its first column.
var pathOf = regexp.MustCompile("`((?:GET|POST|PATCH) /[^`]*)`")

func TestEachPathAndEachTableOfTheJSONSaysSomethingOnce(t *testing.T) {
	b, err := os.ReadFile("json.md")
	if err != nil {
		t.Fatal(err)
	}
	const rule = "|---|---|---|"
	lines := strings.Split(string(b), "\n")
	heading, tables, paths := "", map[string]int{}, map[string]int{}
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "#"):
			heading = line
		case line == rule:
			if tables[heading]++; tables[heading] > 1 {
				t.Errorf("%q has two tables", heading)
			}
			if !strings.HasPrefix(lines[i+1], "| ") {
				t.Errorf("the table of %q is empty: its type has no keys, so it needs words of its own", heading)
			}
		case strings.HasPrefix(line, "| "):
			for _, m := range pathOf.FindAllStringSubmatch(strings.SplitN(line, " | ", 2)[0], -1) {
				if paths[m[1]]++; paths[m[1]] > 1 {
					t.Errorf("%s is there twice", m[1])
				}
			}
		}
	}
	if len(tables) < 30 || len(paths) < 25 {
		t.Errorf("only %d tables and %d paths were found", len(tables), len(paths))
	}
}

// jsonHTTP says which of the objects HTTP answers with. A test of package web holds that no path is missing.
const jsonHTTP = `
## Over HTTP

Each answer under ` + "`/api/`" + ` that is JSON is one of the objects below, byte for byte what the command prints with ` + "`--json`" + `. Streams of events
(` + "`text/event-stream`" + `) have it in ` + "`data`" + `. What isn't an object is told in ` + "`pasar guide api`" + `, with what each takes.

| path | answers with | as |
|---|---|---|
| ` + "`GET /api`" + ` | ` + "`{\"schema\", \"requests\"}`" + `, a list of ` + "`{\"method\", \"path\", \"as\"}`" + `, ` + "`as`" + ` the command that does the same or null | |
| ` + "`GET /api/status`" + ` | [a status](#the-status) | ` + "`status`" + ` |
| ` + "`GET /api/gpus`" + ` | [GPUs](#gpus) | ` + "`gpus`" + ` |
| ` + "`GET /api/gpu`" + ` | [how GPUs were used](#how-gpus-were-used) | ` + "`gpus --history`" + ` |
| ` + "`GET /api/stats`" + ` | [statistics](#statistics) | ` + "`stats`" + ` |
| ` + "`GET /api/plan`" + ` | [a dry run](#a-dry-run) | ` + "`submit --dry-run`" + ` |
| ` + "`GET /api/jobs`" + ` | ` + "`{\"schema\", \"jobs\"}`" + `, a list of [jobs](#a-job) | ` + "`ls`" + ` |
| ` + "`GET /api/jobs/42`" + `, ` + "`GET /api/jobs/42/why`" + ` | [a job](#a-job) | ` + "`show`, `why`" + ` |
| ` + "`GET /api/jobs/42/wait`" + ` | [a job](#a-job), or with 202 [who is still waited for](#a-wait-that-took-too-long) | ` + "`wait`" + ` |
| ` + "`GET /api/jobs/42/events`" + ` | [a job's life](#a-jobs-life) | ` + "`events`" + ` |
| ` + "`GET /api/jobs/42/logs`" + ` | [lines of output](#a-line-of-output), one a line; with ` + "`raw`" + ` bytes as they were written | ` + "`logs`" + ` |
| ` + "`GET /api/jobs/42/screen`" + ` | [a screen](#a-screen) | ` + "`screen`" + ` |
| ` + "`GET /api/jobs/42/metrics`" + ` | [what an attempt reported](#what-an-attempt-reported) | no command: the request ` + "`metrics`" + ` |
| ` + "`GET /api/jobs/42/usage`" + ` | [what an attempt used](#what-an-attempt-used) | no command: the request ` + "`usage`" + ` |
| ` + "`GET /api/jobs/42/diff`" + ` | what was changed of its code, as git writes it: plain text | no command: the request ` + "`diff`" + ` |
| ` + "`GET /api/stream`" + ` | [what changes](#what-changes) | no command: the request ` + "`changes`" + ` |
| ` + "`GET /api/cloud`" + ` | [what awaits approval](#what-awaits-approval) | no command: the request ` + "`approvals`" + ` |
| ` + "`GET /api/mascot`" + ` | [the mascot](#the-mascot) | HTTP alone |
| ` + "`POST /api/code`" + ` | ` + "`{\"schema\", \"code\"}`" + `: a word that saves a file once, within a minute | HTTP alone |
| ` + "`GET /api/jobs/42/attach`" + ` | a WebSocket | ` + "`attach`" + ` |
| ` + "`POST /api/jobs`" + ` | [a job](#a-job), or of an array or sweep [a group](#a-group); with ` + "`dry_run`" + ` [a dry run](#a-dry-run) | ` + "`submit`" + ` |
| ` + "`PATCH /api/jobs/42`" + ` | [a job](#a-job); of a bid [what became of it](#what-became-of-jobs), or with ` + "`dry_run`" + ` [a dry run](#a-dry-run) | ` + "`edit`, `bid`" + ` |
| ` + "`POST /api/jobs/42/restart`" + ` | [a job](#a-job) | ` + "`restart`" + ` |
| ` + "`POST /api/jobs/42/promote`" + ` | [what became of it](#what-became-of-jobs), or with ` + "`dry_run`" + ` [a dry run](#a-dry-run) | ` + "`promote`" + ` |
| ` + "`POST /api/jobs/42/cancel`, `POST /api/jobs/42/hold`, `POST /api/jobs/42/release`, `POST /api/jobs/42/pause`, `POST /api/jobs/42/resume`" + ` | [what became of it](#what-became-of-jobs) | the command of that name |
| ` + "`POST /api/jobs/42/approve`, `POST /api/jobs/42/reject`" + ` | [what became of it](#what-became-of-jobs) | no command, and never will be |
| ` + "`POST /api/jobs/42/pull`" + ` | 501, an error | |

Whatever is refused is answered with an error, as by every command: ` + "`{\"schema\", \"error\"}`" + `, where ` + "`error`" + ` is [this](#error).
`
