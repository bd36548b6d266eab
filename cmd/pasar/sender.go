package main

import (
	"sync"

	"pasar/ipc"
)

// maxTyped bounds what is typed and not yet taken by the supervisor: more than any paste. What is beyond
// is dropped, for a job that doesn't read its input.
const maxTyped = 16 << 20

// maxPiece is how much of what is typed goes in one frame.
const maxPiece = 32 << 10

// A sender sends frames in order without making its callers wait: a job that doesn't read must not keep
// anyone from leaving.
type sender struct {
	conn *ipc.AttachConn
	gone chan struct{}
	some chan struct{}

	mu    sync.Mutex // guards queue and size
	queue []message
	size  int
}

type message struct {
	typ  int
	body any
	size int
}

// newSender starts the sending, which ends with gone. A connection on which something can't be sent is closed, so
// that its reader notices.
func newSender(conn *ipc.AttachConn, gone chan struct{}, rescue func()) *sender {
	s := &sender{conn: conn, gone: gone, some: make(chan struct{}, 1)}
	go func() {
		defer guarded(rescue)
		s.run()
	}()
	return s
}

// typed sends input, in pieces that fit a frame.
func (s *sender) typed(b []byte) {
	for len(b) > 0 {
		n := min(len(b), maxPiece)
		s.put(ipc.AttachIn, &ipc.In{Data: b[:n]})
		b = b[n:]
	}
}

func (s *sender) put(typ int, body any) {
	m := message{typ, body, 0}
	if in, ok := body.(*ipc.In); ok {
		m.size = len(in.Data)
	}
	s.mu.Lock()
	if s.size+m.size <= maxTyped {
		s.queue = append(s.queue, m)
		s.size += m.size
	}
	s.mu.Unlock()
	select {
	case s.some <- struct{}{}:
	default:
	}
}

func (s *sender) run() {
	for {
		select {
		case <-s.gone:
			return
		case <-s.some:
		}
		for {
			s.mu.Lock()
			if len(s.queue) == 0 {
				s.mu.Unlock()
				break
			}
			m := s.queue[0]
			s.queue = s.queue[1:]
			s.size -= m.size
			s.mu.Unlock()
			if s.conn.Send(m.typ, m.body) != nil {
				_ = s.conn.Close()
				return
			}
		}
	}
}
