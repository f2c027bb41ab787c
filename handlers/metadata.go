package handlers

import (
	"encoding/json"

	"showfloor/gen/api"
)

// orEmptyMap returns the pairs of a request, or an empty map if they are absent.
func orEmptyMap(m *api.Metadata) map[string]string {
	if m == nil {
		return nil
	}
	return *m
}

// toMetadata reads stored pairs. They were written by internal/metadata, so they are
// always a JSON object of strings.
func toMetadata(stored json.RawMessage) api.Metadata {
	m := api.Metadata{}
	_ = json.Unmarshal(stored, &m)
	return m
}
