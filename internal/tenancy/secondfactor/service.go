// Package secondfactor holds the second factor of tenants' users and of the platform's admins: codes of an authenticator app (TOTP, RFC
// 6238), and recovery codes.
package secondfactor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pquerna/otp"
	"github.com/pquerna/otp/totp"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/secret"
)

const (
	// setupLife is the time within which a code must confirm a new secret.
	setupLife = 15 * time.Minute
	// secretSize is the length of a secret in bytes: that of SHA-1 (RFC 4226, section 4).
	secretSize = 20
	// issuer is the name that apps show.
	issuer = "Showfloor"
)

// Service holds the use cases of both kinds of holders.
type Service struct {
	pool *pgxpool.Pool
	box  *secret.Box
	now  func() time.Time
}

// New makes the service. The box encrypts the secrets.
func New(pool *pgxpool.Pool, box *secret.Box, now func() time.Time) *Service {
	return &Service{pool: pool, box: box, now: now}
}

// State is a holder's second factor. EnabledAt is nil if there is none.
type State struct {
	EnabledAt         *time.Time
	RecoveryCodesLeft int
}

// Setup is a new secret.
type Setup struct {
	// Secret is in base32, and URL has it for apps that read QR codes.
	Secret, URL string
	ExpiresAt   time.Time
}

// Codes are new recovery codes.
type Codes struct {
	RecoveryCodes []string
	EnabledAt     time.Time
}

func errNone() error { return problem.Conflicting("no second factor is enabled") }

// Get returns the state of a holder.
func (s *Service) Get(ctx context.Context, holderID string) (State, error) {
	row, err := db.New(s.pool).GetSecondFactor(ctx, holderID)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && row.ConfirmedAt == nil {
		return State{}, nil
	}
	if err != nil {
		return State{}, fmt.Errorf("get second factor: %w", err)
	}
	return State{EnabledAt: row.ConfirmedAt, RecoveryCodesLeft: int(row.CodesLeft)}, nil
}

// BeginTx creates a secret that isn't used until ConfirmTx. name is the account's name in the app.
func (s *Service) BeginTx(ctx context.Context, tx pgx.Tx, holderID, name string) (Setup, error) {
	q, now := db.New(tx), s.now()
	row, err := q.LockSecondFactor(ctx, holderID)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return Setup{}, fmt.Errorf("lock second factor: %w", err)
	}
	if row.ConfirmedAt != nil {
		return Setup{}, problem.Conflicting("a second factor is enabled already; disable it first")
	}
	plain := make([]byte, secretSize)
	rand.Read(plain) // never fails
	key, err := totp.Generate(totp.GenerateOpts{Issuer: issuer, AccountName: name, Secret: plain, Digits: otp.DigitsSix})
	if err != nil {
		return Setup{}, fmt.Errorf("make otpauth URL: %w", err)
	}
	err = q.PutSecondFactor(ctx, db.PutSecondFactorParams{HolderID: holderID, Secret: s.box.Seal(plain, sealContext(holderID)), Now: now})
	if err != nil {
		return Setup{}, fmt.Errorf("put second factor: %w", err)
	}
	return Setup{Secret: key.Secret(), URL: key.URL(), ExpiresAt: now.Add(setupLife)}, nil
}

// ConfirmTx enables the second factor with a code of the app. The count of wrong codes must be committed, also if the verdict is a
// refusal.
func (s *Service) ConfirmTx(ctx context.Context, tx pgx.Tx, holderID, code string) (Codes, Verdict, error) {
	q, now := db.New(tx), s.now()
	row, err := q.LockSecondFactor(ctx, holderID)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return Codes{}, Verdict{}, fmt.Errorf("lock second factor: %w", err)
	}
	switch {
	case row.ConfirmedAt != nil:
		return Codes{}, Verdict{}, problem.Conflicting("a second factor is enabled already; disable it first")
	case err != nil || now.Sub(row.CreatedAt) >= setupLife:
		return Codes{}, Verdict{}, problem.Conflicting("there is no new secret to confirm, or it has expired; begin again")
	}
	v, err := s.judge(ctx, q, row, Proof{Code: code})
	if err != nil || v.outcome != accepted {
		return Codes{}, v, err
	}
	if err := q.ConfirmSecondFactor(ctx, db.ConfirmSecondFactorParams{HolderID: holderID, Now: &now}); err != nil {
		return Codes{}, v, fmt.Errorf("confirm second factor: %w", err)
	}
	codes, err := replaceCodes(ctx, q, holderID)
	return Codes{RecoveryCodes: codes, EnabledAt: now}, v, err
}

// CheckTx checks a holder's code at a login. A holder without a second factor needs none. The count of wrong codes must be committed,
// also if the verdict is a refusal.
func (s *Service) CheckTx(ctx context.Context, tx pgx.Tx, holderID string, p Proof) (Verdict, error) {
	q := db.New(tx)
	row, err := q.LockSecondFactor(ctx, holderID)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && row.ConfirmedAt == nil {
		return Verdict{}, nil
	}
	if err != nil {
		return Verdict{}, fmt.Errorf("lock second factor: %w", err)
	}
	return s.judge(ctx, q, row, p)
}

// RenewTx replaces the recovery codes. A wrong code is as in CheckTx.
func (s *Service) RenewTx(ctx context.Context, tx pgx.Tx, holderID string, p Proof) (Codes, Verdict, error) {
	q := db.New(tx)
	at, v, err := s.proveTx(ctx, q, holderID, p)
	if err != nil || v.outcome != accepted {
		return Codes{}, v, err
	}
	codes, err := replaceCodes(ctx, q, holderID)
	return Codes{RecoveryCodes: codes, EnabledAt: at}, v, err
}

