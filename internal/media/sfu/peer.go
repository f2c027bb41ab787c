package sfu

import (
	"crypto/rand"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxInbox is how many messages of a client may wait to be handled.
const maxInbox = 16

// An ICE restart of the subscribe connection makes an offer of all tracks and applies its answer:
// more than 100 ms of a core for 500 tracks. A participant may request restartBurst at once, and
// one more every restartEvery. The same limits apply, counted apart, to the replacement of a
// connection that the client has closed, which costs even more.
const (
	restartBurst = 3
	restartEvery = 10 * time.Second
)

// muteRate is how many mutes of a microphone a second are stored, and muteBurst how many at once.
const muteRate, muteBurst = 2, 10

// reasonLeft and reasonLost are the reasons of participants that left by themselves.
const (
	reasonLeft = "left"
	reasonLost = "lost"
)

// peer is a participant's connection: two peer connections, and a socket that may be lost for a
// while. Only its goroutine touches the fields from inbox on.
type peer struct {
	server *Server
	room   *room
	// token is the token that it joined with, connID the id of the connection, and resume the
	// secret with which the client may resume.
	token, connID, resume string
	connection            Connection
	// ip is the address of its first socket.
	ip string
	// watches reports whether the participant is a watcher (Config.MaxWatchers). since is the time at which it joined.
	watches bool
	since   time.Time
	// tenantID is the tenant of its token, which a watcher is counted for.
	tenantID string
	// from is the part of ip that rate limits count.
	from netip.Addr

	out *outbox
	box *mailbox
	// ending is closed when the peer is to end, for reason; done is closed when it has ended.
	ending, done chan struct{}
	endOnce      sync.Once
	reason       string

	inbox  chan message
	socket *socket
	// expected is the longest description, in bytes, that the client's socket accepts beyond the
	// usual limit of messages.
	expected int
	grace    *time.Timer
	grant    Grant
	// pace limits data messages, haste limits offers, restarts limits ICE restarts of the subscribe
	// connection, renewals limits its replacements, and mutes limits stored mutes of the microphone.
	pace, haste, restarts, renewals, mutes *rate.Limiter

	pub      *publisher
	sub      *subscriber
	errand   errand
	fallback fallback
}

func newPeer(s *Server, token string) *peer {
	limits := s.config.Limits
	p := &peer{
		server: s, token: token, connID: s.newConnID(), resume: rand.Text(),
		out: newOutbox(s.config.Now, limits.DeadAfter+limits.ResumeFor+limits.WriteTime), box: newMailbox(),
		ending: make(chan struct{}), done: make(chan struct{}), inbox: make(chan message, maxInbox),
		grace: time.NewTimer(time.Hour), pace: rate.NewLimiter(rate.Limit(limits.Data), 4*limits.Data),
		haste: rate.NewLimiter(rate.Limit(limits.Offers), 4*limits.Offers), mutes: rate.NewLimiter(muteRate, muteBurst),
		restarts: rate.NewLimiter(rate.Every(restartEvery), restartBurst), renewals: rate.NewLimiter(rate.Every(restartEvery), restartBurst),
	}
	p.grace.Stop()
	p.pub, p.sub, p.fallback.p = newPublisher(p), newSubscriber(p), p
	return p
}

// send queues a message for the client. A client that reads too slowly is disconnected.
func (p *peer) send(data []byte) {
	if !p.out.add(data) {
		p.end(&ClientError{Code: CodeSlow})
	}
}

// expect lets the client send a description of so many bytes; 0 when none is expected. A long
// message is accepted only as the answer to a request for one.
func (p *peer) expect(bytes int) {
	p.expected = bytes
	if p.socket != nil {
		p.socket.limit(bytes)
	}
}

// fail sends the client an error about one of its messages.
func (p *peer) fail(re any, code, text string) {
	p.send(encode(errorMessage{Type: typeError, Re: re, Code: code, Message: text}))
}

// end sends a bye and ends the participant. It is safe for concurrent use.
func (p *peer) end(r *ClientError) {
	p.endOnce.Do(func() {
		p.reason = r.Code
		p.server.countRefused(r.Code)
		p.out.end(encode(byeFor(r)))
		close(p.ending)
	})
}

// quit ends the participant without a bye, for one of the reasons above.
func (p *peer) quit(reason string) {
	p.endOnce.Do(func() {
		p.reason = reason
		close(p.ending)
	})
}

// run is the main function of the peer's goroutine.
func (p *peer) run() {
	defer close(p.done)
	func() {
		defer p.server.recovered("a participant's connection")
		p.loop()
	}()
	p.end(&ClientError{Code: CodeInternal}) // has an effect only after a panic: otherwise the peer is ending already
	p.room.box.post(func() { p.room.leave(p, p.reason) })
	func() {
		defer p.server.recovered("closing a mailbox")
		p.box.close()
	}()
	func() {
		defer p.server.recovered("closing a connection")
		p.pub.close()
		p.sub.close()
	}()
	p.server.unrelay(p.connID)
	p.errand.wait()
	// Also when it was replaced: the replacing connection may be gone itself. The gate knows which
	// connection is the valid one.
	p.server.leave(p.connection)
	p.grace.Stop()
	if p.socket != nil && p.reason == reasonLeft {
		p.socket.cancel()
	}
	p.server.left(p)
}

func (p *peer) loop() {
	for {
		select {
		case <-p.box.wake:
			p.box.run()
		case m := <-p.inbox:
			// The box may hold work that the message refers to.
			p.box.run()
			p.handle(m)
		case <-p.sub.debounce.C:
			p.sub.offer()
		case <-p.grace.C:
			p.quit(reasonLost)
		case <-p.ending:
			return
		}
	}
}

func (p *peer) handle(m message) {
	switch {
	case m.Type == typePing:
		p.send(encode(pongMessage{typePong, m.Time}))
	case m.Type == typeLeave:
		p.quit(reasonLeft)
	case p.grant.waits():
		p.fail(m.re(), codeWaits, "wait until you are admitted")
	case m.Type == typeOffer && !p.haste.Allow():
		p.fail(m.ID, CodeRateLimited, "too many offers; wait before the next")
	case m.Type == typeOffer:
		p.pub.handleOffer(m)
	case m.Type == typeAnswer:
		p.sub.handleAnswer(m)
	case m.Type == typeRestart && m.PC == pcSubscribe:
		p.restart()
	case m.Type == typeMute:
		p.mute(m)
	case m.Type == typeView:
		p.sub.setViews(m.Views)
	case m.Type == typeData:
		p.data(m)
	}
	// Candidates are ignored: as an ICE-lite agent, the server doesn't connect to clients.
}

// restart makes an offer with new ICE credentials on the subscribe connection.
func (p *peer) restart() {
	if !p.restarts.Allow() {
		p.fail(typeRestart, CodeRateLimited, "too many restarts; wait 10 seconds before the next")
		return
	}
	p.sub.restartICE()
}

func (p *peer) data(m message) {
	if !p.pace.Allow() {
		p.fail(nil, CodeRateLimited, "too many data messages; this one was dropped")
		return
	}
	p.room.box.post(func() { p.room.data(p, m) })
}

// mute mutes one of the peer's tracks or undoes that. The state of a microphone is also stored, and
// a microphone is unmuted once the gate has stored it.
func (p *peer) mute(m message) {
	source, ok := p.pub.source(m.Track)
	if !ok {
		p.fail(m.Track, codeNotFound, "you publish no such track")
		return
	}
	if source == sourceMicrophone {
		p.errand.store(p, m)
		return
	}
	// Without a microphone, unmuting the screen's audio undoes a moderator's mute.
	unmutes := source == sourceScreenAudio && !m.Muted && p.grant.Silenced && !p.pub.publishes(sourceMicrophone)
	p.room.box.post(func() { p.room.mute(p, m.Track, m.Muted, unmutes) })
	if unmutes {
		p.errand.store(p, m)
	}
}

func (p *peer) subscribe(t *track)    { p.sub.add(t) }
func (p *peer) unsubscribe(id string) { p.sub.remove(id) }

// setGrant stores a new grant and ends the tracks that it no longer permits.
func (p *peer) setGrant(g Grant) {
	p.grant = g
	p.pub.enforce()
}

// attach gives the peer a new socket, which continues after a message; false when it can't. It is
// called from the socket's goroutine.
func (p *peer) attach(x *socket, after uint64) bool {
	result := make(chan bool, 1)
	posted := p.box.post(func() {
		if old := p.socket; old != nil {
			old.cancel()
			<-old.wrote
			p.socket = nil
		}
		p.grace.Reset(p.server.config.Limits.ResumeFor)
		ok := p.out.resume(after)
		if ok {
			p.socket = x
			x.limit(p.expected)
			p.grace.Stop()
			p.room.box.post(func() { p.room.rewelcome(p) })
		}
		result <- ok
	})
	if !posted {
		return false
	}
	select {
	case ok := <-result:
		return ok
	case <-p.done:
		return false
	}
}

// detach notes that a socket is dead.
func (p *peer) detach(x *socket) {
	p.box.post(func() {
		if p.socket == x {
			p.socket = nil
			p.grace.Reset(p.server.config.Limits.ResumeFor)
		}
	})
}

// errand stores at the gate whether the microphone is muted, one call at a time. Of several changes
// during a call, only the last is stored.
type errand struct {
	mu   sync.Mutex
	next *message
	busy bool
	// silencing: the microphone is muted in the room until the gate has stored all changes.
	silencing bool
	idle      sync.WaitGroup
}

func (e *errand) store(p *peer, m message) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.next = &m
	if m.Muted && !e.silencing {
		e.silencing = true
		p.room.box.post(func() { p.room.muteSelf(p, true) })
	}
	if e.busy {
		return
	}
	e.busy = true
	e.idle.Go(func() {
		for m := e.take(p); m != nil; m = e.take(p) {
			p.awaitMute()
			m = e.newest(m)
			func() {
				defer p.server.recovered("an errand")
				if err := p.server.setMuted(p.connection, m.Muted); err != nil {
					p.fail(m.Track, CodeInternal, "the microphone's state could not be stored; try again")
				}
			}()
		}
	})
}

// take returns the next change to store; nil when there is none.
func (e *errand) take(p *peer) *message {
	e.mu.Lock()
	defer e.mu.Unlock()
	m := e.next
	if e.next = nil; m != nil {
		return m
	}
	e.busy = false
	if e.silencing {
		e.silencing = false
		p.room.box.post(func() { p.room.muteSelf(p, false) })
	}
	return nil
}

// newest returns the message that arrived after m was taken, or else m.
func (e *errand) newest(m *message) *message {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.next != nil {
		m, e.next = e.next, nil
	}
	return m
}

// awaitMute waits until the rate limit allows another write of the microphone's state, or the peer
// ends. Each write is a transaction and an announcement to all members.
func (p *peer) awaitMute() {
	now := p.server.config.Now()
	wait := p.mutes.ReserveN(now, 1).DelayFrom(now)
	if wait <= 0 {
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.ending:
	}
}

func (e *errand) wait() { e.idle.Wait() }
