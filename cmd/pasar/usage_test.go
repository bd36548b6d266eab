package main

import (
	"encoding/json"
	"strings"
	"testing"

	"pasar/config"
	"pasar/ipc"
)

// noDaemon is surroundings in which nothing may ask a daemon.
func noDaemon(t *testing.T) []string {
	return []string{"HOME=" + t.TempDir(), "PATH=/usr/bin:/bin", "PASAR_SOCKET=/nonexistent/pasard.sock"}
}

func TestBadArgumentsAreOneLineAHintAndExit64(t *testing.T) {
	for _, tc := range []struct{ line, err, hint string }{
		{"", "no command given", "`pasar help` lists the commands"},
		{"submti", `unknown command "submti"`, "did you mean `pasar submit`?"},
		{"frobnicate", `unknown command "frobnicate"`, "`pasar help` lists the commands"},
		{"--frob ls", "unknown flag --frob before the command", ""},
		{"submit", "no command given", ""},
		{"submit --", "no command given", ""},
		{"submit --tme 3h x", "unknown flag --tme", "did you mean --time?"},
		{"submit --priority 3 x", "unknown flag --priority", "that is --bid N here"},
		{"submit -z x", "unknown flag -z", ""},
		{"submit --time 90 x", `--time: bad time "90": a time needs a unit`, "90s, 90m or 90h?"},
		{"submit --time 1:30 x", `--time: bad time "1:30": "1:30" could be minutes or hours`, "write 90m, 2h30m, 45s, 1d, 1:30:00 or 1-00:00:00"},
		{"submit --time x x", `--time: bad time "x": write 90m, 2h30m, 45s, 1d, 1:30:00 or 1-00:00:00`, ""},
		{"submit --mem 24 x", `--mem: bad size "24": a size needs a unit`, "24G, 24M?"},
		{"submit --mem 24Q x", `--mem: bad size "24Q": unknown unit`, "write 24G, 24GiB, 512M or 1.5T"},
		{"submit --mem 0G x", "--mem 0 claims nothing", "for no GPU say --gpus 0"},
		{"submit --gpus 0 --mem 2G x", "--mem is a slice of a GPU; it can't go with --gpus 0", "--ram is host memory"},
		{"submit --gpus many x", `--gpus: "many" is not a whole number from 0 to 1024`, ""},
		{"submit --gpus -1 x", `--gpus: "-1" is not a whole number from 0 to 1024`, "0 is a job without a GPU, and none given is one whole GPU"},
		{"submit --propagate x", "--propagate goes with --wait", ""},
		{"show 1 2", "show takes one job; got 1 2", ""},
		{"why --attempt 1 2 3", "--attempt is of one job; 2 3 may be several", ""},
		{"submit --bid 1.5 x", `--bid: "1.5" is not a whole number from -1000000000 to 1000000000`, ""},
		{"submit --cwd /no/such x", "--cwd /no/such: there is no such directory", "make it first; without --cwd the job runs in this one"},
		{"submit --cwd /etc/passwd x", "--cwd /etc/passwd is not a directory", ""},
		{"submit --env NOPE x", "--env NOPE: it is not set here", "write --env NOPE=VALUE"},
		{"submit --env =x x", `--env "=x" has no name`, ""},
		{"submit --name", "--name needs a value", ""},
		{"submit --color pink x", `--color "pink": it is always, auto or never`, ""},
		{"show 0", `"0" names no job`, "jobs are named 42, 3,5-8, last, @tag or group:7"},
		{"show abc", `"abc" names no job`, ""},
		{"show 8-5", `"8-5" names no job`, ""},
		{"show 1,2", "show takes one job; 1,2 names 2", ""},
		{"show group:x", `"group:x" names no group`, "a group is named for its first job: group:7"},
		{"submit --after 41:done x", `--after "41:done": no job and how it must have ended`, afterForms},
		{"submit --after , x", `--after "": no job`, afterForms},
		{"submit --after 41,41:any x", "--after names job 41 twice, as ok and as any", ""},
		{"submit --array 9-1 x", `--array: "9-1": no list of indices`, "write 0-9, 1,3,5, 0-9:2 for every second one, or 0-9%4 for four at once"},
		{"submit --array 0-99999 x", `--array: "0-99999": more than 10000 jobs`, ""},
		{"submit --param lr x", `--param "lr" has no values`, ""},
		{"submit --param 1r=2 x", `--param: "1r" can't be a parameter's name`, ""},
		{"submit --max-concurrent 2 x", "--max-concurrent is about the jobs of an array or sweep", "give it with --array, --param or --param-file"},
		{"submit --begin noon x", `--begin: bad time "noon"`, "write 22:00, +2h, tomorrow 08:00, or 2026-12-01T08:00"},
		{"submit --begin 2020-01-01 x", `--begin: "2020-01-01" was `, "without --begin a job starts as soon as it can"},
		{"submit --gpu-ids x x", `--gpu-ids: "x" names no GPU`, ""},
		{"submit --gpu-ids 0,0 x", "--gpu-ids: GPU 0 is there twice", ""},
		{"submit --gpu-ids 0,1 --gpus 3 x", "--gpus 3 asks for more than the 2 that --gpu-ids names", ""},
		{"submit --gpu-ids 0 --gpus 0 x", "--gpu-ids names GPUs, and --gpus 0 asks for none", ""},
		{"submit --gpu-type H100 --gpus 0 x", "--gpu-type is about GPUs, and --gpus 0 asks for none", ""},
		{"submit --external maybe x", `--external: "maybe": it is share or avoid`, ""},
		{"submit --external avoid --mem 2G x", "--external is about whole GPUs", ""},
		{"submit --retry-on gpu_oom x", "--retry-on says for what; --retries N says how often", ""},
		{"submit --retries 2 --retry-on auth x", "--retry-on: auth is never retried", ""},
		{"submit --retries 2 --retry-on Out x", `--retry-on: "Out" is no reason`, ""},
		{"submit --retries -1 x", `--retries: "-1" is not a whole number from 0 to 1000`, ""},
		{"submit --no-sigterm x", "--no-sigterm is for programs that watch the pause file", ""},
		{"submit --visible name x", `--visible "name": it is uuid or index`, ""},
		{"submit --on moon x", `--on "moon": there is only local`, ""},
		{"submit --dry-run --wait x", "--dry-run makes no job", ""},
		{"submit --follow --array 0-99 x", "--follow of 100 jobs at once; at most 64", ""},
		{"pause --kill-after 5 1", `--kill-after: bad time "5": a time needs a unit`, "5s, 5m or 5h?"},
		{"pause", "no job named", "jobs are named 42, 3,5-8, last, @tag or group:7"},
		{"edit 1", "nothing to change", ""},
		{"drain a b", "drain takes one machine; got a b", ""},
		{"drain 3", `drain takes a machine; "3" is none`, "`pasar drain --gpu 3` is for one GPU"},
		{"undrain --gpu= local", "--gpu needs a GPU", "`pasar gpus` lists them"},
		{"gpus 1", `gpus takes no arguments; got "1"`, ""},
		{"stats --by hour", `--by: "hour": it is day, tag, submitter, machine or reason`, ""},
		{"stats --since never", `--since: bad time "never"`, ""},
		{"ls --format id,stat", `--format: a job has no "stat"`, "did you mean state?"},
		{"ls --format claim.memo", `--format: a job has no "claim.memo"`, "did you mean claim.mem?"},
		{"promote 1 2", "promote takes one job; got 1 2", ""},
		{"cancel", "no job named", ""},
		{"cancel 1-99999999", "1-99999999 names more than 100000 jobs", ""},
		{"wait --any --all 1", "--any and --all exclude each other", ""},
		{"wait --for ever 1", `--for "ever": it is ended or started`, ""},
		{"wait --timeout 5 1", `--timeout: bad time "5": a time needs a unit`, "5s, 5m or 5h?"},
		{"ls --state runing", `--state "runing": there is no such state`, "did you mean running?"},
		{"ls --since never", `--since: bad time "never"`, "write 2h (ago), 14:30, 2026-01-31, or 2026-01-31T15:04:05Z"},
		{"bid 42", "bid takes a job and a number; got only 42", "`pasar bid last 42` is your last job"},
		{"bid 42 much", `bid "much" is not a whole number from -1000000000 to 1000000000`, ""},
		{"bid", "bid takes a job and a number", ""},
		{"attach -i 1", "-i needs a terminal on standard input", ""},
		{"attach --take 1", "--take goes with -i", ""},
		{"attach --history many 1", `--history: "many" is not a whole number from 0 to 100000`, ""},
		{"attach --detach-keys q 1", `--detach-keys "q": want a first key with ctrl-, such as ctrl-],d`, ""},
		{"attach --detach-keys ctrl-c,d 1", `--detach-keys "ctrl-c,d": want another first key than Ctrl-C, which jobs need`, ""},
		{"send", "send takes a job and what to type", "`pasar send --enter last yes` types into your last job"},
		{"send 1", "nothing to type", "give a text, --keys or --enter: `pasar send --enter 1 yes`"},
		{"send --keys Entr 1", `"Entr" is no key`, ""},
		{"send all yes", `"all" names no job`, "jobs are named 42, 3,5-8, last, @tag or group:7"},
		{"screen 1 2", "screen takes one job; got 1 2", ""},
		{"console", "console: standard output is no terminal", "`pasar ls --watch` needs less of a terminal; `pasar ls` and `pasar status` need none"},
		{"console 1", `console takes no arguments; got "1"`, ""},
		{"console --theme pink", `--theme "pink": it is auto, light or dark`, ""},
		{"event checkpoint", "not inside a job: PASAR_EVENTS is not set", ""},
		{"completion tcsh", `no completion for "tcsh"`, "there is for bash, zsh and fish"},
		{"guide nonsense", `no guide "nonsense": there are agents, api, cloud, config, console, jobs, reasons, service, web, helper`, ""},
		{"guide confg", `no guide "confg"`, "did you mean `pasar guide config`?"},
		{"status now", `status takes no arguments; got "now"`, ""},
		{"help frob", `unknown command "frob"`, "`pasar help` lists the commands, `pasar guide` has topics"},
		{"help submti", `unknown command "submti"`, "did you mean `pasar help submit`?"},
	} {
		t.Run(tc.line, func(t *testing.T) {
			r := runIn(t, t.Context(), noDaemon(t), strings.Fields(tc.line)...)
			first, rest, _ := strings.Cut(r.stderr, "\n")
			if r.code != exitUsage || r.out != "" {
				t.Errorf("exit %d with %q on standard output", r.code, r.out)
			}
			if !strings.HasPrefix(first, "pasar: "+tc.err) {
				t.Errorf("said %q\nwant %q", first, "pasar: "+tc.err)
			}
			if tc.hint != "" && !strings.Contains(rest, "hint: "+tc.hint+"\n") {
				t.Errorf("hints %q\nwant %q", rest, tc.hint)
			}
			for l := range strings.Lines(rest) {
				if !strings.HasPrefix(l, "hint: ") {
					t.Errorf("a line that is no hint: %q", l)
				}
			}
		})
	}
}

