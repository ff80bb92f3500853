package gallop

// VisitAll calls f for each argument. New code should loop over [Args.All] instead.
func (a *Args) VisitAll(f func(key, value []byte)) {
	for key, value := range a.All() {
		f(key, value)
	}
}

// AddBytesK does the same as [Args.Add], but takes a key of type []byte.
func (a *Args) AddBytesK(key []byte, value string) { a.add(key, UnsafeBytes(value), false) }

// AddBytesV does the same as [Args.Add], but takes a value of type []byte.
func (a *Args) AddBytesV(key string, value []byte) { a.add(UnsafeBytes(key), value, false) }

// AddBytesKV does the same as [Args.Add], but takes a key and a value of type []byte.
func (a *Args) AddBytesKV(key, value []byte) { a.add(key, value, false) }

// AddBytesKNoValue does the same as [Args.AddNoValue], but takes a key of type []byte.
func (a *Args) AddBytesKNoValue(key []byte) { a.add(key, nil, true) }

// SetBytesK does the same as [Args.Set], but takes a key of type []byte.
func (a *Args) SetBytesK(key []byte, value string) { a.set(key, UnsafeBytes(value), false) }

// SetBytesV does the same as [Args.Set], but takes a value of type []byte.
func (a *Args) SetBytesV(key string, value []byte) { a.set(UnsafeBytes(key), value, false) }

// SetBytesKV does the same as [Args.Set], but takes a key and a value of type []byte.
func (a *Args) SetBytesKV(key, value []byte) { a.set(key, value, false) }

// SetBytesKNoValue does the same as [Args.SetNoValue], but takes a key of type []byte.
func (a *Args) SetBytesKNoValue(key []byte) { a.set(key, nil, true) }

// SetUintBytes does the same as [Args.SetUint], but takes a key of type []byte.
func (a *Args) SetUintBytes(key []byte, value int) { a.SetUint(UnsafeString(key), value) }

// DelBytes does the same as [Args.Del], but takes a key of type []byte.
func (a *Args) DelBytes(key []byte) { a.del(key) }

// HasBytes does the same as [Args.Has], but takes a key of type []byte.
func (a *Args) HasBytes(key []byte) bool { return a.index(key) >= 0 }

// PeekBytes does the same as [Args.Peek], but takes a key of type []byte.
func (a *Args) PeekBytes(key []byte) []byte { return a.peek(key) }

// PeekMultiBytes does the same as [Args.PeekMulti], but takes a key of type []byte.
func (a *Args) PeekMultiBytes(key []byte) [][]byte { return a.peekMulti(key) }
