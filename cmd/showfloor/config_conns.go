package main

import (
	"fmt"
	"strconv"
)

// ConnSettings bound connections, part of config; exported since the library that
// reads config sees no other part.
type ConnSettings struct {
	RTMPMaxPerAddress string `env:"RTMP_MAX_PER_ADDRESS" envDefault:"1000"`

	// rtmpPerAddress is RTMPMaxPerAddress, read.
	rtmpPerAddress int
}

// readConns reads them.
func (s *ConnSettings) readConns() error {
	var err error
	s.rtmpPerAddress, err = count("RTMP_MAX_PER_ADDRESS", s.RTMPMaxPerAddress)
	return err
}

// count reads a number of things, at least one.
func count(name, text string) (int, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s: %q is not a number of at least 1", name, text)
	}
	return int(n), nil
}
