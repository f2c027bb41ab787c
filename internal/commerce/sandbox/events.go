//nolint:goconst // names of JSON fields are clearest in place
package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"
)

// Event is a webhook event and the state of its deliveries.
type Event struct {
	ID      string          `json:"id"`
	Seq     uint64          `json:"seq"`
	Account string          `json:"account"`
	Type    string          `json:"type"`
	Created int64           `json:"created"`
	Payload json.RawMessage `json:"payload"`
	// Owed is how many deliveries must still succeed.
	Owed int `json:"owed"`
	// Held events wait for a release. Place is their position among all due events.
	Held  bool   `json:"held"`
	Place uint64 `json:"place"`
	// NextAt is when the next attempt is due.
	NextAt time.Time `json:"nextAt"`
	// Tries counts failures since the last success. Attempts are the latest attempts.
	Tries    int       `json:"tries"`
	Attempts []Attempt `json:"attempts"`
}

// Attempt is one delivery of an event.
type Attempt struct {
	EventID string    `json:"-"`
	Type    string    `json:"-"`
	At      time.Time `json:"at"`
	// Status is the HTTP status of the answer. It is 0 if there was none; then
	// Error holds the cause.
	Status int    `json:"status"`
	Error  string `json:"error"`
}

// OK reports whether the receiver has accepted the event.
func (a Attempt) OK() bool { return a.Status >= 200 && a.Status < 300 }

const (
	attemptsKept = 20
	// The pause doubles from leastPause to mostPause.
	leastPause = time.Second
	mostPause  = time.Minute
	// lookAgain is the interval in which pages are checked for expiry.
	lookAgain = time.Second
)

// emit emits an event about an account, or about the platform's own for "".
func (c *change) emit(account, kind string, about object) {
	e := Event{
		ID: newID("evt_"), Seq: c.next(), Account: account, Type: kind, Created: c.now.Unix(), Owed: 1, Held: c.held, NextAt: c.now,
	}
	e.Place = e.Seq
	payload := object{
		"id": e.ID, "object": "event", "api_version": Version, "created": e.Created, "livemode": false, "pending_webhooks": 1,
		"type": kind, "data": object{"object": about},
		"request": object{"id": nullable(c.requestID), "idempotency_key": nullable(c.requestKey)},
	}
	if account != "" {
		payload["account"] = account
	}
	// Marshal can't fail: the payload has only maps of strings, numbers and lists.
	e.Payload, _ = json.Marshal(payload) //nolint:errchkjson // see above
	c.put(record{Event: &e})
}

// emitOn emits an event about a payment: at Billing's time if it belongs to an invoice.
func (c *change) emitOn(p Payment, kind string, about object) {
	if p.InvoiceID != "" {
		c.report(kind, about)
		return
	}
	c.emit(p.Account, kind, about)
}

func (s *Server) wake() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// deliverAlways delivers due events one after the other until ctx ends.
func (s *Server) deliverAlways(ctx context.Context) {
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	for {
		if _, err := s.deliver(ctx, true); err != nil && ctx.Err() == nil {
			s.config.Log.Error("the sandbox couldn't deliver", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-s.kick:
		case <-ticker.C:
		}
	}
}

// Deliver sends every pending event that is not held, as often as it is pending,
// regardless of the time of its next attempt. Pages that are due expire before.
// Without a callback URL it does nothing.
func (s *Server) Deliver(ctx context.Context) ([]Attempt, error) { return s.deliver(ctx, false) }

func (s *Server) deliver(ctx context.Context, onlyDue bool) ([]Attempt, error) {
	s.sending.Lock()
	defer s.sending.Unlock()
	var due []Event
	var to string
	err := s.do(func(c *change) error {
		to = s.callback
		for id := range c.due {
			if e := c.events[id]; !e.Held && (!onlyDue || !e.NextAt.After(c.now)) {
				due = append(due, e)
			}
		}
		return nil
	})
	if err != nil || to == "" {
		return nil, err
	}
	var attempts []Attempt
	for _, e := range inPlace(due) {
		for range e.Owed {
			a := s.send(ctx, to, e)
			if ctx.Err() != nil {
				return attempts, ctx.Err()
			}
			attempts = append(attempts, a)
			if err := s.note(a); err != nil {
				return attempts, err
			}
		}
	}
	return attempts, nil
}

// send makes one attempt. It signs with the real clock's time, which the
// receiver checks.
func (s *Server) send(ctx context.Context, to string, e Event) Attempt {
	a := Attempt{EventID: e.ID, Type: e.Type, At: s.config.Now()}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(e.Payload))
	if err != nil {
		a.Error = err.Error()
		return a
	}
	secret := s.config.Secret
	if e.Account != "" {
		secret = s.config.ConnectSecret
	}
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	r.Header.Set("User-Agent", "Stripe/1.0 (+https://stripe.com/docs/webhooks)")
	r.Header.Set("Stripe-Signature", Sign(e.Payload, secret, time.Now()))
	resp, err := s.client.Do(r)
	if err != nil {
		a.Error = err.Error()
		return a
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, maxBody) // so that the connection can be reused
	a.Status = resp.StatusCode
	return a
}

