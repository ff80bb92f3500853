package web

import (
	"bytes"

	"github.com/gallop-http/gallop"
)

// Methods that send a body use the Content-Type that a handler or middleware has set. Without one they choose the type
// themselves. A chosen type belongs to its body: if another method replaces the body, it chooses again.

// chooseType sets the Content-Type of a body unless a handler or middleware has set one.
func (c *Ctx) chooseType(mediaType string) {
	if !c.hasType() {
		c.request.SetContentType(mediaType)
		c.chosenType = append(c.chosenType[:0], mediaType...)
	}
}

// hasType reports whether a handler or middleware has set a Content-Type.
func (c *Ctx) hasType() bool {
	t := c.presentType()
	return len(t) > 0 && !bytes.Equal(t, c.chosenType)
}

// presentType returns the Content-Type of the response, whether chosen or set. It is nil if there is none, although the server
// would then send a default type.
func (c *Ctx) presentType() []byte {
	h := &c.request.Response.Header
	if !h.Has(gallop.HeaderContentType) {
		return nil
	}
	return h.ContentType()
}

// forgetType removes the Content-Type of the response, even if net/http middleware has set it.
func (c *Ctx) forgetType() {
	c.request.Response.Header.Del(gallop.HeaderContentType)
	if c.layer != nil {
		c.layer.w.Header().Del(gallop.HeaderContentType)
	}
	c.chosenType = c.chosenType[:0]
}

// ownsType calls send. If send sets a Content-Type, ownsType records it as chosen.
func (c *Ctx) ownsType(send func()) {
	had := c.hasType()
	if send(); !had {
		c.chosenType = append(c.chosenType[:0], c.presentType()...)
	}
}
