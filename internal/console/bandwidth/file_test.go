package bandwidth_test

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"showfloor/internal/base/id"
	"showfloor/internal/console/bandwidth"
	"showfloor/internal/console/cdnlog"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/tenancy/usage"
	"showfloor/internal/testkit/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// rig is the service with a tenant that has a stream.
type rig struct {
	*bandwidth.Service

	pool               *pgxpool.Pool
	usage              *usage.Service
	tenantID, streamID string
}

func newRig(t *testing.T, pool *pgxpool.Pool) *rig {
	t.Helper()
	now := func() time.Time { return noon }
	r := &rig{pool: pool, usage: usage.New(usage.Config{Pool: pool, Now: now}), tenantID: id.New(id.Tenant), streamID: id.New(id.Stream)}
	r.Service = bandwidth.New(bandwidth.Config{Pool: pool, Usage: r.usage, Now: now})
	_, err := pool.Exec(t.Context(), `INSERT INTO tenants (id, name, created_at, updated_at) VALUES ($1, 'Acme', now(), now())`, r.tenantID)
	require.NoError(t, err)
	_, err = pool.Exec(t.Context(), `INSERT INTO streams (id, tenant_id, name, mode, key_hash, key_last4, created_at, updated_at)
		VALUES ($1, $2, 'Show', 'STANDARD', convert_to($1, 'UTF8'), 'abcd', now(), now())`, r.streamID, r.tenantID)
	require.NoError(t, err)
	return r
}

// log returns a file with 9,000 sums in five chunks: the stream's in 100 hours with 10 bytes each, and unknown streams' with 1 byte.
func (r *rig) log(content string) *cdnlog.Log {
	log := &cdnlog.Log{Hash: sha256.Sum256([]byte(content)), Rows: 9000, Bytes: 9900, Sums: map[cdnlog.Key]int64{}}
	for hour := range int64(100) {
		at := noon.Unix() - 3600*hour
		log.Sums[cdnlog.Key{Hour: at, ResourceID: r.streamID}] = 10
		for i := range 89 {
			log.Sums[cdnlog.Key{Hour: at, ResourceID: fmt.Sprintf("str_unknown%d", i)}] = 1
		}
	}
	return log
}

// counted returns the tenant's bytes, those of no tenant, and the number of imports in the audit log.
func (r *rig) counted(t *testing.T) (egress, unattributed, imports int64) {
	t.Helper()
	err := r.pool.QueryRow(t.Context(), `SELECT
		(SELECT coalesce(sum(amount), 0) FROM usage_hours WHERE tenant_id = $1 AND meter = 'EGRESS_BYTES'),
		(SELECT coalesce(sum(amount), 0) FROM usage_hours WHERE tenant_id = '' AND meter = 'CDN_BYTES'),
		(SELECT count(*) FROM audit_entries WHERE action = 'bandwidth.import_cdn_logs')`, r.tenantID).Scan(&egress, &unattributed, &imports)
	require.NoError(t, err)
	return egress, unattributed, imports
}

func (r *rig) isComplete(t *testing.T) {
	t.Helper()
	egress, unattributed, imports := r.counted(t)
	require.EqualValues(t, 1000, egress)
	require.EqualValues(t, 8900, unattributed)
	require.EqualValues(t, 1, imports)
}

var operator = audit.System("test")

func TestAFileCountsOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, dbtest.New(t))
	done, err := r.ImportFile(t.Context(), operator, "edge", r.log("a"))
	require.NoError(t, err)
	require.Equal(t, bandwidth.FileImported{Bytes: 1000, Unattributed: 8900}, done)
	r.isComplete(t)
	// Also under another name, and after its intervals are gone.
	_, err = r.pool.Exec(t.Context(), `DELETE FROM usage_intervals`)
	require.NoError(t, err)
	done, err = r.ImportFile(t.Context(), operator, "other", r.log("a"))
	require.NoError(t, err)
	require.Equal(t, bandwidth.FileImported{Known: true}, done)
	r.isComplete(t)
	// Other content counts, also with the same sums.
	_, err = r.ImportFile(t.Context(), operator, "edge", r.log("b"))
	require.NoError(t, err)
	egress, _, imports := r.counted(t)
	require.EqualValues(t, 2000, egress)
	require.EqualValues(t, 2, imports)
}

