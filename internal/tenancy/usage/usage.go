// Package usage stores the usage of tenants in intervals that are written once and never changed.
// All code that counts, bills or limits usage reads these intervals.
package usage

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
	"showfloor/internal/base/cache"
	"showfloor/internal/base/problem"
)

// Meter is a measured quantity, named as in UsageMeter of the API.
type Meter string

// The meters. Meters of minutes are stored in seconds. IngressBytes is stored for operators and
// has no name in the API, like the last four. StorageBytes is a level, not a sum: RecordStorage stores it, and there are no intervals
// of it.
const (
	StreamMinutes      Meter = "STREAM_MINUTES"
	ViewerMinutes      Meter = "VIEWER_MINUTES"
	ParticipantMinutes Meter = "PARTICIPANT_MINUTES"
	RecordingMinutes   Meter = "RECORDING_MINUTES"
	StorageBytes       Meter = "STORAGE_BYTES"
	EgressBytes        Meter = "EGRESS_BYTES"
	IngressBytes       Meter = "INGRESS_BYTES"
	TranscodeMinutes   Meter = "TRANSCODE_MINUTES"
	Pushes             Meter = "PUSHES"

	// CDNBytes is the part of EgressBytes that CDNs sent according to their logs, and RoomBytes the part that was sent to
	// participants of streams' rooms.
	CDNBytes  Meter = "CDN_BYTES"
	RoomBytes Meter = "ROOM_BYTES"
	// CDNFillBytes were sent to CDNs, and RestreamBytes to other platforms. They are not in EgressBytes.
	CDNFillBytes  Meter = "CDN_FILL_BYTES"
	RestreamBytes Meter = "RESTREAM_BYTES"
)

// Owner is the owner of a resource; ProjectID is empty for none.
type Owner struct{ TenantID, ProjectID string }

// Interval is a resource's usage of one meter in a span of time.
type Interval struct {
	Owner

	// Source is the origin of the measurement: a run of a server process, or a job. Two sources
	// may measure the same resource at the same time; their amounts are added up.
	Source     string
	ResourceID string
	Meter      Meter
	// Quality is the shorter side of the video, such as 720p, or empty.
	Quality  string
	From, To time.Time
	// Amount is in seconds, bytes or pieces, depending on the meter; it is more than 0.
	Amount int64
}

// key identifies the interval: the same tenant, source, resource, meter, quality and beginning
// give the same key. Keys sort by the beginning.
func (i *Interval) key() []byte {
	sum := sha256.Sum256([]byte(strings.Join([]string{
		i.TenantID, i.Source, i.ResourceID, string(i.Meter), i.Quality, strconv.FormatInt(i.From.UnixMicro(), 10),
	}, "\x00")))
	return append(firstKey(i.From), sum[:9]...)
}

// firstKey sorts before the keys of all intervals that begin at or after from.
func firstKey(from time.Time) []byte {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(from.UnixMicro())<<8) // 56 bits are enough until the year 4253
	return b[:7]
}

// Config of a Service.
type Config struct {
	Pool *pgxpool.Pool
	// Keep is how long intervals are kept; DefaultKeep if it is 0. The sums of hours are kept forever.
	Keep time.Duration
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Service stores usage and adds it up.
type Service struct {
	pool *pgxpool.Pool
	keep time.Duration
	now  func() time.Time
	// periods knows the periods of subscriptions; nil for calendar months only.
	periods Periods
	// charges knows whom usage can be charged; nil for no tenant.
	charges Charges
	// blocks caches the refusals of tenants' blocked meters.
	blocks *cache.Map[string, map[Meter]*problem.Error]
}

// New returns the service.
func New(c Config) *Service {
	if c.Keep == 0 {
		c.Keep = DefaultKeep
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{
		pool: c.Pool, keep: c.Keep, now: c.Now, blocks: cache.NewMap[string, map[Meter]*problem.Error](BlockAge, maxKnownBlocks),
	}
}

// maxRows is the largest number of intervals in one statement.
const maxRows = 5000

// Record stores intervals, of any tenants, and returns how many are new. Stored intervals don't
// change, so a batch may be sent repeatedly. Each maxRows of a batch are one transaction.
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

// RecordTx stores at most maxRows intervals at the commit of tx. It is for usage that is known once, with the change that causes it.
func (s *Service) RecordTx(ctx context.Context, tx pgx.Tx, list []Interval) error {
	if _, err := db.New(tx).CreateUsageIntervals(ctx, rows(list)); err != nil {
		return fmt.Errorf("create usage intervals: %w", err)
	}
	return nil
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

// Owners returns the owners of resources. It leaves out resources that don't exist.
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
