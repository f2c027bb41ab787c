package sandbox

import "time"

// Now is the time of Billing's clock: Config.Now plus what Advance has added.
func (s *Server) Now() (now time.Time) {
	s.look(func(st *state) { now = s.config.Now().Add(st.offset) })
	return now
}

// Advance moves Billing's clock ahead by d and does all that becomes due, each thing at its own time and in order. Checkout pages keep
// Config.Now. A killed server does the rest after its restart.
func (s *Server) Advance(d time.Duration) error {
	if d < 0 {
		return invalid("", "", "The clock can't go back.")
	}
	return s.shift(func(offset time.Duration) time.Duration { return offset + d })
}

// AdvanceTo moves Billing's clock to t, which must not be in its past.
func (s *Server) AdvanceTo(t time.Time) error {
	if t.Before(s.Now().Truncate(time.Second)) {
		return invalid("", "", "The clock can't go back: it is %s.", s.Now().UTC().Format(time.RFC3339))
	}
	now := s.config.Now()
	return s.shift(func(offset time.Duration) time.Duration { return max(offset, t.Sub(now)) })
}

func (s *Server) shift(to func(offset time.Duration) time.Duration) error {
	if err := s.do(func(c *change) error {
		c.set(billingRecord{Clock: &clockOffset{Offset: to(c.offset)}})
		return nil
	}); err != nil {
		return err
	}
	return s.do(func(*change) error { return nil }) // does what is due
}
