package setting

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	netmail "net/mail"
	"strconv"
	"time"

	"showfloor/internal/tenancy/audit"
)

// The keys. Platform settings are about how the platform treats tenants, system settings about how the servers run.
const (
	// PlatformFeePct is the platform's share of each checkout.
	PlatformFeePct = "commerce.platformFeePct"
	// SignupOpen is whether new tenants can sign up.
	SignupOpen = "signup.open"
	// SupportMailTo is the address of the platform's support.
	SupportMailTo = "support.mailTo"
	// SupportTicketMails is whether tickets are mailed.
	SupportTicketMails = "support.ticketMails"
	// RetentionAuditDays and RetentionMessageDays are how long audit entries and messages are kept.
	RetentionAuditDays   = "retention.auditDays"
	RetentionMessageDays = "retention.messageDays"
)

// Kind separates the two lists of settings.
type Kind string

// The kinds.
const (
	Platform Kind = "platform"
	System   Kind = "system"
)

// definition is one setting. Only settings that some part of the server reads have a
// definition.
type definition struct {
	key  string
	kind Kind
	// description says what the setting does, and which values it accepts.
	description string
	fallback    json.RawMessage
	// read checks a value and normalizes it. Its error text continues the setting's name and
	// lists the accepted values.
	read func(value json.RawMessage) (json.RawMessage, error)
	// guard returns a problem if the actor must not set the value; nil for none.
	guard func(value json.RawMessage, by audit.Actor) error
}

const (
	aDay = 24 * time.Hour
	// maxDays is the longest time of a retention, in days.
	maxDays = 3650
)

// definitions lists the settings in the order of their keys.
func definitions(c Config) []definition {
	return []definition{
		{
			key: PlatformFeePct, kind: Platform,
			description: "The platform's fee in percent of each checkout's total, rounded half up to the cent; " +
				"0 to 100 with at most two decimals. By default PLATFORM_FEE_PCT of the servers' environment.",
			fallback: json.RawMessage(c.PlatformFee.String()),
			read: func(value json.RawMessage) (json.RawMessage, error) {
				rate, err := ParseRate(string(value))
				if err != nil {
					return nil, errors.New("must be a number from 0 to 100 with at most two decimals")
				}
				return json.RawMessage(rate.String()), nil
			},
		},
		{
			key: RetentionAuditDays, kind: System,
			description: "Days for which entries of the audit log are kept; 30 to 3650, or 0 to keep them forever. " +
				"By default RETENTION_AUDIT_DAYS of the servers' environment. Entries of tenants on legal hold stay.",
			fallback: days(c.KeepAudit), read: readAuditDays,
		},
		{
			key: RetentionMessageDays, kind: System,
			description: "Days for which chat messages are kept; 0 to 3650, 0 keeps them forever. " +
				"By default RETENTION_MESSAGES_DAYS of the servers' environment. Messages of tenants on legal hold stay.",
			fallback: days(c.KeepMessages), read: readDays,
		},
		{
			key: AdminNetworks, kind: Platform,
			description: "The networks from which admins may call, as a list of CIDRs or addresses, such as [\"192.0.2.0/24\"]; at most 100. " +
				"An empty list allows all addresses.",
			fallback: json.RawMessage("[]"), read: readNetworks, guard: guardNetworks,
		},
		{
			key: SignupOpen, kind: Platform,
			description: "Whether new tenants can sign up: true or false. Invitations to existing tenants work always.",
			fallback:    json.RawMessage("true"), read: readBool,
		},
		{
			key: SupportMailTo, kind: Platform,
			description: "The e-mail address that gets the tenants' new tickets and answers; an empty text for none.",
			fallback:    json.RawMessage(`""`), read: readAddress,
		},
		{
			key: SupportTicketMails, kind: Platform,
			description: "Whether messages of tickets are mailed, to the support and to the tenant's user: true or false.",
			fallback:    json.RawMessage("true"), read: readBool,
		},
	}
}

