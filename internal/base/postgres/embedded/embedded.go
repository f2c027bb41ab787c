// Package embedded runs a private PostgreSQL server inside the data folder, for
// installations that do not bring a database of their own.
//
// The server is a child process that listens only on a Unix socket. Its files:
//
//	<Dir>/lock            locked by the process that uses the folder (LockDir)
//	<Dir>/postgres/data   the cluster; always complete if it exists
//	<Dir>/postgres/run    the socket
//	<Dir>/postgres/log    the server's messages, and the older ones in log.1
//	<Dir>/postgres-moved  the cluster's path, only if it is not in Dir
//
// PostgreSQL refuses to run as root, so as root the child runs under the
// account "postgres" or "nobody". These accounts cannot enter a folder below
// /root, for example. Then the cluster is in /var/lib/showfloor-<hash of Dir>,
// and Start logs this path and writes it to postgres-moved.
//
// The child gets a shutdown signal when this process dies (Linux), so that a
// killed server leaves no process behind. On other systems the next Start stops
// the remaining processes. If the child ends unexpectedly, it is restarted
// (supervise.go).
package embedded

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// How long Stop waits before it sends the next stronger signal. The kernel needs
// a moment to reap backends even after SIGQUIT.
const (
	fastShutdown      = 6 * time.Second
	immediateShutdown = 3 * time.Second
)

// Options of Start. Only Dir is required.
type Options struct {
	// Dir is the data folder; it is created if it does not exist.
	Dir string
	// BinDir holds initdb and postgres. If it is empty, PATH and the usual
	// folders are searched.
	BinDir string
	// Fast turns durability off for speed. It is for tests only: a crash of the
	// machine loses the data.
	Fast bool
	// Lock is the caller's lock on Dir. If it is nil, Start takes one and Stop
	// releases it.
	Lock *DirLock
	// Log receives messages for the operator; slog.Default() if nil.
	Log *slog.Logger

	// restartPauses replaces defaultRestartPauses in tests.
	restartPauses []time.Duration
}

// DataDir returns the folder of the cluster.
func (s *Server) DataDir() string { return s.home.data() }

// Server is a PostgreSQL server that belongs to this process.
type Server struct {
	options Options
	home    *home
	socket  *socketDir
	log     *serverLog
	conn    string
	// release releases the resources that Start took, after the process has ended.
	release func() error

	// ctx ends when Stop is called. From then on no process is started.
	ctx    context.Context
	cancel context.CancelFunc
	// ended is closed when the server has ended and is not started again.
	ended chan struct{}

	mu       sync.Mutex
	run      *run
	restarts int
	// failure is the reason why the server could not be restarted.
	failure error

	stopOnce sync.Once
	stopErr  error
}

// Start starts the server and returns when it accepts connections. The first start
// creates the cluster, which takes about a second. Crash recovery may take longer;
// only ctx limits it. A *LockedError reports that another process uses Dir.
func Start(ctx context.Context, o Options) (*Server, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.restartPauses == nil {
		o.restartPauses = defaultRestartPauses()
	}
	if o.Lock != nil {
		return start(ctx, o, func() error { return nil })
	}
	lock, err := LockDir(o.Dir)
	if err != nil {
		return nil, err
	}
	s, err := start(ctx, o, lock.Unlock)
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return s, nil
}

func start(ctx context.Context, o Options, release func() error) (*Server, error) {
	home, err := findHome(o.Dir, o.Log)
	if err != nil {
		return nil, err
	}
	if err := home.stopOrphan(ctx, o.Log); err != nil {
		return nil, err
	}
	bin, err := findBinaries(ctx, o.BinDir, home.dataVersion())
	if err != nil {
		return nil, err
	}
	if err := home.ensureCluster(ctx, bin, o.Fast); err != nil {
		return nil, err
	}
	socket, err := home.openSocketDir()
	if err != nil {
		return nil, err
	}
	log, err := openServerLog(filepath.Join(home.base, "log"))
	if err != nil {
		return nil, errors.Join(err, socket.remove())
	}
	child, err := home.launch(ctx, bin, socket.path, log, o.Fast)
	if err != nil {
		return nil, errors.Join(err, log.close(), socket.remove())
	}
	s := &Server{
		options: o, home: home, socket: socket, log: log, release: release, conn: connString(socket.path),
		ended: make(chan struct{}), run: newRun(child),
	}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go s.supervise()
	go log.keepSmall(s.ended)
	return s, nil
}

// connString returns a URL that pgx and psql understand. The user and the
// database exist in every cluster.
func connString(socketDir string) string {
	u := url.URL{Scheme: "postgres", User: url.User("postgres"), Path: "/postgres",
		RawQuery: url.Values{"host": {socketDir}, "port": {socketPort}, "sslmode": {"disable"}}.Encode()}
	return u.String()
}

// ConnString returns the URL to connect as superuser. It contains no secret: the
// permissions of the socket's folder protect the server. It stays the same after
// a restart of the server.
func (s *Server) ConnString() string { return s.conn }

// Dir returns the folder that holds the cluster, its socket and its log.
func (s *Server) Dir() string { return s.home.base }

// Done is closed when the server has ended and is not started again: because of Stop, or because
// it ended unexpectedly and could not be restarted.
func (s *Server) Done() <-chan struct{} { return s.ended }

// Err returns, in one line, why the server could not be restarted and what to
// do. It is nil before that and after Stop.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure
}

// Restarts returns how often the server was restarted.
func (s *Server) Restarts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.restarts
}

// Stop ends the server and returns when it is gone. It closes open connections
// and keeps committed work. If the server does not end within some seconds, or
// ctx ends, Stop kills it and returns an error; the next start then recovers.
// Later calls return the first one's result.
func (s *Server) Stop(ctx context.Context) error {
	s.stopOnce.Do(func() { s.stopErr = s.stop(ctx) })
	return s.stopErr
}

func (s *Server) stop(ctx context.Context) error {
	s.mu.Lock()
	s.cancel()
	child := s.run.child
	s.mu.Unlock()
	err := child.shutdown(ctx)
	<-s.ended
	return errors.Join(err, s.log.close(), s.socket.remove(), s.release())
}

// shutdown ends the postmaster: SIGINT (close the connections, write everything),
// then SIGQUIT (exit at once, recover on the next start), then SIGKILL.
func (p *process) shutdown(ctx context.Context) error {
	p.signal(syscall.SIGINT)
	if p.wait(ctx, fastShutdown) {
		return nil
	}
	p.signal(syscall.SIGQUIT)
	if p.wait(context.WithoutCancel(ctx), immediateShutdown) {
		return errors.New("the private PostgreSQL server had to be stopped without a checkpoint")
	}
	p.signal(os.Kill)
	<-p.done
	return errors.New("the private PostgreSQL server had to be killed")
}
