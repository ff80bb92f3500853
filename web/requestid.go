package web

var requestID = NewKey[string]()

// SetRequestID sets the ID of the request, which RequestID returns. Middleware calls it, such as middleware.RequestID. It sets
// no header.
func (c *Ctx) SetRequestID(id string) *Ctx { return requestID.Set(c, id) }

// RequestID returns the ID that SetRequestID gave the request. It is empty if no middleware has set one: an X-Request-ID
// header that the client sent does not count.
func (c *Ctx) RequestID() string {
	id, _ := requestID.Get(c)
	return id
}
