package discount

import (
	"regexp"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
)

// Refusal is the reason why a code can't be used, as in the API's DiscountRefusal;
// empty if it can.
type Refusal string

// The refusals, in the order in which they are checked.
const (
	Unknown          Refusal = "unknown"
	Inactive         Refusal = "inactive"
	NotStarted       Refusal = "not_started"
	Expired          Refusal = "expired"
	OtherStream      Refusal = "other_stream"
	UsedUp           Refusal = "used_up"
	UsedUpByCustomer Refusal = "used_up_by_customer"
	none             Refusal = ""
	// inStreamOnly is the refusal of a code of one stream outside of streams. Only checkouts get it.
	inStreamOnly Refusal = "in_stream_only"
)

// outside stands for the stream of a purchase that is made in none.
const outside = ""

// codes is the pattern of codes. They are ASCII, so that case-insensitive
// comparison is the same everywhere.
var codes = regexp.MustCompile(`^[A-Za-z0-9_-]{3,40}$`)

// rounded rounds both times to the milliseconds that the API shows, so that the
// shown times are the effective ones.
func (in Input) rounded() Input {
	for _, t := range []**time.Time{&in.StartsAt, &in.EndsAt} {
		if *t != nil {
			*t = new((*t).Truncate(time.Millisecond))
		}
	}
	return in
}

// check checks rules that concern several fields.
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

// usable checks a code at a time, except for the limit per customer. The held and
// counted uses of d don't include the wanted one. streamID is the stream in which
// it is wanted, or outside; nil for any.
func usable(d db.Discount, at time.Time, streamID *string) Refusal {
	switch {
	case !d.Active:
		return Inactive
	case d.StartsAt != nil && at.Before(*d.StartsAt):
		return NotStarted
	case d.EndsAt != nil && !at.Before(*d.EndsAt):
		return Expired
	case d.StreamID != nil && streamID != nil && *streamID == outside:
		return inStreamOnly
	case d.StreamID != nil && streamID != nil && *d.StreamID != *streamID:
		return OtherStream
	case d.MaxRedemptions != nil && int64(d.Redemptions)+int64(d.Held) >= int64(*d.MaxRedemptions):
		return UsedUp
	}
	return none
}

// usableBy checks the limit per customer. uses is the number of the customer's
// pending and paid orders with the code.
func usableBy(d db.Discount, uses int64) Refusal {
	if d.MaxPerCustomer != nil && uses >= int64(*d.MaxPerCustomer) {
		return UsedUpByCustomer
	}
	return none
}

// problem returns the refusal as a checkout's problem; nil for none.
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
		inStreamOnly:     "this discount code counts only in the stream that it belongs to",
		UsedUp:           "this discount code is used up",
		UsedUpByCustomer: "this customer has used this discount code as often as possible",
	}[r])
}

// off returns the discount of a subtotal in cents, at most the subtotal. A
// percentage is rounded half up to the cent. It can't overflow.
func off(d db.Discount, subtotal int64) int64 {
	if d.PercentOff != nil {
		hundreds, rest, percent := subtotal/100, subtotal%100, int64(*d.PercentOff)
		return hundreds*percent + (rest*percent+50)/100
	}
	return min(*d.AmountOffCents, subtotal)
}
