package sandbox

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
)

// Account is a seller's account.
type Account struct {
	ID       string            `json:"id"`
	Seq      uint64            `json:"seq"`
	Created  int64             `json:"created"`
	Type     string            `json:"type"`
	Country  string            `json:"country"`
	Name     string            `json:"name"`
	Email    string            `json:"email"`
	Metadata map[string]string `json:"metadata"`
	// DetailsSubmitted: the seller has finished the onboarding page.
	DetailsSubmitted bool `json:"detailsSubmitted"`
	ChargesEnabled   bool `json:"chargesEnabled"`
}

// Link is a single-use link to an onboarding page.
type Link struct {
	Token      string `json:"token"`
	Account    string `json:"account"`
	Created    int64  `json:"created"`
	ExpiresAt  int64  `json:"expiresAt"`
	ReturnURL  string `json:"returnUrl"`
	RefreshURL string `json:"refreshUrl"`
	// Visit is the secret of the browser that opened it first. Done is set by the
	// page's buttons.
	Visit string `json:"visit"`
	Done  bool   `json:"done"`
}

// Line is an item of a payment page.
type Line struct {
	ID          string   `json:"id"`
	PriceID     string   `json:"priceId"`
	ProductID   string   `json:"productId"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Images      []string `json:"images"`
	UnitCents   int64    `json:"unitCents"`
	Quantity    int64    `json:"quantity"`
	// Interval and Every are the period of a recurring price.
	Interval string `json:"interval,omitempty"`
	Every    int64  `json:"every,omitempty"`
	Metered  bool   `json:"metered,omitempty"`
	// Cents is the amount of all units; 0 for UnitCents × Quantity, which differs for decimal and transformed prices.
	Cents int64 `json:"cents,omitempty"`
}

// Session is a payment page.
type Session struct {
	ID                string            `json:"id"`
	Seq               uint64            `json:"seq"`
	Account           string            `json:"account"`
	Created           int64             `json:"created"`
	ExpiresAt         int64             `json:"expiresAt"`
	Status            string            `json:"status"`
	PaymentStatus     string            `json:"paymentStatus"`
	PaymentID         string            `json:"paymentId"`
	Currency          string            `json:"currency"`
	Lines             []Line            `json:"lines"`
	SubtotalCents     int64             `json:"subtotalCents"`
	DiscountCents     int64             `json:"discountCents"`
	CouponID          string            `json:"couponId"`
	FeeCents          int64             `json:"feeCents"`
	CustomerEmail     string            `json:"customerEmail"`
	PaidBy            string            `json:"paidBy"`
	ClientReferenceID string            `json:"clientReferenceId"`
	Metadata          map[string]string `json:"metadata"`
	PaymentMetadata   map[string]string `json:"paymentMetadata"`
	SuccessURL        string            `json:"successUrl"`
	CancelURL         string            `json:"cancelUrl"`
	// CustomerID is the customer that the page was made for, or the one that it has made.
	CustomerID string `json:"customerId,omitempty"`
	// Plan is set on a page that starts a subscription.
	Plan *CheckoutPlan `json:"plan,omitempty"`
}

// TotalCents is the amount that the buyer pays.
func (s Session) TotalCents() int64 {
	total := s.SubtotalCents - s.DiscountCents
	if s.Plan != nil {
		total += s.Plan.TaxCents
	}
	return total
}

// States of a Session and of its payment.
const (
	StatusOpen     = "open"
	StatusComplete = "complete"
	StatusExpired  = "expired"

	Paid      = "paid"
	Unpaid    = "unpaid"
	NoPayment = "no_payment_required"
)

// Coupon is a discount.
type Coupon struct {
	ID             string            `json:"id"`
	Account        string            `json:"account"`
	Created        int64             `json:"created"`
	Name           string            `json:"name"`
	AmountOff      int64             `json:"amountOff"`
	PercentOff     float64           `json:"percentOff"`
	Currency       string            `json:"currency"`
	Duration       string            `json:"duration"`
	Months         int64             `json:"months,omitempty"`
	MaxRedemptions int64             `json:"maxRedemptions"`
	RedeemBy       int64             `json:"redeemBy"`
	Redeemed       int64             `json:"redeemed"`
	Metadata       map[string]string `json:"metadata"`
}

// Product is the product of prices.
type Product struct {
	ID          string            `json:"id"`
	Account     string            `json:"account"`
	Created     int64             `json:"created"`
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Images      []string          `json:"images"`
	Metadata    map[string]string `json:"metadata"`
	Inactive    bool              `json:"inactive,omitempty"`
}

// Price is the price of a product.
type Price struct {
	ID        string            `json:"id"`
	Account   string            `json:"account"`
	Created   int64             `json:"created"`
	ProductID string            `json:"productId"`
	Currency  string            `json:"currency"`
	UnitCents int64             `json:"unitCents"`
	Metadata  map[string]string `json:"metadata"`
	// UnitDecimal is the unit amount in cents with up to 12 decimal places.
	UnitDecimal string `json:"unitDecimal,omitempty"`
	Nickname    string `json:"nickname,omitempty"`
	LookupKey   string `json:"lookupKey,omitempty"`
	TaxBehavior string `json:"taxBehavior,omitempty"`
	Inactive    bool   `json:"inactive,omitempty"`
	// DivideBy and Round transform the quantity before the amount is computed; 0 for no transformation.
	DivideBy int64  `json:"divideBy,omitempty"`
	Round    string `json:"round,omitempty"`
	// Interval is day, week, month or year; "" for a one-time price.
	Interval string `json:"interval,omitempty"`
	Every    int64  `json:"every,omitempty"`
	Metered  bool   `json:"metered,omitempty"`
	MeterID  string `json:"meterId,omitempty"`
}

// Payment is a payment intent and its one charge.
type Payment struct {
	ID          string            `json:"id"`
	ChargeID    string            `json:"chargeId"`
	Seq         uint64            `json:"seq"`
	Account     string            `json:"account"`
	SessionID   string            `json:"sessionId"`
	Created     int64             `json:"created"`
	Status      string            `json:"status"`
	Currency    string            `json:"currency"`
	AmountCents int64             `json:"amountCents"`
	FeeCents    int64             `json:"feeCents"`
	Email       string            `json:"email"`
	Metadata    map[string]string `json:"metadata"`
	// RefundedCents includes pending refunds; FeeRefundedCents is the part of the
	// fee that was returned with them.
	RefundedCents    int64 `json:"refundedCents"`
	FeeRefundedCents int64 `json:"feeRefundedCents"`
	// CustomerID, InvoiceID and CardID belong to a payment of Billing. FailCode and FailText say why its last charge failed.
	CustomerID string `json:"customerId,omitempty"`
	InvoiceID  string `json:"invoiceId,omitempty"`
	CardID     string `json:"cardId,omitempty"`
	FailCode   string `json:"failCode,omitempty"`
	FailText   string `json:"failText,omitempty"`
}

// States of a Payment and a Refund.
const (
	Processing = "processing"
	Succeeded  = "succeeded"
	Pending    = "pending"
	Failed     = "failed"
	// NeedsMethod is the status of a failed payment.
	NeedsMethod = "requires_payment_method"
	// NeedsAction is the status of a payment that waits for 3-D Secure.
	NeedsAction = "requires_action"
)

// Refund is a refund of a payment.
type Refund struct {
	ID          string            `json:"id"`
	Seq         uint64            `json:"seq"`
	Account     string            `json:"account"`
	PaymentID   string            `json:"paymentId"`
	ChargeID    string            `json:"chargeId"`
	Created     int64             `json:"created"`
	Status      string            `json:"status"`
	Reason      string            `json:"reason"`
	Currency    string            `json:"currency"`
	AmountCents int64             `json:"amountCents"`
	FeeCents    int64             `json:"feeCents"`
	Metadata    map[string]string `json:"metadata"`
}

// answer is the stored answer of a request with an idempotency key.
type answer struct {
	Key    string          `json:"key"`
	Hash   string          `json:"hash"`
	Status int             `json:"status"`
	Body   json.RawMessage `json:"body"`
	At     int64           `json:"at"`
}

// record is the new state of one object: exactly one field is set. The journal's
// lines are lists of records.
type record struct {
	Account *Account `json:"account,omitempty"`
	Link    *Link    `json:"link,omitempty"`
	Session *Session `json:"session,omitempty"`
	Coupon  *Coupon  `json:"coupon,omitempty"`
	Product *Product `json:"product,omitempty"`
	Price   *Price   `json:"price,omitempty"`
	Payment *Payment `json:"payment,omitempty"`
	Refund  *Refund  `json:"refund,omitempty"`
	Dispute *Dispute `json:"dispute,omitempty"`
	Event   *Event   `json:"event,omitempty"`
	Answer  *answer  `json:"answer,omitempty"`
	billingRecord
}

// state is the whole state. Objects are values: a change replaces them by new
// ones, so that a failed change leaves no trace.
type state struct {
	seq      uint64
	accounts map[string]Account
	links    map[string]Link
	sessions map[string]Session
	coupons  map[string]Coupon
	products map[string]Product
	prices   map[string]Price
	payments map[string]Payment
	refunds  map[string]Refund
	disputes map[string]Dispute
	events   map[string]Event
	answers  map[string]answer
	// The ids of listed objects, oldest first, of the open sessions and of the due events.
	order order
	open  map[string]bool
	due   map[string]bool
	billing
	// nextExpiry is a time not later than the first expiry of an open session; zero
	// if there is none.
	nextExpiry time.Time
}

func (s *state) findNextExpiry() {
	s.nextExpiry = time.Time{}
	for id := range s.open {
		s.expiresBy(s.sessions[id].ExpiresAt)
	}
}

func (s *state) expiresBy(unix int64) {
	if at := time.Unix(unix, 0); s.nextExpiry.IsZero() || at.Before(s.nextExpiry) {
		s.nextExpiry = at
	}
}

// order holds ids from the oldest to the newest.
type order struct{ accounts, sessions, products, prices, payments, refunds, disputes, events []string }

func newState() state {
	return state{
		accounts: map[string]Account{}, links: map[string]Link{}, sessions: map[string]Session{},
		coupons: map[string]Coupon{}, products: map[string]Product{}, prices: map[string]Price{},
		payments: map[string]Payment{}, refunds: map[string]Refund{}, disputes: map[string]Dispute{}, events: map[string]Event{},
		answers: map[string]answer{}, open: map[string]bool{}, due: map[string]bool{}, billing: newBilling(),
	}
}

// apply stores an object. undo restores the state before, if nothing was stored since.
func (s *state) apply(r record) (undo func()) {
	switch {
	case r.Account != nil:
		s.seq = max(s.seq, r.Account.Seq)
		return put(s.accounts, r.Account.ID, *r.Account, &s.order.accounts)
	case r.Link != nil:
		return put(s.links, r.Link.Token, *r.Link, nil)
	case r.Session != nil:
		return s.applySession(*r.Session)
	case r.Coupon != nil:
		return put(s.coupons, r.Coupon.key(), *r.Coupon, nil)
	case r.Product != nil:
		return put(s.products, r.Product.ID, *r.Product, &s.order.products)
	case r.Price != nil:
		return put(s.prices, r.Price.ID, *r.Price, &s.order.prices)
	case r.Payment != nil:
		s.seq = max(s.seq, r.Payment.Seq)
		return put(s.payments, r.Payment.ID, *r.Payment, &s.order.payments)
	case r.Refund != nil:
		s.seq = max(s.seq, r.Refund.Seq)
		return put(s.refunds, r.Refund.ID, *r.Refund, &s.order.refunds)
	case r.Dispute != nil:
		s.seq = max(s.seq, r.Dispute.Seq)
		return put(s.disputes, r.Dispute.ID, *r.Dispute, &s.order.disputes)
	case r.Event != nil:
		return s.applyEvent(*r.Event)
	case r.Answer != nil:
		return put(s.answers, r.Answer.Key, *r.Answer, nil)
	default:
		undo, seq := s.billing.apply(r.billingRecord)
		s.seq = max(s.seq, seq)
		return undo
	}
}

func (s *state) applySession(x Session) (undo func()) {
	before, known := s.sessions[x.ID]
	restore := put(s.sessions, x.ID, x, &s.order.sessions)
	mark(s.open, x.ID, x.Status == StatusOpen)
	if x.Status == StatusOpen {
		s.expiresBy(x.ExpiresAt)
	}
	s.seq = max(s.seq, x.Seq)
	return func() {
		restore()
		mark(s.open, x.ID, known && before.Status == StatusOpen)
	}
}

func (s *state) applyEvent(e Event) (undo func()) {
	before := s.events[e.ID]
	restore := put(s.events, e.ID, e, &s.order.events)
	mark(s.due, e.ID, e.Owed > 0)
	s.seq = max(s.seq, e.Seq, e.Place)
	return func() {
		restore()
		mark(s.due, e.ID, before.Owed > 0)
	}
}

// put stores an object. undo restores the map and the list.
func put[T any](in map[string]T, id string, object T, listed *[]string) (undo func()) {
	before, known := in[id]
	if !known && listed != nil {
		*listed = append(*listed, id)
	}
	in[id] = object
	return func() {
		if known {
			in[id] = before
			return
		}
		delete(in, id)
		if listed != nil {
			*listed = (*listed)[:len(*listed)-1]
		}
	}
}

func mark(set map[string]bool, id string, in bool) {
	if in {
		set[id] = true
	} else {
		delete(set, id)
	}
}

// How long answers and links are kept, and how long delivered events are.
const (
	answersKept = 24 * time.Hour
	eventsKept  = 30 * 24 * time.Hour
)

// records returns the whole state. Applying the records in order restores it.
// Expired objects are left out.
func (s *state) records(now time.Time) []record {
	var all []record
	for _, id := range s.order.accounts {
		all = append(all, record{Account: new(s.accounts[id])})
	}
	for _, l := range byID(s.links) {
		if l.Created > now.Add(-answersKept).Unix() {
			all = append(all, record{Link: &l})
		}
	}
	for _, c := range byID(s.coupons) {
		all = append(all, record{Coupon: &c})
	}
	for _, id := range s.order.products {
		all = append(all, record{Product: new(s.products[id])})
	}
	for _, id := range s.order.prices {
		all = append(all, record{Price: new(s.prices[id])})
	}
	for _, id := range s.order.sessions {
		all = append(all, record{Session: new(s.sessions[id])})
	}
	for _, id := range s.order.payments {
		all = append(all, record{Payment: new(s.payments[id])})
	}
	for _, id := range s.order.refunds {
		all = append(all, record{Refund: new(s.refunds[id])})
	}
	for _, id := range s.order.disputes {
		all = append(all, record{Dispute: new(s.disputes[id])})
	}
	for _, id := range s.order.events {
		if e := s.events[id]; e.Owed > 0 || e.Created > now.Add(-eventsKept).Unix() {
			all = append(all, record{Event: &e})
		}
	}
	all = append(all, s.billing.records(now)...)
	for _, a := range byID(s.answers) {
		if a.At > now.Add(-answersKept).Unix() {
			all = append(all, record{Answer: &a})
		}
	}
	return all
}

func byID[T any](objects map[string]T) []T {
	list := make([]T, 0, len(objects))
	for _, id := range slices.Sorted(maps.Keys(objects)) {
		list = append(list, objects[id])
	}
	return list
}

// newest lists objects from the newest to the oldest.
func newest[T any](ids []string, objects map[string]T) []T {
	list := make([]T, 0, len(ids))
	for _, id := range slices.Backward(ids) {
		list = append(list, objects[id])
	}
	return list
}

// inPlace sorts events by their delivery order.
func inPlace(events []Event) []Event {
	slices.SortFunc(events, func(a, b Event) int { return cmp.Compare(a.Place, b.Place) })
	return events
}

// newID returns an id that can't be guessed.
func newID(prefix string) string { return prefix + strings.ToLower(rand.Text()) }
