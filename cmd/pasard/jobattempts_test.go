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

// reports is a part of a script that reports the loss at a step. Each is waited for: of those that come at once, the latest counts.
func reports(step int) string {
	return fmt.Sprintf(`echo '{"event":"progress","step":%d,"total_steps":100,"loss":%d.5}' >> "$PASAR_EVENTS"; `, step, step)
}

// What attempts did is one curve, on which the work that was done twice counts as it was done last.
func TestTheCurveOnAPageIsOfAllAttempts(t *testing.T) {
	h := newHome(t)
	b := openBrowser(t, h.startWeb(), screens[0])
	h.run("train", `if [ $PASAR_ATTEMPT = 1 ]; then `+reports(1)+until("second")+"; "+reports(9)+saves+`; fi; `+reports(6)+until("more")+"; "+reports(30)+until("go"), "--pausable")
	b.open("/jobs/1")
	b.read(".charts .values", "1.5")
	h.file("second")
	b.read(".charts .values", "9.5")
	b.press("Pause")
	b.until(pageState + ` === "paused"`)
	b.press("Resume")
	b.read(".charts .values", "6.5")
	h.file("more")
	b.read(".charts .values", "30.5")
	said := func(want string) {
		t.Helper()
		b.until(`document.querySelector(".charts .chart .unseen").textContent === ` + js(want))
	}
	said(": last 30.5, from 1.5 to 30.5; attempt 2 from step 6 on")
	if w := eval[[]float64](b, `[".charts .plot", ".part-progress .body"].map((s) => document.querySelector(s).clientWidth)`); w[0] < 0.95*w[1] {
		t.Errorf("the only chart is %v pixels wide of %v", w[0], w[1])
	}
	b.click("table.attempts a", "attempt 1")
	said(": last 9.5, from 1.5 to 9.5")
	b.look("an earlier attempt")
	h.file("go")
	b.click("table.attempts a", "attempt 2")
	b.until(pageState + ` === "completed"`)
	said(": last 30.5, from 1.5 to 30.5; attempt 2 from step 6 on")
}
