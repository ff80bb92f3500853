package plan

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// target is where requests go.
type target struct {
	scheme    string // http or https
	authority string // for Host: without the default port
	address   string // host:port to connect to
	path      string // in origin form
}

// parseTarget parses a URL. The scheme http:// and the host localhost may be left out.
func parseTarget(source string) (t target, err error) {
	if strings.HasPrefix(source, ":") {
		source = "localhost" + source
	}
	if !strings.Contains(source, "://") {
		source = "http://" + source
	}
	u, err := url.Parse(source)
	switch {
	case err != nil:
		return t, fmt.Errorf("the target is no URL: %w", err)
	case u.Scheme != "http" && u.Scheme != "https":
		return t, fmt.Errorf("the target begins with http:// or https://, not %s://", u.Scheme)
	case u.Hostname() == "":
		return t, errors.New("the target has no host")
	case u.User != nil:
		return t, errors.New("the target has a user name; send the header Authorization instead")
	}
	t = target{scheme: u.Scheme, path: originForm(u)}
	if strings.Contains(source, "{{") {
		t.path = pathOf(source) // escaped braces would not be a template
	}
	port := u.Port()
	standard := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	if port == "" {
		port = standard
	}
	t.address = net.JoinHostPort(u.Hostname(), port)
	t.authority = t.address
	if port == standard {
		t.authority = strings.TrimSuffix(t.address, ":"+port)
	}
	return t, nil
}

func originForm(u *url.URL) string {
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	if u.RawQuery != "" || u.ForceQuery {
		path += "?" + u.RawQuery
	}
	return path
}

// pathOf returns the path and the query of a URL as they are written.
func pathOf(source string) string {
	_, rest, _ := strings.Cut(source, "://")
	rest, _, _ = strings.Cut(rest, "#")
	if i := strings.IndexAny(rest, "/?"); i >= 0 && rest[i] == '/' {
		return rest[i:]
	} else if i >= 0 {
		return "/" + rest[i:]
	}
	return "/"
}

// splitURL splits the URL of a request, which may be a template, into scheme, authority and path. A path alone has neither
// scheme nor authority.
func splitURL(source string) (scheme, authority, path string, err error) {
	scheme, rest, ok := strings.Cut(source, "://")
	if !ok || strings.ContainsAny(scheme, "/?{") {
		if !strings.HasPrefix(source, "/") && !strings.HasPrefix(source, "{{") {
			return "", "", "", fmt.Errorf("url %q: a path begins with a slash, and a whole URL with http:// or https://", source)
		}
		source, _, _ = strings.Cut(source, "#")
		return "", "", source, nil
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, path = rest[:end], rest[end:]
	if strings.Contains(authority, "{{") {
		return "", "", "", fmt.Errorf("url %q: the host cannot have a template", source)
	}
	t, err := parseTarget(scheme + "://" + authority)
	if err != nil {
		return "", "", "", fmt.Errorf("url %q: %w", source, err)
	}
	path, _, _ = strings.Cut(path, "#")
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return t.scheme, t.authority, path, nil
}
