package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Hook takes part in the transactions of whatever runs under its context.
type Hook interface {
	// BeforeCommit runs inside each transaction, as its last step. An error
	// rolls the transaction back and comes out of InTx.
	BeforeCommit(ctx context.Context, tx pgx.Tx) error
	// AfterCommit hears that one is committed.
	AfterCommit()
}

type hookKey struct{}

// WithHook makes every InTx under the context run the hook.
func WithHook(ctx context.Context, h Hook) context.Context {
	return context.WithValue(ctx, hookKey{}, h)
}

// HookFrom is the context's hook; nil for none. It is for what joins the work of
// several contexts in one transaction, which has to run the hooks of them all.
func HookFrom(ctx context.Context) Hook { //nolint:ireturn // it is whatever WithHook was given
	hook, _ := ctx.Value(hookKey{}).(Hook)
	return hook
}

// Hooks runs several as one, for what joins the work of several contexts.
type Hooks struct{ list []Hook }

// Add adds one; nil is none.
func (h *Hooks) Add(one Hook) {
	if one != nil {
		h.list = append(h.list, one)
	}
}

// Reset forgets them: a transaction that runs again may be another's too.
func (h *Hooks) Reset() { h.list = nil }

// BeforeCommit implements Hook.
func (h *Hooks) BeforeCommit(ctx context.Context, tx pgx.Tx) error {
	for _, one := range h.list {
		if err := one.BeforeCommit(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

// AfterCommit implements Hook.
func (h *Hooks) AfterCommit() {
	for _, one := range h.list {
		one.AfterCommit()
	}
}
