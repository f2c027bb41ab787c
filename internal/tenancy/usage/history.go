package usage

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
)

// By is what a row of a history is for.
type By string

// The kinds of rows. ByStream has a row for each resource: a stream, session, recording, transcode or project.
const (
	ByDay    By = "day"
	ByHour   By = "hour"
	ByStream By = "stream"
)

// The longest ranges of a history, and the largest number of its rows.
const (
	maxHours = 31 * 24 * time.Hour
	maxDays  = 400 * 24 * time.Hour
	maxLines = 100_000
)

// lastYear is the last year that a timestamp can have (RFC 3339, section 1).
const lastYear = 9999

func (b By) unit() time.Duration {
	if b == ByHour {
		return time.Hour
	}
	return 24 * time.Hour
}

func (b By) longest() time.Duration {
	if b == ByHour {
		return maxHours
	}
	return maxDays
}

// span widens a range to whole hours or days in UTC.
func (b By) span(from, to, now time.Time) (since, until time.Time, err error) {
	if !from.Before(to) {
		return since, until, problem.BadField("from", "must be before to")
	}
	since, until = from.UTC().Truncate(b.unit()), to.UTC().Truncate(b.unit())
	if until.Before(to) {
		until = until.Add(b.unit())
	}
	switch {
	case until.Sub(since) > b.longest():
		return since, until, problem.BadField("from", "a history by %s has at most %d days", string(b), int(b.longest().Hours()/24))
	case since.Year() < 0 || until.Year() > lastYear:
		return since, until, problem.BadField("to", "a history lies between the years 0 and %d", lastYear)
	case b == ByStream && since.Before(now.UTC().Truncate(b.unit()).Add(-maxDays)):
		return since, until, problem.BadField("from", "a history by %s reaches back %d days", string(b), int(maxDays.Hours()/24))
	}
	return since, until, nil
}

// HistoryQuery asks for a history. From and To are the current period until now by default, and Meter all meters.
type HistoryQuery struct {
	From, To *time.Time
	By       By
	Meter    Meter
}

// Line is the usage of one meter in an hour or day, or of one resource in the whole range.
type Line struct {
	From, To time.Time
	// ResourceID is empty unless the history is by stream.
	ResourceID string
	Meter      Meter
	// Amount is in the unit of Interval.Amount.
	Amount int64
}

// History is a tenant's usage over time or by resource.
type History struct {
	By       By
	From, To time.Time
	// Lines leaves out what has no usage.
	Lines []Line
	// Totals are the sums of the lines by meter, and the maximum of StorageBytes.
	Totals Amounts
}

// GetUsageHistory returns a tenant's usage. Its sums are those of GetUsage for the same range.
func (s *Service) GetUsageHistory(ctx context.Context, tenantID string, ask HistoryQuery) (History, error) {
	q := db.New(s.pool)
	h := History{By: ask.By, Totals: Amounts{}}
	from, _, err := s.period(ctx, s.pool, tenantID)
	if err != nil {
		return h, err
	}
	to := s.now()
	if ask.From != nil {
		from = *ask.From
	}
	if ask.To != nil {
		to = *ask.To
	}
	if h.From, h.To, err = ask.By.span(from, to, s.now()); err != nil {
		return h, err
	}
	meters := shownNames(ask.Meter)
	if h.By == ByStream {
		err = h.readResources(ctx, q, tenantID, meters)
	} else {
		err = h.readTimes(ctx, q, tenantID, meters)
	}
	if err != nil {
		return h, err
	}
	if len(h.Lines) > maxLines {
		return h, problem.BadField("from", "the range has more than %d rows; ask for a shorter one, or for one meter", maxLines)
	}
	for _, l := range h.Lines {
		if l.Meter == StorageBytes {
			h.Totals[l.Meter] = max(h.Totals[l.Meter], l.Amount)
		} else {
			h.Totals[l.Meter] += l.Amount
		}
	}
	return h, nil
}

// GetTimes returns a tenant's usage of some meters by hour or day, oldest first. from and to are whole hours or days. Hours and days
// without usage are left out.
func (s *Service) GetTimes(ctx context.Context, tenantID string, by By, from, to time.Time, meters ...Meter) ([]Line, error) {
	h := History{By: by, From: from, To: to}
	names := make([]string, len(meters))
	for i, m := range meters {
		names[i] = string(m)
	}
	err := h.readTimes(ctx, db.New(s.pool), tenantID, names)
	return h.Lines, err
}

// shownNames returns a meter's name, or those of all meters that the API shows.
func shownNames(only Meter) (names []string) {
	if only != "" {
		return []string{string(only)}
	}
	for _, m := range shown() {
		names = append(names, string(m))
	}
	return names
}

// readTimes reads the lines of hours or days.
func (h *History) readTimes(ctx context.Context, q *db.Queries, tenantID string, meters []string) error {
	add := func(at time.Time, meter string, amount int64) {
		at = at.UTC()
		h.Lines = append(h.Lines, Line{From: at, To: at.Add(h.By.unit()), Meter: Meter(meter), Amount: amount})
	}
	if h.By == ByHour {
		found, err := q.ListUsageOfHours(ctx, db.ListUsageOfHoursParams{TenantID: tenantID, Meters: meters, Since: h.From, Until: h.To})
		if err != nil {
			return fmt.Errorf("list usage of hours: %w", err)
		}
		for _, x := range found {
			add(x.Hour, x.Meter, x.Amount)
		}
	} else {
		found, err := q.ListUsageOfDays(ctx, db.ListUsageOfDaysParams{TenantID: tenantID, Meters: meters, Since: h.From, Until: h.To})
		if err != nil {
			return fmt.Errorf("list usage of days: %w", err)
		}
		for _, x := range found {
			add(x.Day, x.Meter, x.Amount)
		}
	}
	defer h.sort()
	if !slices.Contains(meters, string(StorageBytes)) { // the only meter with levels
		return nil
	}
	levels, err := q.ListUsageLevelsOfTime(ctx, db.ListUsageLevelsOfTimeParams{
		Unit: string(h.By), TenantID: tenantID, Meters: meters, Since: h.From, Until: h.To,
	})
	if err != nil {
		return fmt.Errorf("list usage levels: %w", err)
	}
	for _, x := range levels {
		add(x.At, x.Meter, x.Highest)
	}
	return nil
}

// readResources reads the lines of resources.
func (h *History) readResources(ctx context.Context, q *db.Queries, tenantID string, meters []string) error {
	found, err := q.ListUsageOfResources(ctx, db.ListUsageOfResourcesParams{
		TenantID: tenantID, Meters: meters, Since: h.From, Until: h.To, MaxRows: maxLines + 1,
	})
	if err != nil {
		return fmt.Errorf("list usage of resources: %w", err)
	}
	for _, x := range found {
		h.Lines = append(h.Lines, Line{From: h.From, To: h.To, ResourceID: x.ResourceID, Meter: Meter(x.Meter), Amount: x.Amount})
	}
	h.sort()
	return nil
}

// sort orders the lines by time or resource, and then by meter as the API does.
func (h *History) sort() {
	place := map[Meter]int{}
	for i, m := range shown() {
		place[m] = i
	}
	slices.SortFunc(h.Lines, func(a, b Line) int {
		return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.ResourceID, b.ResourceID), cmp.Compare(place[a.Meter], place[b.Meter]))
	})
}
