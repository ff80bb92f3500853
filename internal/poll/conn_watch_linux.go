package poll

// Watch makes the loop call f when the client sends nothing more or accepts no more bytes, or when c is closed. The loop calls
// f at most once, on a new goroutine. Before that, a Watch needs no goroutine. Only the goroutine that serves c may call
// Watch. It calls Unwatch before it reads again.
func (c *Conn) Watch(f func()) {
	v := c.waiting()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.watch = f
	c.tell(v)
}

// Unwatch ends Watch. It reports whether f was not called.
func (c *Conn) Unwatch() (quiet bool) {
	v := c.waiting()
	v.mu.Lock()
	defer v.mu.Unlock()
	quiet = v.watch != nil
	v.watch = nil
	return quiet
}

// wake wakes the goroutines that wait for c, after its state has changed.
func (c *Conn) wake(v *view) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.change.Broadcast()
	c.tell(v)
}

// tell calls the function of Watch if the client has hung up. v is locked.
func (c *Conn) tell(v *view) {
	if v.watch != nil && c.state.Load()&(hungUp|broken|closed) != 0 {
		go v.watch()
		v.watch = nil
	}
}
