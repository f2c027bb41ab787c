// Texts for codes whose message of the server is short. Other codes show the server's message.
export const problemsEn: Record<string, string> = {
  forbidden: 'This isn’t allowed.',
  unauthenticated: 'Sign in first.',
  token_expired: 'Your sign-in has expired. Sign in again.',
  token_revoked: 'This sign-in was ended. Sign in again.',
  invalid_credentials: 'The e-mail or the password is wrong.',
  invalid_totp: 'The code is wrong or was used already.',
  wrong_code: 'The code is wrong or was used already.',
  wrong_password: 'The password is wrong.',
  rate_limited: 'That was too often. Wait a moment and try again.',
  not_found: 'This doesn’t exist, or no longer.',
  internal_error: 'The server had a fault. Try again, and report the request’s id if it happens again.',
  currency_changed: 'The product’s currency was changed meanwhile. Close the form, and write the price in the new currency.',
  impersonation_ended: 'You no longer act for the tenant. Load the page again to go on as yourself.',
  impersonated: 'An admin who acts for the tenant can’t do this.',
};
