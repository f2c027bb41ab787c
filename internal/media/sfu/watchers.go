package sfu

// TenantWatchers returns how many watchers one tenant may have on a server that accepts so many: half of them, rounded up. So the
// crowd of one tenant leaves places for others.
func TenantWatchers(maxWatchers int) int { return (maxWatchers + 1) / 2 }

// addWatcher counts a watcher until it has left; false at the limit of the server or of the token's tenant. Other participants
// aren't counted.
func (s *Server) addWatcher(p *peer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !p.watches {
		return true
	}
	if s.watchers >= s.config.MaxWatchers || s.watchersOf[p.tenantID] >= TenantWatchers(s.config.MaxWatchers) {
		return false
	}
	s.watchers++
	s.watchersOf[p.tenantID]++
	return true
}

// removeWatcher takes back addWatcher for a peer that didn't join.
func (s *Server) removeWatcher(p *peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watcherLeft(p)
}

// watcherLeft gives the place of a peer back if it is a watcher. The caller holds mu.
func (s *Server) watcherLeft(p *peer) {
	if !p.watches {
		return
	}
	s.watchers--
	if s.watchersOf[p.tenantID]--; s.watchersOf[p.tenantID] == 0 {
		delete(s.watchersOf, p.tenantID)
	}
}
