package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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

// BenchmarkIdle measures the CPU time of the built server and of its PostgreSQL while nobody uses it, and how many transactions it makes.
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
		used := cpuOfEach(b, idleWindow, append([]int{s.cmd.Process.Pid}, postgresProcesses(b, dir)...)...)
		count = transactions(b, conn) - count
		rss := s.memory(b, "VmRSS")
		require.NoError(b, conn.Close(context.WithoutCancel(b.Context())))
		s.stop(b)
		ours, database := used[0], sum(used[1:])
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

// postgresProcesses returns the processes of a data folder's PostgreSQL.
func postgresProcesses(b *testing.B, dir string) []int {
	b.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "postgres", "data", "postmaster.pid"))
	require.NoError(b, err)
	first, _, _ := strings.Cut(string(text), "\n")
	postmaster, err := strconv.Atoi(first)
	require.NoError(b, err)
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", postmaster, postmaster))
	require.NoError(b, err)
	list := []int{postmaster}
	for _, field := range strings.Fields(string(children)) {
		pid, err := strconv.Atoi(field)
		require.NoError(b, err)
		list = append(list, pid)
	}
	return list
}

// bareStatements returns the CPU time of this process and of one backend, in percent of a core, while it makes a statement at each interval.
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
	return sum(used)
}

func sum(list []float64) (total float64) {
	for _, v := range list {
		total += v
	}
	return total
}
