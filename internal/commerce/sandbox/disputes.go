//nolint:goconst // names of JSON fields are clearest in place
package sandbox

import (
	"slices"
	"time"
)

// Dispute is a claim by a buyer's bank to get a payment back.
type Dispute struct {
	ID          string `json:"id"`
	Seq         uint64 `json:"seq"`
	Account     string `json:"account"`
	PaymentID   string `json:"paymentId"`
	ChargeID    string `json:"chargeId"`
	Created     int64  `json:"created"`
	Status      string `json:"status"`
	Reason      string `json:"reason"`
	Currency    string `json:"currency"`
	AmountCents int64  `json:"amountCents"`
	DueBy       int64  `json:"dueBy"`
}

// evidenceTime is the time in which a seller may respond to a dispute.
const evidenceTime = 7 * 24 * time.Hour

// Dispute opens a dispute about the full amount of a payment and emits its
// event. status is such as "needs_response" or "warning_needs_response".
func (s *Server) Dispute(paymentIntent, status, reason string) (d Dispute, err error) {
	err = s.do(func(c *change) error {
		p, known := c.payments[paymentIntent]
		if !known || p.Status != Succeeded {
			return none("payment_intent", paymentIntent, "")
		}
		d = Dispute{
			ID: newID("dp_"), Seq: c.next(), Account: p.Account, PaymentID: p.ID, ChargeID: p.ChargeID, Created: c.now.Unix(), Status: status,
			Reason: reason, Currency: p.Currency, AmountCents: p.AmountCents, DueBy: c.now.Add(evidenceTime).Unix(),
		}
		if p.InvoiceID != "" {
			d.Created, d.DueBy = c.unix(), c.today().Add(evidenceTime).Unix()
		}
		c.put(record{Dispute: &d})
		c.emitOn(p, "charge.dispute.created", d.render())
		return nil
	})
	return d, err
}

// SetDispute changes a dispute's status and emits its event.
func (s *Server) SetDispute(disputeID, status string) error {
	return s.do(func(c *change) error {
		d, known := c.disputes[disputeID]
		if !known {
			return none("dispute", disputeID, "")
		}
		d.Status = status
		kind := "charge.dispute.updated"
		if status == "won" || status == "lost" || status == "warning_closed" {
			kind, d.DueBy = "charge.dispute.closed", 0
		}
		c.put(record{Dispute: &d})
		c.emitOn(c.payments[d.PaymentID], kind, d.render())
		return nil
	})
}

func listDisputes(c *call) (any, error) {
	payment, charge := c.text("payment_intent"), c.text("charge")
	c.ignore("expand")
	mine := slices.DeleteFunc(newest(c.order.disputes, c.disputes), func(d Dispute) bool {
		return d.Account != c.account || payment != "" && d.PaymentID != payment || charge != "" && d.ChargeID != charge
	})
	return page(c, mine, func(d Dispute) string { return d.ID }, func(d Dispute) int64 { return d.Created },
		func(d Dispute) any { return d.render() })
}

func (d Dispute) render() object {
	var due any
	if d.DueBy > 0 {
		due = d.DueBy
	}
	return object{
		"id": d.ID, "object": "dispute", "created": d.Created, "livemode": false, "status": d.Status, "reason": d.Reason, "currency": d.Currency,
		"amount": d.AmountCents, "payment_intent": d.PaymentID, "charge": d.ChargeID, "metadata": object{},
		"evidence_details": object{"due_by": due, "has_evidence": false, "past_due": false, "submission_count": 0},
	}
}
