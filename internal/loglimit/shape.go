package loglimit

import "log/slog"

// maxShape is how many bytes of an error's text tell causes apart.
const maxShape = 200

// shapeOf returns the text of the record's error, cut to maxShape bytes, in
// which each word that holds a digit is "#": ids, ports and addresses differ
// from line to line although the cause is one. It is "" without an error.
func shapeOf(r slog.Record) string {
	text := ""
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "error" || a.Key == "err" { // ours, and the job queue's
			text = a.Value.String()
			return false
		}
		return true
	})
	return withoutNumbers(text)
}

func withoutNumbers(text string) string {
	out := make([]byte, 0, min(len(text), maxShape))
	for i := 0; i < len(text) && len(out) < maxShape; {
		end, digit := i, false
		for end < len(text) && isWord(text[end]) {
			digit = digit || text[end] >= '0' && text[end] <= '9'
			end++
		}
		switch {
		case end == i:
			out = append(out, text[i])
			end++
		case digit:
			out = append(out, '#')
		default:
			out = append(out, text[i:end]...)
		}
		i = end
	}
	return string(out[:min(len(out), maxShape)])
}

func isWord(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_' || b >= 0x80
}
