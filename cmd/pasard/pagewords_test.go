package main

import "testing"

// says is what an expression makes of the pages' modules, which it has by their names.
func (b *browser) says(expression string) string {
	b.t.Helper()
	return eval[string](b, `(async () => {
		const m = {};
		for (const name of ["another", "api", "attempts", "facts", "format", "hue", "jobfilter", "jobrow", "verdict"]) Object.assign(m, {[name]: await import("/assets/" + name + ".js")});
		const job = (more) => ({id: 7, name: "train", tags: [], state: "running", created: "2026-11-30T08:00:00Z", queue_time: "2026-11-30T08:00:00Z", attempts: [], progress: null, run_time: null,
			est_runtime: null, est_source: null, remaining: null, group: null, index: null, params: null, lost: {queue_wait: 0, preemptions: 0, failures: 0, known: true}, projected: {}, waiting: null,
			submitter: "ada", by: null, reason: null, note: null, machine: null, command: "python train.py", summary: null, verdict: null, gpus: [], claim: {kind: "none", gpus: 0, mem: null}, bid: 1000, ...more});
		const attempt = (n, from, to, run_time) => ({attempt: n, launched_at: from, started_at: from, ended_at: to, run_time, verdict: null, restart_cost: null, wasted: null});
		return String(`+expression+`);
	})()`)
}

// What pages say of a job follows from what the API says of it alone, whatever else there is.
func TestWordsOfThePagesInABrowser(t *testing.T) {
	h := newHome(t)
	b := openBrowser(t, h.startWeb(), screens[0])
	b.open("/")
	for _, c := range []struct{ what, expression, want string }{
		{"how far a job is that was restarted", `m.format.done(job({run_time: 18.5, est_runtime: 40, remaining: 37}))`, "0.07499999999999996"},
		{"how far a job is beyond its estimate", `m.format.done(job({run_time: 50, est_runtime: 40}))`, "0.99"},
		{"steps beyond the last", `m.jobrow.progress({step: 39, total: 10, rate: null})`, "step 39 of 10 (100 %)"},
		{"how long a restarted job ran", `m.facts.ran(job({state: "failed", run_time: 18.5, attempts: [attempt(1, "2026-11-30T08:00:00Z", "2026-11-30T08:00:15Z", 15.5), attempt(2, "2026-11-30T08:01:00Z", "2026-11-30T08:01:03Z", 3)]}))`, "3"},
		{"the colours of a few jobs", `m.hue.hue(job({tags: ["llm"]})) === m.hue.hue(job({name: "else", tags: ["llm", "x"]})) && m.hue.hue(job({name: "run-1"})) === m.hue.hue(job({name: "run-22"}))`, "true"},
		{"a life with a restart by a person", `(({words, gaps}) => words + " " + gaps.map((g) => (g.to - g.from) / 1000))(m.attempts.life(job({state: "completed", lost: {queue_wait: 12}, attempts: [
			attempt(1, "2026-11-30T08:00:10Z", "2026-11-30T08:01:10Z", 60), attempt(2, "2026-11-30T08:10:12Z", "2026-11-30T08:11:12Z", 60)]}), Date.now()))`, "2 attempts: ran 2m, waited 12s 540"},
		{"one that waits after such a restart", `(({words, gaps}) => words + " " + gaps.map((g) => (g.to - g.from) / 1000))(m.attempts.life(job({state: "queued", waiting: {since: "2026-11-30T08:10:10Z"}, lost: {queue_wait: 30}, attempts: [
			attempt(1, "2026-11-30T08:00:10Z", "2026-11-30T08:01:10Z", 60)]}), Date.parse("2026-11-30T08:10:30Z")))`, "1 attempt: ran 1m, waited 30s 540"},
		{"one that was preempted", `m.attempts.life(job({state: "completed", lost: {queue_wait: 130}, attempts: [
			{...attempt(1, "2026-11-30T08:00:10Z", "2026-11-30T08:01:10Z", 60), verdict: {reason: "preempted"}}, attempt(2, "2026-11-30T08:03:10Z", "2026-11-30T08:04:10Z", 60)]}), Date.now()).words`, "2 attempts: ran 2m, waited 2m10s"},
		{"the request of a form", `((ask) => { const [a, b, c] = [ask({bid: 1}), ask({bid: 1}), ask({bid: 2})]; return a.bid === 1 && a.request.length > 20 && a.request === b.request && c.request !== a.request; })(m.api.asking())`, "true"},
		{"a filter of a group", `((w) => m.jobfilter.matches(w, job({group: 20})) && !m.jobfilter.matches(w, job({id: 20})))(m.jobfilter.parse("group:20"))`, "true"},
		{"a filter of what a row says", `((w) => m.jobfilter.matches(w, job({state: "failed", verdict: {reason: "oom_cuda", summary: "CUDA out of memory"}}), m.jobrow.says))(m.jobfilter.parse("CUDA memory"))`, "true"},
		{"what goes along of a job for another like it", `JSON.stringify(m.another.along(job({by: "agent", index: 3, params: {lr: "1e-5"}, preemptible: false, retries: {max: 2, used: 1, on: ["oom", "gpu_xid"]},
			claim: {kind: "whole", gpus: 2, mem: null, ids: ["GPU-1", "GPU-2"], external: "avoid"}})))`, `{"words":{"gpu_ids":["GPU-1","GPU-2"],"external":"avoid","non_preemptible":true,"retry_on":["oom","gpu_xid"],"points":[{"index":3,"params":{"lr":"1e-5"}}],"by":"agent"},` +
			`"says":["on GPU-1, GPU-2","only on GPUs that others don't use","not stopped for a higher bid","tried again only for oom, gpu_xid","with index 3, lr=1e-5 of its group, alone in one of its own","for agent"]}`},
		{"when a job like one may begin", `["2190-01-02T03:04:05Z", "2020-01-02T03:04:05Z"].map((begin) => m.another.another(job({begin, argv: ["x"], grace: 120, after: [], retries: {max: 0, used: 0, on: null}}))).map(({begin}) => begin && new Date(begin).toISOString()).join()`,
			"2190-01-02T03:04:05.000Z,"},
		{"what goes along of a plain one", `m.another.along(job({preemptible: true, retries: {max: 0, used: 0, on: null}})).says.length`, "0"},
		{"a hint that a button is there for", `m.verdict.hints(7, {hint: "` + "`pasar restart` queues it again" + `"})`, "null"},
		{"a hint beside one that a button is there for", `m.verdict.hints(7, {hint: "somebody sent it; ` + "`pasar restart` queues it again" + `\nlook"}).innerText`, "Hint: somebody sent itHint: look"},
		{"a hint that says more than a button", `m.verdict.hints(7, {hint: "` + "`pasar restart --ram` gives it more" + `"}).innerText`, "Hint: pasar restart --ram gives it more"},
		{"a hint of what has no button", `m.verdict.hints(7, {hint: "` + "`pasar gpus` says more, `pasar restart` starts it on another" + `"}).innerText`, "Hint: pasar gpus says more, pasar restart 7 starts it on another"},
		{"sentences", `["a claim is too large", "pasar doesn't answer", "33 tags; at most 32", "time: no", "it is so.", "gpu_type is long"].map(m.format.sentence).join(" ")`, "A claim is too large. pasar doesn't answer. 33 tags; at most 32. Time: no. It is so. gpu_type is long."},
		{"a state that there isn't", `m.jobfilter.mistaken(m.jobfilter.parse("state:bogus"))`, "There is no state “bogus”. The states are awaiting, queued, starting, running, stopping, paused, completed, failed and cancelled."},
	} {
		if got := b.says(c.expression); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}
