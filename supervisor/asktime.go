package supervisor

import (
	"net"
	"os"
	"strconv"
	"time"
)

// leaveTime is what the end of a supervisor may take beyond the grace of its job.
const leaveTime = leftoverKill + drainLimit + finishLimit + hurriedLimit + 5*time.Second

// askForTime asks the service manager that is stopping us for so much time before it kills (sd_notify(3)).
// Without one it does nothing.
func askForTime(d time.Duration) {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return
	}
	defer c.Close()
	_, _ = c.Write([]byte("EXTEND_TIMEOUT_USEC=" + strconv.FormatInt(d.Microseconds(), 10)))
}
