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
	// stableAfter is how long the server must run after a restart so that its next
	// end counts as the first one again, which is followed by no pause.
	stableAfter = time.Minute
	// restartTime bounds one restart. Crash recovery replays what was written
	// since the last checkpoint, which takes seconds, on a slow disk minutes.
	restartTime = 5 * time.Minute
	// noticeTime is how long the end of the process may take to be noticed after
	// its socket refuses connections.
	noticeTime = 100 * time.Millisecond
)

// defaultRestartPauses are the pauses before the attempts to start the server again:
// one for each attempt. After as many failed attempts in a row, no further one is made.
func defaultRestartPauses() []time.Duration {
	return []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}
}

// restartPause returns the pause before an attempt to start the server again: it grows
// with the failed attempts before it, and with the earlier runs that ended within
// stableAfter, up to the last of the pauses.
func restartPause(pauses []time.Duration, quickEnds, failures int) time.Duration {
	return pauses[min(quickEnds+failures, len(pauses)-1)]
}

// run is one life of the postmaster.
type run struct {
	child *process
	began time.Time
	// over is closed when the run is not the server's current one any more: the
	// next run accepts connections, or the server has ended for good.
	over chan struct{}
}

func newRun(child *process) *run {
	return &run{child: child, began: time.Now(), over: make(chan struct{})}
}

// supervise starts the server again each time it ends by itself, in the same
// folder and on the same socket, until Stop is called or all attempts after one
// end fail.
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

// startAgain replaces a run that has ended by a new one. quickEnds is how many runs
// before it ended within stableAfter, in a row. An error means that the server has ended
// for good.
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
	return s.giveUp(cause)
}

// relaunch starts the server once. What an earlier run has left is ended first.
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
	// Searched again: an update of the system may have put the programs elsewhere.
	bin, err := findBinaries(ctx, s.options.BinDir, s.home.dataVersion())
	if err != nil {
		return nil, err
	}
	return s.home.launch(ctx, bin, s.socket.path, s.log, s.options.Fast)
}

// adopt makes the child the server's current run, or ends it when Stop was
// called meanwhile.
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

// giveUp records why the server has ended for good, and what to do.
func (s *Server) giveUp(cause string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	s.failure = fmt.Errorf("the private PostgreSQL server can't be started again (%d attempts): %s; %s",
		len(s.options.restartPauses), cause, s.advice(cause))
	return s.failure
}

// advice says what the operator can do about the cause.
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

// isDamage reports whether PostgreSQL complained about the content of its files.
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

// Dial connects to the server's socket, for pgconn.Config.DialFunc. While the
// server is being started again it waits for that, as long as ctx allows. The
// connection has a method Stale() bool, by which pools drop those to an earlier run.
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

// sleep waits and reports whether ctx still goes on.
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
