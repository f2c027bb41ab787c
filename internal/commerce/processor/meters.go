package processor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v76"
)

const (
	// meterPrefix begins the event names of our meters and the lookup keys of their prices.
	meterPrefix = "showfloor_overage_"
	// The keys of a meter event's payload: the processor's defaults.
	payloadCustomer = "stripe_customer_id"
	payloadValue    = "value"
)

// eventName returns the event name of a meter.
func eventName(meter string) string { return meterPrefix + strings.ToLower(meter) }

// EnsureMeter returns the id of the processor's meter for the overage of one of our meters, such as EGRESS_BYTES. It creates the meter
// if there is none. One unit of it is one cent.
func (c *Client) EnsureMeter(ctx context.Context, meter string) (meterID string, err error) {
	if meterID, err = c.findMeter(ctx, meter); err != nil || meterID != "" {
		return meterID, err
	}
	made, err := c.api.BillingMeters.New(&stripe.BillingMeterParams{
		Params: params(ctx, "", ""), DisplayName: new(overageName(meter) + ", in cents"), EventName: new(eventName(meter)),
		DefaultAggregation: &stripe.BillingMeterDefaultAggregationParams{Formula: new(string(stripe.BillingMeterDefaultAggregationFormulaSum))},
		CustomerMapping: &stripe.BillingMeterCustomerMappingParams{
			Type: new(string(stripe.BillingMeterCustomerMappingTypeByID)), EventPayloadKey: new(payloadCustomer),
		},
		ValueSettings: &stripe.BillingMeterValueSettingsParams{EventPayloadKey: new(payloadValue)},
	})
	err = c.failed(ctx, "create meter", err, made.ID != "")
	if _, refused := errors.AsType[*Refusal](err); refused {
		// The processor has at most one active meter of an event name: another process may have created it in the meantime.
		if found, failure := c.findMeter(ctx, meter); failure != nil || found != "" {
			return found, failure
		}
	}
	if err != nil {
		return "", err
	}
	return made.ID, nil
}

// findMeter returns the id of the active meter; empty if there is none.
func (c *Client) findMeter(ctx context.Context, meter string) (string, error) {
	list := c.api.BillingMeters.List(&stripe.BillingMeterListParams{
		ListParams: listParams(ctx, ""), Status: new(string(stripe.BillingMeterStatusActive)),
	})
	for list.Next() {
		m := list.BillingMeter()
		if m.EventName != eventName(meter) {
			continue
		}
		if !fitsMeter(m) {
			return "", fmt.Errorf("the processor's meter %s of %s doesn't sum values by customer; archive it", m.ID, m.EventName)
		}
		return m.ID, nil
	}
	return "", c.failed(ctx, "list meters", list.Err(), list.BillingMeterList().Data != nil)
}

// fitsMeter reports whether a meter sums our events. The operator may have created it by hand.
func fitsMeter(m *stripe.BillingMeter) bool {
	return m.DefaultAggregation != nil && m.DefaultAggregation.Formula == stripe.BillingMeterDefaultAggregationFormulaSum &&
		m.CustomerMapping != nil && m.CustomerMapping.EventPayloadKey == payloadCustomer &&
		m.ValueSettings != nil && m.ValueSettings.EventPayloadKey == payloadValue && m.EventTimeWindow == ""
}

// EnsureOveragePrice returns the id of the monthly price of a meter in a currency (lower case): one cent, or the currency's smallest
// unit, for each unit of the meter. It creates the price and its product if there is none.
func (c *Client) EnsureOveragePrice(ctx context.Context, meter, meterID, currency string) (priceID string, err error) {
	found, err := c.findOveragePrice(ctx, meter, currency)
	if err != nil {
		return "", err
	}
	if found != nil && fitsPrice(found, meterID) {
		return found.ID, nil
	}
	// A price of an archived meter, or one that was archived itself, loses its lookup key to the new one.
	transfer := found != nil
	lookup := overageLookup(meter, currency)
	asked := &stripe.PriceParams{
		Params:   params(ctx, "", keyOf(lookup, meterID, strconv.FormatBool(transfer))),
		Currency: new(currency), UnitAmount: new(int64(1)), LookupKey: new(lookup),
		ProductData: &stripe.PriceProductDataParams{Name: new(overageName(meter))},
		Recurring: &stripe.PriceRecurringParams{
			Interval: new(string(stripe.PriceRecurringIntervalMonth)), UsageType: new(string(stripe.PriceRecurringUsageTypeMetered)),
			Meter: new(meterID),
		},
	}
	if transfer {
		asked.TransferLookupKey = new(true)
	}
	made, err := c.api.Prices.New(asked)
	err = c.failed(ctx, "create overage price", err, made.ID != "")
	if _, refused := errors.AsType[*Refusal](err); refused {
		// Another process may have taken the lookup key in the meantime.
		if found, failure := c.findOveragePrice(ctx, meter, currency); failure != nil {
			return "", failure
		} else if found != nil && fitsPrice(found, meterID) {
			return found.ID, nil
		}
	}
	if err != nil {
		return "", err
	}
	return made.ID, nil
}

