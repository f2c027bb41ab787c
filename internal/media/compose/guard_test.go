package compose

import (
	"errors"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestGuard(t *testing.T) {
	t.Parallel()
	fault := errors.New("a fault")
	require.NoError(t, guard(func() error { return nil }))
	require.Equal(t, fault, guard(func() error { return fault }))
	err := guard(func() error { panic("media") })
	require.ErrorIs(t, err, errPanic)
	require.ErrorContains(t, err, "guard_test.go", "the stack")
}

// TestPanics: one in a goroutine of the package is an error, and doesn't end the process.
func TestPanics(t *testing.T) {
	t.Parallel()
	e := shortPieces()
	folder := t.TempDir()
	l, err := newLane(filepath.Join(folder, "mix-0.ogg"))
	require.NoError(t, err)
	l.fill(soundRate)
	require.NoError(t, l.finish())
	s := &session{folder: folder, layout: Grid, length: time.Second, names: map[string]string{}}
	j := &Job{Folder: folder}
	v := &sound{lanes: []*lane{l}, people: []*voice{{userID: "ann", lanes: []*lane{nil}}, {userID: "bob", lanes: []*lane{l}}}}

	voices, left, err := e.separate(t.Context(), j, s, v)
	require.NoError(t, err, "the others have their files")
	require.Equal(t, 1, left)
	require.Len(t, voices, 1)
	require.Equal(t, "bob", voices[0].UserID)

	require.ErrorIs(t, e.mix(t.Context(), j, s, v, func(io.Reader) error { panic("reader") }), errPanic)
	require.ErrorIs(t, e.encode(t.Context(), j, filepath.Join(folder, "x"), func(io.Writer) error { panic("feed") }), errPanic)

	x := e.decode(t.Context(), folder, &segment{path: l.path, marks: []mark{{key: true}}, shownWidth: -2, shownHeight: 2}, 0, time.Second)
	require.False(t, x.advance(time.Second))
	x.done.Wait()
	require.True(t, x.failed)
	x.close()
}
