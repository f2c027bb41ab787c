package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/dbtest"
)

const (
	// idleWarmUp is the time after which connections and their caches are as they stay.
	idleWarmUp = 2 * time.Minute
	idleWindow = 2 * time.Minute
)

// BenchmarkIdle measures the CPU time of the built server and of its PostgreSQL without any request, and the transactions that it makes.
// The baseline is a process that makes as many, each of them `SELECT 1` on one connection, with the backend of that connection.
func BenchmarkIdle(b *testing.B) {
	bin := serverBinary(b)
	for b.Loop() {
		dir := publicDir(b)
		s := startServer(b, bin, dir)
		<-time.After(idleWarmUp)
		conn, err := pgx.Connect(b.Context(), fmt.Sprintf("host=%s/postgres/run user=postgres dbname=postgres", dir))
		require.NoError(b, err)
		count := transactions(b, conn)
		before := postgresCPU(b, dir)
		ours := cpuOfEach(b, idleWindow, s.cmd.Process.Pid)[0]
		database := 100 * (postgresCPU(b, dir) - before).Seconds() / idleWindow.Seconds()
		count = transactions(b, conn) - count
		rss := s.memory(b, "VmRSS")
		require.NoError(b, conn.Close(context.WithoutCancel(b.Context())))
		s.stop(b)
		bare := bareStatements(b, idleWindow/time.Duration(count))

		b.ReportMetric(0, "ns/op")
		b.ReportMetric(ours, "server-core%")
		b.ReportMetric(database, "postgres-core%")
		b.ReportMetric(float64(count)/idleWindow.Seconds(), "transactions/s")
		b.ReportMetric(rss, "RSS-MiB")
		b.ReportMetric(bare, "bare-core%")
		b.ReportMetric((ours+database)/bare, "cpu-ratio")
	}
}

// transactions returns how many the database has committed.
func transactions(b *testing.B, conn *pgx.Conn) (n int64) {
	b.Helper()
	require.NoError(b, conn.QueryRow(b.Context(), "SELECT xact_commit FROM pg_stat_database WHERE datname = 'postgres'").Scan(&n))
	return n
}

// postgresCPU returns the CPU time of a data folder's PostgreSQL, of its processes that have ended too.
func postgresCPU(b *testing.B, dir string) (total time.Duration) {
	b.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "postgres", "data", "postmaster.pid"))
	require.NoError(b, err)
	first, _, _ := strings.Cut(string(text), "\n")
	postmaster, err := strconv.Atoi(first)
	require.NoError(b, err)
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", postmaster, postmaster))
	require.NoError(b, err)
	for _, field := range append(strings.Fields(string(children)), first) {
		total += ticksOf(b, field, field == first)
	}
	return total
}

// ticksOf returns the CPU time of a process, in steps of 10 ms, and of its children that have ended if withEnded; 0 if it has ended.
func ticksOf(b *testing.B, pid string, withEnded bool) time.Duration {
	b.Helper()
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return 0
	}
	require.NoError(b, err)
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	const utime, cutime, end, hertz = 11, 13, 15, 100 // field indices after the name: user and system mode, then of ended children
	last := cutime
	if withEnded {
		last = end
	}
	ticks := 0
	for _, field := range fields[utime:last] {
		n, err := strconv.Atoi(field)
		require.NoError(b, err)
		ticks += n
	}
	return time.Duration(ticks) * time.Second / hertz
}

// bareStatements returns the CPU time of this process and of one backend while it makes a statement in each interval, in percent of a
// core.
func bareStatements(b *testing.B, interval time.Duration) float64 {
	b.Helper()
	conn, err := dbtest.New(b).Acquire(b.Context())
	require.NoError(b, err)
	defer conn.Release()
	backend := int(conn.Conn().PgConn().PID())
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				done <- nil
				return
			}
			if _, err := conn.Exec(b.Context(), "SELECT 1"); err != nil {
				done <- err
				return
			}
		}
	}()
	used := cpuOfEach(b, idleWindow, os.Getpid(), backend)
	cancel()
	require.NoError(b, <-done)
	return used[0] + used[1]
}
