package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSamplesOfEvents(t *testing.T) {
	t.Parallel()
	document, _, err := bundle(t.Context(), write(t, spec()))
	require.NoError(t, err)
	none, err := samples(document)
	require.NoError(t, err)
	require.JSONEq(t, `{}`, string(none))

	files := withEvents()
	document, _, err = bundle(t.Context(), write(t, files))
	require.NoError(t, err)
	_, err = samples(document)
	require.ErrorContains(t, err, "thing.lost has no data")

	files["events.yaml"] += "    data: {type: object, required: [at], properties: {at: {type: string, format: date-time}}}\n"
	document, _, err = bundle(t.Context(), write(t, files))
	require.NoError(t, err)
	got, err := samples(document)
	require.NoError(t, err)
	require.JSONEq(t, `{"thing.made": {"id": "text"}, "thing.lost": {"at": "2026-01-02T03:04:05.678Z"}}`, string(got))
}
