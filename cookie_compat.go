package gallop

import "github.com/gallop-http/gallop/internal/ascii"

// SetKeyBytes is SetKey for bytes.
func (c *Cookie) SetKeyBytes(key []byte) { setOrEmpty(&c.key, key, ascii.IsToken(key)) }

// SetValueBytes is SetValue for bytes.
func (c *Cookie) SetValueBytes(value []byte) {
	setOrEmpty(&c.value, value, settableCookieValue(value))
}

// SetDomainBytes is SetDomain for bytes.
func (c *Cookie) SetDomainBytes(domain []byte) {
	setOrEmpty(&c.domain, domain, settableCookieDomain(domain))
}

// SetPathBytes is SetPath for bytes.
func (c *Cookie) SetPathBytes(path []byte) {
	if len(path) > 0 && path[0] != '/' {
		path = append([]byte{'/'}, path...)
	}
	setOrEmpty(&c.path, path, settableCookiePath(path))
}
