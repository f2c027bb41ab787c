package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"time"

	"showfloor/internal/media/sfu"
)

// RoomSettings are the settings of rooms and calls.
type RoomSettings struct {
	SFUAddr         string `env:"SFU_ADDR" envDefault:":7882"`
	SFUExternalIPs  string `env:"SFU_EXTERNAL_IPS"`
	SFUURL          string `env:"SFU_URL"`
	SFUMaxViewers   string `env:"SFU_MAX_VIEWERS" envDefault:"200"`
	TURNAddr        string `env:"TURN_ADDR"`
	TURNExternalIP  string `env:"TURN_EXTERNAL_IP"`
	CallRingTimeout string `env:"CALL_RING_TIMEOUT" envDefault:"45s"`
	Broadcasts      string `env:"BROADCASTS"`

	// sfuIPs and turnIP are SFUExternalIPs and TURNExternalIP, parsed.
	sfuIPs []netip.Addr
	turnIP netip.Addr
	// sfuMaxWatchers is SFUMaxViewers, parsed.
	sfuMaxWatchers int
}

// readRooms parses them. PUBLIC_URL must be set before.
func (c *config) readRooms() error {
	r := &c.RoomSettings
	for _, err := range []error{
		address("SFU_ADDR", r.SFUAddr),
		optionalLink("SFU_URL", r.SFUURL, "ws", "wss"),
		optional(address)("TURN_ADDR", r.TURNAddr),
	} {
		if err != nil {
			return err
		}
	}
	for part := range strings.SplitSeq(r.SFUExternalIPs, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		ip, err := netip.ParseAddr(part)
		if err != nil || ip.Zone() != "" || ip.IsUnspecified() {
			return fmt.Errorf("SFU_EXTERNAL_IPS: %q is not an IP address; write those by which clients reach SFU_ADDR, with commas between", part)
		}
		r.sfuIPs = append(r.sfuIPs, ip.Unmap())
	}
	if r.TURNExternalIP != "" {
		ip, err := netip.ParseAddr(r.TURNExternalIP)
		if err != nil || ip.Zone() != "" || ip.IsUnspecified() {
			return fmt.Errorf("TURN_EXTERNAL_IP: %q is not an IP address; write the one by which clients reach TURN_ADDR", r.TURNExternalIP)
		}
		if r.TURNAddr == "" {
			return errors.New("TURN_EXTERNAL_IP needs TURN_ADDR, where the relay listens")
		}
		r.turnIP = ip.Unmap()
	}
	if r.TURNAddr != "" && r.TURNAddr == r.SFUAddr {
		return errors.New("TURN_ADDR and SFU_ADDR must not be the same")
	}
	viewers, err := strconv.ParseInt(r.SFUMaxViewers, 10, 32)
	if err != nil || viewers < 0 {
		return fmt.Errorf("SFU_MAX_VIEWERS: %q is not a number of at least 0", r.SFUMaxViewers)
	}
	r.sfuMaxWatchers = int(viewers)
	c.areas.TenantWatchers = sfu.TenantWatchers(r.sfuMaxWatchers)
	if c.areas.Broadcasts, err = broadcasts(r.Broadcasts); err != nil {
		return err
	}
	return c.readCalls()
}

// readCalls parses the settings of calls.
func (c *config) readCalls() error {
	r := &c.RoomSettings
	d, err := time.ParseDuration(r.CallRingTimeout)
	if err != nil || d < time.Second || d > 10*time.Minute {
		return fmt.Errorf("CALL_RING_TIMEOUT: %q is not a time between 1s and 10m; write a duration such as 45s", r.CallRingTimeout)
	}
	c.areas.RingTimeout = d
	return nil
}

// maxBroadcasts is the largest value of BROADCASTS.
const maxBroadcasts = 256

// broadcasts reads BROADCASTS: half of the cores by default, at least 1.
func broadcasts(value string) (int, error) {
	if value == "" {
		return max(1, runtime.GOMAXPROCS(0)/2), nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > maxBroadcasts {
		return 0, fmt.Errorf("BROADCASTS: %q is not a number from 0 to %d", value, maxBroadcasts)
	}
	return n, nil
}

// sfuURL returns the WebSocket URL of this node's SFU. Unless it is set, it is below
// PUBLIC_URL.
func (c *config) sfuURL() string {
	if c.SFUURL != "" {
		return strings.TrimRight(c.SFUURL, "/")
	}
	u, err := url.Parse(c.PublicURL)
	if err != nil {
		return ""
	}
	u.Scheme = strings.Replace(u.Scheme, "http", "ws", 1)
	return u.String() + sfuPath
}

// portOf returns the port of an address.
func portOf(addr net.Addr) string {
	_, port, _ := net.SplitHostPort(addr.String())
	return port
}
