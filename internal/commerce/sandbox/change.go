package sandbox

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// change holds the writes of one request or control, which are applied completely or
// not at all. Later reads of the same change see them.
type change struct {
	*state
	now time.Time
	// held: new events wait for a release. refundsWait: new refunds are pending.
	held, refundsWait bool
	// usageDelay is the time between the receipt of a new meter event and its processing.
	usageDelay time.Duration

	seq     uint64
	records []record
	undos   []func()
	// url and dunningEnd are Config.URL and Config.DunningEnd.
	url, dunningEnd string
	// requestID and requestKey belong to the API request that makes the change.
	requestID, requestKey string
}

func (c *change) put(r record) {
	c.records = append(c.records, r)
	c.undos = append(c.undos, c.apply(r))
}

// rollback takes all writes back.
func (c *change) rollback() { c.rollbackTo(0) }

// rollbackTo takes the writes back that followed the first n.
func (c *change) rollbackTo(n int) {
	for _, undo := range slices.Backward(c.undos[n:]) {
		undo()
	}
	c.records, c.undos = c.records[:n], c.undos[:n]
}

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
// change it expires the pages that are due, and does what is due in Billing.
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
	if err := s.settleDue(now); err != nil {
		return 0, err
	}
	err := s.commit(now, f)
	if s.journal == nil {
		return 0, err
	}
	return s.journal.written.Load(), err
}

// commit applies f's change. The caller holds the lock.
func (s *Server) commit(now time.Time, f func(c *change) error) error {
	c := &change{
		state: &s.state, now: now, held: s.holding, refundsWait: s.refundsWait, usageDelay: s.usageDelay, seq: s.state.seq,
		url: s.config.URL, dunningEnd: s.config.DunningEnd,
	}
	if err := f(c); err != nil {
		c.rollback()
		return err
	}
	if len(c.records) == 0 {
		return nil
	}
	if s.journal != nil {
		line, err := json.Marshal(c.records)
		if err == nil {
			err = s.journal.append(line)
		}
		if err != nil {
			c.rollback()
			return fmt.Errorf("write the sandbox's journal: %w", err)
		}
	}
	s.state.seq = c.seq
	if len(s.state.due) > 0 {
		s.wake()
	}
	return nil
}
