package restream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"unicode"

	"showfloor/internal/media/rtmp"
	"showfloor/internal/media/rtmpurl"
)

// maxDescription is how much of a target's own text is shown, in bytes.
const maxDescription = 200

// unsupportedError is a codec that the target doesn't take.
type unsupportedError struct{ has, wants string }

func (e *unsupportedError) Error() string {
	return fmt.Sprintf("the target doesn't take %s: set the encoder to %s", e.has, e.wants)
}

func isRefused(err error) bool {
	_, ok := errors.AsType[*rtmp.RefusedError](err)
	return ok
}

// describe returns the text of an error for people. It holds nothing of the address, which errors of the network do.
func describe(a rtmpurl.Address, err error) string {
	e, connected := errors.AsType[*connectionError](err)
	if !connected {
		return clean(a, err.Error()) // an error of Dial
	}
	var network net.Error
	switch err := e.err; {
	case errors.Is(err, rtmp.ErrFlood):
		return "the target sends more data than a server that receives a stream: check its address"
	case isRefused(err):
		r, _ := errors.AsType[*rtmp.RefusedError](err)
		return refusedBegin + clean(a, joined(r.Code, r.Description))
	case isClosed(err) && e.asked && !e.accepted:
		return "the target closed the connection right after the stream began"
	case isClosed(err):
		return "the target closed the connection"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		if e.accepted {
			return "the target stopped receiving"
		}
		return "the target doesn't answer"
	}
	if u, ok := errors.AsType[*unsupportedError](err); ok {
		return u.Error()
	}
	if _, ok := errors.AsType[*net.OpError](e.err); ok {
		return "the connection to the target broke"
	}
	return clean(a, e.err.Error())
}

// refusedBegin begins the reason of a refusal; the target's own text follows.
const refusedBegin = "the target refused the stream: "

// joined returns a status code and its text as one text.
func joined(code, description string) string {
	return strings.Trim(strings.TrimSpace(code)+": "+strings.TrimSpace(description), ": ")
}

// clean makes a foreign text safe to store and to show.
func clean(a rtmpurl.Address, text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	text = a.Redact(text)
	if len(text) > maxDescription {
		text = strings.ToValidUTF8(text[:maxDescription], "") + "…"
	}
	return text
}