func TestWithJSONAnErrorIsOneValueOnStandardOutput(t *testing.T) {
	for _, args := range [][]string{{"show", "abc", "--json"}, {"--json", "show", "abc"}, {"submit", "--json", "--mem", "24", "x"},
		{"submit", "--mem", "24", "--json", "x"}, {"status", "--jsno", "--json"}, {"bogus", "--json"}, {"--json", "bogus"},
		{"--frob", "ls", "--json"}, {"--json"}, {"help", "bogus", "--json"}, {"submit", "--json"}, {"console", "--json"}} {
		r := runIn(t, t.Context(), noDaemon(t), args...)
		var v struct {
			Schema int `json:"schema"`
			Error  struct {
				Code    ipc.Code `json:"code"`
				Message string   `json:"message"`
				Hint    *string  `json:"hint"`
			} `json:"error"`
		}
		if err := json.Unmarshal([]byte(r.out), &v); err != nil || !oneLine(r.out) {
			t.Fatalf("%v: %q: %v", args, r.out, err)
		}
		if r.code != exitUsage || v.Schema != 1 || v.Error.Code != ipc.CodeUsage || v.Error.Message == "" || v.Error.Hint == nil || r.stderr != "" {
			t.Errorf("%v: exit %d, %+v, stderr %q", args, r.code, v, r.stderr)
		}
	}
}

