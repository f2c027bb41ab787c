package bandwidth

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/console/cdnlog"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy/audit"
)

// Row is a request that a CDN answered.
type Row struct {
	RequestID string
	At        time.Time
	Path      string
	Status    int
	Bytes     int64
}

// Imported is the result of an import of rows. Unattributed rows are among the imported ones.
type Imported struct {
	Received, Imported, Duplicates, Unattributed int
	// Bytes of the imported rows.
	Bytes int64
}

// importID is the prefix of the ids of imports. The source of an interval contains one, so that each import's intervals are new.
const importID id.Prefix = "cdn"

// ImportCdnLogs adds rows to the usage of the tenants whose streams or recordings they name. A row that has the source and the request id
// of an earlier row is a duplicate.
func (s *Service) ImportCdnLogs(ctx context.Context, c platform.Caller, source string, rows []Row) (done Imported, err error) {
	now := s.now()
	if err := checkRows(rows, now); err != nil {
		return done, err
	}
	owners, err := s.owners(ctx, resources(rows))
	if err != nil {
		return done, err
	}
	keys := make([][]byte, len(rows))
	for i, r := range rows {
		sum := sha256.Sum256([]byte(source + "\x00" + r.RequestID))
		keys[i] = sum[:16]
	}
	err = postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		done = Imported{Received: len(rows)}
		q := db.New(tx)
		created, err := q.CreateCdnRequests(ctx, db.CreateCdnRequestsParams{Keys: keys, Now: now})
		if err != nil {
			return fmt.Errorf("create CDN requests: %w", err)
		}
		fresh := make(map[string]bool, len(created))
		for _, key := range created {
			fresh[string(key)] = true
		}
		sums := map[cdnlog.Key]int64{}
		for i, r := range rows {
			if !fresh[string(keys[i])] {
				done.Duplicates++
				continue
			}
			delete(fresh, string(keys[i])) // a second row with this id is a duplicate
			done.Imported++
			done.Bytes += r.Bytes
			key := keyOf(r)
			if owners[key.ResourceID].TenantID == "" {
				key.ResourceID = ""
				done.Unattributed++
			}
			sums[key] += r.Bytes
		}
		if err := s.usage.RecordTx(ctx, tx, intervals(source+" "+id.New(importID), sums, owners)); err != nil {
			return err
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), Action: "bandwidth.import_cdn_logs", Entity: "cdn", EntityID: source,
			After: map[string]any{
				"received": done.Received, "imported": done.Imported, "duplicates": done.Duplicates, "unattributed": done.Unattributed,
				"bytes": done.Bytes,
			},
		})
	})
	return done, err
}

// checkRows refuses rows that are too old, too new or too large.
func checkRows(rows []Row, now time.Time) error {
	for i, r := range rows {
		switch {
		case r.At.Before(now.Add(-cdnlog.MaxAge)):
			return problem.BadField(fmt.Sprintf("rows.%d.at", i), "is older than 400 days")
		case r.At.After(now.Add(cdnlog.MaxFuture)):
			return problem.BadField(fmt.Sprintf("rows.%d.at", i), "is more than a day in the future")
		case r.Bytes > cdnlog.MaxBytes:
			return problem.BadField(fmt.Sprintf("rows.%d.bytes", i), "is more than 1 TiB")
		}
	}
	return nil
}

func keyOf(r Row) cdnlog.Key {
	return cdnlog.KeyOf(cdnlog.Row{At: r.At.Unix(), Path: []byte(r.Path), Status: r.Status, Bytes: r.Bytes}, ResourceOf)
}

// resources lists the streams and recordings that rows name.
func resources(rows []Row) (ids []string) {
	seen := map[string]bool{"": true}
	for _, r := range rows {
		if resourceID := keyOf(r).ResourceID; !seen[resourceID] {
			seen[resourceID] = true
			ids = append(ids, resourceID)
		}
	}
	return ids
}
