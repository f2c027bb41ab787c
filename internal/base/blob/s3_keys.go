package blob

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Keys are the access keys of S3. If they are empty, they come from the files that the aws command uses, else from the
// machine's role (a web identity, a container's role, EC2).
type Keys struct{ ID, Secret, SessionToken string }

// errKeys is the error when there are no access keys.
var errKeys = errors.New("there are no access keys")

// keyChain asks several sources for keys. Other than minio-go's own chain, it returns an error if none has any, instead
// of sending requests without a signature.
type keyChain struct {
	sources []credentials.Provider
	current credentials.Provider
}

func newKeys(k Keys) (*credentials.Credentials, error) {
	if (k.ID == "") != (k.Secret == "") {
		return nil, errors.New("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must both be set, or neither")
	}
	if k.ID != "" {
		return credentials.NewStaticV4(k.ID, k.Secret, k.SessionToken), nil
	}
	// Machines without a role have no metadata server; its address may then swallow packets.
	dialer := net.Dialer{Timeout: time.Second}
	metadata := &http.Client{Timeout: 3 * time.Second, Transport: &http.Transport{
		Proxy: nil, DialContext: dialer.DialContext, TLSHandshakeTimeout: 2 * time.Second, IdleConnTimeout: time.Second,
	}}
	return credentials.New(&keyChain{sources: []credentials.Provider{
		&credentials.FileAWSCredentials{}, &credentials.IAM{Client: metadata},
	}}), nil
}

// RetrieveWithCredContext implements credentials.Provider.
func (c *keyChain) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	err := errKeys
	for _, source := range c.sources {
		value, failure := source.RetrieveWithCredContext(cc)
		if failure == nil && value.AccessKeyID != "" && value.SecretAccessKey != "" {
			c.current = source
			return value, nil
		}
		if failure != nil && strings.Contains(failure.Error(), "partial static credentials") {
			err = errors.Join(err, failure)
		}
	}
	return credentials.Value{}, err
}

// Retrieve implements credentials.Provider.
func (c *keyChain) Retrieve() (credentials.Value, error) { return c.RetrieveWithCredContext(nil) }

// IsExpired implements credentials.Provider.
func (c *keyChain) IsExpired() bool { return c.current == nil || c.current.IsExpired() }

// retrieve returns errKeys unless there are keys.
func retrieve(ctx context.Context, k *credentials.Credentials) error {
	result := make(chan error, 1)
	go func() { // the provider's requests have time-outs of their own
		_, err := k.GetWithContext(nil)
		result <- err
	}()
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return errKeys
	}
}
