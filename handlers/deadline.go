package handlers

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

	"showfloor/internal/problem"
)

const (
	// DefaultRequestTime is the time in which an operation without x-timeout has to
	// answer.
	DefaultRequestTime = 10 * time.Second
	// lateTime is how long a handler may still answer after its context has ended. Its
	// own answer is better than the layer's: it says what failed.
	lateTime = 500 * time.Millisecond
	// responseTime is how long any response may take, from the request's header on.
	// Playback sets shorter limits of its own.
	responseTime = 2 * time.Minute
	// sendTime is how long the client may take to read an operation's answer.
	sendTime = 30 * time.Second
	// maxUnfinished bounds the handlers that still run after their request was
	// answered. Beyond it requests are refused, because each would keep memory for as
	// long as the database doesn't answer.
	maxUnfinished = 1000
)

// Unfinished counts the handlers that still run after their request was answered
// with "timeout", such as a write that must not be torn apart.
type Unfinished struct{ n atomic.Int64 }

// Count returns how many there are now.
func (u *Unfinished) Count() int64 { return u.n.Load() }

// timeoutOf is an operation's x-timeout: the seconds that it may take. It is for
// operations that wait for somebody else's server or take large bodies.
func timeoutOf(op *openapi3.Operation) (time.Duration, error) {
	stated, ok := op.Extensions["x-timeout"]
	if !ok {
		return DefaultRequestTime, nil
	}
	seconds, ok := stated.(float64)
	if !ok || seconds < 1 || seconds > 300 {
		return 0, fmt.Errorf("%s: x-timeout can't be %v", op.OperationID, stated)
	}
	return time.Duration(seconds) * time.Second, nil
}

// deadline bounds the time in which each operation is answered.
type deadline struct {
	contract *contract
	// scale is Config.RequestTime in units of DefaultRequestTime.
	scale      float64
	unfinished *Unfinished
}

// layer runs an operation's handler in a goroutine of its own, with a buffer for the
// answer and a context that ends with the operation's time. A handler that ignores
// its context, such as a write that must not be torn apart, doesn't keep the client
// waiting: it runs on, and its answer is stored under the request's Idempotency-Key.
//
// Media, pages and WebSockets are not operations and have limits of their own.
func (d deadline) layer(next echo.HandlerFunc) echo.HandlerFunc {
	return func(e echo.Context) error {
		op := d.contract.find(e)
		connection := http.NewResponseController(e.Response())
		_ = connection.SetWriteDeadline(time.Now().Add(responseTime)) // in place of the last request's
		if op == nil || isUpgrade(e) {
			return next(e)
		}
		if op.class != classNone && d.unfinished.Count() >= maxUnfinished { // health tells that the process lives
			return problem.New(problem.Unavailable, "unavailable",
				"the server still works on requests that it couldn't answer in time; try again later")
		}
		run := d.start(e, next, time.Duration(float64(op.timeout)*d.scale))
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

// run is a handler at work.
type run struct {
	state    atomic.Int32
	done     chan struct{} // closed when it has finished
	clock    *clock
	inner    echo.Context
	answer   heldAnswer
	panicked any
}

// States of a run. The first one to leave running decides: the handler or the clock.
const (
	running int32 = iota
	finished
	abandoned
)

// start runs the handler on a context of its own: echo uses the request's again as
// soon as it is answered.
func (d deadline) start(e echo.Context, next echo.HandlerFunc, limit time.Duration) *run {
	ctx, cancel := context.WithCancelCause(e.Request().Context())
	r := &run{done: make(chan struct{}), answer: heldAnswer{header: e.Response().Header().Clone()}, clock: newClock(limit, cancel)}
	request := e.Request().WithContext(ctx)
	if request.Body != nil && request.Body != http.NoBody {
		request.Body = &timedBody{request.Body, r.clock}
	}
	r.inner = e.Echo().NewContext(request, &r.answer)
	r.inner.SetPath(e.Path())
	r.inner.SetParamNames(e.ParamNames()...)
	r.inner.SetParamValues(e.ParamValues()...)
	r.inner.SetHandler(e.Handler())
	go func() {
		defer cancel(nil)
		defer func() {
			r.panicked = recover() // what the layer "recovery" lets through
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

// copyTo sends the handler's answer.
func (r *run) copyTo(e echo.Context) error {
	if r.panicked != nil {
		panic(r.panicked)
	}
	e.SetRequest(r.inner.Request()) // whose context says for the log who called
	maps.Copy(e.Response().Header(), r.answer.header)
	e.Response().WriteHeader(r.answer.code())
	_, err := e.Response().Write(r.answer.body.Bytes())
	return err
}

// clock ends a request's context when its time is over. Time in which the body
// arrives doesn't count: net/http limits that, and the sender is at fault.
type clock struct {
	// late is closed when the handler has not answered either.
	late  chan struct{}
	timer *time.Timer
	ends  time.Time
	left  time.Duration // while it is paused
}

// errTimeout is the cause of a context that ends with the request's time.
var errTimeout = fmt.Errorf("the request's time is over: %w", context.DeadlineExceeded)

func newClock(limit time.Duration, cancel context.CancelCauseFunc) *clock {
	c := &clock{late: make(chan struct{}), ends: time.Now().Add(limit)}
	c.timer = time.AfterFunc(limit, func() {
		cancel(errTimeout)
		time.AfterFunc(lateTime, func() { close(c.late) })
	})
	return c
}

// pause, resume and stop belong to the handler's goroutine.
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

// timeIsOver tells whether ctx has ended because the request's time was over.
func timeIsOver(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errTimeout) }

// timedOut is the problem of a request that was not answered in time.
func timedOut(method string) *problem.Error {
	text := "the server couldn't answer in time; try again"
	if method != http.MethodGet && method != http.MethodHead {
		text += ". The request may still be carried out: repeat it with the same Idempotency-Key, or check before you repeat it"
	}
	return problem.New(problem.Unavailable, "timeout", "%s", text)
}
