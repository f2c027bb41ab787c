package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Hook takes part in all transactions that run under its context.
type Hook interface {
	// BeforeCommit runs inside each transaction as its last step. InTx rolls
	// back and returns the error if there is one.
	BeforeCommit(ctx context.Context, tx pgx.Tx) error
	// AfterCommit is called after each commit, before the functions that the transaction
	// passed to postgres.AfterCommit.
	AfterCommit()
}

type hookKey struct{}

// WithHook makes every InTx under the context run the hook.
func WithHook(ctx context.Context, h Hook) context.Context {
	return context.WithValue(ctx, hookKey{}, h)
}

// HookFrom returns the context's hook; nil for none. It is for code that joins the work
// of several contexts in one transaction, which must run the hooks of all of them.
func HookFrom(ctx context.Context) Hook { //nolint:ireturn // it returns the argument of WithHook
	hook, _ := ctx.Value(hookKey{}).(Hook)
	return hook
}

// Hooks runs several hooks as one, for code that joins the work of several contexts.
type Hooks struct{ list []Hook }

// Add adds a hook; it ignores nil.
func (h *Hooks) Add(one Hook) {
	if one != nil {
		h.list = append(h.list, one)
	}
}

// Reset removes all hooks, because a transaction that runs again may join the
// work of other contexts.
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
