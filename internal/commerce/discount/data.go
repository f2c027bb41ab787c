package discount

import (
	"time"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/base/timestamp"
)

// createdOf converts a code for discount.created, and for the audit log.
func createdOf(d db.Discount) eventdata.DiscountCreatedData {
	return eventdata.DiscountCreatedData{Discount: eventdata.Discount{
		ID: d.ID, Code: d.Code, PercentOff: d.PercentOff, AmountOffCents: d.AmountOffCents,
		StartsAt: timestamp.Optional(d.StartsAt), EndsAt: timestamp.Optional(d.EndsAt), MaxRedemptions: d.MaxRedemptions,
		Redemptions:    d.Redemptions,
		MaxPerCustomer: d.MaxPerCustomer, StreamID: d.StreamID, Active: d.Active, CreatedAt: timestamp.From(d.CreatedAt),
	}}
}

func droppedOf(d db.Discount) eventdata.DiscountDroppedData {
	return eventdata.DiscountDroppedData{
		ID: d.ID, Code: d.Code, PercentOff: *d.PercentOff, StreamID: *d.StreamID,
		StartsAt: timestamp.From(*d.StartsAt), EndsAt: timestamp.From(*d.EndsAt),
		DurationSec: int32(d.EndsAt.Sub(*d.StartsAt) / time.Second), MaxRedemptions: d.MaxRedemptions,
	}
}

// dropData is the API's RealtimeDiscountDrop.
type dropData struct {
	Code       string         `json:"code"`
	PercentOff int32          `json:"percentOff"`
	EndsAt     timestamp.Time `json:"endsAt"`
}
