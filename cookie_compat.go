package gallop

// SetKeyBytes does the same as [Cookie.SetKey], but takes a []byte.
func (c *Cookie) SetKeyBytes(key []byte) { c.setKey(key) }

// SetValueBytes does the same as [Cookie.SetValue], but takes a []byte.
func (c *Cookie) SetValueBytes(value []byte) { c.setValue(value) }

// SetDomainBytes does the same as [Cookie.SetDomain], but takes a []byte.
func (c *Cookie) SetDomainBytes(domain []byte) { c.setDomain(domain) }

// SetPathBytes does the same as [Cookie.SetPath], but takes a []byte.
func (c *Cookie) SetPathBytes(path []byte) { c.setPath(path) }
