package main

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// families returns first words of setting names that other programs hardly use.
// A variable that begins with one of them and is no setting is a mistake.
func families() []string {
	return []string{
		"ADMIN", "APP", "CALL", "CORS", "DATA", "DATABASE", "HTTP", "HTTPS", "INGEST", "LISTEN", "MASTER", "PLATFORM", "PROCESSOR", "PUBLIC",
		"RATE", "RECORDER", "REDIS", "RTMP", "RTMPS", "SFU", "SMTP", "STORAGE", "TRUSTED", "TURN", "WEBHOOK",
	}
}

// maxTypo returns how many letters may differ in a misspelt setting. Short
// names allow only one, or GOBIN would be taken for PG_BIN.
func maxTypo(setting string) int {
	if len(setting) < len("HTTP_ADDR") {
		return 1
	}
	return 2
}

// refuseUnknown returns an error for variables that look like misspelt
// settings, so that none is silently ignored.
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

// injected reports whether a container platform sets the variable for its
// services, or whether it is a common proxy variable.
func injected(name, value string) bool {
	return name == "HTTP_PROXY" || name == "HTTPS_PROXY" || strings.Contains(name, "_SERVICE_") || strings.Contains(name, "_PORT_") ||
		strings.HasPrefix(value, "tcp://") || strings.HasPrefix(value, "udp://")
}

// settingNames returns the names of all settings, from the struct that holds them.
func settingNames() []string {
	var names []string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[config]()) {
		if name, ok := field.Tag.Lookup("env"); ok {
			names = append(names, name)
		}
	}
	return names
}

// editDistance returns the number of letters to insert, delete or replace
// between two names.
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
