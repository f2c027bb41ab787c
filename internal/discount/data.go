package discount

import (
	"time"

	"showfloor/gen/db"
	"showfloor/internal/timestamp"
)

// createdData is the API's Discount, which is the data of discount.created.
type createdData struct {
	ID             string          `json:"id"`
	Code           string          `json:"code"`
	PercentOff     *int32          `json:"percentOff"`
	AmountOffCents *int64          `json:"amountOffCents"`
	StartsAt       *timestamp.Time `json:"startsAt"`
	EndsAt         *timestamp.Time `json:"endsAt"`
	MaxRedemptions *int32          `json:"maxRedemptions"`
	Redemptions    int32           `json:"redemptions"`
	MaxPerCustomer *int32          `json:"maxPerCustomer"`
	StreamID       *string         `json:"streamId,omitempty"`
	Active         bool            `json:"active"`
	CreatedAt      timestamp.Time  `json:"createdAt"`
}

func createdOf(d db.Discount) createdData {
	return createdData{
		ID: d.ID, Code: d.Code, PercentOff: d.PercentOff, AmountOffCents: d.AmountOffCents,
		StartsAt: at(d.StartsAt), EndsAt: at(d.EndsAt), MaxRedemptions: d.MaxRedemptions, Redemptions: d.Redemptions,
		MaxPerCustomer: d.MaxPerCustomer, StreamID: d.StreamID, Active: d.Active, CreatedAt: timestamp.From(d.CreatedAt),
	}
}

// droppedData is the API's DiscountDroppedData.
type droppedData struct {
	ID             string         `json:"id"`
	Code           string         `json:"code"`
	PercentOff     int32          `json:"percentOff"`
	StreamID       string         `json:"streamId"`
	StartsAt       timestamp.Time `json:"startsAt"`
	EndsAt         timestamp.Time `json:"endsAt"`
	DurationSec    int64          `json:"durationSec"`
	MaxRedemptions *int32         `json:"maxRedemptions"`
}

func droppedOf(d db.Discount) droppedData {
	return droppedData{
		ID: d.ID, Code: d.Code, PercentOff: *d.PercentOff, StreamID: *d.StreamID,
		StartsAt: timestamp.From(*d.StartsAt), EndsAt: timestamp.From(*d.EndsAt),
		DurationSec: int64(d.EndsAt.Sub(*d.StartsAt) / time.Second), MaxRedemptions: d.MaxRedemptions,
	}
}

// dropData is the API's RealtimeDiscountDrop.
type dropData struct {
	Code       string         `json:"code"`
	PercentOff int32          `json:"percentOff"`
	EndsAt     timestamp.Time `json:"endsAt"`
}

func at(t *time.Time) *timestamp.Time {
	if t == nil {
		return nil
	}
	return new(timestamp.From(*t))
}