func TestAnEmptyFileIsKnownAfterwards(t *testing.T) {
	t.Parallel()
	r := newRig(t, dbtest.New(t))
	empty := &cdnlog.Log{Hash: sha256.Sum256(nil)}
	for _, want := range []bandwidth.FileImported{{}, {Known: true}} {
		done, err := r.ImportFile(t.Context(), operator, "edge", empty)
		require.NoError(t, err)
		require.Equal(t, want, done)
	}
}

func TestTheSameFileAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, dbtest.New(t))
	var work sync.WaitGroup
	var mu sync.Mutex
	var bytes, unattributed int64
	for range 4 {
		work.Go(func() {
			done, err := r.ImportFile(t.Context(), operator, "edge", r.log("a"))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			bytes += done.Bytes
			unattributed += done.Unattributed
		})
	}
	work.Wait()
	require.EqualValues(t, 1000, bytes)
	require.EqualValues(t, 8900, unattributed)
	r.isComplete(t)
}

// TestAnImportGoesOn breaks an import off in the transaction of each chunk, and repeats it.
func TestAnImportGoesOn(t *testing.T) {
	t.Parallel()
	r := newRig(t, dbtest.New(t))
	_, err := r.pool.Exec(t.Context(), `CREATE TABLE breaks (at integer);
		CREATE FUNCTION break() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF EXISTS (SELECT FROM breaks WHERE at = NEW.done) THEN RAISE EXCEPTION 'broken off'; END IF;
			RETURN NEW;
		END $$;
		CREATE TRIGGER break BEFORE UPDATE ON cdn_files FOR EACH ROW EXECUTE FUNCTION break()`)
	require.NoError(t, err)
	const chunks = 5
	var bytes int64
	for at := 1; at <= chunks; at++ {
		_, err = r.pool.Exec(t.Context(), `DELETE FROM breaks`)
		require.NoError(t, err)
		_, err = r.pool.Exec(t.Context(), `INSERT INTO breaks VALUES ($1)`, at)
		require.NoError(t, err)
		done, err := r.ImportFile(t.Context(), operator, "edge", r.log("a"))
		require.ErrorContains(t, err, "broken off")
		bytes += done.Bytes + done.Unattributed
		egress, unattributed, imports := r.counted(t)
		require.Equal(t, bytes, egress+unattributed, "the committed chunks")
		require.Zero(t, imports)
	}
	fewer := r.log("a")
	for k := range fewer.Sums {
		if k.ResourceID != r.streamID {
			delete(fewer.Sums, k)
		}
	}
	_, err = r.ImportFile(t.Context(), operator, "edge", fewer)
	var other *bandwidth.OtherSumsError
	require.ErrorAs(t, err, &other)
	_, err = r.pool.Exec(t.Context(), `DELETE FROM breaks`)
	require.NoError(t, err)
	done, err := r.ImportFile(t.Context(), operator, "edge", r.log("a"))
	require.NoError(t, err)
	require.EqualValues(t, 9900, bytes+done.Bytes+done.Unattributed)
	r.isComplete(t)
}

// TestACommitWithoutAnAnswer loses the answers to commits, so the import fails although the chunk is written.
func TestACommitWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	pool, loss := dbtest.NewLossy(t)
	r := newRig(t, pool)
	for lost := 0; ; lost++ {
		loss.Next("commit")
		_, err := r.ImportFile(t.Context(), operator, "edge", r.log("a"))
		if err == nil {
			require.NotZero(t, lost)
			break
		}
		require.Less(t, lost, 10)
	}
	r.isComplete(t)
}
