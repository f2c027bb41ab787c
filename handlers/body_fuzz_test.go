package handlers

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzCheckForm: for every JSON text there is an end, and what is let through can
// be read into what Go has.
func FuzzCheckForm(f *testing.F) {
	for _, text := range []string{
		`{"a":[1,-2.5e+10,"x\"\\",true,null]}`, `[]`, `""`, `"\\"`, `-0`, `1e308`, `1e-999`, strings.Repeat("[", 70) + strings.Repeat("]", 70),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return
		}
		values, err := checkForm(raw)
		var v any
		if err == nil && json.Unmarshal(raw, &v) != nil {
			t.Fatalf("%q can't be read", raw)
		}
		if values > len(raw) {
			t.Fatalf("%q holds %d values", raw, values)
		}
	})
}
