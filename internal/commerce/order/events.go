package order

import (
	"strings"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/base/timestamp"
)

// mismatchData returns nil if the payment equals the order's total and currency.
func mismatchData(o db.Order) *eventdata.PaymentMismatch {
	if o.PaidCents == nil {
		return nil
	}
	return &eventdata.PaymentMismatch{
		ExpectedTotalCents: o.TotalCents, PaidTotalCents: *o.PaidCents, PaidCurrency: strings.ToLower(*o.PaidCurrency),
	}
}

func purchaseCompletedData(o db.Order, items []db.OrderItem) eventdata.PurchaseCompletedData {
	paid, currency := paidAmount(o)
	d := eventdata.PurchaseCompletedData{
		OrderID: o.ID, Metadata: o.Metadata, ProcessorPaymentIntentID: o.PaymentIntentID, CustomerEmail: *o.CustomerEmail,
		CustomerExternalID: o.CustomerExternalID, StreamID: o.StreamID, TotalCents: paid, Currency: strings.ToLower(currency),
		Items: make([]eventdata.PurchasedItem, len(items)), PaymentMismatch: mismatchData(o),
	}
	for i, item := range items {
		d.Items[i] = eventdata.PurchasedItem{ProductID: item.ProductID, Name: item.Name, Quantity: item.Quantity, PriceCents: item.PriceCents}
	}
	return d
}

// purchaseMismatchedData converts an order whose payment differs from its total or currency.
func purchaseMismatchedData(o db.Order) eventdata.PurchaseMismatchedData {
	return eventdata.PurchaseMismatchedData{
		OrderID: o.ID, Metadata: o.Metadata, ProcessorPaymentIntentID: o.PaymentIntentID,
		CustomerEmail: *o.CustomerEmail, CustomerExternalID: o.CustomerExternalID,
		StreamID: o.StreamID, PaymentMismatch: *mismatchData(o), Currency: strings.ToLower(o.Currency),
	}
}

func purchaseRefundedData(o db.Order, r db.Refund) eventdata.PurchaseRefundedData {
	paid, currency := paidAmount(o)
	d := eventdata.PurchaseRefundedData{
		OrderID: o.ID, Metadata: o.Metadata, RefundID: r.ID, CustomerExternalID: o.CustomerExternalID, StreamID: o.StreamID,
		AmountCents: r.AmountCents, RefundedCents: o.RefundedCents, TotalCents: paid,
		Currency: strings.ToLower(currency), Status: eventdata.OrderStatus(o.Status), Reason: r.Reason,
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

func purchaseRefundFailedData(o db.Order, r db.Refund) eventdata.PurchaseRefundFailedData {
	given := purchaseRefundedData(o, r)
	return eventdata.PurchaseRefundFailedData{
		OrderID: o.ID, Metadata: o.Metadata, RefundID: r.ID,
		ProcessorPaymentIntentID: given.ProcessorPaymentIntentID, ProcessorRefundID: r.ProcessorRefundID,
		CustomerExternalID: o.CustomerExternalID, StreamID: o.StreamID, AmountCents: r.AmountCents, RefundedCents: o.RefundedCents,
		TotalCents: given.TotalCents, Currency: given.Currency, Status: given.Status, Reason: r.Reason, FailureReason: *r.FailureReason,
	}
}

// purchaseDisputedData converts a dispute for purchase.disputed.
func purchaseDisputedData(o db.Order, d db.Dispute) eventdata.PurchaseDisputedData {
	return eventdata.PurchaseDisputedData{
		OrderID: o.ID, Metadata: o.Metadata, DisputeID: d.ID,
		ProcessorPaymentIntentID: o.PaymentIntentID, ProcessorDisputeID: d.ProcessorDisputeID,
		CustomerExternalID: o.CustomerExternalID, StreamID: o.StreamID, Status: eventdata.DisputeStatus(d.Status), Reason: d.Reason,
		AmountCents: d.AmountCents, Currency: strings.ToLower(d.Currency), EvidenceDueAt: timestamp.Optional(d.EvidenceDueAt),
	}
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
