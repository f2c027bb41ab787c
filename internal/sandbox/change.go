package sandbox

import (
	"encoding/json"
	"fmt"
	"time"
)

// change is what one request or control does: all of it or nothing. What it puts
// is seen by the next one, not by itself.
type change struct {
	*state
	now time.Time
	// held: events wait for a release. refundsWait: refunds are pending at first.
	held, refundsWait bool

	seq     uint64
	records []record
	// requestID and requestKey of the API request that it is for.
	requestID, requestKey string
}

func (c *change) put(r record) { c.records = append(c.records, r) }

// next is a number above all that were given before.
func (c *change) next() uint64 {
	c.seq++
	return c.seq
}

// do makes a change and has it on disk when it returns. An error of f undoes all
// that it did.
func (s *Server) do(f func(c *change) error) error {
	position, err := s.locked(f)
	if err != nil || s.journal == nil {
		return err
	}
	return s.journal.sync(position)
}

// locked makes a change, after pages whose time has come have expired, and
// returns the journal's position behind it.
func (s *Server) locked(f func(c *change) error) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.config.Now()
	if !s.state.nextExpiry.IsZero() && !now.Before(s.state.nextExpiry) {
		if err := s.commit(now, expireDue); err != nil {
			return 0, err
		}
		s.state.findNextExpiry()
	}
	err := s.commit(now, f)
	if s.journal == nil {
		return 0, err
	}
	return s.journal.written.Load(), err
}

// commit is called with the lock held.
func (s *Server) commit(now time.Time, f func(c *change) error) error {
	c := &change{state: &s.state, now: now, held: s.holding, refundsWait: s.refundsWait, seq: s.state.seq}
	if err := f(c); err != nil || len(c.records) == 0 {
		return err
	}
	if s.journal != nil {
		line, err := json.Marshal(c.records)
		if err == nil {
			err = s.journal.append(line)
		}
		if err != nil {
			return fmt.Errorf("write the sandbox's journal: %w", err)
		}
	}
	for _, r := range c.records {
		s.state.apply(r)
	}
	s.state.seq = c.seq
	if len(s.state.due) > 0 {
		s.wake()
	}
	return nil
}
