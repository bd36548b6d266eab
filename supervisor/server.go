package supervisor

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pasar/ipc"
)

// maxPeers bounds the connections to one supervisor.
const maxPeers = 256

// A server answers on the supervisor's socket.
type server struct {
	log  *slog.Logger
	path string

	mu       sync.Mutex // guards what follows
	listener *net.UnixListener
	attempt  *attempt // nil while warm
	peers    map[*peer]struct{}
	done     bool // a control peer has journaled the end
	hurried  bool // by whoever ends services: don't linger
	leaving  bool // nobody is admitted any more
	closed   bool
	left     bell // rung when a peer left or done was set
}

func listen(log *slog.Logger, path string) (*server, error) {
	s := &server{log: log, path: path, peers: make(map[*peer]struct{})}
	if err := s.bind(); err != nil {
		return nil, err
	}
	return s, nil
}

// bind listens on the path, anew if it did before: a cleaner may have removed the socket.
func (s *server) bind() error {
	l, err := ipc.ListenUnix(s.path)
	if err != nil {
		return err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		_ = os.Remove(s.path)
		return l.Close()
	}
	old := s.listener
	s.listener = l
	s.mu.Unlock()
	if old != nil {
		_ = old.Close()
	}
	go s.accept(l)
	return nil
}

// there sees to it that the socket can be found, also if it was removed while nobody looked.
func (s *server) there() {
	if _, err := os.Lstat(s.path); !errors.Is(err, os.ErrNotExist) {
		return
	}
	_ = os.MkdirAll(filepath.Dir(s.path), 0o700)
	if err := s.bind(); err != nil {
		s.log.Error("bind socket again", "error", err)
	}
}

// guardSocket binds again whenever the socket's name goes away, as long as n runs.
func (s *server) guardSocket(n *notifier) {
	const gone = unix.IN_ATTRIB | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF // unlinking changes the link count
	err := n.add(s.path, gone, func() {
		if _, err := os.Lstat(s.path); !errors.Is(err, os.ErrNotExist) {
			return
		}
		_ = os.MkdirAll(filepath.Dir(s.path), 0o700)
		if err := s.bind(); err != nil {
			s.log.Error("bind socket again", "error", err)
			return
		}
		s.guardSocket(n)
	})
	if err != nil {
		s.log.Warn("a removed socket comes back only on SIGUSR1", "error", err)
	}
}

func (s *server) accept(l *net.UnixListener) {
	for {
		c, err := l.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			// Out of descriptors, most likely: nothing to do but wait for some to come free.
			s.log.Error("accept", "error", err)
			pause := time.NewTimer(100 * time.Millisecond)
			<-pause.C
			continue
		}
		uid, err := ipc.PeerUID(c)
		if err != nil || uid != os.Geteuid() {
			s.log.Warn("connection refused", "uid", uid, "error", err)
			_ = c.Close()
			continue
		}
		p := newPeer(s, c, ipc.NewAttachConn(c))
		p.who = peerName(c)
		if !s.join(p) {
			s.log.Warn("connection refused", "peers", maxPeers)
			_ = p.refuse(ipc.CodeOverLimit, fmt.Sprintf("%d clients are attached already, which is the limit", maxPeers))
			_ = c.Close()
			continue
		}
		go p.serve()
	}
}

// join counts a peer in, unless there are too many. One that hasn't said what it is gives way.
func (s *server) join(p *peer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	if len(s.peers) >= maxPeers {
		var mute *peer
		for q := range s.peers {
			if !q.greeted() {
				mute = q
			}
		}
		if mute == nil {
			return false
		}
		delete(s.peers, mute)
		_ = mute.conn.Close()
	}
	s.peers[p] = struct{}{}
	return true
}

// count is how many peers there are.
func (s *server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.peers)
}

func (s *server) leave(p *peer) {
	s.mu.Lock()
	delete(s.peers, p)
	s.mu.Unlock()
	s.left.ring()
}

// admit notes what a peer is there for. False: it came too late, and is better told nothing than half of it.
func (s *server) admit(p *peer, m ipc.AttachMode) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leaving {
		return false
	}
	p.mode.Store(m)
	return true
}

// hold makes the server answer for an attempt.
func (s *server) hold(a *attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempt = a
}

func (s *server) held() *attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.attempt
}

// adopt makes the connection on which LAUNCH came an ordinary control peer.
func (s *server) adopt(c net.Conn, conn *ipc.AttachConn) {
	p := newPeer(s, c, conn)
	s.mu.Lock()
	s.peers[p] = struct{}{}
	s.mu.Unlock()
	go p.guard(func() { p.control(s.held(), 0) })
}

// obey carries out signals: SIGUSR1 binds the socket again; SIGTERM stops the job, if there is one,
// and ends a supervisor that has none.
func (s *server) obey(sigs <-chan os.Signal, control net.Conn) {
	for sig := range sigs {
		switch sig {
		case syscall.SIGUSR1:
			if err := s.bind(); err != nil {
				s.log.Error("bind socket again", "error", err)
			}
		case syscall.SIGTERM:
			if a := s.held(); a != nil {
				askForTime(time.Duration(a.spec.Grace) + leaveTime)
				nudge(a.term)
				s.hurry()
			} else {
				_ = control.Close()
			}
		}
	}
}

// acknowledged notes that the end is journaled.
func (s *server) acknowledged() {
	s.mu.Lock()
	s.done = true
	s.mu.Unlock()
	s.left.ring()
}

// hurry cuts lingering short.
func (s *server) hurry() {
	s.mu.Lock()
	s.hurried = true
	s.mu.Unlock()
	s.left.ring()
}

// linger returns when the end is journaled and nobody reads any more, or after lingerLimit; when hurried, after
// hurriedLimit.
func (s *server) linger() {
	began := time.Now()
	t := time.NewTimer(lingerLimit)
	defer t.Stop()
	for {
		left := s.left.wait()
		s.mu.Lock()
		free := s.done
		if s.hurried {
			t.Reset(max(0, hurriedLimit-time.Since(began)))
		}
		for p := range s.peers {
			if p.reading() {
				free = false
			}
		}
		s.leaving = free
		s.mu.Unlock()
		if free {
			return
		}
		select {
		case <-left:
		case <-t.C:
			return
		}
	}
}

// close stops listening, removes the socket and drops every peer.
func (s *server) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	_ = os.Remove(s.path) // the name is random, so it is ours
	_ = s.listener.Close()
	for p := range s.peers {
		_ = p.conn.Close()
	}
}

// guard runs one peer's work: a panic in it is that connection's end and nothing else's.
func (p *peer) guard(f func()) {
	defer func() {
		if r := recover(); r != nil {
			p.srv.log.Error("panic in a connection", "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
		}
		p.hangUp()
	}()
	f()
}
