package setting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// PlatformFeePct is the key of the platform's share of each checkout.
const PlatformFeePct = "commerce.platformFeePct"

// definition is one setting. Only settings that some part of the server reads have a
// definition.
type definition struct {
	key string
	// description says what the setting does, and which values it accepts.
	description string
	fallback    json.RawMessage
	// read checks a value and normalizes it. Its error text continues the setting's name and
	// lists the accepted values.
	read func(value json.RawMessage) (json.RawMessage, error)
}

// definitions lists the settings in the order of their keys.
func definitions(c Config) []definition {
	return []definition{{
		key: PlatformFeePct,
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
	}}
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
