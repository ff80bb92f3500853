package web

var requestID = NewKey[string]()

// SetRequestID sets the ID of the request, which RequestID and Log use, and returns c. Middleware such as middleware.RequestID calls
// it. SetRequestID sets no header.
func (c *Ctx) SetRequestID(id string) *Ctx { return requestID.Set(c, id) }

// RequestID returns the ID that SetRequestID gave the request, or "". An X-Request-ID header that the client sent is not an ID until
// middleware has accepted it.
func (c *Ctx) RequestID() string {
	id, _ := requestID.Get(c)
	return id
}
