package restream

import (
	"net/netip"
	"strings"

	"showfloor/internal/base/problem"
	"showfloor/internal/media/rtmpurl"
)

const (
	// shownEnd is how many characters of an address its mask shows.
	shownEnd = 6
	mask     = "************"
)

// checkAddress refuses, as the fault of the field rtmpUrl, an address to which nothing can be forwarded.
func (s *Service) checkAddress(raw string) error {
	a, err := rtmpurl.Parse(raw)
	if err != nil {
		return problem.BadField("rtmpUrl", "%s", err.Error())
	}
	if s.config.Public == nil {
		return nil
	}
	name := strings.TrimSuffix(strings.ToLower(a.Name()), ".")
	ip, err := netip.ParseAddr(name)
	if name == "localhost" || strings.HasSuffix(name, ".localhost") || err == nil && !s.config.Public(ip) {
		return problem.BadField("rtmpUrl", "the address is private or reserved; only public addresses are called")
	}
	return nil
}

// endOf returns the part of an address that its mask shows.
func endOf(raw string) string {
	runes := []rune(raw)
	return string(runes[max(len(runes)-shownEnd, 0):])
}

// Mask returns the masked address whose last characters are end.
func Mask(end string) string { return mask + end }

// sealContext binds an encrypted address to its row.
func sealContext(targetID string) string { return "restream_targets/" + targetID }
