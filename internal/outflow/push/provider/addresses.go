package provider

import "crypto/x509"

// Addresses of the providers; the empty ones are the providers' own.
type Addresses struct {
	// APNS and FCM are base addresses without a slash at the end, FCMToken is the address for access tokens.
	APNS, FCM, FCMToken string
	// Roots are the authorities of their certificates; nil for those of the system.
	Roots *x509.CertPool
}
