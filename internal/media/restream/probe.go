package restream

import (
	"context"
	"crypto/tls"
	"net/http/httptrace"
	"strings"
	"sync"
	"time"

	"showfloor/internal/media/rtmp"
	"showfloor/internal/media/rtmpurl"
)

// Steps of a probe before the dialogue, in their order. Those of the dialogue are rtmp's.
const (
	StepDNS = "dns"
	StepTCP = "tcp"
	StepTLS = "tls"
)

// ProbeStep is one step of a probe. A step that isn't needed, such as the DNS look-up of an IP address, is left out.
type ProbeStep struct {
	Name string
	Took time.Duration
	// Failure is why the probe has ended here, for people; empty if the step succeeded.
	Failure string
}

// Probed is the result of a probe. No text holds a part of the address.
type Probed struct {
	// Steps are in order. The last one may have failed.
	Steps []ProbeStep
	// Answer is the target's own answer to the publish; empty for none.
	Answer string
	// KeyAccepted is nil if it isn't known: the target wasn't asked, or closed the connection without a reason.
	KeyAccepted *bool
	// Message is the result for people.
	Message string
	Took    time.Duration
}

// Probe publishes to a target without any media, ends the stream, and returns the result. It takes at most Limits.Probe, and 1 s for the
// end of the connection.
func (e *Engine) Probe(ctx context.Context, a rtmpurl.Address) Probed {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, e.config.Limits.Probe)
	defer cancel()
	p := &probe{engine: e, address: a}
	p.run(ctx)
	p.result.Steps, p.result.Took = p.steps.all(), time.Since(began)
	return p.result
}

// probeFinish bounds the end of a probe's connection.
const probeFinish = time.Second

type probe struct {
	engine  *Engine
	address rtmpurl.Address
	steps   steps
	result  Probed
}

func (p *probe) run(ctx context.Context) {
	conn, err := p.engine.config.Dial(httptrace.WithClientTrace(ctx, p.steps.trace()), p.address.Host, p.address.Secure)
	if err != nil {
		p.stopped(clean(p.address, err.Error()))
		return
	}
	config := p.engine.config.Limits.sender()
	config.Finish = min(config.Finish, probeFinish)
	config.Reached = p.reached
	p.steps.begin(string(rtmp.StepHandshake))
	to := rtmp.Destination{App: p.address.App, URL: p.address.URL, Key: p.address.Key}
	sender, asked, err := rtmp.NewSender(ctx, conn, to, config)
	if err != nil {
		p.ended(&connectionError{err: err, asked: asked})
		return
	}
	code, description := sender.Answer()
	p.result.Answer = clean(p.address, joined(code, description))
	p.observe(ctx, sender)
}

// reached ends a step and begins the next one.
func (p *probe) reached(step rtmp.SenderStep) {
	p.steps.end(string(step))
	switch step {
	case rtmp.StepHandshake:
		p.steps.begin(string(rtmp.StepConnect))
	case rtmp.StepConnect:
		p.steps.begin(string(rtmp.StepCreateStream))
	case rtmp.StepCreateStream:
		p.steps.begin(string(rtmp.StepPublish))
	case rtmp.StepPublish:
	}
}

// observe waits whether the target keeps the connection after it has accepted the publish. Some check the key only then.
func (p *probe) observe(ctx context.Context, sender *rtmp.Sender) {
	served := make(chan struct{})
	var reason error
	go func() {
		defer close(served)
		reason = sender.Serve()
	}()
	timer := time.NewTimer(p.engine.config.Limits.Hold)
	defer timer.Stop()
	select {
	case <-served:
		sender.Close()
		p.steps.reopen()
		p.ended(&connectionError{err: reason, asked: true})
		return
	case <-timer.C:
		p.result.KeyAccepted = new(true)
		p.result.Message = "the target accepted the stream"
	case <-ctx.Done():
		p.result.Message = "the test's time ended before the target had kept the connection for long enough"
	}
	sender.Finish(served)
	<-served
}

// ended is the end of a connection by the target or by a time limit.
func (p *probe) ended(err *connectionError) {
	if isRefused(err) && err.asked {
		p.result.KeyAccepted = new(false)
	}
	reason := describe(p.address, err)
	if isClosed(err.err) && err.asked {
		reason += ": usually the stream key is wrong"
	}
	if isRefused(err) {
		p.result.Answer = strings.TrimPrefix(reason, refusedBegin)
	}
	p.stopped(reason)
}

// stopped ends the probe in its current step.
func (p *probe) stopped(reason string) {
	p.result.Message = reason
	p.steps.fail(reason)
}

// steps collects the steps of a probe. Its methods may be called at the same time: a dialer connects to two addresses at once.
type steps struct {
	mu    sync.Mutex
	list  []ProbeStep
	began time.Time
	open  bool // the last one
}

// begin begins a step, unless it has begun.
func (s *steps) begin(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open || len(s.list) > 0 && s.list[len(s.list)-1].Name == name {
		return
	}
	s.list, s.began, s.open = append(s.list, ProbeStep{Name: name}), time.Now(), true
}

// end ends a step that succeeded.
func (s *steps) end(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open && s.list[len(s.list)-1].Name == name {
		s.close("")
	}
}

// reopen continues the last step.
func (s *steps) reopen() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = true
}

// fail ends the current step; it does nothing without one.
func (s *steps) fail(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open {
		s.close(reason)
	}
}

func (s *steps) close(failure string) {
	last := &s.list[len(s.list)-1]
	last.Took, last.Failure, s.open = time.Since(s.began), failure, false
}

func (s *steps) all() []ProbeStep {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]ProbeStep{}, s.list...)
}

func (s *steps) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		DNSStart: func(httptrace.DNSStartInfo) { s.begin(StepDNS) },
		DNSDone: func(d httptrace.DNSDoneInfo) {
			if d.Err == nil {
				s.end(StepDNS)
			}
		},
		ConnectStart: func(string, string) { s.begin(StepTCP) },
		ConnectDone: func(_, _ string, err error) {
			if err == nil {
				s.end(StepTCP)
			}
		},
		TLSHandshakeStart: func() { s.begin(StepTLS) },
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			if err == nil {
				s.end(StepTLS)
			}
		},
	}
}
