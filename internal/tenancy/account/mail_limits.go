package account

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/internal/tenancy/mail"
)

// Limits on mails to one address per mailPeriod. Anyone can enter any address, so
// without limits these mails could be used to flood a mailbox.
const (
	mailPeriod         = time.Hour
	maxCodesRecipient  = 20 // sign-up mails, first and resent ones together
	maxResetsRecipient = 5
)

// mailsTo counts the mails of these kinds to an address within mailPeriod.
func (s *Service) mailsTo(ctx context.Context, tx pgx.Tx, address string, kinds ...string) (mail.Recent, error) {
	recent, _, err := s.mails.CountToTx(ctx, tx, address, "", s.now().Add(-mailPeriod), kinds...)
	return recent, err
}
