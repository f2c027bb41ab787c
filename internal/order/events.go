package order

import (
	"encoding/json"
	"strings"

	"showfloor/gen/db"
	"showfloor/internal/timestamp"
)

// mismatchData is a payment that differs from the order's total or currency.
type mismatchData struct {
	ExpectedTotalCents int64  `json:"expectedTotalCents"`
	PaidTotalCents     int64  `json:"paidTotalCents"`
	PaidCurrency       string `json:"paidCurrency"`
}

// mismatchOf returns nil if the payment equals the order's total and currency.
func mismatchOf(o db.Order) *mismatchData {
	if o.PaidCents == nil {
		return nil
	}
	return &mismatchData{o.TotalCents, *o.PaidCents, strings.ToLower(*o.PaidCurrency)}
}

// purchaseData is the data of purchase.completed.
type purchaseData struct {
	OrderID                  string          `json:"orderId"`
	Metadata                 json.RawMessage `json:"metadata"`
	ProcessorPaymentIntentID *string         `json:"processorPaymentIntentId"`
	CustomerEmail            string          `json:"customerEmail"`
	CustomerExternalID       string          `json:"customerExternalId"`
	StreamID                 string          `json:"streamId"`
	TotalCents               int64           `json:"totalCents"`
	Currency                 string          `json:"currency"`
	Items                    []purchasedItem `json:"items"`
	PaymentMismatch          *mismatchData   `json:"paymentMismatch"`
}

type purchasedItem struct {
	ProductID  string `json:"productId"`
	Name       string `json:"name"`
	Quantity   int32  `json:"quantity"`
	PriceCents int64  `json:"priceCents"`
}

func purchase(o db.Order, items []db.OrderItem) purchaseData {
	paid, currency := charged(o)
	d := purchaseData{
		OrderID: o.ID, Metadata: o.Metadata, ProcessorPaymentIntentID: o.PaymentIntentID, CustomerEmail: *o.CustomerEmail,
		CustomerExternalID: o.CustomerExternalID, StreamID: o.StreamID, TotalCents: paid, Currency: strings.ToLower(currency),
		Items: make([]purchasedItem, len(items)), PaymentMismatch: mismatchOf(o),
	}
	for i, item := range items {
		d.Items[i] = purchasedItem{item.ProductID, item.Name, item.Quantity, item.PriceCents}
	}
	return d
}

// mismatchedData is the data of purchase.mismatched.
type mismatchedData struct {
	OrderID                  string          `json:"orderId"`
	Metadata                 json.RawMessage `json:"metadata"`
	ProcessorPaymentIntentID *string         `json:"processorPaymentIntentId"`
	CustomerEmail            string          `json:"customerEmail"`
	CustomerExternalID       string          `json:"customerExternalId"`
	StreamID                 string          `json:"streamId"`
	PaymentMismatch          *mismatchData   `json:"paymentMismatch"`
	Currency                 string          `json:"currency"`
}

func mismatchedOf(o db.Order) mismatchedData {
	return mismatchedData{
		OrderID: o.ID, Metadata: o.Metadata, ProcessorPaymentIntentID: o.PaymentIntentID,
		CustomerEmail: *o.CustomerEmail, CustomerExternalID: o.CustomerExternalID,
		StreamID: o.StreamID, PaymentMismatch: mismatchOf(o), Currency: strings.ToLower(o.Currency),
	}
}

// refundedData is the data of purchase.refunded.
type refundedData struct {
	OrderID                  string          `json:"orderId"`
	Metadata                 json.RawMessage `json:"metadata"`
	RefundID                 string          `json:"refundId"`
	ProcessorPaymentIntentID string          `json:"processorPaymentIntentId"`
	ProcessorRefundID        string          `json:"processorRefundId"`
	CustomerEmail            string          `json:"customerEmail"`
	CustomerExternalID       string          `json:"customerExternalId"`
	StreamID                 string          `json:"streamId"`
	AmountCents              int64           `json:"amountCents"`
	RefundedCents            int64           `json:"refundedCents"`
	TotalCents               int64           `json:"totalCents"`
	Currency                 string          `json:"currency"`
	Status                   string          `json:"status"`
	Reason                   *string         `json:"reason"`
}

