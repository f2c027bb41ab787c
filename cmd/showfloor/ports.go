package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
)

// checkPorts returns an error that names each address at which the server can't listen. It runs before the database
// starts: otherwise the operator would learn of one port at a time.
func (c *config) checkPorts(ctx context.Context) error {
	var listen net.ListenConfig
	var errs []error
	taken := "" // the last setting whose address is in use
	for _, a := range []struct {
		setting, network, addr string
	}{
		{"HTTP_ADDR", "tcp", c.HTTPAddr},
		{"HTTPS_ADDR", "tcp", c.HTTPSAddr},
		{"ADMIN_ADDR", "tcp", c.AdminAddr},
		{"RTMP_ADDR", "tcp", c.RTMPAddr},
		{"RTMPS_ADDR", "tcp", c.RTMPSAddr},
		{"SFU_ADDR", "tcp", c.SFUAddr},
		{"SFU_ADDR", "udp", c.SFUAddr},
		{"TURN_ADDR", "tcp", c.TURNAddr},
		{"TURN_ADDR", "udp", c.TURNAddr},
	} {
		if a.addr == "" || a.setting == taken {
			continue
		}
		var err error
		if a.network == "udp" {
			var conn net.PacketConn
			if conn, err = listen.ListenPacket(ctx, a.network, a.addr); err == nil {
				err = conn.Close()
			}
		} else {
			var l net.Listener
			if l, err = listen.Listen(ctx, a.network, a.addr); err == nil {
				err = l.Close()
			}
		}
		if err != nil {
			taken = a.setting
			errs = append(errs, fmt.Errorf("%s: %w; %s", a.setting, err, portAdvice(err, a.setting)))
		}
	}
	return errors.Join(errs...)
}

func portAdvice(err error, setting string) string {
	if errors.Is(err, syscall.EACCES) {
		return "ports below 1024 need the capability CAP_NET_BIND_SERVICE, or set " + setting + " to another"
	}
	return "stop what uses the port or set " + setting + " to another"
}
