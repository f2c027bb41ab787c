package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"

	"showfloor/internal/base/netaddr"
	"showfloor/internal/commerce/sandbox"
)

// sandboxPath is the path of the sandbox's pages.
const sandboxPath = "/sandbox"

// openSandbox starts the sandbox, which replaces the payment processor on a
// development server without a processor's key, and points the settings to it. It
// listens on a port of its own before its first possible caller starts and until
// its last one has ended. The API's port also shows its pages to browsers.
func (s *server) openSandbox(ctx context.Context) error {
	c := &s.config.ProcessorSettings
	if s.config.AppEnv == production || c.ProcessorKey != "" {
		return nil
	}
	secret := func(prefix, purpose string) string {
		return prefix + hex.EncodeToString(s.box.Derive("sandbox "+purpose))
	}
	c.ProcessorKey = secret(sandboxKey, "key")
	c.ProcessorWebhookSecret = secret("whsec_", "reports")
	c.ProcessorConnectSecret = secret("whsec_", "reports on sellers")
	box, err := sandbox.Open(sandbox.Config{
		URL: s.config.PublicURL + sandboxPath, Key: c.ProcessorKey, Secret: c.ProcessorWebhookSecret, ConnectSecret: c.ProcessorConnectSecret,
		Dir: filepath.Join(s.config.DataDir, "sandbox"), Automatic: true, Production: s.config.AppEnv == production, Log: s.log,
		Now: s.clock.Now,
	})
	if err != nil {
		return err
	}
	s.onStop("sandbox", func(context.Context) error { return box.Close() })
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for the sandbox: %w", err)
	}
	c.ProcessorURL = sandbox.APIURL("http://" + listener.Addr().String())
	s.serve("sandbox's port", listener, newHTTPServer(box))
	s.sandbox = box
	return nil
}

// withSandbox also serves the sandbox's pages, to callers on this machine only:
// with the pages, orders can be paid without money.
func (s *server) withSandbox(api http.Handler) http.Handler {
	if s.sandbox == nil || !s.config.trustsThisMachine() {
		return api
	}
	pages := http.StripPrefix(sandboxPath, s.sandbox)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !netaddr.FromThisMachine(r):
			api.ServeHTTP(w, r)
		case r.URL.Path == sandboxPath:
			http.Redirect(w, r, s.config.PublicURL+sandboxPath+"/", http.StatusSeeOther)
		case strings.HasPrefix(r.URL.Path, sandboxPath+"/"):
			pages.ServeHTTP(w, r)
		default:
			api.ServeHTTP(w, r)
		}
	})
}

// sendReports gives the sandbox the address for its webhooks, once the API listens.
func (s *server) sendReports() {
	if s.sandbox != nil {
		s.sandbox.SendTo("http://" + local(s.http) + "/v1/billing/webhook")
	}
}

// local returns a listener's address for clients on this machine.
func local(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return addr.String()
	}
	return net.JoinHostPort("localhost", strconv.Itoa(tcp.Port))
}
