package outbound

import (
	"net/url"

	"showfloor/internal/problem"
)

// CheckURL refuses, as the fault of a field, what could never be called. Where
// the name leads is checked at each call, when it is resolved.
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
