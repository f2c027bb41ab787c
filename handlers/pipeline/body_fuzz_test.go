package pipeline

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzCheckForm checks that checkForm ends for every JSON text, and that Go can
// decode each text that it accepts.
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
