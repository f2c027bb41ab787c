package account

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/secret"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/tenancy/mail"
)

// SendCode stores a sign-up form and mails its code. Only the mail reveals whether
// the e-mail is taken: the same is hashed, read and written in both cases. It
// returns the canonical e-mail.
//
// Above maxCodesRecipient mails the stored form is deleted. Otherwise an attacker
// who used up the mails could have the owner of the address confirm the attacker's
// form.
func (s *Service) SendCode(ctx context.Context, r Registration, from tenancy.Origin) (email string, err error) {
	if err := s.requireOpenSignup(ctx); err != nil {
		return "", err
	}
	if err := s.mails.Require(); err != nil {
		return "", err
	}
	hash, err := s.hasher.hash(ctx, r.Password)
	if err != nil {
		return "", err
	}
	email = CanonicalEmail(r.Email)
	var refusal error
	err = postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.now()
		tries, err := s.lockTries(ctx, q, email)
		if err != nil {
			return err
		}
		recent, err := s.mailsTo(ctx, tx, email, codeKind, takenKind)
		if err != nil {
			return err
		}
		if recent.Count >= maxCodesRecipient {
			refusal = problem.Limited(recent.Oldest.Add(mailPeriod).Sub(now),
				"too many sign-up mails: %d an hour can be sent to one address", maxCodesRecipient)
			if err := q.DeleteSignupForm(ctx, email); err != nil {
				return fmt.Errorf("delete sign-up form: %w", err)
			}
			return nil // the deletion commits
		}
		taken, err := isTaken(ctx, q, email)
		if err != nil {
			return err
		}
		form := db.SignupForm{
			Email: email, ID: id.New(id.SignupForm), TenantName: r.TenantName, Name: r.Name, PasswordHash: hash, ExpiresAt: now.Add(FormLife),
		}
		code := secret.Digits(codeLength)
		letter := codeLetter(form, code)
		if form.CodeHash = hashCode(s.codeKeys[0], form.ID, code); taken {
			form.CodeHash, letter = nil, takenLetter(form, s.publicURL)
		}
		err = q.PutSignupForm(ctx, db.PutSignupFormParams{
			Email: email, ID: form.ID, TenantName: form.TenantName, Name: form.Name, PasswordHash: hash,
			CodeHash: form.CodeHash, ExpiresAt: form.ExpiresAt, Now: now,
		})
		if err != nil {
			return fmt.Errorf("put sign-up form: %w", err)
		}
		tries.WrongCodes = 0
		if err := setTries(ctx, q, tries); err != nil {
			return err
		}
		return s.postCode(ctx, tx, form, letter, "signup.send_code", from)
	})
	return email, errors.Join(err, refusal)
}

// postCode mails the letter for a form and writes an audit entry.
func (s *Service) postCode(ctx context.Context, tx pgx.Tx, form db.SignupForm, l mail.Letter, action string, from tenancy.Origin) error {
	if err := s.mails.PostTx(ctx, tx, l); err != nil {
		return err
	}
	return audit.WriteTx(ctx, db.New(tx), s.now(), audit.Entry{
		Actor: from.Component("signup"), Action: action, Entity: "signup_form", EntityID: form.ID,
	})
}

// VerifyAndRegister creates the tenant of a form if the code is right, and logs
// its OWNER in. Wrong codes are counted per e-mail, also if there is no form for
// it.
func (s *Service) VerifyAndRegister(ctx context.Context, email, code string, from tenancy.Origin) (Login, error) {
	if err := s.requireOpenSignup(ctx); err != nil {
		return Login{}, err
	}
	var l Login
	var refusal error
	email = CanonicalEmail(email)
	err := postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		tries, err := s.lockTries(ctx, q, email)
		if err != nil {
			return err
		}
		form, err := q.LockSignupForm(ctx, email)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("lock sign-up form: %w", err)
		}
		right := slices.ContainsFunc(s.codeKeys, func(key []byte) bool { return equalHash(form.CodeHash, hashCode(key, form.ID, code)) })
		tries.WrongCodes, refusal = judgeCode(right, tries.WrongCodes, form.ExpiresAt, s.now())
		if err := setTries(ctx, q, tries); err != nil || refusal != nil {
			return err // the new count of tries commits
		}
		if err := q.DeleteSignupForm(ctx, email); err != nil {
			return fmt.Errorf("delete sign-up form: %w", err)
		}
		l, err = s.createTenant(ctx, tx, founder{
			tenantName: form.TenantName, name: form.Name, email: email, passwordHash: form.PasswordHash, verified: true,
		}, from)
		return err
	})
	if err = errors.Join(err, refusal); err != nil {
		return Login{}, err
	}
	return s.withToken(ctx, l)
}

