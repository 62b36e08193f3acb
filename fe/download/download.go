// Package download gets one small file over HTTP, for CREATE FILE.
//
// The address is the statement's, so it is the frontend that reaches out for
// whoever may send statements. What it may reach is bounded: http and https
// only, also after redirects, which may not go from https to http; no
// link-local addresses, where clouds keep the credentials of their machines;
// no name and password in the address, which would be shown with the
// statement. Time and size are bounded as well. Errors are made for users and
// quote nothing of what was read.
//
// Get is safe for concurrent use; nothing of a call is left when it returns.
package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

const (
	timeout      = 30 * time.Second // of the whole
	dialTimeout  = 5 * time.Second
	maxRedirects = 5
)

// ErrTooLarge is for files of more bytes than asked for.
var ErrTooLarge = errors.New("the file is too large")

// Get is the content of the file at address, of at most limit bytes.
func Get(ctx context.Context, address string, limit int64) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not done within %v", timeout))
	defer cancel()
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("it is no URL")
	}
	if err := check(u); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, errors.New("it is no URL")
	}
	dialer := &net.Dialer{Timeout: dialTimeout, Control: control}
	transport := &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true, TLSHandshakeTimeout: dialTimeout}
	client := &http.Client{Transport: transport, CheckRedirect: checkRedirect}
	resp, err := client.Do(req)
	if err != nil {
		return nil, reason(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answers %s", resp.Status)
	}
	content, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil:
		return nil, reason(ctx, err)
	case int64(len(content)) > limit:
		return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit)
	}
	return content, nil
}

// check refuses addresses that may not be asked for.
func check(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("'%s' is not supported; http and https are", u.Scheme)
	case u.Host == "":
		return errors.New("it has no host")
	case u.User != nil:
		return errors.New("it must not have a name and password")
	}
	return nil
}

func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	if via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme != "https" {
		return errors.New("a redirect leads from https to http")
	}
	if err := check(req.URL); err != nil {
		return fmt.Errorf("a redirect leads astray: %w", err)
	}
	return nil
}

// control refuses addresses that a connection may not go to. It sees what a
// name was resolved to, so that no name leads there.
func control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if ip := to.Addr().Unmap(); ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip.IsUnspecified() {
		return fmt.Errorf("%s may not be reached from here", ip)
	}
	return nil
}

// reason is an error without the address, which the statement has.
func reason(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return err
}
