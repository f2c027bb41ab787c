package mediajob_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/internal/streams/mediajob"
	"showfloor/internal/streams/recording"
	"showfloor/internal/streams/stream"
	"showfloor/internal/streams/transcode"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// rig is a server without workers: the tests take the runs.
type rig struct {
	*apitest.Server
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{apitest.New(t, apitest.Options{Pool: dbtest.New(t)})} // of its own: runs are those of all tenants
	r.pass(t, time.Minute)
	return r
}

// pass lets time pass, while this process writes its heartbeats.
func (r *rig) pass(t *testing.T, d time.Duration) {
	t.Helper()
	for d > 0 {
		step := min(d, stream.HeartbeatEvery)
		r.Clock.Advance(step)
		d -= step
		_, err := r.Streams.Heartbeat(t.Context(), nil)
		require.NoError(t, err)
	}
}

// recorded is a READY recording of a new tenant.
func (r *rig) recorded(t *testing.T) (owner *apitest.Caller, recordingID string) {
	t.Helper()
	owner = r.Register(t)
	st := owner.Stream(t, nil)
	_, err := r.Pool.Exec(t.Context(), `INSERT INTO recordings (id, tenant_id, stream_id, source, status, broadcast_at, started_at, ended_at, node,
			wanted_at, duration_ms, size_bytes, created_at, updated_at)
		VALUES ('rec_' || substr($1, 5), $2, $1, 'builtin', 'READY', now() - interval '5 seconds', now() - interval '4 seconds', now(), '',
			now() - interval '4 seconds', 4000, 1000, now() - interval '4 seconds', now())`, st.ID, owner.TenantID)
	require.NoError(t, err)
	return owner, "rec_" + st.ID[4:]
}

func (r *rig) create(t *testing.T, owner *apitest.Caller, recordingID string) string {
	t.Helper()
	v, err := r.Transcodes.CreateTranscode(t.Context(), tenancy.Caller{TenantID: owner.TenantID, APIKeyID: "key"}, recordingID,
		transcode.Input{Container: transcode.MP4})
	require.NoError(t, err)
	return v.ID
}

// claim starts the next job as another process.
func (r *rig) claim(t *testing.T) db.MediaJob {
	t.Helper()
	row, err := db.New(r.Pool).ClaimMediaJob(t.Context(), db.ClaimMediaJobParams{Kind: mediajob.Transcode, Node: "another", Now: r.Clock.Now()})
	require.NoError(t, err)
	return row
}

func (r *rig) find(t *testing.T, id string) db.MediaJob {
	t.Helper()
	row, err := db.New(r.Pool).FindMediaJob(t.Context(), id)
	require.NoError(t, err)
	return row
}

// jobs returns the number of a kind's jobs in the queue.
func (r *rig) jobs(t *testing.T, kind string) (n int) {
	t.Helper()
	require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT count(*) FROM river_job WHERE kind = $1", kind).Scan(&n))
	return n
}

// TestManyWorkersAreFair: a tenant with many jobs doesn't delay another one's first.
func TestManyWorkersAreFair(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ada, adas := r.recorded(t)
	bo, bos := r.recorded(t)
	var a []string
	for range 5 {
		a = append(a, r.create(t, ada, adas))
	}
	b := []string{r.create(t, bo, bos), r.create(t, bo, bos)}
	require.Equal(t, 7, r.jobs(t, mediajob.RunArgs{}.Kind()), "one run for each")
	var order []string
	for range 7 {
		order = append(order, r.claim(t).ID)
	}
	require.Equal(t, []string{a[0], b[0], a[1], b[1], a[2], a[3], a[4]}, order)
	_, err := db.New(r.Pool).ClaimMediaJob(t.Context(), db.ClaimMediaJobParams{Kind: mediajob.Transcode, Node: "another", Now: r.Clock.Now()})
	require.ErrorIs(t, err, pgx.ErrNoRows)
}

// TestASingleWorkerIsFair: it starts the tenants' transcodes by turns, although no other one is RUNNING then.
func TestASingleWorkerIsFair(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ada, adas := r.recorded(t)
	bo, bos := r.recorded(t)
	var a []string
	for range 4 {
		a = append(a, r.create(t, ada, adas))
	}
	b := []string{r.create(t, bo, bos), r.create(t, bo, bos)}
	var order []string
	for range 6 {
		order = append(order, r.claim(t).ID)
		_, err := r.Pool.Exec(t.Context(), "UPDATE media_jobs SET status = 'COMPLETED' WHERE status = 'RUNNING'")
		require.NoError(t, err)
		r.pass(t, time.Second)
	}
	require.Equal(t, []string{a[0], b[0], a[1], b[1], a[2], a[3]}, order)
}

