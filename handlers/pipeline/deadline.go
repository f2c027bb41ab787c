package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"

	"showfloor/internal/base/problem"
)

const (
	// defaultRequestTime is the time within which an operation without x-timeout must answer.
	defaultRequestTime = 10 * time.Second
	// lateTime is how long a handler may still answer after its context has ended. The
	// handler's own answer is better than the generic timeout, because it names the failure.
	lateTime = 500 * time.Millisecond
	// responseTime is the longest time for any response, measured from the request's
	// header. Playback sets shorter limits of its own.
	responseTime = 2 * time.Minute
	// sendTime is the time within which the client must read an operation's answer.
	sendTime = 30 * time.Second
	// maxUnfinished limits the handlers that still run after their request was
	// answered. Beyond it requests are refused, because each handler would keep memory
	// for as long as the database doesn't answer.
	maxUnfinished = 1000
)

// Unfinished counts the handlers that still run after their request was answered
// with "timeout", such as a write that must not be interrupted.
type Unfinished struct{ n atomic.Int64 }

// Count returns their current number.
func (u *Unfinished) Count() int64 { return u.n.Load() }

// timeoutOf returns an operation's x-timeout, which is in seconds. It is for
// operations that wait for another server or take large bodies.
func timeoutOf(op *openapi3.Operation) (time.Duration, error) {
	stated, ok := op.Extensions["x-timeout"]
	if !ok {
		return defaultRequestTime, nil
	}
	seconds, ok := stated.(float64)
	if !ok || seconds < 1 || seconds > 300 {
		return 0, fmt.Errorf("%s: x-timeout can't be %v", op.OperationID, stated)
	}
	return time.Duration(seconds) * time.Second, nil
}

// deadline limits the time in which each operation is answered.
type deadline struct {
	contract   *contract
	webSockets WebSockets
	// scale is Settings.RequestTime divided by defaultRequestTime.
	scale      float64
	unfinished *Unfinished
}

// layer gives an operation's handler a context that ends with the operation's time. A handler that ignores
// its context, such as a write that must not be interrupted, doesn't keep the client waiting: except for GET, handlers run in a
// goroutine of their own, with a buffer for the answer. Such a handler runs on, and its answer is stored under the
// request's Idempotency-Key. A GET ends with its context (except on capture URLs); the goroutine would cost half as much as
// all layers together. A GET handler that ignored its context would delay the answer.
//
// Media, pages and WebSockets are not operations and have limits of their own.
func (d deadline) layer(next echo.HandlerFunc) echo.HandlerFunc {
	return func(e echo.Context) error {
		op := d.contract.find(e)
		connection := http.NewResponseController(e.Response())
		_ = connection.SetWriteDeadline(time.Now().Add(responseTime)) // replaces the deadline of the connection's last request
		if op == nil || d.webSockets.Wants(e.Path(), e.Request()) {
			return next(e)
		}
		if op.class != classNone && d.unfinished.Count() >= maxUnfinished { // health checks still answer: the process is alive
			return problem.New(problem.Unavailable, "unavailable",
				"the server still works on requests that it couldn't answer in time; try again later")
		}
		limit := time.Duration(float64(op.timeout) * d.scale)
		if e.Request().Method == http.MethodGet && !op.anything {
			_ = connection.SetWriteDeadline(time.Now().Add(limit + sendTime))
			return read(e, next, limit)
		}
		run := d.start(e, next, limit)
		select {
		case <-run.done:
		case <-run.clock.late:
			if run.state.CompareAndSwap(running, abandoned) {
				d.unfinished.n.Add(1)
				return timedOut(e.Request().Method)
			}
			<-run.done
		}
		_ = connection.SetWriteDeadline(time.Now().Add(sendTime))
		return run.copyTo(e)
	}
}

// read runs the handler of a GET with a context that ends after limit.
func read(e echo.Context, next echo.HandlerFunc, limit time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(e.Request().Context(), limit, errTimeout)
	defer cancel()
	e.SetRequest(e.Request().WithContext(ctx))
	if err := next(e); err != nil {
		e.Error(err) // writes the answer, which depends on whether ctx has ended by itself
	}
	return nil
}

