package handlers

import (
	"encoding/json"

	"showfloor/gen/api"
)

// pairsOf returns the pairs of a request, or nil if they are absent.
func pairsOf(m *api.Metadata) map[string]string {
	if m == nil {
		return nil
	}
	return *m
}

// toMetadata reads stored pairs. They were written by internal/base/metadata, so they are
// always a JSON object of strings.
func toMetadata(stored json.RawMessage) api.Metadata {
	m := api.Metadata{}
	_ = json.Unmarshal(stored, &m)
	return m
}
