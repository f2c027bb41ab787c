package problem

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProblemsAreFoundInAChain(t *testing.T) {
	t.Parallel()
	p := Conflicting("stream %s is live", "str_1")
	require.Equal(t, &Error{Kind: Conflict, Code: "conflict", Message: "stream str_1 is live"}, p)
	wrapped := fmt.Errorf("stop stream: %w", p)
	got, ok := As(wrapped)
	require.True(t, ok)
	require.Same(t, p, got)
	require.True(t, Is(wrapped, "conflict"))
	require.False(t, Is(wrapped, "not_found"))
	require.False(t, Is(errors.New("conflict"), "conflict"))
	_, ok = As(nil)
	require.False(t, ok)
	require.Equal(t, "stream str_1 is live", p.Error())
}

func TestMissingNamesTheKindAndNotTheOwner(t *testing.T) {
	t.Parallel()
	require.Equal(t, &Error{Kind: NotFound, Code: "not_found", Message: "stream not found"}, Missing("stream"))
}

func TestBadFieldNamesTheField(t *testing.T) {
	t.Parallel()
	p := BadField("limit", "at most %d", 200)
	require.Equal(t, Invalid, p.Kind)
	require.Equal(t, []Field{{"limit", "at most 200"}}, p.Fields)
}
