package handlers

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"strconv"

	"showfloor/gen/api"
	"showfloor/handlers/request"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/tenancy/usage"
)

// GetUsageHistory returns the usage of the caller's tenant over time, as JSON or CSV.
func (s *Server) GetUsageHistory(ctx context.Context, r api.GetUsageHistoryRequestObject) (api.GetUsageHistoryResponseObject, error) {
	ask := usage.HistoryQuery{From: instant(r.Params.From), To: instant(r.Params.To), By: usage.ByDay}
	if r.Params.By != nil {
		ask.By = usage.By(*r.Params.By)
	}
	if r.Params.Meter != nil {
		ask.Meter = usage.Meter(*r.Params.Meter)
	}
	h, err := s.areas.Usage.GetUsageHistory(ctx, request.Caller(ctx).TenantID, ask)
	if err != nil {
		return nil, err
	}
	if request.PrefersCSV(ctx) {
		text, err := toUsageCSV(h)
		if err != nil {
			return nil, err
		}
		return api.GetUsageHistory200TextCsvResponse{Body: bytes.NewReader(text), ContentLength: int64(len(text))}, nil
	}
	return api.GetUsageHistory200JSONResponse{
		From: timestamp.From(h.From), To: timestamp.From(h.To), By: api.UsageHistoryBy(h.By), Rows: each(h.Lines, toUsageHistoryRow),
		Totals: each(h.Totals.List(), toUsageTotal),
	}, nil
}

func toUsageHistoryRow(l usage.Line) api.UsageHistoryRow {
	row := api.UsageHistoryRow{
		StartsAt: timestamp.From(l.From), EndsAt: timestamp.From(l.To), Meter: api.UsageMeter(l.Meter), Amount: l.Meter.Units(l.Amount),
		Seconds: orNull(secondsOf(l.Meter, l.Amount)), ResourceID: orNull[string](nil),
	}
	if l.ResourceID != "" {
		row.ResourceID = orNull(&l.ResourceID)
	}
	return row
}

func toUsageTotal(r usage.Amount) api.UsageTotal {
	return api.UsageTotal{Meter: api.UsageMeter(r.Meter), Amount: r.Meter.Units(r.Value), Seconds: orNull(secondsOf(r.Meter, r.Value))}
}

// secondsOf returns the amount of a meter of minutes, and nil for other meters.
func secondsOf(m usage.Meter, amount int64) *int64 {
	if !m.Timed() {
		return nil
	}
	return &amount
}

// toUsageCSV writes the rows of a history as UsageHistoryCsv.
func toUsageCSV(h usage.History) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.UseCRLF = true
	_ = w.Write([]string{"startsAt", "endsAt", "resourceId", "meter", "amount", "seconds"}) // Flush keeps the error
	for _, l := range h.Lines {
		exact := ""
		if n := secondsOf(l.Meter, l.Amount); n != nil {
			exact = strconv.FormatInt(*n, 10)
		}
		_ = w.Write([]string{
			timestamp.Format(l.From), timestamp.Format(l.To), l.ResourceID, string(l.Meter), strconv.FormatInt(l.Meter.Units(l.Amount), 10), exact,
		})
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return nil, fmt.Errorf("write CSV: %w", err)
	}
	return b.Bytes(), nil
}
