package browsertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Log records the events of a tab since Watch. It is safe for concurrent use.
type Log struct {
	mu         sync.Mutex
	complaints []string
	requests   []string
	frames     []string
}

// Watch starts to record. Call it before the page is opened.
func Watch(t testing.TB, ctx context.Context) *Log {
	t.Helper()

	l := &Log{}
	err := chromedp.Listen(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			l.complain("exception: " + exceptionText(e.ExceptionDetails))
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
				l.complain("console: " + text(e.Args))
			}
		case *log.EventEntryAdded:
			if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
				l.complain(fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL))
			}
		case *network.EventRequestWillBeSent:
			l.request(e.Request.URL)
		case *network.EventWebSocketFrameReceived:
			l.frame(string(e.Response.PayloadData))
		}
	})
	if err != nil {
		t.Fatalf("browser: listen: %v", err)
	}

	return l
}

// Complaints returns the exceptions, console errors and warnings, failed
// requests and violations of the page's security policy, oldest first.
func (l *Log) Complaints() []string {
	l.mu.Lock()
	defer l.mu.Unlock()

	return slices.Clone(l.complaints)
}

// Outside returns the requests to origins other than the given one. Data inside
// the page (data: and blob:) doesn't count.
func (l *Log) Outside(origin string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()

	var outside []string
	for _, url := range l.requests {
		inside := strings.HasPrefix(url, origin+"/") || strings.HasPrefix(url, "data:") || strings.HasPrefix(url, "blob:")
		if !inside {
			outside = append(outside, url)
		}
	}

	return outside
}

// Received reports whether a message that came on a WebSocket contains the text.
func (l *Log) Received(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()

	return slices.ContainsFunc(l.frames, func(frame string) bool { return strings.Contains(frame, text) })
}

func (l *Log) frame(data string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frames = append(l.frames, data)
}

func (l *Log) complain(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.complaints = append(l.complaints, text)
}

func (l *Log) request(url string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests = append(l.requests, url)
}

func text(args []*runtime.RemoteObject) string {
	var words []string
	for _, arg := range args {
		if len(arg.Value) > 0 {
			words = append(words, string(arg.Value))
		} else {
			words = append(words, arg.Description)
		}
	}

	return strings.Join(words, " ")
}

func exceptionText(details *runtime.ExceptionDetails) string {
	if details.Exception != nil && details.Exception.Description != "" {
		return details.Exception.Description
	}

	return details.Text
}
