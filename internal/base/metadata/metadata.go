// Package metadata holds the rules for the key-value pairs that tenants keep with
// their objects: at most 50, keys of 1 to 40 characters, values of at most 500.
package metadata

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"showfloor/internal/base/problem"
)

// Limits of the pairs of one object. Lengths are in characters.
const (
	MaxKeys     = 50
	maxKeyLen   = 40
	maxValueLen = 500
)

// None is the stored form of no pairs.
const None = "{}"

// Merge returns the pairs of an object after an update: a pair replaces the one with
// the same key, an empty value deletes it, and all others stay. before is the stored
// JSON object; empty for a new one. It is returned unchanged if the update changes
// nothing. Pairs beyond the limits are a problem with the code invalid_input.
func Merge(before json.RawMessage, update map[string]string) (json.RawMessage, error) {
	merged := map[string]string{}
	if len(before) > 0 {
		if err := json.Unmarshal(before, &merged); err != nil {
			return nil, fmt.Errorf("read stored metadata: %w", err)
		}
	}
	same := len(before) > 0
	for key, value := range update {
		if err := check(key, value); err != nil {
			return nil, err
		}
		if merged[key] == value { // stored values are never empty
			continue
		}
		same = false
		if value == "" {
			delete(merged, key)
		} else {
			merged[key] = value
		}
	}
	if same {
		return before, nil
	}
	if len(merged) > MaxKeys {
		return nil, problem.BadField("metadata",
			"has %d keys after the update, at most %d are allowed; send an empty value for keys to delete", len(merged), MaxKeys)
	}
	out, err := json.Marshal(merged)
	if err != nil {
		return nil, fmt.Errorf("write metadata: %w", err)
	}
	return out, nil
}

func check(key, value string) error {
	switch {
	case key == "":
		return problem.BadField("metadata", "has an empty key")
	case utf8.RuneCountInString(key) > maxKeyLen:
		return problem.BadField("metadata", "has the key %q of %d characters, at most %d are allowed",
			key, utf8.RuneCountInString(key), maxKeyLen)
	case utf8.RuneCountInString(value) > maxValueLen:
		return problem.BadField("metadata."+key, "has %d characters, at most %d are allowed", utf8.RuneCountInString(value), maxValueLen)
	case strings.ContainsRune(key+value, 0):
		return problem.BadField("metadata", "holds a NUL character, which can't be stored")
	}
	return nil
}
