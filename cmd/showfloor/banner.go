package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"

	"showfloor/handlers"
	"showfloor/internal/base/problem"
)

// printBanner prints the addresses of all parts.
func (s *server) printBanner(w io.Writer, adminCreated bool, adminPassword string) {
	dir, err := filepath.Abs(s.config.DataDir)
	if err != nil {
		dir = s.config.DataDir
	}
	line := func(name, value string) { fmt.Fprintf(w, "  %-10s %s\n", name, value) }
	fmt.Fprintf(w, "\nShowfloor %s is ready (%s)\n\n", version, s.config.AppEnv)
	line("API", s.config.PublicURL+"/v1")
	if s.https != nil {
		line("", "HTTPS on port "+portOf(s.https))
	}
	line("docs", s.config.PublicURL+"/docs")
	line("player", s.config.PublicURL+"/player")
	if !s.config.trustsThisMachine() && (s.areas.Mails.HasMailbox() || s.sandbox != nil) {
		line("tools", "mailbox and payment sandbox are closed; APP_ENV=development opens them to this machine")
	} else if s.areas.Mails.HasMailbox() {
		line("mailbox", s.config.PublicURL+handlers.MailboxPath+" shows mails instead of sending them")
	}
	if s.sandbox != nil && s.config.trustsThisMachine() {
		line("sandbox", s.config.PublicURL+sandboxPath+"/ simulates the payment processor: no real money")
	}
	line("ingest", s.config.IngestURL+"/<streamKey>")
	if s.config.RTMPSAddr != "" {
		_, port, _ := net.SplitHostPort(s.rtmp.TLSAddr().String())
		line("", "RTMPS on port "+port)
	}
	line("rooms", s.config.sfuURL()+"/?token=…&room=…, media on "+s.sfu.Addr().String()+" (UDP and TCP)")
	line("metrics", "http://"+s.config.AdminAddr+"/metrics, profiles at /debug/pprof")
	line("data", dir)
	line("files", s.files.String())
	fmt.Fprintln(w)
	for _, e := range s.engines {
		line(e.part, e.engine)
	}
	line("speech", s.config.speechEngine())
	line("summaries", s.config.summaryEngine())
	if p, skewed := problem.As(s.checkClock(context.Background())); skewed {
		line("warning", p.Message)
	}
	if adminCreated {
		fmt.Fprintf(w, "\n  super admin %s", s.config.AdminEmail)
		if s.config.AdminPassword == "" {
			fmt.Fprintf(w, " with password %s — shown this once, keep it", adminPassword)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "\n  Ctrl-C stops the server.\n\n")
}
