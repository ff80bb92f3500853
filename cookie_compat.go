package gallop

// SetKeyBytes is SetKey for bytes.
func (c *Cookie) SetKeyBytes(key []byte) { c.setKey(key) }

// SetValueBytes is SetValue for bytes.
func (c *Cookie) SetValueBytes(value []byte) { c.setValue(value) }

// SetDomainBytes is SetDomain for bytes.
func (c *Cookie) SetDomainBytes(domain []byte) { c.setDomain(domain) }

// SetPathBytes is SetPath for bytes.
func (c *Cookie) SetPathBytes(path []byte) { c.setPath(path) }
