package autopsy

import (
	"regexp"
	"strings"
)

// goesOnWith matches progress: counters of work done.
var goesOnWith = regexp.MustCompile(`(?i)\b(?:epochs?|steps?|iter(?:ation)?s?|batch(?:es)?|rounds?|episodes?|trials?|folds?|shards?|generations?|chunks?|sweeps?|update|global_step|it)\b["']?\s*[:=#\[(]?\s*\d` +
	`|["']?\b\w*loss["']?\s*[:=]?\s+?-?\d|\bloss=-?\d|["'][\w/]*loss["']: ?-?\d` +
	`|\b\d+(?:\.\d+)?\s?(?:it|tok|tokens|samples|examples|imgs|images|steps|batches)/s|\b\d+(?:\.\d+)?s/(?:it|step|batch|epoch)\b` +
	`|^\[\s*\d+\s*/\s*\d+\]`)

// recovers matches what a program says when it got over something.
var recovers = regexp.MustCompile(`(?i)\b(?:resum(?:ed|ing) (?:from|at|training)|restored? (?:from|checkpoint)|recovered|reconnected|second (?:try|run|attempt) ok|connected .{0,40}after \d+ attempts|going on\b|connection (?:restored|re-?established)|succeeded (?:after|on)|(?:retry|attempt) (?:\d+ )?(?:succeeded|ok\b|worked)|starting from scratch|` +
	`batch(?: size)?(?: of)? \d+ (?:fits|ok|works)|loaded .{0,60}\bfrom (?:the )?(?:cache|hub|mirror|backup|prev)|\w+ skipped$|continuing (?:without|with|from|anyway)|(?:child|worker|part|task|shard|job)\b.{0,24}\b(?:finished|done|completed|respawned|up)$|downloaded after|download(?:ed)? (?:complete|ok)|using (?:the )?(?:fallback|cached))`)

// anotherTry matches the start of a new try at the whole: what ended the one before didn't end the job.
var anotherTry = regexp.MustCompile(`(?i)^\W*(?:(?:re)?try|attempt|trial|run|restart(?:ing)?)[ #:(]*\d+\s*(?:of|/|out of)\s*\d+|will restart worker group|\brestarting (?:training|the (?:job|worker|training|process)|worker|from)|^\W*(?:starting|begin(?:ning)?) (?:attempt|try|retry)\b`)

// mishap matches lines that speak of something going wrong; they are no progress, whatever they count.
var mishap = regexp.MustCompile(`\w(?:Error|Exception|Interrupt)\b|(?i:\b(?:error|fatal|panic(?:ked)?|failed|failure|abort(?:ed|ing)?|cannot|can't|killed|denied|traceback|timed out|timeout|out of memory|terminat\w+|invalid|exceeded|stopp(?:ed|ing)|exiting|giving up|corrupt\w*|diverged)\b)`)

// goesOn reports whether a line shows that the program got on with its work. A state of a bar that was drawn
// before shows nothing.
func (s *said) goesOn() bool {
	if strings.HasPrefix(s.body, "wandb:") || s.level == failure || mishap.MatchString(s.body) && !recovers.MatchString(s.body) {
		return false
	}
	return goesOnWith.MatchString(s.body) || isBar(s.body) || recovers.MatchString(s.body)
}

// livedThrough matches what a line says itself of an error that it speaks of: that the program goes on.
var livedThrough = regexp.MustCompile(`(?i)\((?:skipp\w+|ignor\w+|continuing\b[^)]*|[\w ]+ (?:turned off|disabled)|non-?fatal|retry\w*|using [^)]*|will retry[^)]*|optional|harmless|not fatal)\)?|` +
	`[,;:.-] ?(?:skipp(?:ing|ed)\b|(?:gradients?|batch|sample|step|update) (?:dropped|skipped|ignored|discarded)\b|going on\b|ignor(?:ing|ed)\b|continuing\b|falling back\b|fall back\b|retry(?:ing)?\b|trying (?:again|another|prev|the next|next|with|a smaller|smaller)|using (?:cpu|the|a|default|cached|fallback|local|eager|slow)\b|reconnecting|will (?:retry|be retried|continue|use|fall)|disabling\b|disabled\b|halving\b|reducing (?:the )?batch|(?:streaming|reading|loading|using|running|computing) .{0,40}\binstead\b|proceeding|entering retry loop)|` +
	`\bskipping (?:this|sample|batch|file|it|bad)|\bnon-?fatal\b`)

// quoted matches lines that only carry phrases: echoed commands, settings, help, advice, tables of zeros.
var quoted = regexp.MustCompile(`(?i)^\s*(?:[-*•>] +\S|\|.*\|.*\||\[?(?:user|assistant|system|human|chat)\]?[:\]>] |(?:not )?ok \d+ )|\b(?-i:PASSED|XFAIL|SKIPPED)\b|\.\.\. ok$|\(expected\)$|^\s*(?:\+{1,3} |\$ |# \S|//|>>> |export |ptrace: )|^\s{2,}(?:raise|return|self\.|with|for|if|elif|def|try:|except|await|yield|throw) ?\w|^(?:config|args|arguments|settings|options|cfg|flags|namespace|hparams|params|environment|env|cmd|command|running|executing)\b ?[:=(]|^(?:if you|in case|note:|hint:|tip:|see also|for (?:more|debugging)|please (?:see|refer)|to (?:enable|disable|debug)|consider |compile with|search for )|` +
	`\bif you (?:encounter|see|get|run into|hit)\b|(?:\bon_|_on_|max_|fail_on_|--)[\w-]*(?:oom|nan|error|timeout|retr)\w*[ =:]|\b0 (?:uncorrectable|errors?|failures?|failed|xid)\b|\berrors?: 0\b|^\W*no errors?\b|\bno errors\b|^\s*["']?(?:prompt|text|caption|question|answer|input|output|label|sample|example|title|query|document|target|pred|response|instruction)s?["']?\s*\d*\s*[:=>]`)
