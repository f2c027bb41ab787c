package cdnlog

import (
	"bytes"
)

// cloudFront parses CloudFront's standard logs (Developer Guide, "Standard logging reference"). Times are in UTC, and sc-bytes includes
// the headers.
type cloudFront struct {
	// The positions of the fields.
	date, time, size, path, status, last int
	lacking                              bool
}

// newCloudFront returns a parser for the fields of legacy logs, until a line #Fields names others.
func newCloudFront() *cloudFront {
	return &cloudFront{date: 0, time: 1, size: 3, path: 7, status: 8, last: 8}
}

func (c *cloudFront) parse(line []byte) (Row, bool, error) {
	if len(line) > 0 && line[0] == '#' {
		return Row{}, false, c.head(line)
	}
	if c.lacking {
		return Row{}, false, errHeader
	}
	const most = 64
	var fields [most][]byte
	n := 0
	for ; n <= c.last; n++ {
		tab := bytes.IndexByte(line, '\t')
		if tab < 0 {
			fields[n] = line
			n++
			break
		}
		fields[n], line = line[:tab], line[tab+1:]
	}
	if n <= c.last {
		return Row{}, false, errFields
	}
	year, month, dayOfMonth, ok := day(fields[c.date])
	hour, minute, second, fine := clock(fields[c.time])
	if !ok || !fine {
		return Row{}, false, errTime
	}
	at, ok := date(year, month, dayOfMonth, hour, minute, second)
	if !ok {
		return Row{}, false, errTime
	}
	return check(at, fields[c.path], fields[c.status], fields[c.size])
}

// head reads the positions of the fields from a line #Fields. Other lines with a # are comments.
func (c *cloudFront) head(line []byte) error {
	list, ok := bytes.CutPrefix(line, []byte("#Fields:"))
	if !ok {
		return nil
	}
	const most = 64
	found := cloudFront{date: most, time: most, size: most, path: most, status: most}
	for i, name := range bytes.Fields(list) {
		switch string(name) {
		case "date":
			found.date = i
		case "time":
			found.time = i
		case "sc-bytes":
			found.size = i
		case "cs-uri-stem":
			found.path = i
		case "sc-status":
			found.status = i
		}
	}
	found.last = max(found.date, found.time, found.size, found.path, found.status)
	found.lacking = found.last >= most
	*c = found
	if found.lacking {
		return errHeader
	}
	return nil
}

// combined parses the common and the combined log format: %h %l %u [%t] "%r" %>s %b, and any more fields. Anything may be in front of
// the time, such as a syslog header.
type combined struct{}

func (combined) parse(line []byte) (Row, bool, error) {
	stamp, rest, ok := stamped(line)
	if !ok {
		return Row{}, false, errTime
	}
	at, ok := stampTime(stamp)
	if !ok {
		return Row{}, false, errTime
	}
	request, rest, ok := quoted(rest)
	if !ok {
		return Row{}, false, errFields
	}
	status, rest := word(rest)
	size, _ := word(rest)
	// GET /path HTTP/1.1
	_, target, ok := bytes.Cut(request, []byte(" "))
	if !ok {
		return Row{}, false, errPath
	}
	target, _, _ = bytes.Cut(target, []byte(" "))
	return check(at, target, status, size)
}

// stampLength is the length of 02/Jan/2006:15:04:05 -0700.
const stampLength = len("02/Jan/2006:15:04:05 -0700")

// stamped finds [02/Jan/2006:15:04:05 -0700] in front of a quote. Clients choose the name of the user, which is in front of it, but
// servers escape the quotes in it.
func stamped(line []byte) (stamp, rest []byte, ok bool) {
	const end = `] "`
	for from := 0; ; {
		found := bytes.Index(line[from:], []byte(end))
		if found < 0 {
			return nil, nil, false
		}
		closing := from + found
		from = closing + len(end)
		if open := closing - stampLength - 1; open >= 0 && line[open] == '[' {
			return line[open+1 : closing], line[from:], true
		}
	}
}

// stampTime parses 02/Jan/2006:15:04:05 -0700.
func stampTime(text []byte) (at int64, ok bool) {
	if text[2] != '/' || text[6] != '/' || text[11] != ':' || text[20] != ' ' || text[21] != '+' && text[21] != '-' {
		return 0, false
	}
	dayOfMonth, ok := digits(text, 2)
	year, fine := digits(text[7:], 4)
	hour, minute, second, timed := clock(text[12:])
	hours, known := digits(text[22:], 2)
	minutes, complete := digits(text[24:], 2)
	if !ok || !fine || !timed || !known || !complete {
		return 0, false
	}
	if at, ok = date(year, monthOf(text[3:6]), dayOfMonth, hour, minute, second); !ok {
		return 0, false
	}
	offset := int64(hours*3600 + minutes*60)
	if text[21] == '+' {
		offset = -offset
	}
	return at + offset, true
}

// monthOf returns 1 for Jan; 0 for a text that is no month.
func monthOf(name []byte) int {
	const names = "JanFebMarAprMayJunJulAugSepOctNovDec"
	for i := 0; i < len(names); i += 3 {
		if string(name) == names[i:i+3] {
			return i/3 + 1
		}
	}
	return 0
}

// quoted returns a text up to the next quote that has no backslash before it.
func quoted(text []byte) (inside, rest []byte, ok bool) {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return text[:i], text[i+1:], true
		}
	}
	return nil, nil, false
}

// word returns the first word of a text.
func word(text []byte) (first, rest []byte) {
	text = bytes.TrimLeft(text, " ")
	if end := bytes.IndexByte(text, ' '); end >= 0 {
		return text[:end], text[end:]
	}
	return text, nil
}

// bunny parses the log of bunny.net (Help, "CDN raw log format"): cache status, code, milliseconds since 1970, bytes, pull zone, address,
// referrer, URL, location, browser, request, country. A line with another number of fields is refused: clients choose the referrer, and a
// | in it would put a part of it into the place of the URL.
type bunny struct{}

func (bunny) parse(line []byte) (Row, bool, error) {
	const all = 12
	var fields [all][]byte
	for i := range fields {
		var more bool
		fields[i], line, more = bytes.Cut(line, []byte("|"))
		if more != (i < all-1) {
			return Row{}, false, errCount
		}
	}
	at, ok := epoch(fields[2])
	if !ok {
		return Row{}, false, errTime
	}
	return check(at, fields[7], fields[1], fields[3])
}
