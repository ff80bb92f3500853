package gallop

// Spellings that programs written for fasthttp use. In new ones, UnsafeString of the
// bytes, or the method without Bytes, does the same.

// SetRequestURIBytes does the same as [Request.SetRequestURI], but takes a []byte.
func (req *Request) SetRequestURIBytes(requestURI []byte) {
	req.SetRequestURI(UnsafeString(requestURI))
}

// SetHostBytes does the same as [Request.SetHost], but takes a []byte.
func (req *Request) SetHostBytes(host []byte) { req.URI().SetHostBytes(host) }

// SetUserValueBytes does the same as [Request.SetUserValue], but takes a key of type []byte.
func (req *Request) SetUserValueBytes(key []byte, value any) { req.values.setText(key, value) }

// UserValueBytes does the same as [Request.UserValue], but takes a key of type []byte.
func (req *Request) UserValueBytes(key []byte) any { return req.values.getText(key) }

// RemoveUserValueBytes does the same as [Request.RemoveUserValue], but takes a key of type []byte.
func (req *Request) RemoveUserValueBytes(key []byte) { req.values.remove(req.values.indexText(key)) }

// VisitUserValues calls visitor for each value whose key is a string.
func (req *Request) VisitUserValues(visitor func(key []byte, value any)) {
	req.values.visitText(visitor)
}
