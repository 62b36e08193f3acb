package bucket

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// A Place is where a bucket is: what a URI such as
// s3://bucket/prefix?endpoint=http://127.0.0.1:9000&region=eu-1 says. An empty
// endpoint or region is what the SDK's environment variables and files say, then
// AWS and us-east-1.
type Place struct {
	Name, Prefix, Endpoint, Region string
	// PathStyle puts the bucket into the path of a URL and not into its host name.
	PathStyle bool
}

// String is the URI of the folder.
func (p Place) String() string {
	if p.Prefix == "" {
		return "s3://" + p.Name
	}
	return "s3://" + p.Name + "/" + p.Prefix
}

var (
	bucketName = regexp.MustCompile(`^[0-9a-z][0-9a-z.-]{1,61}[0-9a-z]$`)
	prefix     = regexp.MustCompile(`^[0-9A-Za-z_.-]+(/[0-9A-Za-z_.-]+)*$`)
)

// ParseURI reads a URI. Its errors do not repeat it: it may hold what somebody
// took for the place of a secret.
func ParseURI(uri string) (Place, error) {
	u, err := url.Parse(uri)
	switch {
	case err != nil || u.Scheme != "s3":
		return Place{}, errors.New("write s3://bucket/prefix")
	case u.User != nil:
		return Place{}, errors.New("no user or password may stand in the URI: it is kept by the cluster; credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE")
	case !bucketName.MatchString(u.Host):
		return Place{}, fmt.Errorf("%q is no name of a bucket: 3 to 63 small letters, digits, '.' and '-'", u.Host)
	case u.Fragment != "":
		return Place{}, errors.New("nothing may follow a '#' in the URI")
	}
	p := Place{Name: u.Host, Prefix: strings.Trim(u.Path, "/")}
	if p.Prefix != "" && !prefix.MatchString(p.Prefix) {
		return Place{}, fmt.Errorf("prefix %q: write letters, digits, '_', '.' and '-', with single '/' between them", p.Prefix)
	}
	return p, p.readQuery(u.RawQuery)
}

func (p *Place) readQuery(raw string) error {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return errors.New("what follows the '?' in the URI is not key=value&key=value")
	}
	for key, values := range query {
		switch key {
		case "endpoint":
			p.Endpoint = values[0]
		case "region":
			p.Region = values[0]
		case "path_style":
			if p.PathStyle, err = strconv.ParseBool(values[0]); err != nil {
				return errors.New("path_style is true or false")
			}
		default:
			return fmt.Errorf("%q is unknown after the '?' of the URI: endpoint, region and path_style are known; credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE", key)
		}
	}
	if p.Endpoint == "" {
		return nil
	}
	if e, err := url.Parse(p.Endpoint); err != nil || e.Scheme != "http" && e.Scheme != "https" || e.Host == "" || e.User != nil || e.RawQuery != "" {
		return errors.New("endpoint must be as in endpoint=https://s3.example.com:9000")
	}
	if !query.Has("path_style") {
		p.PathStyle = true // as most servers other than AWS need it
	}
	return nil
}
