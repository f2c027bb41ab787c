package cdnlog_test

import (
	"encoding/json"
	"strings"
	"testing"

	"showfloor/internal/console/cdnlog"
)

// fuzz feeds lines to a parser. The row of any line has sensible values.
func fuzz(f *testing.F, format cdnlog.Format) {
	f.Helper()
	for l := range strings.Lines(example(format)) {
		f.Add(l)
	}
	f.Add(example(format))
	f.Fuzz(func(t *testing.T, text string) {
		log, err := reader(format).Read(t.Context(), strings.NewReader(text))
		if err != nil {
			return
		}
		sum := int64(0)
		for k, n := range log.Sums {
			if n <= 0 || k.Hour%3600 != 0 {
				t.Fatalf("%v: %d", k, n)
			}
			sum += n
		}
		if sum != log.Bytes || log.Rows+log.Bad > log.Lines || int64(len(log.Faults)) > log.Bad {
			t.Fatalf("%+v", log)
		}
	})
}

func FuzzCloudFront(f *testing.F) { fuzz(f, cdnlog.CloudFront) }
func FuzzCombined(f *testing.F)   { fuzz(f, cdnlog.Combined) }
func FuzzCloudflare(f *testing.F) { fuzz(f, cdnlog.Cloudflare) }
func FuzzBunny(f *testing.F)      { fuzz(f, cdnlog.Bunny) }

// FuzzAkamai also compares the parser of JSON with that of the standard library: where both accept a line, they agree on the stream.
func FuzzAkamai(f *testing.F) {
	for l := range strings.Lines(example(cdnlog.Akamai)) {
		f.Add(strings.TrimSpace(l))
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsAny(text, "\r\n") || strings.Count(text, "reqPath") != 1 || strings.Contains(text, `\`) {
			return
		}
		var object map[string]any
		if json.Unmarshal([]byte(text), &object) != nil {
			return
		}
		path, _ := object["reqPath"].(string)
		var asked string
		r := reader(cdnlog.Akamai)
		r.ResourceOf = func(p string) string {
			asked = p
			return ""
		}
		log, err := r.Read(t.Context(), strings.NewReader(text))
		if err != nil || log.Bytes == 0 || asked == "" || strings.ContainsRune(text, '\ufffd') {
			return
		}
		path, _, _ = strings.Cut(path, "?")
		if strings.TrimPrefix(asked, "/") != strings.TrimPrefix(path, "/") && !strings.Contains(path, "://") {
			t.Fatalf("%q instead of %q", asked, path)
		}
	})
}
