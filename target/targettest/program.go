package targettest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"

	"pasar"
	"pasar/target"
)

// A Program is what an attempt of the conformance suite does, in this order: it leaves its mark,
// prints, waits at its gate, prints again, and ends. One that pauses waits for its pause file instead of a gate.
type Program struct {
	Mark       string // file to which it appends a line with its key, so that runs can be counted
	Print      string
	Gate       string // FIFO from which it reads a line before it goes on; none if empty
	Then       string // printed after the gate
	Times      int    // how often; 0 is once
	IgnoreTerm bool
	Pauses     string // the checkpoint that it names in its marker, once it is asked to pause; empty: it doesn't look
	Code       int
	Signal     syscall.Signal // by which it ends itself, if positive
}

// Shell is the program as a command for /bin/sh. It ends with the program's code or signal.
func (p Program) Shell() []pasar.Arg {
	var s strings.Builder
	if p.IgnoreTerm {
		s.WriteString("trap '' TERM\n")
	}
	fmt.Fprintf(&s, "echo \"$PASAR_JOB_ID.$PASAR_ATTEMPT\" >> %s\n", quote(p.Mark))
	fmt.Fprintf(&s, "printf %%s %s\n", quote(p.Print))
	if p.Pauses != "" {
		s.WriteString("until test -e \"$PASAR_PAUSE_FILE\"; do sleep 0.01; done\n")
		fmt.Fprintf(&s, "printf '{\"checkpoint\": \"%%s\"}' %s > \"$PASAR_CHECKPOINT_READY.new\"\n", quote(p.Pauses))
		fmt.Fprintf(&s, "mv \"$PASAR_CHECKPOINT_READY.new\" \"$PASAR_CHECKPOINT_READY\"; exit %d\n", pasar.ExitPaused)
	}
	if p.Gate != "" {
		fmt.Fprintf(&s, "read x < %s\n", quote(p.Gate))
	}
	// A loop, since one argument holds only 128 KiB.
	fmt.Fprintf(&s, "i=0; while [ $i -lt %d ]; do printf %%s %s; i=$((i+1)); done\n", max(p.Times, 1), quote(p.Then))
	if p.Signal > 0 {
		fmt.Fprintf(&s, "kill -%d $$\n", p.Signal)
	}
	fmt.Fprintf(&s, "exit %d\n", p.Code)
	return []pasar.Arg{"/bin/sh", "-c", pasar.Arg(s.String())}
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// fakeProgram is argv[0] of a Program that a World runs by itself.
const fakeProgram = "targettest-program"

// Fake is the program as a command that a World with PlayPrograms runs.
func (p Program) Fake() []pasar.Arg {
	b, err := json.Marshal(p)
	if err != nil {
		panic(err) // plain strings and numbers
	}
	return []pasar.Arg{fakeProgram, pasar.Arg(b)}
}

// PlayPrograms is for World.OnLaunch: attempts whose command is a Program's do what it says, and an
// attempt without its directory or its program can't be started.
func PlayPrograms(a target.Attempt) Script {
	if _, err := os.Stat(string(a.Spec.Cwd)); err != nil {
		return Script{LaunchError: err.Error(), LaunchStep: "chdir", Errno: int(syscall.ENOENT)}
	}
	argv := a.Spec.Argv
	if argv[0] != fakeProgram {
		if _, err := os.Stat(string(argv[0])); err != nil {
			return Script{LaunchError: err.Error(), LaunchStep: "exec", Errno: int(syscall.ENOENT)}
		}
		return Script{}
	}
	var p Program
	if err := json.Unmarshal([]byte(argv[1]), &p); err != nil {
		return Script{LaunchError: err.Error()}
	}
	script := Script{Output: p.Print, IgnoreTerm: p.IgnoreTerm, run: p.play}
	if p.Pauses != "" {
		script.Pauses = Saves(p.Pauses, 0)
		if _, err := os.Stat(p.Pauses); err != nil {
			script.Pauses.Marker.Missing = "the marker names " + p.Pauses + ", which is not there"
		}
	}
	return script
}

// play leaves the program's mark and runs the rest of it in a goroutine that ends with the attempt. The
// mark is made at once, so that nothing is written after a stop.
func (p Program) play(w *World, at *attempt) func() {
	key := at.obs.Handle.Key
	over := make(chan struct{})
	marked := appendLine(p.Mark, key.String())
	go func() {
		if marked != nil {
			w.Vanish(key, marked.Error())
			return
		}
		if p.Pauses != "" || p.Gate != "" && !passGate(p.Gate, over) {
			return // the world pauses it
		}
		if p.Then != "" {
			w.Print(key, strings.Repeat(p.Then, max(p.Times, 1)))
		}
		w.with(key, func(at *attempt) { w.finish(at, p.exit()) })
	}()
	return func() { close(over) }
}

func (p Program) exit() pasar.Exit {
	if p.Signal > 0 {
		return pasar.Exit{Signal: int(p.Signal)}
	}
	return pasar.Exit{Code: p.Code}
}

func appendLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// passGate reads a line of the FIFO; false if the attempt was over first.
func passGate(gate string, over <-chan struct{}) bool {
	f, err := os.Open(gate)
	if err != nil {
		return false
	}
	passed := make(chan bool, 1)
	go func() {
		_, err := bufio.NewReader(f).ReadString('\n')
		passed <- err == nil
	}()
	select {
	case ok := <-passed:
		_ = f.Close()
		return ok
	case <-over:
		_ = f.Close() // ends the read
		<-passed
		return false
	}
}
