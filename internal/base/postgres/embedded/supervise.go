package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

const (
	// stableAfter is how long the server must run after a restart so that the next
	// restart has no pause again.
	stableAfter = time.Minute
	// restartTime limits one restart. Crash recovery replays the writes since the last
	// checkpoint, which takes seconds, or minutes on a slow disk.
	restartTime = 5 * time.Minute
	// noticeTime is how long the detection of the process's end may take after its
	// socket refuses connections.
	noticeTime = 100 * time.Millisecond
)

// defaultRestartPauses are the pauses before the attempts to restart the server, one for
// each attempt. If all of these attempts fail in a row, no further one is made.
func defaultRestartPauses() []time.Duration {
	return []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}
}

// restartPause returns the pause before an attempt to restart the server. It grows with
// the failed attempts before it, and with the earlier runs that ended within
// stableAfter, up to the last of the pauses.
func restartPause(pauses []time.Duration, quickEnds, failures int) time.Duration {
	return pauses[min(quickEnds+failures, len(pauses)-1)]
}

// run is the time from one start of the postmaster to its end.
type run struct {
	child *process
	began time.Time
	// over is closed when the run is no longer the server's current one: the next run
	// accepts connections, or the server is not started again.
	over chan struct{}
}

func newRun(child *process) *run {
	return &run{child: child, began: time.Now(), over: make(chan struct{})}
}

// supervise restarts the server each time it ends unexpectedly, in the same folder and
// on the same socket, until Stop is called or all attempts after one end fail.
func (s *Server) supervise() {
	for quickEnds := 0; ; quickEnds++ {
		current := s.current()
		<-current.child.done
		if time.Since(current.began) >= stableAfter {
			quickEnds = 0
		}
		err := s.startAgain(current, quickEnds)
		if err != nil {
			close(s.ended)
		}
		close(current.over)
		if err != nil {
			return
		}
	}
}

func (s *Server) current() *run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run
}

// startAgain replaces a run that has ended by a new one. quickEnds is how many runs in a row
// before it ended within stableAfter. An error means that the server is not started again.
func (s *Server) startAgain(ended *run, quickEnds int) error {
	began := time.Now()
	cause := ended.child.state()
	if message := s.log.gravest(); message != "" {
		cause += ": " + message
	}
	pauses := s.options.restartPauses
	for failures := range pauses {
		if s.ctx.Err() != nil {
			return s.ctx.Err()
		}
		pause := restartPause(pauses, quickEnds, failures)
		s.options.Log.Warn("the private PostgreSQL server ended and is started again",
			"cause", cause, "attempt", failures+1, "pause", pause.String())
		if !sleep(s.ctx, pause) {
			return s.ctx.Err()
		}
		child, err := s.relaunch()
		if err == nil {
			return s.adopt(child, time.Since(began))
		}
		if cause = s.log.gravest(); cause == "" {
			cause, _, _ = strings.Cut(err.Error(), "; the end of ")
		}
	}
	return s.stopRestarting(cause)
}

// relaunch starts the server once. It ends the remaining processes of an earlier run first.
func (s *Server) relaunch() (*process, error) {
	ctx, cancel := context.WithTimeout(s.ctx, restartTime)
	defer cancel()
	s.log.begin()
	if err := s.home.stopOrphan(ctx, s.options.Log); err != nil {
		return nil, err
	}
	if err := removeOldSocket(s.socket.path); err != nil {
		return nil, err
	}
	// The programs are searched again, because an update of the system may have moved them.
	bin, err := findBinaries(ctx, s.options.BinDir, s.home.dataVersion())
	if err != nil {
		return nil, err
	}
	return s.home.launch(ctx, bin, s.socket.path, s.log, s.options.Fast)
}

// adopt makes the child the server's current run, or ends it if Stop was called meanwhile.
func (s *Server) adopt(child *process, took time.Duration) error {
	s.mu.Lock()
	if s.ctx.Err() != nil {
		s.mu.Unlock()
		return errors.Join(s.ctx.Err(), child.shutdown(context.WithoutCancel(s.ctx)))
	}
	s.run = newRun(child)
	s.restarts++
	s.mu.Unlock()
	s.options.Log.Warn("the private PostgreSQL server runs again", "after", took.Round(time.Millisecond).String())
	return nil
}

// stopRestarting records why the server is not started again, and what to do.
func (s *Server) stopRestarting(cause string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	s.failure = fmt.Errorf("the private PostgreSQL server can't be started again (%d attempts): %s; %s",
		len(s.options.restartPauses), cause, s.advice(cause))
	return s.failure
}

// advice returns what the operator can do about the cause.
func (s *Server) advice(cause string) string {
	switch {
	case strings.Contains(cause, "No space left on device"), strings.Contains(cause, "Disk quota exceeded"):
		return "free space on the disk of " + s.home.base + ", then start this program again"
	case isDamage(cause):
		return "the database's files are damaged: restore a backup of " + s.home.base + ", then start this program again"
	default:
		return "see " + s.log.path + ", then start this program again"
	}
}

// isDamage reports whether PostgreSQL's message is about corrupt files.
func isDamage(cause string) bool {
	for _, sign := range []string{
		"pg_control", "checkpoint record", "could not open file", "could not read file", "invalid page", "incorrect checksum", "backup_label",
		"is not a valid data directory",
	} {
		if strings.Contains(cause, sign) {
			return true
		}
	}
	return false
}

// conn is a connection to one run of the server.
type conn struct {
	net.Conn

	run *run
}

// Stale reports whether the server at the other end has ended.
func (c *conn) Stale() bool { return c.run.hasEnded() }

// NetConn returns the socket.
func (c *conn) NetConn() net.Conn { return c.Conn }

// Dial connects to the server's socket, for pgconn.Config.DialFunc. While the server
// restarts, it waits until ctx ends. The connection has a method Stale() bool, so that
// pools can drop connections to an earlier run.
func (s *Server) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	for {
		current := s.current()
		if !current.hasEnded() {
			c, err := (&net.Dialer{}).DialContext(ctx, network, address)
			if err == nil {
				return &conn{c, current}, nil
			}
			if !current.child.wait(ctx, noticeTime) {
				return nil, err
			}
		}
		select {
		case <-current.over:
		case <-ctx.Done():
			return nil, fmt.Errorf("the private PostgreSQL server is being started again: %w", ctx.Err())
		}
		select {
		case <-s.ended:
			return nil, errors.New("the private PostgreSQL server has ended")
		default:
		}
	}
}

func (r *run) hasEnded() bool {
	select {
	case <-r.child.done:
		return true
	default:
		return false
	}
}

// sleep waits and returns false if ctx has ended.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
