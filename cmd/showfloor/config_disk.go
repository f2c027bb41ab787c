package main

import (
	"errors"
	"fmt"

	"showfloor/internal/base/diskspace"
	"showfloor/internal/tenancy/mail"
)

// DiskSettings are the marks for a nearly full disk. They are a part of config;
// the type is exported because the library that parses config ignores unexported
// embedded structs.
type DiskSettings struct {
	DiskLow       string `env:"DISK_LOW" envDefault:"2GiB"`
	DiskVeryLow   string `env:"DISK_VERY_LOW" envDefault:"1GiB"`
	OperatorEmail string `env:"OPERATOR_EMAIL"`

	// diskMarks are DiskLow and DiskVeryLow, parsed.
	diskMarks diskspace.Marks
}

// readDisk parses them.
func (s *DiskSettings) readDisk() error {
	var err error
	if s.diskMarks.Low, err = diskspace.ParseMark(s.DiskLow); err != nil {
		return fmt.Errorf("DISK_LOW: %w", err)
	}
	if s.diskMarks.VeryLow, err = diskspace.ParseMark(s.DiskVeryLow); err != nil {
		return fmt.Errorf("DISK_VERY_LOW: %w", err)
	}
	if s.OperatorEmail != "" && !mail.Deliverable(s.OperatorEmail) {
		return errors.New("OPERATOR_EMAIL: must be an e-mail address, without a name")
	}
	return nil
}
