package middleware

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// originSet is a list of origins, some with all their subdomains.
type originSet struct {
	exact []string
	below [][2]string // what is before and behind the "*"
}

// add adds an origin. It panics with the name of the middleware if the origin is not valid.
func (s *originSet) add(middleware, origin string) {
	lower := strings.ToLower(origin)
	plain := strings.Replace(lower, "://*.", "://", 1)
	u, err := url.Parse(plain)
	if err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != plain || strings.ContainsAny(u.Host, "*, ") {
		panic(fmt.Sprintf("middleware: %s: %q is not an origin like https://example.com or https://*.example.com", middleware, origin))
	}
	if plain != lower {
		s.below = append(s.below, [2]string{u.Scheme + "://", "." + u.Host})
	} else {
		s.exact = append(s.exact, lower)
	}
}

func (s *originSet) isEmpty() bool { return len(s.exact)+len(s.below) == 0 }

// has reports whether an origin, as a browser sends it, is in the set.
func (s *originSet) has(origin string) bool {
	if slices.Contains(s.exact, origin) {
		return true
	}
	for _, p := range s.below {
		if len(origin) > len(p[0])+len(p[1]) && strings.HasPrefix(origin, p[0]) && strings.HasSuffix(origin, p[1]) &&
			isHostText(origin[len(p[0]):len(origin)-len(p[1])]) {
			return true
		}
	}
	return false
}

// isHostText reports whether s consists of host name labels only, without a character that would end the host name.
func isHostText(s string) bool {
	for i := range len(s) {
		if b := s[i]; b-'a' >= 26 && b-'0' >= 10 && b != '-' && b != '.' && b != '_' {
			return false
		}
	}
	return s[0] != '.' && s[len(s)-1] != '.' && !strings.Contains(s, "..")
}