func TestEveryCodeOnTheWireHasAnExitCode(t *testing.T) {
	for code, want := range map[ipc.Code]int{
		ipc.CodeBadRequest: 64, ipc.CodeUsage: 64, ipc.CodeBadInput: 65, ipc.CodeNoDaemon: 69, ipc.CodeUnknownJob: 70, ipc.CodeWrongState: 70,
		ipc.CodeImpossible: 70, ipc.CodeOverLimit: 70, ipc.CodeUnavailable: 70, ipc.CodeUnsupported: 70, ipc.CodeVersion: 70, ipc.CodeInternal: 70,
		ipc.CodeLaunch: 70, ipc.CodeNotAllowed: 77, ipc.CodeInterrupted: 130,
	} {
		if got := exitCodes[code]; got != want {
			t.Errorf("%s exits %d, want %d", code, got, want)
		}
	}
}

func TestEveryCommandHasHelpWithExamples(t *testing.T) {
	for _, c := range commands() {
		if c.section == "" {
			continue
		}
		if c.brief == "" || len(c.examples) == 0 && c.name != "help" {
			t.Errorf("%s has no brief or no example", c.name)
		}
		if strings.Contains(c.long, config.DefaultAddress[strings.LastIndexByte(config.DefaultAddress, ':'):]) {
			t.Errorf("%s: its help names a port, where the daemon may have another", c.name)
		}
		for _, args := range [][]string{{c.name, "--help"}, {"help", c.name}, {c.name, "-h"}} {
			r := runIn(t, t.Context(), noDaemon(t), args...)
			if r.code != 0 || !strings.Contains(r.out, c.brief) || !strings.Contains(r.out, "Exit codes") {
				t.Errorf("%v: exit %d, %q", args, r.code, r.out)
			}
		}
	}
	r := runIn(t, t.Context(), noDaemon(t), "help")
	for _, c := range commands() {
		if (c.section != "") != strings.Contains(r.out, "\n  "+c.name+" ") {
			t.Errorf("help lists %s: %v", c.name, c.section == "")
		}
	}
}

func TestNamesAndAliasesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range commands() {
		for _, n := range append([]string{c.name}, c.aliases...) {
			if seen[n] {
				t.Errorf("%s is there twice", n)
			}
			seen[n] = true
		}
	}
}

func TestTheCommandTableIsJSON(t *testing.T) {
	r := runIn(t, t.Context(), noDaemon(t), "help", "--json")
	var v struct {
		Commands []commandView `json:"commands"`
	}
	if err := json.Unmarshal([]byte(r.out), &v); err != nil || len(v.Commands) < 20 {
		t.Fatalf("%d commands, %v", len(v.Commands), err)
	}
}
