package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"showfloor/internal/areas"
	"showfloor/internal/base/secret"
)

type rotateMasterCommand struct{}

// Run seals everything in the database with MASTER_KEY. It may be killed and run again.
func (rotateMasterCommand) Run(ctx context.Context, e environment) error {
	return operate(ctx, e, func(s *server) error {
		if err := s.config.checkMasterRotation(); err != nil {
			return &usageError{err}
		}
		box, err := s.config.newBox()
		if err != nil {
			return err
		}
		failed, done := 0, 0
		for _, sealed := range areas.AllSealed() {
			result, err := sealed.Reseal(ctx, s.pool, box, func(rows int) {
				fmt.Fprintf(e.out, "%s: %d rows\n", sealed.Name, rows)
			})
			done += result.Done
			failed += result.Failed
			if err != nil {
				return fmt.Errorf("%w; what was done stays done: run the command again", err)
			}
			fmt.Fprintf(e.out, "%s: done, %d rows were encrypted again\n", sealed.Name, result.Done)
			if result.Failed > 0 {
				fmt.Fprintf(e.err, "showfloor: %s: neither key opens %d rows, such as %s\n",
					sealed.Name, result.Failed, strings.Join(result.Unopened, ", "))
			}
		}
		if failed > 0 {
			return fmt.Errorf("neither MASTER_KEY nor MASTER_KEY_SECOND opens %d rows; keep MASTER_KEY_SECOND, and find the key that they were "+
				"encrypted with", failed)
		}
		fmt.Fprintln(e.out, nextStep(done))
		return nil
	})
}

// nextStep returns the operator's next step after the command.
func nextStep(done int) string {
	if done > 0 {
		return "Everything was encrypted with MASTER_KEY. Next: make sure that all servers run with this MASTER_KEY, and run this command " +
			"again: a server that still runs with the old one may have added rows."
	}
	return "Nothing is left that another key has encrypted. Next: remove MASTER_KEY_SECOND and restart the servers. " +
		"If the old key was known to others, replace what it protected too: showfloor keys rotate, and the secrets of webhook endpoints."
}

// checkMasterRotation requires both keys.
func (c *config) checkMasterRotation() error {
	if c.key == nil || c.secondKey == nil {
		return errors.New("set MASTER_KEY to the new key and MASTER_KEY_SECOND to the one that is to be replaced " +
			"(the content of DATA_DIR/master.key, if MASTER_KEY was not set before)")
	}
	if string(c.key) == string(c.secondKey) {
		return errors.New("MASTER_KEY and MASTER_KEY_SECOND are the same key")
	}
	return nil
}

// newBox returns the box that seals with the master keys.
func (c *config) newBox() (*secret.Box, error) {
	key, err := c.masterKey()
	if err != nil {
		return nil, err
	}
	if c.secondKey == nil {
		return secret.NewBox(key)
	}
	return secret.NewBox(key, c.secondKey)
}
