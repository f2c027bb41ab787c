package discount

import (
	"regexp"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/problem"
)

// Refusal says why a code can't be used, as in the API's DiscountRefusal; empty
// when it can.
type Refusal string

// The refusals, in the order in which they are looked for.
const (
	Unknown          Refusal = "unknown"
	Inactive         Refusal = "inactive"
	NotStarted       Refusal = "not_started"
	Expired          Refusal = "expired"
	OtherStream      Refusal = "other_stream"
	UsedUp           Refusal = "used_up"
	UsedUpByCustomer Refusal = "used_up_by_customer"
	none             Refusal = ""
)

// codes is what codes are made of: ASCII, so that ignoring their case is the same
// everywhere.
var codes = regexp.MustCompile(`^[A-Za-z0-9_-]{3,40}$`)

// rounded brings both instants to the milliseconds that the API shows, so that what
// is shown is what counts.
func (in Input) rounded() Input {
	for _, t := range []**time.Time{&in.StartsAt, &in.EndsAt} {
		if *t != nil {
			*t = new((*t).Truncate(time.Millisecond))
		}
	}
	return in
}

// check refuses what no single field shows.
func (in Input) check() error {
	const either = "give either percentOff or amountOffCents"
	switch percent, amount := in.PercentOff != nil, in.AmountOffCents != nil; {
	case percent && amount:
		return problem.BadField("amountOffCents", either+", not both")
	case !percent && !amount:
		return problem.BadField("percentOff", either)
	case in.StartsAt != nil && in.EndsAt != nil && !in.EndsAt.After(*in.StartsAt):
		return problem.BadField("endsAt", "must be after startsAt")
	}
	return nil
}

// usable judges a code at an instant, the limit per customer left out. Its uses,
// held and counted, are those without the one that is wanted. streamID is where it
// is wanted; nil for anywhere.
func usable(d db.Discount, at time.Time, streamID *string) Refusal {
	switch {
	case !d.Active:
		return Inactive
	case d.StartsAt != nil && at.Before(*d.StartsAt):
		return NotStarted
	case d.EndsAt != nil && !at.Before(*d.EndsAt):
		return Expired
	case d.StreamID != nil && streamID != nil && *d.StreamID != *streamID:
		return OtherStream
	case d.MaxRedemptions != nil && int64(d.Redemptions)+int64(d.Held) >= int64(*d.MaxRedemptions):
		return UsedUp
	}
	return none
}

// usableBy judges the limit per customer; uses are the customer's orders with the
// code, running and paid.
func usableBy(d db.Discount, uses int64) Refusal {
	if d.MaxPerCustomer != nil && uses >= int64(*d.MaxPerCustomer) {
		return UsedUpByCustomer
	}
	return none
}

// problem is the refusal as a checkout is told; nil for none.
func (r Refusal) problem() error {
	if r == none {
		return nil
	}
	return problem.New(problem.Invalid, "discount_invalid", "%s", map[Refusal]string{
		Unknown:          "there is no such discount code",
		Inactive:         "this discount code is switched off",
		NotStarted:       "this discount code can't be used yet",
		Expired:          "this discount code has expired",
		OtherStream:      "this discount code only counts in another stream",
		UsedUp:           "this discount code is used up",
		UsedUpByCustomer: "this customer has used this discount code as often as possible",
	}[r])
}

// off is how many cents the code takes off a subtotal, never more than that: a
// percentage is rounded half up to the cent. It can't overflow.
func off(d db.Discount, subtotal int64) int64 {
	if d.PercentOff != nil {
		hundreds, rest, percent := subtotal/100, subtotal%100, int64(*d.PercentOff)
		return hundreds*percent + (rest*percent+50)/100
	}
	return min(*d.AmountOffCents, subtotal)
}
