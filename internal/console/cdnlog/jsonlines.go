package cdnlog

import (
	"bytes"
	"encoding/json"
	"time"
)

// cloudflare parses JSON lines of Logpush's data set http_requests. The time may have any of its three forms: RFC 3339, seconds, or
// nanoseconds.
type cloudflare struct{}

func (cloudflare) parse(line []byte) (Row, bool, error) {
	var began, ended, uri, path, status, size []byte
	ok := members(line, func(name, value []byte) {
		switch string(name) {
		case "EdgeStartTimestamp":
			began = value
		case "EdgeEndTimestamp":
			ended = value
		case "ClientRequestURI":
			uri = value
		case "ClientRequestPath":
			path = value
		case "EdgeResponseStatus":
			status = value
		case "EdgeResponseBytes":
			size = value
		}
	})
	if !ok {
		return Row{}, false, errJSON
	}
	if uri == nil {
		uri = path
	}
	if ended == nil {
		ended = began
	}
	at, ok := moment(ended)
	if !ok {
		return Row{}, false, errTime
	}
	return check(at, uri, status, size)
}

// akamai parses JSON lines of DataStream 2 ("Data set parameters"). Values are texts or numbers. bytes are those of the body, totalBytes
// all of the answer; one of them must be logged.
type akamai struct{}

func (akamai) parse(line []byte) (Row, bool, error) {
	var began, path, status, body, all []byte
	ok := members(line, func(name, value []byte) {
		switch string(name) {
		case "reqTimeSec":
			began = value
		case "reqPath":
			path = value
		case "statusCode":
			status = value
		case "bytes":
			body = value
		case "totalBytes":
			all = value
		}
	})
	if !ok {
		return Row{}, false, errJSON
	}
	if body == nil {
		body = all
	}
	if len(path) > 0 && path[0] != '/' {
		path = append([]byte{'/'}, path...) // some logs leave it out
	}
	at, ok := epoch(began)
	if !ok {
		return Row{}, false, errTime
	}
	return check(at, path, status, body)
}

// moment parses an RFC 3339 time or a number since 1970.
func moment(text []byte) (int64, bool) {
	if len(text) < len("2006-01-02T15:04:05Z") || text[4] != '-' {
		return epoch(text)
	}
	if last := len(text) - 1; text[last] == 'Z' && text[10] == 'T' {
		year, month, dayOfMonth, ok := day(text)
		hour, minute, second, fine := clock(text[11:])
		if !ok || !fine {
			return 0, false
		}
		return date(year, month, dayOfMonth, hour, minute, second)
	}
	at, err := time.Parse(time.RFC3339Nano, string(text))
	return at.Unix(), err == nil
}

// members calls each for every member of a JSON object, with its name and value without quotes. Names with escapes and values that are
// neither texts nor numbers are left out. It reports whether the line is one object. It is several times as fast as encoding/json,
// because it makes no copies, and it is less strict: it doesn't check what it skips.
func members(line []byte, each func(name, value []byte)) bool {
	rest := space(line)
	if len(rest) == 0 || rest[0] != '{' {
		return false
	}
	rest = space(rest[1:])
	if len(rest) > 0 && rest[0] == '}' {
		return len(space(rest[1:])) == 0
	}
	for {
		if len(rest) == 0 || rest[0] != '"' {
			return false
		}
		name, after, ok := quoted(rest[1:])
		if !ok {
			return false
		}
		if after = space(after); len(after) == 0 || after[0] != ':' {
			return false
		}
		value, after, ok := jsonValue(space(after[1:]))
		if !ok {
			return false
		}
		if value != nil {
			each(name, value)
		}
		if rest = space(after); len(rest) == 0 {
			return false
		}
		switch rest[0] {
		case ',':
			rest = space(rest[1:])
		case '}':
			return len(space(rest[1:])) == 0
		default:
			return false
		}
	}
}

// jsonValue returns a value: the text of a string or number, and nil for another one, which is skipped.
func jsonValue(text []byte) (value, rest []byte, ok bool) {
	if len(text) == 0 {
		return nil, nil, false
	}
	switch text[0] {
	case '"':
		value, rest, ok = quoted(text[1:])
		if ok && bytes.IndexByte(value, '\\') >= 0 {
			var plain string
			if json.Unmarshal(text[:len(value)+2], &plain) != nil {
				return nil, nil, false
			}
			value = []byte(plain)
		}
		if ok && value == nil {
			value = []byte{}
		}
		return value, rest, ok
	case '{', '[':
		rest, ok = nested(text)
		return nil, rest, ok
	}
	end := bytes.IndexAny(text, ",} \t\r")
	if end <= 0 {
		return nil, nil, false
	}
	if c := text[0]; c >= '0' && c <= '9' {
		value = text[:end]
	}
	return value, text[end:], true
}

// nested skips an object or array.
func nested(text []byte) (rest []byte, ok bool) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			inside, _, ok := quoted(text[i+1:])
			if !ok {
				return nil, false
			}
			i += len(inside) + 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return text[i+1:], true
			}
		}
	}
	return nil, false
}

// space skips white space.
func space(text []byte) []byte {
	for len(text) > 0 && (text[0] == ' ' || text[0] == '\t' || text[0] == '\r') {
		text = text[1:]
	}
	return text
}
