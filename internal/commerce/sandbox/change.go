package sandbox

import (
	"encoding/json"
	"fmt"
	"time"
)

// change holds the writes of one request or control, which are applied completely or
// not at all. They are visible to the next change, not to this one.
type change struct {
	*state
	now time.Time
	// held: new events wait for a release. refundsWait: new refunds are pending.
	held, refundsWait bool

	seq     uint64
	records []record
	// requestID and requestKey belong to the API request that makes the change.
	requestID, requestKey string
}

func (c *change) put(r record) { c.records = append(c.records, r) }

// next returns a number above all earlier ones.
func (c *change) next() uint64 {
	c.seq++
	return c.seq
}

// do makes a change and returns when it is on disk. If f returns an error,
// nothing changes.
func (s *Server) do(f func(c *change) error) error {
	position, err := s.locked(f)
	if err != nil || s.journal == nil {
		return err
	}
	return s.journal.sync(position)
}

// locked makes a change and returns the journal's position after it. Before the
// change it expires the pages that are due.
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

// commit applies f's change. The caller holds the lock.
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
