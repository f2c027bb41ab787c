package id

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestIdsAreUniqueAndSortByCreation(t *testing.T) {
	t.Parallel()
	const n = 10_000
	ids := make([]string, n)
	for i := range ids {
		ids[i] = New(Stream)
	}
	require.True(t, slices.IsSorted(ids))
	require.Len(t, slices.Compact(slices.Clone(ids)), n)
	for _, one := range ids[:100] {
		require.Regexp(t, `^str_[0-7][0-9a-hjkmnp-tv-z]{25}$`, one)
		require.True(t, Stream.Matches(one))
	}
}

func TestIdsOfManyAtOnceAreUnique(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[string]bool{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 500 {
				one := New(Event)
				mu.Lock()
				if seen[one] {
					t.Errorf("%s came twice", one)
				}
				seen[one] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

func TestAnIDBehindAnother(t *testing.T) {
	t.Parallel()
	require.True(t, Message.Matches(After(Message, "")))
	past, future := "msg_00000000000000000000000001", "msg_7000000000000000000000000z"
	require.Greater(t, After(Message, past), New(Message)[:8])
	for range 100 { // on a clock that is ahead
		next := After(Message, future)
		require.Greater(t, next, future)
		require.True(t, Message.Matches(next))
		future = next
	}
	require.Equal(t, "msg_70000000000000000000000010", After(Message, "msg_7000000000000000000000000z"))
	require.NotPanics(t, func() { After(Message, "zzz") })
}

// TestEncodingIsThatOfTypeID compares with the examples of its specification.
func TestEncodingIsThatOfTypeID(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"00000000-0000-0000-0000-000000000000": "00000000000000000000000000",
		"00000000-0000-0000-0000-000000000001": "00000000000000000000000001",
		"00000000-0000-0000-0000-00000000000a": "0000000000000000000000000a",
		"00000000-0000-0000-0000-000000000010": "0000000000000000000000000g",
		"00000000-0000-0000-0000-000000000020": "00000000000000000000000010",
		"ffffffff-ffff-ffff-ffff-ffffffffffff": "7zzzzzzzzzzzzzzzzzzzzzzzzz",
		"0110c853-1d09-52d8-d73e-1194e95b5f19": "0123456789abcdefghjkmnpqrs",
		"01890a5d-ac96-774b-bcce-b302099a8057": "01h455vb4pex5vsknk084sn02q",
	} {
		require.Equal(t, want, encode(uuid.MustParse(text)), text)
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	good := New(Stream)
	for _, bad := range []string{
		"", "str_", "str", good[:len(good)-1], good + "0", "key" + good[3:], strings.ToUpper(good), good[4:], " " + good,
		good[:len(good)-1] + "l", good[:len(good)-1] + "\x00", "str_" + strings.Repeat("é", 13),
	} {
		require.False(t, Stream.Matches(bad), "%q", bad)
	}
}

func TestEarliestIsBeforeLaterIDs(t *testing.T) {
	t.Parallel()
	now := time.Now()
	made := New(Message)
	if early, late := Earliest(Message, now.Add(-time.Millisecond)), Earliest(Message, now.Add(time.Minute)); early > made || late < made {
		t.Errorf("%s isn't between %s and %s", made, early, late)
	}
	if !Message.Matches(Earliest(Message, time.Time{})) || Earliest(Message, time.Time{}) > Earliest(Message, now) {
		t.Error("the zero time")
	}
}
