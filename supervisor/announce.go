package supervisor

// logState tells of trouble with the log, or with no reason that it is over: to whoever is attached, and to
// the daemon.
func (a *attempt) logState(why string) {
	a.history.trouble(why)
	text := "this job's output is kept again"
	if why != "" {
		text = "this job's output can't be kept just now (" + why + "): what isn't shown here may be lost"
	}
	if s := a.clients.Load(); s != nil {
		s.announce(text)
	}
}

// announce has every client that is attached told something.
func (s *server) announce(text string) {
	s.mu.Lock()
	a := s.attempt
	var peers []*peer
	for p := range s.peers {
		if p.reading() {
			peers = append(peers, p)
		}
	}
	s.mu.Unlock()
	for _, p := range peers {
		p.note(a, text)
	}
}
