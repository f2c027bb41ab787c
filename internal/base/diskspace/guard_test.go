//go:build linux

package diskspace_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/diskspace"
	"showfloor/internal/base/problem"
)

func mark(t *testing.T, text string) diskspace.Mark {
	t.Helper()
	m, err := diskspace.ParseMark(text)
	require.NoError(t, err)
	return m
}

func TestParseMark(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]uint64{
		"0": 0, "0%": 0, "1048576": 1 << 20, "2GiB": 2 << 30, "1.5KiB": 1536, "500MiB": 500 << 20, "1TiB": 1 << 40, "5%": 50, "100%": 1000,
	} {
		require.Equal(t, want, mark(t, text).Of(1000), text)
	}
	for _, text := range []string{"", "%", "-1", "101%", "-1%", "2GB", "2 GiB", "NaN", "NaN%", "Inf", "9999999TiB", "GiB"} {
		_, err := diskspace.ParseMark(text)
		require.Error(t, err, text)
	}
}

func TestLevelsHaveHysteresis(t *testing.T) {
	t.Parallel()
	free := map[string]uint64{"/data": 5000, "/database": 5000}
	var reports []string
	away := false
	guard := diskspace.New(diskspace.Config{
		Dirs: []string{"/data", "/database"}, Marks: diskspace.Marks{Low: mark(t, "1000"), VeryLow: mark(t, "1%")},
		Measure: func(dir string) (diskspace.Space, error) {
			if dir == "/data" && away {
				return diskspace.Space{}, errors.New("away")
			}
			return diskspace.Space{Free: free[dir], Total: 50000}, nil
		},
		Report: func(_ context.Context, s diskspace.Status) error {
			reports = append(reports, s.Level.String()+" "+s.Dir)
			return nil
		},
		Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, guard.Refuse(), "nothing is known yet")
	for _, step := range []struct {
		free  uint64
		level diskspace.Level
	}{
		{5000, diskspace.Enough}, {1000, diskspace.Enough}, {999, diskspace.Low}, {1099, diskspace.Low}, {1100, diskspace.Enough},
		{900, diskspace.Low}, {500, diskspace.Low}, {499, diskspace.VeryLow}, {549, diskspace.VeryLow}, {550, diskspace.Low},
		{0, diskspace.VeryLow}, {0, diskspace.VeryLow}, {2000, diskspace.Enough},
	} {
		free["/database"] = step.free
		guard.Check(t.Context())
		require.Equal(t, step.level, guard.Status().Level, "%d are free", step.free)
		require.Equal(t, step.level != diskspace.Enough, problem.Is(guard.Refuse(), "disk_space_low"))
		require.Equal(t, step.level != diskspace.Enough, problem.Is(guard.Ready(t.Context()), "disk_space_low"))
	}
	require.Equal(t, []string{
		"enough /data", "low /database", "enough /database", "low /database", "very low /database", "low /database", "very low /database", "enough /database",
	}, reports, "once per crossing")
	away, free["/database"] = true, 10
	guard.Check(t.Context())
	require.Equal(t, "/database", guard.Status().Dir, "a folder that can't be measured hides no other")
}

// TestOtherFoldersRefuseNothing: while only the disk of files is full, the database can write.
func TestOtherFoldersRefuseNothing(t *testing.T) {
	t.Parallel()
	free := map[string]uint64{"/data": 5 << 30, "/files": 5 << 30}
	var reports []string
	guard := diskspace.New(diskspace.Config{
		Dirs: []string{"/data"}, Others: []string{"/files"}, Marks: diskspace.Marks{Low: mark(t, "1GiB"), VeryLow: mark(t, "500MiB")},
		Measure: func(dir string) (diskspace.Space, error) {
			return diskspace.Space{Free: free[dir], Total: 50 << 30}, nil
		},
		Report: func(_ context.Context, s diskspace.Status) error {
			reports = append(reports, s.Level.String()+" "+s.Dir)
			return nil
		},
		Log: slog.New(slog.DiscardHandler),
	})
	guard.Check(t.Context())
	free["/files"] = 0
	guard.Check(t.Context())
	require.NoError(t, guard.Refuse())
	require.NoError(t, guard.RefuseMore())
	require.NoError(t, guard.Writable(t.Context()))
	require.True(t, problem.Is(guard.Ready(t.Context()), "disk_space_low"))
	require.Equal(t, []string{"enough /data", "very low /files"}, reports)
	free["/data"], free["/files"] = 0, 5<<30
	guard.Check(t.Context())
	require.True(t, problem.Is(guard.Refuse(), "disk_space_low"))
	require.True(t, problem.Is(guard.RefuseMore(), "disk_space_low"))
	require.True(t, problem.Is(guard.Writable(t.Context()), "disk_full"))
}

// TestReportIsRepeatedUntilItSucceeds: the database may be unavailable at the first report.
func TestReportIsRepeatedUntilItSucceeds(t *testing.T) {
	t.Parallel()
	calls := 0
	guard := diskspace.New(diskspace.Config{
		Dirs: []string{"/"}, Marks: diskspace.Marks{Low: mark(t, "100%")},
		Measure: func(string) (diskspace.Space, error) { return diskspace.Space{Free: 1, Total: 100}, nil },
		Report: func(context.Context, diskspace.Status) error {
			if calls++; calls < 3 {
				return errors.New("away")
			}
			return nil
		},
		Log: slog.New(slog.DiscardHandler),
	})
	for range 5 {
		guard.Check(t.Context())
	}
	require.Equal(t, 3, calls)
}

// TestGuardOnARealFileSystem fills a file system of 64 MiB.
func TestGuardOnARealFileSystem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64m"); err != nil {
		t.Skip("mounting needs root: ", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	guard := diskspace.New(diskspace.Config{
		Dirs: []string{dir}, Marks: diskspace.Marks{Low: mark(t, "50%"), VeryLow: mark(t, "16MiB")}, Log: slog.New(slog.DiscardHandler),
	})
	check := func() diskspace.Status { guard.Check(t.Context()); return guard.Status() }
	write := func(size int64) string {
		f, err := os.CreateTemp(dir, "")
		require.NoError(t, err)
		_, err = io.CopyN(f, zeros{}, size)
		require.NoError(t, errors.Join(err, f.Close()))
		return f.Name()
	}
	require.Equal(t, diskspace.Status{
		Level: diskspace.Enough, Space: diskspace.Space{Free: 64 << 20, Total: 64 << 20}, Dir: dir, Mark: 32 << 20,
	}, check())
	require.NoError(t, guard.Writable(t.Context()))
	first := write(33 << 20)
	require.Equal(t, diskspace.Low, check().Level)
	require.ErrorContains(t, guard.Ready(t.Context()), "31.0 MiB (32505856 bytes) are left")
	require.ErrorContains(t, guard.Writable(t.Context()), "32505856 bytes")
	second := write(20 << 20)
	require.Equal(t, diskspace.VeryLow, check().Level)
	require.NoError(t, os.Remove(second))
	require.Equal(t, diskspace.Low, check().Level)
	require.NoError(t, os.Remove(first))
	require.Equal(t, diskspace.Enough, check().Level)
	require.NoError(t, guard.Ready(t.Context()))
	_, err := diskspace.Measure(filepath.Join(dir, "missing"))
	require.Error(t, err)
}

// zeros is an endless file.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }
