package gallop

import "io"

// userValues are the values that a program attaches to a request, by key. There are few of them, so lookups go
// through them in order.
type userValues []userValue

type userValue struct{ key, value any }

// textKey returns a key of type []byte as the equal string.
func textKey(key any) any {
	if b, ok := key.([]byte); ok {
		return string(b)
	}
	return key
}

func (u userValues) index(key any) int {
	for i := range u {
		if u[i].key == key {
			return i
		}
	}
	return -1
}

func (u userValues) indexText(key []byte) int {
	for i := range u {
		if s, ok := u[i].key.(string); ok && s == string(key) {
			return i
		}
	}
	return -1
}

func (u *userValues) set(key, value any) {
	key = textKey(key)
	if i := u.index(key); i >= 0 {
		(*u)[i].value = value
	} else if value != nil {
		*u = append(*u, userValue{key, value})
	}
}

func (u *userValues) setText(key []byte, value any) {
	if i := u.indexText(key); i >= 0 {
		(*u)[i].value = value
	} else if value != nil {
		*u = append(*u, userValue{string(key), value})
	}
}

func (u userValues) get(key any) any {
	if b, ok := key.([]byte); ok {
		return u.getText(b)
	}
	if i := u.index(key); i >= 0 {
		return u[i].value
	}
	return nil
}

func (u userValues) getText(key []byte) any {
	if i := u.indexText(key); i >= 0 {
		return u[i].value
	}
	return nil
}

func (u *userValues) remove(i int) {
	if i < 0 {
		return
	}
	last := len(*u) - 1
	copy((*u)[i:], (*u)[i+1:])
	(*u)[last] = userValue{}
	*u = (*u)[:last]
}

// reset removes all values and closes those that are an io.Closer.
func (u *userValues) reset() {
	if len(*u) > 0 {
		u.clear()
	}
}

func (u *userValues) clear() {
	i, c := u.nextCloser(0)
	if c == nil { // usually true
		clear(*u)
		*u = (*u)[:0]
		return
	}
	defer func() {
		clear(*u)
		*u = (*u)[:0]
	}()
	u.closeFrom(i, c)
}

// close closes the values that are an io.Closer, without removing them. If one of them panics, it closes the rest before the panic
// continues.
func (u userValues) close() {
	if i, c := u.nextCloser(0); c != nil {
		u.closeFrom(i, c)
	}
}

// nextCloser returns the first value from i on that is an io.Closer, and its index. Without one, c is nil.
func (u userValues) nextCloser(i int) (at int, c io.Closer) {
	for ; i < len(u); i++ {
		if c, ok := u[i].value.(io.Closer); ok {
			return i, c
		}
	}
	return i, nil
}

// closeFrom is close for the values from i on, where c is.
func (u userValues) closeFrom(i int, c io.Closer) {
	defer func() {
		if c != nil { // it has panicked
			u[i+1:].close()
		}
	}()
	for c != nil {
		c.Close()
		i, c = u.nextCloser(i + 1)
	}
}

func (u userValues) visitText(visitor func([]byte, any)) {
	for i := range u {
		if key, ok := u[i].key.(string); ok {
			visitor([]byte(key), u[i].value)
		}
	}
}

func (u userValues) visit(visitor func(any, any)) {
	for i := range u {
		visitor(u[i].key, u[i].value)
	}
}
