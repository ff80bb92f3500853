package web

var requestID = NewKey[string]()

// SetRequestID sets the request ID that RequestID and Log use, and returns c. SetRequestID sets no header. Middleware such
// as middleware.RequestID calls SetRequestID.
func (c *Ctx) SetRequestID(id string) *Ctx { return requestID.Set(c, id) }

// RequestID returns the ID that SetRequestID gave the request, or "" if the request has no ID. RequestID does not return the
// X-Request-ID header of the client, unless middleware has passed that header to SetRequestID.
func (c *Ctx) RequestID() string {
	id, _ := c.request.UserValue(requestID.id).(string)
	return id
}