// ResendCodeArgs is the job that mails a new code, if there is a form for the
// e-mail. The job looks that up, so that the time of the request doesn't reveal
// it.
type ResendCodeArgs struct {
	Email     string `json:"email"`
	RequestID string `json:"requestId"`
	IP        string `json:"ip"`
}

// Kind is the job's name.
func (ResendCodeArgs) Kind() string { return "signup_resend_code" }

// InsertOpts puts the job into the queue of the mails, because it creates one.
func (ResendCodeArgs) InsertOpts() river.InsertOpts { return river.InsertOpts{Queue: mail.Queue} }

// ResendCode requests another mail with a code for a form, at most once per 30
// seconds and e-mail, also if there is no form. It returns the canonical e-mail.
func (s *Service) ResendCode(ctx context.Context, email string, from tenancy.Origin) (string, error) {
	if err := s.requireOpenSignup(ctx); err != nil {
		return "", err
	}
	if err := s.mails.Require(); err != nil {
		return "", err
	}
	email = CanonicalEmail(email)
	return email, postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.now()
		tries, err := s.lockTries(ctx, q, email)
		if err != nil {
			return err
		}
		if err := checkResend(tries.ResentAt, now); err != nil {
			return err
		}
		tries.ResentAt = &now
		if err := setTries(ctx, q, tries); err != nil {
			return err
		}
		args := ResendCodeArgs{Email: email, RequestID: from.RequestID, IP: from.IP}
		if _, err := s.jobs.InsertTx(ctx, tx, args, nil); err != nil {
			return fmt.Errorf("insert resend job: %w", err)
		}
		return nil
	})
}

// MailCodeAgain makes a new code for the e-mail's form, if there is a valid one,
// and mails it, up to maxCodesRecipient mails per mailPeriod. It may run twice:
// one request causes one mail.
func (s *Service) MailCodeAgain(ctx context.Context, a ResendCodeArgs) error {
	return postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		tries, err := s.lockTries(ctx, q, a.Email)
		if err != nil {
			return err
		}
		form, err := q.LockSignupForm(ctx, a.Email)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("lock sign-up form: %w", err)
		}
		recent, err := s.mailsTo(ctx, tx, a.Email, codeKind, takenKind)
		if err != nil {
			return err
		}
		answered := form.ResendID != nil && *form.ResendID == a.RequestID
		if answered || recent.Count >= maxCodesRecipient || tries.WrongCodes >= maxWrongCodes || !form.ExpiresAt.After(s.now()) {
			return nil
		}
		letter := takenLetter(form, s.publicURL)
		if form.CodeHash != nil {
			code := secret.Digits(codeLength)
			form.CodeHash, letter = hashCode(s.codeKeys[0], form.ID, code), codeLetter(form, code)
		}
		if err := q.SetSignupCode(ctx, db.SetSignupCodeParams{Email: a.Email, CodeHash: form.CodeHash, ResendID: &a.RequestID}); err != nil {
			return fmt.Errorf("set sign-up code: %w", err)
		}
		return s.postCode(ctx, tx, form, letter, "signup.resend_code", tenancy.Origin{IP: a.IP, RequestID: a.RequestID})
	})
}

// lockTries locks the row with an e-mail's sign-up tries. Every sign-up operation
// takes this lock first.
func (s *Service) lockTries(ctx context.Context, q *db.Queries, email string) (db.SignupTry, error) {
	tries, err := q.LockSignupTries(ctx, db.LockSignupTriesParams{EmailHash: hashEmail(s.codeKeys[0], email), Now: s.now()})
	if err != nil {
		return tries, fmt.Errorf("lock sign-up tries: %w", err)
	}
	return tries, nil
}

func setTries(ctx context.Context, q *db.Queries, t db.SignupTry) error {
	err := q.SetSignupTries(ctx, db.SetSignupTriesParams{EmailHash: t.EmailHash, WrongCodes: t.WrongCodes, ResentAt: t.ResentAt})
	if err != nil {
		return fmt.Errorf("set sign-up tries: %w", err)
	}
	return nil
}

func isTaken(ctx context.Context, q *db.Queries, email string) (bool, error) {
	_, err := q.GetUserByEmail(ctx, email)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return false, fmt.Errorf("get user: %w", err)
	}
	return err == nil, nil
}