// days returns a default in whole days, rounded up.
func days(d time.Duration) json.RawMessage {
	return json.RawMessage(strconv.FormatInt(int64((d+aDay-1)/aDay), 10))
}

func readDays(value json.RawMessage) (json.RawMessage, error) {
	n, err := strconv.Atoi(string(value))
	if err != nil || n < 0 || n > maxDays {
		return nil, fmt.Errorf("must be a whole number from 0 to %d", maxDays)
	}
	return json.RawMessage(strconv.Itoa(n)), nil
}

// leastAuditDays is the least retention of the audit log that admins can set: an admin must not erase the traces of an act.
const leastAuditDays = 30

func readAuditDays(value json.RawMessage) (json.RawMessage, error) {
	n, err := strconv.Atoi(string(value))
	if err != nil || n != 0 && n < leastAuditDays || n > maxDays {
		return nil, fmt.Errorf("must be 0 or a whole number from %d to %d", leastAuditDays, maxDays)
	}
	return json.RawMessage(strconv.Itoa(n)), nil
}

func readBool(value json.RawMessage) (json.RawMessage, error) {
	if !bytes.Equal(value, []byte("true")) && !bytes.Equal(value, []byte("false")) {
		return nil, errors.New("must be true or false")
	}
	return value, nil
}

// maxAddress is the longest e-mail address, in characters.
const maxAddress = 254

func readAddress(value json.RawMessage) (json.RawMessage, error) {
	var text string
	if err := json.Unmarshal(value, &text); err == nil && text == "" {
		return json.RawMessage(`""`), nil
	}
	to, err := netmail.ParseAddress(text)
	if err != nil || to.Address != text || len(text) > maxAddress {
		return nil, errors.New("must be an e-mail address, or an empty text")
	}
	return json.Marshal(text)
}

// PlatformFee returns the platform's share of new checkouts. A change takes effect
// within 5 seconds.
func (s *Service) PlatformFee(ctx context.Context) (Rate, error) {
	values, err := s.values(ctx)
	if err != nil {
		return 0, err
	}
	rate, err := ParseRate(string(values[PlatformFeePct]))
	if err != nil {
		return 0, fmt.Errorf("setting %s: %w", PlatformFeePct, err)
	}
	return rate, nil
}

// SignupOpen reports whether new tenants can sign up.
func (s *Service) SignupOpen(ctx context.Context) (open bool, err error) {
	err = s.value(ctx, SignupOpen, &open)
	return open, err
}

// TicketMails reports whether tickets are mailed, and the address of the support, which may be empty.
func (s *Service) TicketMails(ctx context.Context) (on bool, supportAddress string, err error) {
	if err := s.value(ctx, SupportTicketMails, &on); err != nil {
		return false, "", err
	}
	err = s.value(ctx, SupportMailTo, &supportAddress)
	return on, supportAddress, err
}

// KeepAudit returns how long audit entries are kept; 0 is forever.
func (s *Service) KeepAudit(ctx context.Context) (time.Duration, error) {
	return s.keep(ctx, RetentionAuditDays, s.config.KeepAudit)
}

// KeepMessages returns how long messages are kept; 0 is forever.
func (s *Service) KeepMessages(ctx context.Context) (time.Duration, error) {
	return s.keep(ctx, RetentionMessageDays, s.config.KeepMessages)
}

// keep returns a retention time. The default keeps its hours, which the setting's days don't show.
func (s *Service) keep(ctx context.Context, key string, fallback time.Duration) (time.Duration, error) {
	var n int64
	if err := s.value(ctx, key, &n); err != nil {
		return 0, err
	}
	if string(days(fallback)) == strconv.FormatInt(n, 10) {
		return fallback, nil
	}
	return time.Duration(n) * aDay, nil
}

// value reads a setting. A change takes effect within 5 seconds.
func (s *Service) value(ctx context.Context, key string, into any) error {
	values, err := s.values(ctx)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(values[key], into); err != nil {
		return fmt.Errorf("setting %s: %w", key, err)
	}
	return nil
}
