package main

import (
	"fmt"
	"net/url"
	"strings"
)

// origins returns the entries of CORS_ORIGINS.
func (c *config) origins() []string {
	var list []string
	for part := range strings.SplitSeq(c.CORSOrigins, ",") {
		list = append(list, strings.TrimRight(strings.TrimSpace(part), "/"))
	}
	return list
}

// checkOrigins accepts * alone, or origins in the form in which browsers send them.
func checkOrigins(list []string) error {
	if len(list) == 1 && list[0] == "*" {
		return nil
	}
	for _, origin := range list {
		one := strings.Replace(origin, "://*.", "://", 1) // an origin that matches the entry
		u, err := url.Parse(one)
		if err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != one || strings.Contains(one, "*") {
			return fmt.Errorf("CORS_ORIGINS: %q is no origin; write https://app.example,https://*.example.com or the like, or * for all", origin)
		}
	}
	return nil
}
