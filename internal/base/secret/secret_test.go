package secret

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func newBox(t *testing.T, fill byte) *Box {
	t.Helper()
	b, err := NewBox(bytes.Repeat([]byte{fill}, KeySize))
	require.NoError(t, err)
	return b
}

func TestSealedValuesOpenInTheirPlaceAlone(t *testing.T) {
	t.Parallel()
	b := newBox(t, 1)
	plain := []byte("whsec_secret")
	sealed := b.Seal(plain, "webhook_endpoints/wh_1")
	require.NotContains(t, string(sealed), "secret")
	require.NotEqual(t, sealed, b.Seal(plain, "webhook_endpoints/wh_1"), "a nonce of its own")
	got, err := b.Open(sealed, "webhook_endpoints/wh_1")
	require.NoError(t, err)
	require.Equal(t, plain, got)

	_, err = b.Open(sealed, "webhook_endpoints/wh_2")
	require.Error(t, err, "copied to another row")
	_, err = newBox(t, 2).Open(sealed, "webhook_endpoints/wh_1")
	require.ErrorContains(t, err, "another master key")
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		_, err := b.Open(changed, "webhook_endpoints/wh_1")
		require.Error(t, err, "byte %d", i)
		_, err = b.Open(sealed[:i], "webhook_endpoints/wh_1")
		require.Error(t, err, "cut at %d", i)
	}
	empty, err := b.Open(b.Seal(nil, "x"), "x")
	require.NoError(t, err)
	require.Empty(t, empty)
}

func TestBoxWantsAWholeKey(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 16, 31, 33} {
		_, err := NewBox(make([]byte, n))
		require.ErrorContains(t, err, "32 bytes")
	}
	key := bytes.Repeat([]byte{7}, KeySize)
	b, err := NewBox(key)
	require.NoError(t, err)
	sealed := b.Seal([]byte("x"), "c")
	clear(key) // the box has a copy of its own
	require.Len(t, b.Derive("playback"), KeySize)
	require.Equal(t, newBox(t, 7).Derive("playback"), b.Derive("playback"))
	require.NotEqual(t, b.Derive("playback"), b.Derive("box"))
	_, err = newBox(t, 7).Open(sealed, "c")
	require.NoError(t, err)
}

func TestKeyFileIsMadeOnceAndReadAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "master.key")
	key, err := KeyFile(path)
	require.NoError(t, err)
	require.Len(t, key, KeySize)
	again, err := KeyFile(path)
	require.NoError(t, err)
	require.Equal(t, key, again)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "its owner's alone")

	for _, bad := range []string{"", "x", "AAAA", strings.Repeat("A", 100)} {
		require.NoError(t, os.WriteFile(path, []byte(bad), 0o600))
		_, err := KeyFile(path)
		require.Error(t, err, "%q", bad)
		kept, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, bad, string(kept), "a damaged file is never replaced")
	}
	_, err = KeyFile(filepath.Join(path, "below a file"))
	require.Error(t, err)
}

func TestTextIsEvenlyRandom(t *testing.T) {
	t.Parallel()
	require.Empty(t, Text(0))
	first, second := Text(32), Text(32)
	require.NotEqual(t, first, second)
	const n = 62 * 2000
	count := map[rune]int{}
	for _, c := range Text(n) {
		count[c]++
	}
	require.Len(t, count, 62)
	for c, got := range count {
		// 2000 expected; ten standard deviations would be about 447.
		require.InDelta(t, 2000, got, 450, string(c))
	}
}

func FuzzOpen(f *testing.F) {
	b, err := NewBox(bytes.Repeat([]byte{1}, KeySize))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b.Seal([]byte("x"), "c"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, sealed []byte) {
		if plain, err := b.Open(sealed, "another place"); err == nil {
			t.Fatalf("opened: %q", plain)
		}
	})
}
func TestSecondKeyOpensAndDoesNotSeal(t *testing.T) {
	t.Parallel()
	first, second := bytes.Repeat([]byte{1}, KeySize), bytes.Repeat([]byte{2}, KeySize)
	b, err := NewBox(first, second, first)
	require.NoError(t, err)
	require.Equal(t, [][]byte{newBox(t, 1).Derive("x"), newBox(t, 2).Derive("x")}, b.DeriveAll("x"))
	old := newBox(t, 2).Seal([]byte("x"), "c")
	plain, err := b.Open(old, "c")
	require.NoError(t, err)
	require.Equal(t, "x", string(plain))
	sealed, err := b.Reseal(old, "c")
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(sealed, b.Header()))
	_, err = newBox(t, 1).Open(sealed, "c")
	require.NoError(t, err)
	_, err = b.Reseal(old, "another place")
	require.Error(t, err)
	_, err = NewBox(first, second[1:])
	require.ErrorContains(t, err, "32 bytes")
}
