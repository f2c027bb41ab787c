// Package usage keeps what tenants used, in intervals that are written once and never
// changed. Whatever counts, bills or limits usage reads it from there.
package usage

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
)

// Meter is what is measured, as UsageMeter of the API names it.
type Meter string

// The meters. Amounts of those in minutes are kept in seconds. IngressBytes is kept for
// operators and has no name in the API. STORAGE_BYTES of the API isn't written here: it is a
// level, not a sum.
const (
	StreamMinutes      Meter = "STREAM_MINUTES"
	ViewerMinutes      Meter = "VIEWER_MINUTES"
	ParticipantMinutes Meter = "PARTICIPANT_MINUTES"
	RecordingMinutes   Meter = "RECORDING_MINUTES"
	EgressBytes        Meter = "EGRESS_BYTES"
	IngressBytes       Meter = "INGRESS_BYTES"
	TranscodeMinutes   Meter = "TRANSCODE_MINUTES"
	Pushes             Meter = "PUSHES"
)

// Owner is whose a resource is; ProjectID is empty for none.
type Owner struct{ TenantID, ProjectID string }

// Interval is how much of one meter a resource used in a span of time.
type Interval struct {
	Owner

	// Source is who measured it: a run of a server process, a job. Two sources may measure
	// the same resource at the same time; their amounts are added up.
	Source     string
	ResourceID string
	Meter      Meter
	// Quality is the picture's shorter side, such as 720p, or empty.
	Quality  string
	From, To time.Time
	// Amount is in seconds, bytes or pieces, by the meter; more than 0.
	Amount int64
}

// key names the interval: the same tenant, source, resource, meter, quality and beginning give the
// same key. Keys are in the order of the beginnings.
func (i *Interval) key() []byte {
	sum := sha256.Sum256([]byte(strings.Join([]string{
		i.TenantID, i.Source, i.ResourceID, string(i.Meter), i.Quality, strconv.FormatInt(i.From.UnixMicro(), 10),
	}, "\x00")))
	return append(firstKey(i.From), sum[:9]...)
}

// firstKey is before the keys of all intervals that begin at or after a time.
func firstKey(from time.Time) []byte {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(from.UnixMicro())<<8) // 56 bits last until the year 4253
	return b[:7]
}

// Config of a Service.
type Config struct {
	Pool *pgxpool.Pool
	// Keep is how long intervals are kept, DefaultKeep when it is 0. Sums by the hour are kept
	// for good.
	Keep time.Duration
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Service writes usage and sums it up.
type Service struct {
	pool *pgxpool.Pool
	keep time.Duration
	now  func() time.Time
}

// New makes the service.
func New(c Config) *Service {
	if c.Keep == 0 {
		c.Keep = DefaultKeep
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{c.Pool, c.Keep, c.Now}
}

// maxRows is how many intervals one statement writes.
const maxRows = 5000

// Record writes intervals, of any tenants, and returns how many are new. What is written
// already stays as it is, so a batch may be sent again and again. A batch is one transaction
// for each maxRows.
func (s *Service) Record(ctx context.Context, list []Interval) (written int64, err error) {
	for len(list) > 0 {
		some := list[:min(len(list), maxRows)]
		list = list[len(some):]
		n, err := db.New(s.pool).CreateUsageIntervals(ctx, rows(some))
		if err != nil {
			return written, fmt.Errorf("create usage intervals: %w", err)
		}
		written += n
	}
	return written, nil
}

func rows(list []Interval) (p db.CreateUsageIntervalsParams) {
	for i := range list {
		x := &list[i]
		p.Keys = append(p.Keys, x.key())
		p.TenantIds = append(p.TenantIds, x.TenantID)
		p.ProjectIds = append(p.ProjectIds, x.ProjectID)
		p.ResourceIds = append(p.ResourceIds, x.ResourceID)
		p.Meters = append(p.Meters, string(x.Meter))
		p.Qualities = append(p.Qualities, x.Quality)
		p.FromAts = append(p.FromAts, x.From)
		p.ToAts = append(p.ToAts, x.To)
		p.Amounts = append(p.Amounts, x.Amount)
	}
	return p
}

// Owners finds whose resources are. Those that don't exist are left out.
func (s *Service) Owners(ctx context.Context, resourceIDs []string) (map[string]Owner, error) {
	found, err := db.New(s.pool).ListUsageOwners(ctx, resourceIDs)
	if err != nil {
		return nil, fmt.Errorf("list owners: %w", err)
	}
	owners := make(map[string]Owner, len(found))
	for _, x := range found {
		owners[x.ID] = Owner{x.TenantID, x.ProjectID}
	}
	return owners, nil
}
