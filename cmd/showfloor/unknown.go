package main

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// families are first words of setting names that are hardly used for anything
// else: a name that begins so and is not a setting is a mistake.
func families() []string {
	return []string{
		"ADMIN", "APP", "CALL", "CORS", "DATA", "DATABASE", "HTTP", "HTTPS", "INGEST", "LISTEN", "MASTER", "PLATFORM", "PROCESSOR", "PUBLIC",
		"RATE", "REDIS", "RTMP", "RTMPS", "SFU", "SMTP", "STORAGE", "TRUSTED", "TURN", "WEBHOOK",
	}
}

// maxTypo is how many letters may differ for a name to count as a misspelling:
// few in a short name, or GOBIN would be taken for PG_BIN.
func maxTypo(setting string) int {
	if len(setting) < len("HTTP_ADDR") {
		return 1
	}
	return 2
}

// refuseUnknown finds names that were meant as settings but are none, so that
// a misspelt one isn't silently ignored.
func refuseUnknown(environ []string) error {
	known := settingNames()
	for _, line := range environ {
		name, value, _ := strings.Cut(line, "=")
		if slices.Contains(known, name) || injected(name, value) {
			continue
		}
		nearest, distance := "", len(name)
		for _, k := range known {
			if d := editDistance(name, k); d <= maxTypo(k) && d < distance {
				nearest, distance = k, d
			}
		}
		switch family, _, _ := strings.Cut(name, "_"); {
		case nearest != "":
			return fmt.Errorf("%s is not a setting; did you mean %s?", name, nearest)
		case family != name && slices.Contains(families(), family):
			return fmt.Errorf("%s is not a setting; docs/configuration.md lists those that there are", name)
		}
	}
	return nil
}

// injected tells names that container platforms set for services they know, and
// what every program knows.
func injected(name, value string) bool {
	return name == "HTTP_PROXY" || name == "HTTPS_PROXY" || strings.Contains(name, "_SERVICE_") || strings.Contains(name, "_PORT_") ||
		strings.HasPrefix(value, "tcp://") || strings.HasPrefix(value, "udp://")
}

// settingNames reads the names from the struct that holds the settings.
func settingNames() []string {
	var names []string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[config]()) {
		if name, ok := field.Tag.Lookup("env"); ok {
			names = append(names, name)
		}
	}
	return names
}

// editDistance is the number of letters to insert, delete or replace between
// two names.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