func refundedOf(o db.Order, r db.Refund) refundedData {
	paid, currency := charged(o)
	d := refundedData{
		OrderID: o.ID, Metadata: o.Metadata, RefundID: r.ID, CustomerExternalID: o.CustomerExternalID, StreamID: o.StreamID,
		AmountCents: r.AmountCents, RefundedCents: o.RefundedCents, TotalCents: paid,
		Currency: strings.ToLower(currency), Status: o.Status, Reason: r.Reason,
	}
	if r.ProcessorRefundID != nil {
		d.ProcessorRefundID = *r.ProcessorRefundID
	}
	if o.PaymentIntentID != nil {
		d.ProcessorPaymentIntentID = *o.PaymentIntentID
	}
	if o.CustomerEmail != nil {
		d.CustomerEmail = *o.CustomerEmail
	}
	return d
}

// refundFailedData is the data of purchase.refund_failed.
type refundFailedData struct {
	OrderID                  string          `json:"orderId"`
	Metadata                 json.RawMessage `json:"metadata"`
	RefundID                 string          `json:"refundId"`
	ProcessorPaymentIntentID string          `json:"processorPaymentIntentId"`
	ProcessorRefundID        *string         `json:"processorRefundId"`
	CustomerExternalID       string          `json:"customerExternalId"`
	StreamID                 string          `json:"streamId"`
	AmountCents              int64           `json:"amountCents"`
	RefundedCents            int64           `json:"refundedCents"`
	TotalCents               int64           `json:"totalCents"`
	Currency                 string          `json:"currency"`
	Status                   string          `json:"status"`
	Reason                   *string         `json:"reason"`
	FailureReason            string          `json:"failureReason"`
}

func refundFailedOf(o db.Order, r db.Refund) refundFailedData {
	given := refundedOf(o, r)
	return refundFailedData{
		OrderID: o.ID, Metadata: o.Metadata, RefundID: r.ID,
		ProcessorPaymentIntentID: given.ProcessorPaymentIntentID, ProcessorRefundID: r.ProcessorRefundID,
		CustomerExternalID: o.CustomerExternalID, StreamID: o.StreamID, AmountCents: r.AmountCents, RefundedCents: o.RefundedCents,
		TotalCents: given.TotalCents, Currency: given.Currency, Status: o.Status, Reason: r.Reason, FailureReason: *r.FailureReason,
	}
}

// disputedData is the data of purchase.disputed and purchase.dispute_closed.
type disputedData struct {
	OrderID                  string          `json:"orderId"`
	Metadata                 json.RawMessage `json:"metadata"`
	DisputeID                string          `json:"disputeId"`
	ProcessorPaymentIntentID *string         `json:"processorPaymentIntentId"`
	ProcessorDisputeID       string          `json:"processorDisputeId"`
	CustomerExternalID       string          `json:"customerExternalId"`
	StreamID                 string          `json:"streamId"`
	Status                   string          `json:"status"`
	Reason                   string          `json:"reason"`
	AmountCents              int64           `json:"amountCents"`
	Currency                 string          `json:"currency"`
	EvidenceDueAt            *timestamp.Time `json:"evidenceDueAt"`
}

func disputedOf(o db.Order, d db.Dispute) disputedData {
	return disputedData{
		OrderID: o.ID, Metadata: o.Metadata, DisputeID: d.ID,
		ProcessorPaymentIntentID: o.PaymentIntentID, ProcessorDisputeID: d.ProcessorDisputeID,
		CustomerExternalID: o.CustomerExternalID, StreamID: o.StreamID, Status: d.Status, Reason: d.Reason,
		AmountCents: d.AmountCents, Currency: strings.ToLower(d.Currency), EvidenceDueAt: timestamp.Optional(d.EvidenceDueAt),
	}
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