// TestASilentWorkerLosesItsJob: another attempt begins after a pause; the last one makes the job FAILED.
func TestASilentWorkerLosesItsJob(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	owner, rec := r.recorded(t)
	id := r.create(t, owner, rec)
	for attempt := 1; attempt <= 5; attempt++ {
		row := r.claim(t)
		require.EqualValues(t, attempt, row.Attempt)
		r.pass(t, 29*time.Second)
		require.NoError(t, r.MediaJobs.Sweep(t.Context()))
		require.Equal(t, mediajob.Running, r.find(t, id).Status)
		r.pass(t, 2*time.Second)
		require.NoError(t, r.MediaJobs.Sweep(t.Context()))
		if attempt == 5 {
			break
		}
		again := r.find(t, id)
		require.Equal(t, mediajob.Queued, again.Status)
		require.Equal(t, 15*time.Second<<(attempt-1), again.DueAt.Sub(r.Clock.Now()).Round(time.Second))
		require.Equal(t, 1+attempt, r.jobs(t, mediajob.RunArgs{}.Kind()), "each attempt has a run")
		changed, err := db.New(r.Pool).BeatMediaJob(t.Context(), db.BeatMediaJobParams{ID: id, Attempt: row.Attempt, Now: r.Clock.Now()})
		require.NoError(t, err)
		require.Zero(t, changed, "the silent worker notices that its attempt is over")
		r.pass(t, again.DueAt.Sub(r.Clock.Now()))
	}
	failed := r.find(t, id)
	require.Equal(t, mediajob.Failed, failed.Status)
	require.Equal(t, "The server stopped while it made the files. It was tried 5 times.", *failed.Error)
	require.Equal(t, 3, r.jobs(t, mediajob.DeleteFilesArgs{}.Kind()))
	var shown api.Transcode
	owner.Call(t, "GET", "/v1/me/transcodes/"+id, nil).Into(t, 200, &shown)
	require.Equal(t, api.MediaJobStatusFAILED, shown.Status)
}

// TestALostRunIsAddedAgain for a transcode that waits.
func TestALostRunIsAddedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	owner, rec := r.recorded(t)
	id := r.create(t, owner, rec)
	_, err := r.Pool.Exec(t.Context(), "DELETE FROM river_job WHERE kind = $1", mediajob.RunArgs{}.Kind())
	require.NoError(t, err)
	r.pass(t, 4*time.Minute)
	require.NoError(t, r.MediaJobs.Sweep(t.Context()))
	require.Zero(t, r.jobs(t, mediajob.RunArgs{}.Kind()))
	r.pass(t, 2*time.Minute)
	for range 3 {
		require.NoError(t, r.MediaJobs.Sweep(t.Context()))
	}
	require.Equal(t, 1, r.jobs(t, mediajob.RunArgs{}.Kind()), "one in an hour")
	require.Equal(t, id, r.claim(t).ID)
}

// TestARestartedNodeContinues: it doesn't wait for the end of its own heartbeats.
func TestARestartedNodeContinues(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	owner, rec := r.recorded(t)
	mine, others := r.create(t, owner, rec), r.create(t, owner, rec)
	_, err := db.New(r.Pool).ClaimMediaJob(t.Context(), db.ClaimMediaJobParams{Kind: mediajob.Transcode, Node: r.Node, Now: r.Clock.Now()})
	require.NoError(t, err)
	r.claim(t)
	require.NoError(t, r.MediaJobs.RecoverNode(t.Context()))
	require.Equal(t, mediajob.Queued, r.find(t, mine).Status)
	require.Equal(t, mediajob.Running, r.find(t, others).Status)
}

// TestFilesOfTranscodesAreStored counts them in the tenant's storage until the recording is deleted.
func TestFilesOfTranscodesAreStored(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	owner, rec := r.recorded(t)
	id := r.create(t, owner, rec)
	_, err := r.Pool.Exec(t.Context(), `UPDATE media_jobs SET status = 'COMPLETED', size_bytes = 570 WHERE id = $1`, id)
	require.NoError(t, err)
	bytes := func() (sum int64) {
		rows, err := db.New(r.Pool).SumStoredBytes(t.Context())
		require.NoError(t, err)
		for _, row := range rows {
			sum += row.Bytes
		}
		return sum
	}
	require.EqualValues(t, 1570, bytes())
	_, err = r.Pool.Exec(t.Context(), "UPDATE recordings SET status = $2 WHERE id = $1", rec, recording.Deleted)
	require.NoError(t, err)
	require.Zero(t, bytes())
}
