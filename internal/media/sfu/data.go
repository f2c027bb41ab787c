package sfu

import (
	"maps"
	"slices"

	"golang.org/x/time/rate"
)

// dataShares is the number of shares in the guests' budget for data messages; each guest may use one.
const dataShares = 8

// newBudget returns a budget of bytes a second, with a burst of four seconds' worth.
func newBudget(bytes int) *rate.Limiter { return rate.NewLimiter(rate.Limit(bytes), 4*bytes) }

// maxBudgets is how many budgets of guests that left a room keeps.
const maxBudgets = 4096

// budget returns a guest's share of the budget for data messages: the remaining one for a user who
// left and came back, otherwise a full one.
func (r *room) budget(userID string) *rate.Limiter {
	if kept := r.budgets[userID]; kept != nil {
		delete(r.budgets, userID)
		return kept
	}
	return newBudget(r.server.config.Limits.DataBytes / dataShares)
}

// keepBudget keeps the budget of a member who leaves until it is full again, 4 s at most. Beyond
// maxBudgets, budgets are not kept.
func (r *room) keepBudget(m *member) {
	if len(r.budgets) < maxBudgets {
		r.budgets[m.grant.UserID] = m.data
	}
}

// dropBudgets removes the budgets that are full again.
func (r *room) dropBudgets() {
	now := r.server.config.Now()
	maps.DeleteFunc(r.budgets, func(_ string, b *rate.Limiter) bool { return b.TokensAt(now) >= float64(b.Burst()) })
}

// affords takes the bytes of a message, summed over all recipients, from the sender's budget;
// false when the budget is used up. A message that is larger than a whole budget needs all of it.
func (r *room) affords(m *member, bytes int) bool {
	now := r.server.config.Now()
	if m.grant.moderates() {
		return r.moderatorData.AllowN(now, min(bytes, r.moderatorData.Burst()))
	}
	return m.data.AllowN(now, min(bytes, m.data.Burst())) && r.guestData.AllowN(now, min(bytes, r.guestData.Burst()))
}

// data sends a data message to its recipients. Each recipient's outbox keeps a copy of it.
func (r *room) data(p *peer, msg message) {
	m := r.members[p.connection.UserID]
	if m == nil || m.p != p || !m.grant.Perms.any() {
		p.fail(nil, CodeForbidden, "only participants who may publish may send data")
		return
	}
	data := encode(dataMessage{typeData, m.grant.UserID, msg.Topic, msg.Payload})
	slices.Sort(msg.To) // one copy for each recipient
	to := slices.Compact(msg.To)
	hearers := len(to)
	if to == nil {
		hearers = len(r.members)
	}
	if !r.affords(m, hearers*len(data)) {
		p.fail(nil, CodeRateLimited, "too much data for this number of recipients; this message was dropped")
		return
	}
	if to == nil {
		r.sendAll(data, m)
		return
	}
	for _, userID := range to {
		if to := r.members[userID]; to != nil && !to.grant.waits() {
			to.p.send(data)
		}
	}
}
