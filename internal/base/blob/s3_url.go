package blob

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/minio/minio-go/v7/pkg/s3utils"
)

// maxPrefix is the greatest length of a bucket's prefix in bytes.
const maxPrefix = 400

// parseBucket parses s3://bucket/prefix?region=&endpoint=&path_style=.
func parseBucket(u *url.URL) (place, error) {
	p := place{bucket: u.Host, endpoint: "s3.amazonaws.com"}
	if err := s3utils.CheckValidBucketNameStrict(p.bucket); err != nil {
		return place{}, errors.New("the bucket's name, behind s3://, must have 3 to 63 lower-case letters, digits, dots and hyphens")
	}
	if prefix := strings.Trim(u.Path, "/"); prefix != "" {
		if CheckKey(prefix) != nil || len(prefix) > maxPrefix {
			return place{}, errors.New("the prefix, behind the bucket, may have letters, digits and . - _, with slashes between its parts")
		}
		p.prefix = prefix + "/"
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return place{}, errors.New("the part behind ? can't be read")
	}
	known := []string{"region", "endpoint", "path_style"}
	for name, values := range query {
		if !slices.Contains(known, name) {
			return place{}, fmt.Errorf("the parameter %q is not known; use %s", name, strings.Join(known, ", "))
		}
		if len(values) > 1 {
			return place{}, fmt.Errorf("the parameter %s is there more than once", name)
		}
	}
	p.region = query.Get("region")
	if err := p.setEndpoint(query.Get("endpoint")); err != nil {
		return place{}, err
	}
	if style := query.Get("path_style"); style != "" {
		if p.pathStyle, err = strconv.ParseBool(style); err != nil {
			return place{}, errors.New("path_style must be true or false")
		}
	}
	return p, nil
}

// setEndpoint sets the storage's address, as host, host:port, http://host or https://host. Other storages than Amazon's
// get the bucket in the path, unless path_style says otherwise: few of them have a name for each bucket.
func (p *place) setEndpoint(text string) error {
	if text == "" {
		return nil
	}
	address := text
	if !strings.Contains(text, "://") {
		address = "https://" + text
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" ||
		u.RawQuery != "" || u.Fragment != "" {
		return errors.New("endpoint must be a host, such as endpoint=minio.example:9000, or endpoint=http://127.0.0.1:9000 for HTTP without TLS")
	}
	p.endpoint, p.plain, p.pathStyle = u.Host, u.Scheme == "http", !s3utils.IsAmazonEndpoint(*u)
	return nil
}

// address returns the storage's URL.
func (p *place) address() string {
	if p.plain {
		return "http://" + p.endpoint
	}
	return "https://" + p.endpoint
}
