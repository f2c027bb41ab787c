package bandwidth

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/console/cdnlog"
	"showfloor/internal/tenancy/audit"
)

// chunkSums is the number of a file's sums in one transaction. Each is written by one statement with at most two intervals for a sum, so
// it holds the locks on the sums of tenants for a short time, and in the order in which all writers of usage take them.
const chunkSums = 2000

// FileImported is the result of an import of a file.
type FileImported struct {
	// Known reports that the file had been imported before, so nothing was changed.
	Known bool
	// Bytes of tenants and of none, which this call has written. After an import that was broken off, the next one writes the rest.
	Bytes, Unattributed int64
}

// OtherSumsError says that a file was begun with other sums.
type OtherSumsError struct{}

func (*OtherSumsError) Error() string {
	return "a former import of this file was broken off, and had read it in another format: use the same --format"
}

// ImportFile adds the sums of a log file to the usage of the tenants whose streams or recordings they name. Each content counts once, by
// its hash: a file is written in chunks, and a repeated import goes on after the last one that was committed. Two imports of the same
// file may run at the same time.
func (s *Service) ImportFile(ctx context.Context, actor audit.Actor, source string, log *cdnlog.Log) (FileImported, error) {
	keys := sortedKeys(log.Sums)
	chunks := max((len(keys)+chunkSums-1)/chunkSums, 1)
	q := db.New(s.pool)
	err := q.StartCdnFile(ctx, db.StartCdnFileParams{Hash: log.Hash[:], Source: source, Chunks: int32(chunks), Now: s.now()})
	if err != nil {
		return FileImported{}, fmt.Errorf("start file: %w", err)
	}
	file, err := q.FindCdnFile(ctx, log.Hash[:])
	switch {
	case err != nil:
		return FileImported{}, fmt.Errorf("find file: %w", err)
	case file.FinishedAt != nil:
		return FileImported{Known: true}, nil
	case int(file.Chunks) != chunks:
		return FileImported{}, &OtherSumsError{}
	}
	var done FileImported
	for i := int(file.Done); i < chunks; i++ {
		chunk := keys[i*chunkSums : min((i+1)*chunkSums, len(keys))]
		if err := s.importChunk(ctx, actor, source, log, chunk, i, &done); err != nil {
			return done, err
		}
	}
	return done, nil
}

// IsImported reports whether all of a log file with this content was imported.
func (s *Service) IsImported(ctx context.Context, log *cdnlog.Log) (bool, error) {
	file, err := db.New(s.pool).FindCdnFile(ctx, log.Hash[:])
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("find file: %w", err)
	}
	return file.FinishedAt != nil, nil
}

// sortedKeys returns the keys of sums in an order that depends on the content of the file alone, so that chunks are the same each time.
func sortedKeys(sums map[cdnlog.Key]int64) []cdnlog.Key {
	keys := make([]cdnlog.Key, 0, len(sums))
	for k := range sums {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b cdnlog.Key) int {
		return cmp.Or(cmp.Compare(a.Hour, b.Hour), cmp.Compare(a.ResourceID, b.ResourceID))
	})
	return keys
}

// importChunk writes a chunk, unless it is written.
func (s *Service) importChunk(
	ctx context.Context, actor audit.Actor, source string, log *cdnlog.Log, keys []cdnlog.Key, number int, done *FileImported,
) error {
	owners, err := s.owners(ctx, idsOf(keys))
	if err != nil {
		return err
	}
	sums, part := map[cdnlog.Key]int64{}, FileImported{}
	for _, k := range keys {
		n := log.Sums[k]
		if owners[k.ResourceID].TenantID == "" {
			k.ResourceID = ""
			part.Unattributed += n
		} else {
			part.Bytes += n
		}
		sums[k] += n
	}
	// The number is part of the source, because sums without an owner have the same key in each chunk.
	list := intervals(fmt.Sprintf("%s %x %d", source, log.Hash, number), sums, owners)
	written := false
	err = postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		file, err := q.LockCdnFile(ctx, log.Hash[:])
		if err != nil {
			return fmt.Errorf("lock file: %w", err)
		}
		if written = int(file.Done) == number; !written {
			return nil
		}
		if err := s.usage.RecordTx(ctx, tx, list); err != nil {
			return err
		}
		return s.advanceTx(ctx, q, actor, file, log)
	})
	if err == nil && written {
		done.Bytes += part.Bytes
		done.Unattributed += part.Unattributed
	}
	return err
}

// advanceTx records that one more chunk of a file is written. The last one writes the entry of the audit log.
func (s *Service) advanceTx(ctx context.Context, q *db.Queries, actor audit.Actor, file db.CdnFile, log *cdnlog.Log) error {
	now := s.now()
	if err := q.AdvanceCdnFile(ctx, db.AdvanceCdnFileParams{Hash: file.Hash, Done: file.Done + 1, Now: now}); err != nil {
		return fmt.Errorf("advance file: %w", err)
	}
	if file.Done+1 < file.Chunks {
		return nil
	}
	return audit.WriteTx(ctx, q, now, audit.Entry{
		Actor: actor, Action: "bandwidth.import_cdn_logs", Entity: "cdn", EntityID: file.Source,
		After: map[string]any{"sha256": hex.EncodeToString(file.Hash), "rows": log.Rows, "bad": log.Bad, "bytes": log.Bytes},
	})
}

func idsOf(keys []cdnlog.Key) (ids []string) {
	for _, k := range keys {
		if k.ResourceID != "" {
			ids = append(ids, k.ResourceID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
