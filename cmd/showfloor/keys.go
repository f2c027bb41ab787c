package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"showfloor/gen/db"
)

// keyCommands manage the keys that sign tokens.
type keyCommands struct {
	RotateMaster rotateMasterCommand `cmd:"" help:"Encrypt everything with MASTER_KEY instead of MASTER_KEY_SECOND; servers may run."`

	List   listKeysCommand   `cmd:"" help:"List the keys that sign tokens."`
	Rotate rotateKeysCommand `cmd:"" help:"Create a new key, which signs from now on. Tokens of the old key stay valid until they expire."`
	Revoke revokeKeyCommand  `cmd:"" help:"Revoke a key and every token that it signed, if the key may have leaked."`
}

type listKeysCommand struct{}

// Run lists the keys without their secret parts.
func (listKeysCommand) Run(ctx context.Context, e environment) error {
	return operate(ctx, e, func(s *server) error {
		keys, err := s.openKeys(ctx)
		if err != nil {
			return err
		}
		rows, err := keys.List(ctx)
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "KEY\tMADE\tSTATE")
		signs := true
		for _, row := range rows {
			fmt.Fprintf(w, "%s\t%s\t%s\n", row.ID, moment(&row.CreatedAt), stateOf(row, signs))
			signs = signs && row.RetiredAt != nil
		}
		return w.Flush()
	})
}

// stateOf returns the state of a key. signs is true until a newer key signs.
func stateOf(row db.SigningKey, signs bool) string {
	switch {
	case row.RevokedAt != nil:
		return "revoked " + moment(row.RevokedAt)
	case row.RetiredAt != nil:
		return "retired " + moment(row.RetiredAt)
	case signs:
		return "signs and verifies"
	default:
		return "verifies"
	}
}

type rotateKeysCommand struct{}

// Run creates a new key.
func (rotateKeysCommand) Run(ctx context.Context, e environment) error {
	return operate(ctx, e, func(s *server) error {
		keys, err := s.openKeys(ctx)
		if err != nil {
			return err
		}
		made, err := keys.Rotate(ctx, operator())
		if err != nil {
			return err
		}
		fmt.Fprintf(e.out, "%s signs from now on; earlier tokens stay valid until they expire\n", made.ID)
		return nil
	})
}

type revokeKeyCommand struct {
	Key    string `arg:"" help:"The key's id, as showfloor keys list shows it."`
	Reason string `help:"For the audit log."`
}

// Run revokes the key.
func (c revokeKeyCommand) Run(ctx context.Context, e environment) error {
	return operate(ctx, e, func(s *server) error {
		keys, err := s.openKeys(ctx)
		if err != nil {
			return err
		}
		successor, err := keys.Revoke(ctx, operator(), c.Key, c.Reason)
		if err != nil {
			return err
		}
		fmt.Fprintf(e.out, "%s is revoked: users with a token that it signed must log in again\n", c.Key)
		if successor != "" {
			fmt.Fprintf(e.out, "%s signs from now on\n", successor)
		}
		return nil
	})
}
