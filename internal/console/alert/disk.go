// Package alert mails the platform's operator about problems that need action.
package alert

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
	"showfloor/internal/base/diskspace"
	"showfloor/internal/base/postgres"
	"showfloor/internal/tenancy/mail"
)

// noticeLife is how long a mail about a disk is worth sending.
const noticeLife = 24 * time.Hour

// Config of a Service.
type Config struct {
	Pool  *pgxpool.Pool
	Mails *mail.Service
	// Address gets the mails; empty for no mails.
	Address string
	// Node names this process, PublicURL is its address as clients see it.
	Node, PublicURL string
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Service holds the use cases. An exported method makes all its changes in one
// transaction.
type Service struct{ config Config }

// New makes the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{c}
}

// ReportDisk records the level of this node's disk, and mails the operator when it
// has changed since the last report, also one of an earlier process.
func (s *Service) ReportDisk(ctx context.Context, disk diskspace.Status) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		changed, err := db.New(tx).SetDiskLevel(ctx, db.SetDiskLevelParams{
			Node: s.config.Node, Level: disk.Level.String(), Now: s.config.Now(),
		})
		if err != nil {
			return fmt.Errorf("set disk level: %w", err)
		}
		if len(changed) == 0 || s.config.Address == "" || !s.config.Mails.Works() {
			return nil
		}
		return s.config.Mails.PostTx(ctx, tx, s.diskLetter(disk))
	})
}

func (s *Service) diskLetter(disk diskspace.Status) mail.Letter {
	l := mail.Letter{
		Kind: "disk_space", To: s.config.Address, Until: s.config.Now().Add(noticeLife),
		Opening: []string{fmt.Sprintf("The disk of %s on server %s (%s) has %s free (%d bytes).",
			disk.Dir, s.config.PublicURL, s.config.Node, diskspace.Bytes(disk.Space.Free), disk.Space.Free)},
	}
	switch disk.Level {
	case diskspace.Enough:
		l.Subject = "Disk space is back"
		l.Closing = []string{"Requests to capture URLs are stored again."}
	case diskspace.Low:
		l.Subject = "Disk space is low"
		l.Closing = []string{
			fmt.Sprintf("The limit is %s (DISK_LOW). Until more is free, requests to capture URLs are refused; everything else goes on.",
				diskspace.Bytes(disk.Mark)),
			"Free space on this disk, or make it larger. You get the next mail when the space is back or very low.",
		}
	case diskspace.VeryLow:
		l.Subject = "Disk space is very low"
		l.Closing = []string{
			fmt.Sprintf("The limit is %s (DISK_VERY_LOW). When the disk is full the database can write nothing: no orders, no chat, no new streams.",
				diskspace.Bytes(disk.Mark)),
			"Free space on this disk now, or make it larger.",
		}
	}
	return l
}
