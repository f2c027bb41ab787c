package metadata

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/problem"
)

func TestMerge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before string
		update map[string]string
		want   string
	}{
		"new":               {"", map[string]string{"a": "1", "b": ""}, `{"a":"1"}`},
		"none":              {"", nil, `{}`},
		"another key":       {`{"a":"1"}`, map[string]string{"b": "2"}, `{"a":"1","b":"2"}`},
		"the same key":      {`{"a":"1"}`, map[string]string{"a": "2"}, `{"a":"2"}`},
		"deleted":           {`{"a":"1","b":"2"}`, map[string]string{"a": ""}, `{"b":"2"}`},
		"deleted, unknown":  {`{"a":"1"}`, map[string]string{"b": ""}, `{"a":"1"}`},
		"nothing":           {`{"a":"1"}`, map[string]string{}, `{"a":"1"}`},
		"as long as may be": {"", map[string]string{strings.Repeat("ü", 40): strings.Repeat("ü", 500)}, ""},
	} {
		got, err := Merge(json.RawMessage(c.before), c.update)
		require.NoError(t, err, name)
		if c.want != "" {
			require.JSONEq(t, c.want, string(got), name)
		}
	}
}

// TestMergeReturnsTheStoredFormWhenNothingChanges: then callers can compare bytes.
func TestMergeReturnsTheStoredFormWhenNothingChanges(t *testing.T) {
	t.Parallel()
	before := json.RawMessage(`{"b": "2", "a": "1"}`)
	for _, update := range []map[string]string{nil, {}, {"a": "1"}, {"c": ""}} {
		got, err := Merge(before, update)
		require.NoError(t, err)
		require.Equal(t, string(before), string(got))
	}
}

func TestMergeRefuses(t *testing.T) {
	t.Parallel()
	full := map[string]string{}
	for i := range MaxKeys {
		full[fmt.Sprint("key-", i)] = "x"
	}
	before, err := Merge(nil, full)
	require.NoError(t, err)
	_, err = Merge(before, map[string]string{"key-0": "", "other": "x"})
	require.NoError(t, err, "one goes, one comes")
	for name, update := range map[string]map[string]string{
		"one too many":   {"other": "x"},
		"an empty key":   {"": "x"},
		"a long key":     {strings.Repeat("x", 41): ""},
		"a long value":   {"key-0": strings.Repeat("x", 501)},
		"NUL in a value": {"key-0": "a\x00"},
		"NUL in a key":   {"a\x00": ""},
	} {
		_, err := Merge(before, update)
		require.True(t, problem.Is(err, "invalid_input"), name)
	}
}
