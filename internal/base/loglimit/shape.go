package loglimit

import "log/slog"

// maxShape is the length in bytes of the part of an error's text that distinguishes causes.
const maxShape = 200

// answer holds the route and the class of the status of a line about a request: the first
// digit of the status.
type answer struct {
	route string
	class int64
}

// causeOf returns the cause of the record. The shape is the text of its error, cut to
// maxShape bytes, in which each word with a digit is replaced by "#": ids, ports and
// addresses differ between lines of the same cause. It is "" without an error.
func causeOf(r slog.Record) cause {
	var text, route string
	var status int64
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "error", "err": // ours, and the job queue's
			text = a.Value.String()
		case "route":
			route = a.Value.String()
		case "status":
			if a.Value.Kind() == slog.KindInt64 {
				status = a.Value.Int64()
			}
		}
		return true
	})
	c := cause{level: r.Level, message: r.Message, shape: withoutNumbers(text)}
	if route != "" && status != 0 { // without a status: an error, which has one cause on all routes
		c.answer = answer{route, status / 100}
	}
	return c
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
