package remote

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"pasar"
	"pasar/ipc"
)

// The far end of ssh begins with one line, so that what a shell says before it can be told from it:
//
//	pasar-proxy 1 {"version":"0.1.0","error":null}
//
// After that the bytes are those of the socket that was asked for, both ways. With an error there are none.
const (
	greetingMark    = "pasar-proxy "
	greetingVersion = "1"
)

// maxChatter is how many bytes a shell may say before the greeting, and the greeting may have.
const maxChatter = 256 << 10

type greeting struct {
	Version string     `json:"version"` // of pasar
	Error   *ipc.Error `json:"error"`   // why the errand can't be run
}

// Greet is what `pasar proxy` begins with: that the socket's bytes follow, or why not.
func Greet(w io.Writer, failed *ipc.Error) error {
	b, err := json.Marshal(greeting{pasar.Version, failed})
	if err != nil {
		return err
	}
	// A line of its own, whatever stands before it.
	_, err = io.WriteString(w, "\n"+greetingMark+greetingVersion+" "+string(b)+"\n")
	return err
}

// errNoGreeting is that what came isn't pasar's.
var errNoGreeting = errors.New("it doesn't answer as pasar does")

// readGreeting skips what isn't the greeting, and returns what it says. The last of what it skipped is said, if nothing
// else came.
func readGreeting(r *bufio.Reader) (g greeting, said string, err error) {
	for left := maxChatter; left > 0; {
		line, err := r.ReadSlice('\n')
		left -= len(line)
		if word, ok := strings.CutPrefix(string(line), greetingMark); ok && err == nil {
			version, rest, _ := strings.Cut(word, " ")
			if version != greetingVersion {
				return g, "", &ipc.Error{Code: ipc.CodeVersion, Message: fmt.Sprintf("it speaks version %s of `pasar proxy`, this pasar version %s", pasar.Clean(version), greetingVersion),
					Hint: "install the same pasar on both machines"}
			}
			if json.Unmarshal([]byte(rest), &g) == nil {
				return g, "", nil
			}
			g = greeting{}
		}
		if text := strings.TrimSpace(string(line)); text != "" {
			said = text
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return g, said, err
		}
	}
	return g, said, errNoGreeting
}