// run is a handler that runs in its own goroutine.
type run struct {
	state    atomic.Int32
	done     chan struct{} // closed when it has finished
	clock    *clock
	inner    echo.Context
	answer   heldAnswer
	panicked any
}

// States of a run. The handler and the clock compete to change it from running; the
// first one decides the answer.
const (
	running int32 = iota
	finished
	abandoned
)

// start runs the handler on a new echo.Context, because echo reuses the request's own
// as soon as the request is answered.
func (d deadline) start(e echo.Context, next echo.HandlerFunc, limit time.Duration) *run {
	ctx, cancel := context.WithCancelCause(e.Request().Context())
	r := &run{done: make(chan struct{}), answer: heldAnswer{header: e.Response().Header().Clone()}, clock: newClock(limit, cancel)}
	inner := e.Request().WithContext(ctx)
	if inner.Body != nil && inner.Body != http.NoBody {
		inner.Body = &timedBody{inner.Body, r.clock}
	}
	r.inner = e.Echo().NewContext(inner, &r.answer)
	r.inner.SetPath(e.Path())
	r.inner.SetParamNames(e.ParamNames()...)
	r.inner.SetParamValues(e.ParamValues()...)
	r.inner.SetHandler(e.Handler())
	go func() {
		defer cancel(nil)
		defer func() {
			r.panicked = recover() // such as http.ErrAbortHandler, which the layer "recovery" passes on
			r.clock.stop()
			if !r.state.CompareAndSwap(running, finished) {
				d.unfinished.n.Add(-1)
			}
			close(r.done)
		}()
		if err := next(r.inner); err != nil {
			r.inner.Error(err) // writes the answer
		}
	}()
	return r
}

// copyTo sends the handler's answer to the client.
func (r *run) copyTo(e echo.Context) error {
	if r.panicked != nil {
		panic(r.panicked)
	}
	e.SetRequest(r.inner.Request()) // its context holds the caller, for the log
	maps.Copy(e.Response().Header(), r.answer.header)
	e.Response().WriteHeader(r.answer.code())
	_, err := e.Response().Write(r.answer.body.Bytes())
	return err
}

// clock ends a request's context when the request's time is over. Time in which the
// body arrives doesn't count: net/http limits it, and the sender causes it.
type clock struct {
	// late is closed when the handler hasn't answered within lateTime either.
	late  chan struct{}
	timer *time.Timer
	ends  time.Time
	left  time.Duration // while it is paused
}

// errTimeout is the cause of a context that ends because the request's time is over.
var errTimeout = fmt.Errorf("the request's time is over: %w", context.DeadlineExceeded)

func newClock(limit time.Duration, cancel context.CancelCauseFunc) *clock {
	c := &clock{late: make(chan struct{}), ends: time.Now().Add(limit)}
	c.timer = time.AfterFunc(limit, func() {
		cancel(errTimeout)
		time.AfterFunc(lateTime, func() { close(c.late) })
	})
	return c
}

// pause, resume and stop are called only by the handler's goroutine.
func (c *clock) pause() {
	if c.timer.Stop() {
		c.left = max(time.Until(c.ends), 1)
	}
}

func (c *clock) resume() {
	if c.left > 0 {
		c.ends = time.Now().Add(c.left)
		c.timer.Reset(c.left)
		c.left = 0
	}
}

func (c *clock) stop() { c.timer.Stop() }

// timedBody pauses the clock while the body arrives.
type timedBody struct {
	io.ReadCloser

	clock *clock
}

// Read implements io.Reader.
func (b *timedBody) Read(p []byte) (int, error) {
	b.clock.pause()
	defer b.clock.resume()
	return b.ReadCloser.Read(p)
}

// timeIsOver reports whether ctx has ended because the request's time was over.
func timeIsOver(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errTimeout) }

// timedOut returns the problem of a request that was not answered in time.
func timedOut(method string) *problem.Error {
	text := "the server couldn't answer in time; try again"
	if method != http.MethodGet && method != http.MethodHead {
		text += ". The request may still be carried out: repeat it with the same Idempotency-Key, or check before you repeat it"
	}
	return problem.New(problem.Unavailable, "timeout", "%s", text)
}
