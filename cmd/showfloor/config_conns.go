package main

import (
	"fmt"
	"strconv"
)

// ConnSettings limit connections and viewers. They are a part of config; the type is exported
// because the library that parses config ignores unexported embedded structs.
type ConnSettings struct {
	HTTPMaxConnections string `env:"HTTP_MAX_CONNECTIONS"`
	HTTPMaxPerAddress  string `env:"HTTP_MAX_PER_ADDRESS"`
	HLSMaxPerAddress   string `env:"HLS_MAX_PER_ADDRESS" envDefault:"2000"`
	RTMPMaxPerAddress  string `env:"RTMP_MAX_PER_ADDRESS" envDefault:"1000"`

	// httpConns, httpPerAddress, hlsPerAddress and rtmpPerAddress are the parsed settings above; 0 if unset.
	httpConns, httpPerAddress, hlsPerAddress, rtmpPerAddress int
}

// readConns parses them.
func (s *ConnSettings) readConns() error {
	for _, setting := range []struct {
		name, text string
		n          *int
	}{
		{"HTTP_MAX_CONNECTIONS", s.HTTPMaxConnections, &s.httpConns},
		{"HTTP_MAX_PER_ADDRESS", s.HTTPMaxPerAddress, &s.httpPerAddress},
		{"HLS_MAX_PER_ADDRESS", s.HLSMaxPerAddress, &s.hlsPerAddress},
		{"RTMP_MAX_PER_ADDRESS", s.RTMPMaxPerAddress, &s.rtmpPerAddress},
	} {
		if setting.text == "" {
			continue
		}
		var err error
		if *setting.n, err = count(setting.name, setting.text); err != nil {
			return err
		}
	}
	return nil
}

// count parses a number that must be at least 1.
func count(name, text string) (int, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s: %q is not a number of at least 1", name, text)
	}
	return int(n), nil
}
