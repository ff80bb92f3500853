package gallop

// VisitAll calls f for each argument. Use All: it can be left, and reads better.
func (a *Args) VisitAll(f func(key, value []byte)) {
	for key, value := range a.All() {
		f(key, value)
	}
}

// AddBytesK is Add with a key of bytes.
func (a *Args) AddBytesK(key []byte, value string) { a.add(key, UnsafeBytes(value), false) }

// AddBytesV is Add with a value of bytes.
func (a *Args) AddBytesV(key string, value []byte) { a.add(UnsafeBytes(key), value, false) }

// AddBytesKV is Add for bytes.
func (a *Args) AddBytesKV(key, value []byte) { a.add(key, value, false) }

// AddBytesKNoValue is AddNoValue for bytes.
func (a *Args) AddBytesKNoValue(key []byte) { a.add(key, nil, true) }

// SetBytesK is Set with a key of bytes.
func (a *Args) SetBytesK(key []byte, value string) { a.set(key, UnsafeBytes(value), false) }

// SetBytesV is Set with a value of bytes.
func (a *Args) SetBytesV(key string, value []byte) { a.set(UnsafeBytes(key), value, false) }

// SetBytesKV is Set for bytes.
func (a *Args) SetBytesKV(key, value []byte) { a.set(key, value, false) }

// SetBytesKNoValue is SetNoValue for bytes.
func (a *Args) SetBytesKNoValue(key []byte) { a.set(key, nil, true) }

// SetUintBytes is SetUint with a key of bytes.
func (a *Args) SetUintBytes(key []byte, value int) { a.SetUint(UnsafeString(key), value) }

// DelBytes is Del for bytes.
func (a *Args) DelBytes(key []byte) { a.del(key) }

// HasBytes is Has for bytes.
func (a *Args) HasBytes(key []byte) bool { return a.index(key) >= 0 }

// PeekBytes is Peek for bytes.
func (a *Args) PeekBytes(key []byte) []byte { return a.peek(key) }

// PeekMultiBytes is PeekMulti for bytes.
func (a *Args) PeekMultiBytes(key []byte) [][]byte { return a.peekMulti(key) }