// Sign returns the header Stripe-Signature of a payload.
func Sign(payload []byte, secret string, at time.Time) string {
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%d.", at.Unix())
	mac.Write(payload)
	return fmt.Sprintf("t=%d,v1=%s", at.Unix(), hex.EncodeToString(mac.Sum(nil)))
}

// note stores the result of an attempt.
func (s *Server) note(a Attempt) error {
	return s.do(func(c *change) error {
		e := c.events[a.EventID]
		e.Attempts = append(slices.Clone(e.Attempts), a)
		e.Attempts = e.Attempts[max(0, len(e.Attempts)-attemptsKept):]
		if a.OK() {
			e.Owed, e.Tries = max(0, e.Owed-1), 0
		} else {
			e.NextAt = c.now.Add(min(mostPause, leastPause<<min(e.Tries, 10)))
			e.Tries++
		}
		c.put(record{Event: &e})
		return nil
	})
}

// Events lists all events, oldest first.
func (s *Server) Events() []Event {
	var list []Event
	s.look(func(st *state) {
		list = newest(st.order.events, st.events)
	})
	slices.Reverse(list)
	return list
}

// HoldEvents holds back all events from now on, and those that are still owed.
func (s *Server) HoldEvents() error {
	s.mu.Lock()
	s.holding = true
	s.mu.Unlock()
	return s.do(func(c *change) error {
		for _, e := range c.owed() {
			e.Held = true
			c.put(record{Event: &e})
		}
		return nil
	})
}

// ReleaseEvents releases the held events: first the named ones, in this order,
// then the others in the order of their creation. Later events are not held.
func (s *Server) ReleaseEvents(first ...string) error {
	s.mu.Lock()
	s.holding = false
	s.mu.Unlock()
	return s.do(func(c *change) error {
		place := func(e Event) int {
			if i := slices.Index(first, e.ID); i >= 0 {
				return i
			}
			return len(first)
		}
		events := c.owed()
		slices.SortStableFunc(events, func(a, b Event) int { return cmp.Compare(place(a), place(b)) })
		for _, e := range events {
			e.Held, e.Place, e.NextAt = false, c.next(), c.now
			c.put(record{Event: &e})
		}
		return nil
	})
}

// ReleaseReversed releases the held events, newest first.
func (s *Server) ReleaseReversed() error {
	var ids []string
	s.look(func(st *state) {
		for _, id := range slices.Backward(st.order.events) {
			if st.due[id] {
				ids = append(ids, id)
			}
		}
	})
	return s.ReleaseEvents(ids...)
}

// DropEvents cancels the owed deliveries of events about an account.
func (s *Server) DropEvents(account string) error {
	return s.do(func(c *change) error {
		for _, e := range c.owed() {
			if e.Account == account {
				e.Owed = 0
				c.put(record{Event: &e})
			}
		}
		return nil
	})
}

func (c *change) owed() []Event {
	var events []Event
	for id := range c.due {
		events = append(events, c.events[id])
	}
	return inPlace(events)
}

// Resend delivers an event this many more times, at once.
func (s *Server) Resend(eventID string, times int) error {
	return s.do(func(c *change) error {
		e, known := c.events[eventID]
		if !known {
			return none("event", eventID, "")
		}
		e.Owed += times
		e.NextAt = c.now
		c.put(record{Event: &e})
		return nil
	})
}
