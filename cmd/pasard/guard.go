package main

import (
	"context"
	"log/slog"
	"net"
	"os"
	"time"

	"pasar/config"
)

// guardEvery is how often the daemon looks whether its socket is still there: a cleaner of old files may
// remove it, and then nobody could reach the daemon any more.
const guardEvery = 15 * time.Second

// guardSocket binds the socket again whenever its file is gone or somebody else's, and hands the new
// listener to serve. It returns when ctx is done.
func guardSocket(ctx context.Context, p config.Paths, l net.Listener, every time.Duration, log *slog.Logger, serve func(net.Listener)) {
	bound := boundFile(p.Socket)
	t := time.NewTicker(every)
	defer t.Stop()
	told := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if now := boundFile(p.Socket); now != nil && bound != nil && os.SameFile(now, bound) {
			continue
		}
		next, err := listen(p)
		if err != nil {
			if !told {
				log.Error("the socket is gone and can't be made again", "socket", p.Socket, "error", err)
			}
			told = true
			continue
		}
		log.Warn("the socket was gone; it is back", "socket", p.Socket)
		told = false
		_ = l.Close() // nobody can connect to it
		l, bound = next, boundFile(p.Socket)
		serve(next)
	}
}

func boundFile(path string) os.FileInfo {
	fi, err := os.Lstat(path)
	if err != nil {
		return nil
	}
	return fi
}
