// Package cdnlog reads the access logs of CDNs: lines in several formats, also compressed with gzip. It keeps sums of the bytes by hour
// and resource, so its memory doesn't grow with the length of a log.
package cdnlog

import (
	"bytes"
	"errors"
	"strconv"
	"time"
)

// Format is the name of a CDN's log format.
type Format string

// The formats.
const (
	// CloudFront is Amazon CloudFront's standard log: fields with tabs between, named by a line #Fields.
	CloudFront Format = "cloudfront"
	// Combined is the format of nginx, Apache and many other servers, which is also the default of Fastly's log streams (there
	// without the last two fields).
	Combined Format = "combined"
	// Cloudflare is Logpush's data set http_requests as JSON lines.
	Cloudflare Format = "cloudflare"
	// Bunny is the log of bunny.net: fields with | between.
	Bunny Format = "bunny"
	// Akamai is DataStream 2 as JSON lines.
	Akamai Format = "akamai"
)

// Formats lists the formats.
func Formats() []Format { return []Format{CloudFront, Combined, Cloudflare, Bunny, Akamai} }

// Row is a request that a CDN answered.
type Row struct {
	// At is in seconds since 1970.
	At int64
	// Path begins with a slash and has no query. It is valid until the next line is parsed.
	Path   []byte
	Status int
	// Bytes that were sent to the viewer.
	Bytes int64
}

// MaxBytes is the largest size of one answer, in bytes: 1 TiB.
const MaxBytes = 1 << 40

// maxTotal is the largest sum of a file, in bytes: 1 EiB.
const maxTotal = 1 << 60

// The oldest and the newest rows that are accepted, before and after now.
const (
	MaxAge    = 400 * 24 * time.Hour
	MaxFuture = 24 * time.Hour
)

// Errors of lines. They quote nothing of a line, because it may hold a viewer's address or a token.
var (
	errFields = errors.New("too few fields")
	errCount  = errors.New("not 12 fields")
	errTime   = errors.New("the time can't be read")
	errPath   = errors.New("the path can't be read")
	errStatus = errors.New("the status is no number from 100 to 599")
	errBytes  = errors.New("the bytes are no number from 0 to 1 TiB")
	errJSON   = errors.New("no JSON object")
	errLong   = errors.New("longer than 64 KiB")
	errAge    = errors.New("older than 400 days")
	errFuture = errors.New("more than a day in the future")
	errSum    = errors.New("the sum of the file is beyond 1 EiB")
	errHeader = errors.New("the line #Fields lacks date, time, sc-bytes, cs-uri-stem or sc-status")
)

// parser parses the lines of one file, in order.
type parser interface {
	// parse returns the row of a line without its end. ok is false for a line that is no row, such as a heading.
	parse(line []byte) (row Row, ok bool, err error)
}

// newParser returns a parser, or nil for an unknown format.
func newParser(f Format) parser { //nolint:ireturn // the formats share nothing but the interface
	switch f {
	case CloudFront:
		return newCloudFront()
	case Combined:
		return combined{}
	case Cloudflare:
		return cloudflare{}
	case Bunny:
		return bunny{}
	case Akamai:
		return akamai{}
	}
	return nil
}

// check returns a row with these parts.
func check(at int64, target, status, size []byte) (Row, bool, error) {
	path, ok := pathOf(target)
	if !ok {
		return Row{}, false, errPath
	}
	const lowest, highest = 100, 599
	code, ok := number(status)
	if !ok || code < lowest || code > highest {
		return Row{}, false, errStatus
	}
	sent, ok := number(size)
	if !ok && !bytes.Equal(size, []byte("-")) || sent > MaxBytes {
		return Row{}, false, errBytes
	}
	return Row{At: at, Path: path, Status: int(code), Bytes: sent}, true, nil
}

// pathOf returns the path of a request's target: a path or a URL, with or without a query.
func pathOf(target []byte) ([]byte, bool) {
	if scheme := bytes.Index(target, []byte("://")); scheme > 0 && target[0] != '/' {
		target = target[scheme+len("://"):]
		slash := bytes.IndexByte(target, '/')
		if slash < 0 {
			return []byte("/"), true
		}
		target = target[slash:]
	}
	if query := bytes.IndexByte(target, '?'); query >= 0 {
		target = target[:query]
	}
	return target, len(target) > 0 && target[0] == '/'
}

// number parses a decimal number of at most 18 digits.
func number(text []byte) (n int64, ok bool) {
	const longest = 18
	if len(text) == 0 || len(text) > longest {
		return 0, false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	return n, true
}

// digits parses a number of a fixed length at the beginning of a text that is long enough.
func digits(text []byte, length int) (n int, ok bool) {
	n64, ok := number(text[:length])
	return int(n64), ok
}

// epoch parses a time as a number since 1970: seconds, also with a fraction, or milliseconds, microseconds or nanoseconds. Its length
// tells the unit; seconds have 10 digits until the year 2286.
func epoch(text []byte) (int64, bool) {
	if dot := bytes.IndexByte(text, '.'); dot >= 0 {
		if _, ok := number(text[dot+1:]); !ok {
			return 0, false
		}
		text = text[:dot]
	}
	const nanoseconds, milliseconds, microseconds = 19, 13, 16
	var unit int64 = 1
	switch len(text) {
	case nanoseconds:
		n, err := strconv.ParseInt(string(text), 10, 64)
		return n / int64(time.Second), err == nil
	case microseconds:
		unit = 1_000_000
	case milliseconds:
		unit = 1000
	}
	n, ok := number(text)
	return n / unit, ok
}

// date returns the seconds since 1970 of a time in UTC.
func date(year, month, day, hour, minute, second int) (int64, bool) {
	if month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60 {
		return 0, false
	}
	return time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC).Unix(), true
}

// clock parses 15:04:05 at the beginning of a text.
func clock(text []byte) (hour, minute, second int, ok bool) {
	const length = len("15:04:05")
	if len(text) < length || text[2] != ':' || text[5] != ':' {
		return 0, 0, 0, false
	}
	hour, ok = digits(text, 2)
	if ok {
		minute, ok = digits(text[3:], 2)
	}
	if ok {
		second, ok = digits(text[6:], 2)
	}
	return hour, minute, second, ok
}

// day parses 2006-01-02 at the beginning of a text.
func day(text []byte) (year, month, dayOfMonth int, ok bool) {
	const length = len("2006-01-02")
	if len(text) < length || text[4] != '-' || text[7] != '-' {
		return 0, 0, 0, false
	}
	year, ok = digits(text, 4)
	if ok {
		month, ok = digits(text[5:], 2)
	}
	if ok {
		dayOfMonth, ok = digits(text[8:], 2)
	}
	return year, month, dayOfMonth, ok
}