func overageLookup(meter, currency string) string { return eventName(meter) + "_" + currency }

// findOveragePrice returns the price with the lookup key; nil if there is none.
func (c *Client) findOveragePrice(ctx context.Context, meter, currency string) (*stripe.Price, error) {
	lookup := overageLookup(meter, currency)
	asked := &stripe.PriceListParams{ListParams: listParams(ctx, ""), LookupKeys: []*string{new(lookup)}}
	asked.Single = true
	list := c.api.Prices.List(asked)
	for list.Next() {
		if p := list.Price(); p.LookupKey == lookup {
			return p, nil
		}
	}
	return nil, c.failed(ctx, "list overage prices", list.Err(), list.PriceList().Data != nil)
}

// fitsPrice reports whether a price charges one cent for each unit of the meter in a month.
func fitsPrice(p *stripe.Price, meterID string) bool {
	return p.Active && p.UnitAmount == 1 && p.TransformQuantity == nil && p.BillingScheme == stripe.PriceBillingSchemePerUnit &&
		p.Recurring != nil && p.Recurring.Meter == meterID && p.Recurring.UsageType == stripe.PriceRecurringUsageTypeMetered &&
		p.Recurring.Interval == stripe.PriceRecurringIntervalMonth && p.Recurring.IntervalCount == 1
}

// OverageReport is an amount of overage of one customer.
type OverageReport struct {
	// ID is the event's identifier, at most 100 characters. The processor knows it for at least 24 hours: within them it counts once.
	ID string
	// Meter is one of our meters, such as EGRESS_BYTES.
	Meter, CustomerID string
	// Cents is in the currency's smallest unit.
	Cents int64
	// At decides the period to which the amount belongs: at most 35 days ago and 5 minutes ahead.
	At time.Time
}

// ReportOverage adds an amount to a customer's overage. A report whose id the processor knows already is a success. The processor
// answers before it has processed the report: see SumOverage.
func (c *Client) ReportOverage(ctx context.Context, r OverageReport) error {
	// Without an idempotency key: under one, the processor would repeat an internal error for a day.
	got, err := c.api.BillingMeterEvents.New(&stripe.BillingMeterEventParams{
		Params: params(ctx, "", ""), EventName: new(eventName(r.Meter)), Identifier: new(r.ID), Timestamp: new(r.At.Unix()),
		Payload: map[string]string{payloadCustomer: r.CustomerID, payloadValue: strconv.FormatInt(r.Cents, 10)},
	})
	err = c.failed(ctx, "report overage", err, got.Identifier != "")
	if refusal, refused := errors.AsType[*Refusal](err); refused && refusal.duplicateEvent() {
		return nil
	}
	return err
}

// duplicateEvent reports whether a meter event was refused because of its identifier. The refusal has no code in the API's version;
// later versions have one.
func (r *Refusal) duplicateEvent() bool {
	return r.Code == "duplicate_meter_event" || strings.HasPrefix(r.Message, "An event already exists with identifier")
}

// SumOverage returns the sum of a customer's reports from one time until another, which isn't included. The range is widened to whole
// minutes. The processor may count a report minutes after it has answered it.
func (c *Client) SumOverage(ctx context.Context, meterID, customerID string, from, until time.Time) (cents int64, err error) {
	start, end := from.Truncate(time.Minute), until.Truncate(time.Minute)
	if end.Before(until) {
		end = end.Add(time.Minute)
	}
	list := c.api.BillingMeterEventSummaries.List(&stripe.BillingMeterEventSummaryListParams{
		ListParams: listParams(ctx, ""), ID: new(meterID), Customer: new(customerID), StartTime: new(start.Unix()), EndTime: new(end.Unix()),
	})
	sum := 0.0
	for list.Next() {
		sum += list.BillingMeterEventSummary().AggregatedValue
	}
	if err := c.failed(ctx, "list summaries of overage", list.Err(), list.BillingMeterEventSummaryList().Data != nil); err != nil {
		return 0, err
	}
	return int64(math.Round(sum)), nil
}