// DisableTx deletes the second factor of a holder who proves to have it. A wrong code is as in CheckTx.
func (s *Service) DisableTx(ctx context.Context, tx pgx.Tx, holderID string, p Proof) (Verdict, error) {
	_, v, err := s.proveTx(ctx, db.New(tx), holderID, p)
	if err != nil || v.outcome != accepted {
		return v, err
	}
	return v, s.ForgetTx(ctx, tx, holderID)
}

// ResetTx deletes the second factor of a holder who has lost it. A holder without one is a conflict.
func (s *Service) ResetTx(ctx context.Context, tx pgx.Tx, holderID string) error {
	row, err := db.New(tx).LockSecondFactor(ctx, holderID)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && row.ConfirmedAt == nil {
		return errNone()
	}
	if err != nil {
		return fmt.Errorf("lock second factor: %w", err)
	}
	return s.ForgetTx(ctx, tx, holderID)
}

// ForgetTx deletes what there is of a holder.
func (s *Service) ForgetTx(ctx context.Context, tx pgx.Tx, holderID string) error {
	if err := db.New(tx).DeleteSecondFactor(ctx, holderID); err != nil {
		return fmt.Errorf("delete second factor: %w", err)
	}
	return nil
}

// proveTx checks a code, and returns the time at which the second factor was enabled.
func (s *Service) proveTx(ctx context.Context, q *db.Queries, holderID string, p Proof) (time.Time, Verdict, error) {
	row, err := q.LockSecondFactor(ctx, holderID)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && row.ConfirmedAt == nil {
		return time.Time{}, Verdict{}, errNone()
	}
	if err != nil {
		return time.Time{}, Verdict{}, fmt.Errorf("lock second factor: %w", err)
	}
	v, err := s.judge(ctx, q, row, p)
	return *row.ConfirmedAt, v, err
}

// judge checks a code of the locked row, and stores the use of the code or the wrong try.
func (s *Service) judge(ctx context.Context, q *db.Queries, row db.SecondFactor, p Proof) (Verdict, error) {
	now := s.now()
	count, since := tries(row, now)
	switch {
	case p == Proof{}:
		return Verdict{outcome: absent}, nil
	case count >= MaxWrong:
		return Verdict{outcome: limited, retry: since.Add(wrongPeriod).Sub(now)}, nil
	}
	right, last, err := s.matches(ctx, q, row, p)
	if err != nil {
		return Verdict{}, err
	}
	tried := db.SetSecondFactorTriesParams{HolderID: row.HolderID, LastStep: last}
	v := Verdict{outcome: accepted}
	if !right {
		v = Verdict{outcome: wrong}
		tried.WrongCodes, tried.WrongSince = count+1, &since
		if tried.WrongCodes >= MaxWrong {
			v.lockedUntil = since.Add(wrongPeriod)
		}
	}
	if err := q.SetSecondFactorTries(ctx, tried); err != nil {
		return v, fmt.Errorf("set second factor tries: %w", err)
	}
	return v, nil
}

// matches reports whether a code is right. It uses up a recovery code, and returns the step of the last accepted code.
func (s *Service) matches(ctx context.Context, q *db.Queries, row db.SecondFactor, p Proof) (right bool, last int64, err error) {
	if p.RecoveryCode != "" && p.Code == "" {
		used, err := q.UseRecoveryCode(ctx, db.UseRecoveryCodeParams{
			HolderID: row.HolderID, CodeHash: hashRecovery(row.HolderID, p.RecoveryCode),
		})
		if err != nil {
			return false, row.LastStep, fmt.Errorf("use recovery code: %w", err)
		}
		return used == 1, row.LastStep, nil
	}
	plain, err := s.box.Open(row.Secret, sealContext(row.HolderID))
	if err != nil {
		return false, row.LastStep, fmt.Errorf("second factor of %s: %w", row.HolderID, err)
	}
	matched, right, err := matchStep(plain, p.Code, row.LastStep, s.now())
	if !right {
		return false, row.LastStep, err
	}
	return true, matched, nil
}

// replaceCodes stores new recovery codes in place of the old ones.
func replaceCodes(ctx context.Context, q *db.Queries, holderID string) ([]string, error) {
	codes, hashes := newRecoveryCodes(holderID)
	if err := q.DeleteRecoveryCodes(ctx, holderID); err != nil {
		return nil, fmt.Errorf("delete recovery codes: %w", err)
	}
	if err := q.CreateRecoveryCodes(ctx, db.CreateRecoveryCodesParams{HolderID: holderID, CodeHashes: hashes}); err != nil {
		return nil, fmt.Errorf("create recovery codes: %w", err)
	}
	return codes, nil
}

// sealContext binds a sealed secret to its row.
func sealContext(holderID string) string { return "second_factors/" + holderID }

// DeleteOld deletes secrets that were not confirmed in time.
func (s *Service) DeleteOld(ctx context.Context) error {
	q, now := db.New(s.pool), s.now()
	return postgres.DeleteInBatches(ctx, "unconfirmed second factors", func(maxRows int32) (int64, error) {
		return q.DeleteUnconfirmedSecondFactors(ctx, db.DeleteUnconfirmedSecondFactorsParams{Before: now.Add(-setupLife), MaxRows: maxRows})
	})
}
