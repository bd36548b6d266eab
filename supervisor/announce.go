package supervisor

// announce has every client that is attached told something.
func (a *attempt) announce(text string) {
	if s := a.clients.Load(); s != nil {
		s.announce(text)
	}
}

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
