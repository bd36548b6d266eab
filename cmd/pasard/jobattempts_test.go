package main

import (
	"fmt"
	"testing"

	"pasar"
)

// saves is a part of a script that waits until the job is asked to pause, saves and leaves.
var saves = fmt.Sprintf(`until [ -e "$PASAR_PAUSE_FILE" ]; do sleep 0.05; done; : > saved; echo "{\"checkpoint\": \"$PWD/saved\"}" > "$PASAR_CHECKPOINT_READY.new"; mv "$PASAR_CHECKPOINT_READY.new" "$PASAR_CHECKPOINT_READY"; exit %d`, pasar.ExitPaused)

// The output on a job's page goes on with each attempt that begins after it ended, whoever started that and whether or not
// anybody looked.
func TestTheOutputOnAPageGoesOnWithEveryAttempt(t *testing.T) {
	h := newHome(t)
	b := openBrowser(t, h.startWeb(), screens[0])
	h.run("train", `echo "this is $PASAR_ATTEMPT"; [ $PASAR_ATTEMPT -gt 2 ] || { `+saves+`; }`, "--pausable")
	b.open("/jobs/1")
	b.read(".log", "this is 1")
	b.press("Pause")
	b.until(pageState + ` === "paused"`)
	b.press("Resume")
	b.read(".log", "this is 2")
	if log := eval[string](b, `document.querySelector(".log").innerText`); log != "this is 1\nattempt 2\nthis is 2" {
		t.Errorf("the output is %q", log)
	}

	// The page lies on a tab behind others while the job is paused, goes on and ends.
	eval[bool](b, `dispatchEvent(new Event("pagehide"))`)
	w := b.window()
	w.open("/jobs/1")
	w.press("Pause")
	w.until(pageState + ` === "paused"`)
	w.press("Resume")
	w.until(pageState + ` === "completed"`)
	eval[bool](b, `dispatchEvent(new Event("pageshow"))`)
	b.until(pageState + ` === "completed"`)
	b.read(".log", "this is 3")

	h.pasar("restart", "1")
	b.read(".log", "this is 4")
	b.until(pageState + ` === "completed"`)
	if log := eval[string](b, `document.querySelector(".log").innerText`); log != "this is 1\nattempt 2\nthis is 2\nattempt 3\nthis is 3\nattempt 4\nthis is 4" {
		t.Errorf("the output is %q", log)
	}
}
