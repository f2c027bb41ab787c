package blob

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
)

const (
	// readWindow and writeWindow are how long an operation is retried. Viewers wait for reads; a write has its bytes on
	// this machine, and saves the caller's next attempt.
	readWindow, writeWindow = 10 * time.Second, 2 * time.Minute
	// openWindow is that of Open.
	openWindow = 4 * time.Second
	// The pause before a retry doubles from the first to the longest; each is shortened by up to half.
	firstPause, longestPause = 200 * time.Millisecond, 10 * time.Second
)

// lasting is an error that a retry doesn't cure.
type lasting struct{ error }

// Unwrap returns the error itself.
func (l lasting) Unwrap() error { return l.error }

// retry calls do until it succeeds, fails with an error that a retry doesn't cure, or window has passed.
func (b *bucket) retry(ctx context.Context, window time.Duration, do func() error) error {
	began := b.now()
	for attempt := 0; ; attempt++ {
		err := do()
		if err == nil {
			return nil
		}
		if ctxErr := ctx.Err(); ctxErr != nil {
			return fmt.Errorf("%w; the last attempt: %v", ctxErr, err) //nolint:errorlint // only ctx's error decides what follows
		}
		if code(err) == "ExpiredToken" {
			b.keys.Expire()
		}
		pause := pauseBefore(attempt)
		if !passing(err) || b.now().Sub(began)+pause > window {
			return translate(err)
		}
		if ctxErr := b.wait(ctx, pause); ctxErr != nil {
			return fmt.Errorf("%w; the last attempt: %v", ctxErr, err) //nolint:errorlint // as above
		}
	}
}

// pauseBefore returns the pause between an attempt, from 0 on, and the next one.
func pauseBefore(attempt int) time.Duration {
	pause := min(firstPause<<min(attempt, 10), longestPause)
	return pause/2 + rand.N(pause/2)
}

// code returns the code of an error that the storage has answered with, else "".
func code(err error) string { return answered(err).Code }

// answered returns the storage's answer; its StatusCode is 0 if there was none.
func answered(err error) minio.ErrorResponse {
	e, _ := errors.AsType[minio.ErrorResponse](err)
	return e
}

// passing reports whether a retry may cure the error.
func passing(err error) bool {
	if isLasting(err) || isFull(err) {
		return false
	}
	e := answered(err)
	switch {
	case slices.Contains([]string{
		"RequestTimeout", "SlowDown", "SlowDownRead", "SlowDownWrite", "InternalError", "ExpiredToken", "OperationAborted", "Throttling",
		"ThrottlingException", "RequestLimitExceeded", "IncompleteBody", "BadDigest", "XAmzContentSHA256Mismatch",
	}, e.Code):
		return true
	case e.StatusCode == 0:
		return true // no answer, or one that isn't whole
	default:
		return e.StatusCode >= http.StatusInternalServerError && e.StatusCode != http.StatusNotImplemented ||
			e.StatusCode == http.StatusTooManyRequests || e.StatusCode == http.StatusRequestTimeout
	}
}

func isLasting(err error) bool {
	var l lasting
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &l) || errors.Is(err, errKeys) || errors.As(err, &unknown) || errors.As(err, &name) || errors.As(err, &invalid) ||
		strings.Contains(err.Error(), httpForHTTPS)
}

// httpForHTTPS is in net/http's error when a server without TLS answers.
const httpForHTTPS = "server gave HTTP response to HTTPS client"

func isFull(err error) bool {
	e := answered(err)
	return e.StatusCode == http.StatusInsufficientStorage || slices.Contains([]string{
		"QuotaExceeded", "InsufficientStorage", "XMinioStorageFull", "XMinioAdminBucketQuotaExceeded", "StorageFull",
	}, e.Code)
}

// translate marks errors with ErrNotFound and ErrFull. Other answers get their code, which minio-go leaves out.
func translate(err error) error {
	e := answered(err)
	switch {
	case e.StatusCode == 0:
		return err
	case isFull(err):
		return fmt.Errorf("%w: %w", ErrFull, err)
	case e.Code == minio.NoSuchKey || e.StatusCode == http.StatusNotFound && e.Code == "NotFound":
		return ErrNotFound
	case strings.HasPrefix(e.Code, strconv.Itoa(e.StatusCode)): // an answer without a code, as to HEAD
		return fmt.Errorf("the storage answered: %w", err)
	default:
		return fmt.Errorf("the storage answered %d %s: %w", e.StatusCode, e.Code, err)
	}
}

// advice turns the error of the first requests into one line that says what to do. It contains no secret: the storage's
// own message may have the key's id and the signed text in it, so it is left out.
func (p *place) advice(err error) error {
	e := answered(err)
	where := "bucket " + p.bucket + " at " + p.address() + ": "
	switch {
	case errors.Is(err, errKeys):
		return errors.New(where + "there are no access keys; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	case e.StatusCode == 0:
		return errors.New(where + p.unreachable(err))
	case isFull(err):
		return fmt.Errorf("%s%w; free space, or raise the quota", where, ErrFull)
	}
	switch e.Code {
	case minio.NoSuchBucket:
		return errors.New(where + "there is no such bucket; create it, or correct its name or the endpoint")
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "ExpiredToken", "InvalidClientTokenId", "XAdminUserNotFound":
		return errors.New(where + "the access key was refused (" + e.Code +
			"); correct AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN")
	case minio.AccessDenied, "AllAccessDisabled":
		return errors.New(where + "the access key may not use the bucket (" + e.Code +
			"); allow it to list, read, write and delete (docs/configuration.md has the policy), or correct the bucket's name")
	case "AuthorizationHeaderMalformed", "PermanentRedirect", "TemporaryRedirect", "IllegalLocationConstraintException", "InvalidRegion":
		return errors.New(where + "it is in another region" + other(e.Region) + "; add region= to the URL")
	case "RequestTimeTooSkewed":
		return errors.New(where + "this machine's clock is wrong; set it, or run a time service")
	}
	return fmt.Errorf("%sit answered %d %s, which S3-compatible storage doesn't; check the endpoint", where, e.StatusCode, plainCode(e.Code))
}

func other(region string) string {
	if region == "" {
		return ""
	}
	return " (" + plainCode(region) + ")"
}

// plainCode returns a word from the storage's answer without line breaks and the like, at most 64 characters.
func plainCode(text string) string {
	text = strings.Map(func(c rune) rune {
		if notInKeys(c) && c != ' ' {
			return -1
		}
		return c
	}, text)
	return text[:min(len(text), 64)]
}

// unreachable says why there was no answer.
func (p *place) unreachable(err error) string {
	var dns *net.DNSError
	var link *url.Error
	var timeout interface{ Timeout() bool }
	switch {
	case strings.Contains(err.Error(), httpForHTTPS):
		return "it answers without TLS; write endpoint=http://" + p.endpoint
	case errors.As(err, &dns):
		return "its name is not known (" + dns.Name + "); correct the endpoint, or path_style"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "it doesn't answer; correct the endpoint, or open the firewall"
	case errors.As(err, &link):
		return "it can't be reached (" + oneLine(link.Err) + "); start it, or correct the endpoint"
	default:
		return "it can't be used (" + oneLine(err) + "); check the endpoint"
	}
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
