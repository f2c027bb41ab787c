package mp4file_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/mp4file"
	"showfloor/internal/testkit/recordingtest"
)

// files is a folder whose files fail from a number of openings on, with the error that fail returns.
type files struct {
	folder

	left int
	fail func(ctx context.Context) error
}

func (f *files) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if f.left--; f.left < 0 && f.fail != nil {
		return nil, f.fail(ctx)
	}
	return f.folder.Open(ctx, name)
}

// TestReader: it reads what WriteTo writes, ends with the error of a file, and a Close ends it at any time.
func TestReader(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m := recordingtest.Make(t, dir, "rec_1", recordingtest.Part{Clip: recordingtest.Clip{Seconds: 9}})
	source := &files{folder: folder{dir: filepath.Join(dir, "recordings", "rec_1")}}
	f, err := mp4file.Prepare(t.Context(), source, &m)
	require.NoError(t, err)
	var whole bytes.Buffer
	require.NoError(t, f.WriteTo(t.Context(), &whole))

	r := f.Reader(t.Context())
	read, err := io.ReadAll(r)
	require.NoError(t, err)
	require.True(t, bytes.Equal(whole.Bytes(), read))
	require.NoError(t, r.Close())

	r = f.Reader(t.Context())
	_, err = io.ReadFull(r, make([]byte, 100))
	require.NoError(t, err)
	require.NoError(t, r.Close())

	gone := errors.New("the file is gone")
	source.left, source.fail = 2, func(context.Context) error { return gone }
	r = f.Reader(t.Context())
	_, err = io.ReadAll(r)
	require.ErrorIs(t, err, gone)
	require.NoError(t, r.Close())

	source.left, source.fail = 0, func(context.Context) error { panic("a fault") }
	r = f.Reader(t.Context())
	_, err = io.ReadAll(r)
	require.ErrorContains(t, err, "panic: a fault")
	require.NoError(t, r.Close())

	waiting := make(chan struct{})
	source.left, source.fail = 0, func(ctx context.Context) error {
		close(waiting)
		<-ctx.Done()
		return ctx.Err()
	}
	r = f.Reader(t.Context())
	<-waiting
	require.NoError(t, r.Close(), "it doesn't wait for the storage")
}
