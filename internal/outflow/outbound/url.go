package outbound

import (
	"net/url"

	"showfloor/internal/base/problem"
)

// CheckURL refuses, as the fault of a field, a URL that can't be called. The
// address is checked at each call, after the name's resolution.
func CheckURL(field, raw string) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "":
		return problem.BadField(field, "must be an absolute URL such as https://example.com/hook")
	case u.Scheme != "http" && u.Scheme != "https":
		return problem.BadField(field, "must begin with http:// or https://")
	case u.User != nil:
		return problem.BadField(field, "must not hold a user name or password; verify the signature instead")
	}
	return nil
}
